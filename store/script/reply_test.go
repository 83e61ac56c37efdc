package script

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// answering is a Client that gives one answer to everything.
func answering(reply string, err error) Client {
	return clientFunc(func(context.Context, *Command) (string, error) { return reply, err })
}

var (
	windowOf10 = algorithm.Must(algorithm.NewFixedWindow(algorithm.PerSecond(10)))
	logOf10    = algorithm.Must(algorithm.NewSlidingLog(algorithm.PerSecond(10)))
)

// asking are the ways in which a store asks, each with a good reply.
var asking = map[string]struct {
	ops  []store.Op
	good string
}{
	"single":     {oneOp("k", windowOf10), "+5 "},
	"single log": {oneOp("k", logOf10), "+5 3 4"},
	"list":       {append(oneOp("k", windowOf10), oneOp("l", logOf10)...), "5;+,"},
	"long list":  {slices.Concat(oneOp("a", windowOf10), oneOp("b", windowOf10), oneOp("c", windowOf10)), "5:6;+0 1,,0 3"},
	"go only":    {oneOp("k", kindOnly("mine/1")), "5\n-"},
	"go and lua": {append(oneOp("k", kindOnly("mine/1")), oneOp("l", windowOf10)...), "5\n-\n=3:0 1"},
}

// untold is an Outcome that no algorithm gives.
var untold = algorithm.Outcome{Limit: -42}

// ask makes an Apply or a Peek that must not be a decision unless err is nil.
func ask(t *testing.T, s *Store, take bool, ops []store.Op) (at algorithm.Instant, told []store.Op, err error) {
	t.Helper()
	told = slices.Clone(ops)
	for i := range told {
		told[i].Outcome = untold
	}
	committed := false
	if take {
		at, committed, err = s.Apply(context.Background(), told)
	} else {
		at, err = s.Peek(context.Background(), told)
	}
	if err != nil && (at != 0 || committed || slices.ContainsFunc(told, func(op store.Op) bool { return op.Outcome != untold })) {
		t.Errorf("at %d, committed %v, %+v, and yet %v", at, committed, told, err)
	}
	return at, told, err
}

func TestGoodRepliesAreDecisions(t *testing.T) {
	for name, way := range asking {
		for _, take := range []bool{true, false} {
			reply := way.good
			s := open(t, clientFunc(func(_ context.Context, c *Command) (string, error) {
				if c.Args[1] == swapProgram.sha {
					return "1", nil
				}
				return reply, nil
			}), nil)
			at, told, err := ask(t, s, take, way.ops)
			if err != nil || at != 5 && at != 5_000_006 || !told[0].Outcome.Allowed {
				t.Errorf("%s, take %v: at %d: %+v, %v", name, take, at, told, err)
			}
		}
	}
}

// TestBadRepliesAreErrors: what is cut off, is too long, or is not a reply at all is
// never taken for a decision.
func TestBadRepliesAreErrors(t *testing.T) {
	always := []string{
		"", " ", "\n", "\x00", "+", "-", "!", "?", "0", "1", "5", "OK", "nil", "null", "ERR", "++", "+-", "+ ", "+;", ";", ";;", ",", ":", "=", "+x", "+x ",
		"5;", "5;;", "5;x", "5; +", "x;+,", ";+,", "-5;+,", "5;!", "5;?", "5;!0", "5;!4", "5;!-1", "5;!1x", "5;!99999999999999999999", "5;+,;", "5;+,;+,",
		"+-5 ", "+5", "+5:", "+5: ", "+:5 ", "+5:-1 ", "+5:1000000 ", "+5:x ", "+5:1:1 ", "+7000000000000001 ", "+7000000001:0 ", "+7000000000:000001 ",
		"+9223372036854775807 ", "+9223372036854775808 ", "+-9223372036854775808:5 ", "+9223372036854775807:5 ", "-9223372036854775808:5;+,",
		"7000000000000001;+,", "7000000000:1;+,", "+5  ", "+5 x", "+5 5", "+5 5 5 5", "+5 05 5", "+5 5 5,", "+5 ,", "+5 -5 5", "+5 5:2", "+5 0 9007199254740992",
		"+0x5 ", "+5.0 ", "+5e0 ", "++5 ", "+ 5 ", "+5 \n", "+5\t", "*5 ", "x5 ", "x5 0 10", " 5 0 10", "5;x0 10,", "5;*0 10,0 10", "05 ", " 5 ", "\x005 ", strings.Repeat("9", 1000), "+" + strings.Repeat("9", 1000) + " ",
		"+5 " + strings.Repeat("9", 1000), "5;" + strings.Repeat("+,", 1000), strings.Repeat(";", 1000), strings.Repeat(",", 1000),
	}
	more := map[string][]string{
		"single log": {"+5 3", "+5 3 4 5", "+5 3 4 5 6 7", "+5 3 4 5 6", "+5 -3 4", "+5 3 -4", "+5 3 4 4 5", "+5 3 4 5 2", "+5 3 7000000000000001", "+5 3  4", "+5 3 4 ", "+5 a b"},
		"list":       {"5;+", "5;+,,", "5;+0 1", "5;+0 1,1", "5;+x,", "5;+,x", "5;*,", "5;x,", "5;,,", "5; ,", "5:6:7;+,", "5;+\n", "5;+,\n", "5;++,"},
		"long list":  {"5;+,", "5;+,,,", "5;+0 1;,0 3", "5;+0 1,,0 3;", "5;+0 1,,0 x"},
		"go only":    {"5", "5\n", "5\nx", "5\n=", "5\n=1", "5\n=1:", "5\n=2:1", "5\n=-1:1", "5\n=x:1", "5\n--", "5\n-\n-", "5\n-x", "5\n-\n", "5 6\n-", "5 \n-", "\n-", "x\n-", "-5\n-", "7000000000000001\n-", "5:1000000\n-", "5\n=1:1x", "5\n=99999999999999999999:1", "5\n=0:", "5\n!", "5\n=1:x", "5\n=01:1", "5\n=+1:1"},
		"go and lua": {"5\n-", "5\n-\n", "5\n--", "5\n-\n-\n-", "5\n-\n=3:0 1\n", "5\n-\n=3:0 x", "5\n-\n=5:0 1", "5\n-=3:0 1", "5\n!\n-", "5\n-\n!", "5\n-\n-x"},
	}
	var reply string
	s := open(t, clientFunc(func(context.Context, *Command) (string, error) { return reply, nil }), nil)
	for name, way := range asking {
		for _, reply = range append(always, more[name]...) {
			for _, take := range []bool{true, false} {
				if _, told, err := ask(t, s, take, way.ops); err == nil {
					t.Errorf("%s, take %v: %.40q is a decision: %+v", name, take, reply, told)
				} else if len(err.Error()) > 300 {
					t.Errorf("%s: %.40q makes an error of %d bytes", name, reply, len(err.Error()))
				}
			}
		}
	}
}

// TestRepliesThatSayNothingAreUnknownToTakesOnly: a look that is not answered has
// changed nothing.
func TestRepliesThatSayNothingAreUnknownToTakesOnly(t *testing.T) {
	for name, way := range asking {
		for _, reply := range []string{"", "x", "5", "\x00\x01"} {
			for _, take := range []bool{true, false} {
				want := store.ErrUnavailable
				if take && !strings.HasPrefix(name, "go") { // which begins with a look
					want = store.ErrOutcomeUnknown
				}
				if _, _, err := ask(t, open(t, answering(reply, nil), nil), take, way.ops); !errors.Is(err, want) {
					t.Errorf("%s, take %v, %q: %v, want %v", name, take, reply, err, want)
				}
			}
		}
	}
}

// TestBadRepliesToASwapAreUnknown: the states may have been written.
func TestBadRepliesToASwapAreUnknown(t *testing.T) {
	for _, reply := range []string{"", "2", "00", "01", "1 ", "OK", "-1", "true", "1\n", "\x00"} {
		swaps := 0
		s := open(t, clientFunc(func(_ context.Context, c *Command) (string, error) {
			if c.Args[1] == readProgram.sha {
				return "5\n-", nil
			}
			swaps++
			return reply, nil
		}), nil)
		if _, _, err := ask(t, s, true, oneOp("k", kindOnly("mine/1"))); !errors.Is(err, store.ErrOutcomeUnknown) || swaps != 1 {
			t.Errorf("%q: %v after %d swaps", reply, err, swaps)
		}
	}
}

// TestWrongVerdictsAreDisagreements: Go and Lua must decide alike, and the error says
// which of them was carried out.
func TestWrongVerdictsAreDisagreements(t *testing.T) {
	two := append(oneOp("k", windowOf10), oneOp("l", windowOf10)...)
	for reply, way := range map[string]struct {
		ops     []store.Op
		charged bool
	}{
		"-5 ":           {oneOp("k", windowOf10), false},
		"-5 0 9":        {oneOp("k", windowOf10), false},
		"+5 0 10":       {oneOp("k", windowOf10), true},
		"+5 10 5":       {oneOp("k", logOf10), true},
		"-5 9 5":        {oneOp("k", logOf10), false},
		"5;+0 10,":      {two, true},
		"5;-0 9,0 9":    {two, false},
		"5;+0 10,0 10":  {two, true},
		"5:6;+5 0,10 x": {two, true}, // what Lua took for a state, Go does not
		"+5 0 x":        {oneOp("k", windowOf10), true},
	} {
		for _, take := range []bool{true, false} {
			_, _, err := ask(t, open(t, answering(reply, nil), nil), take, way.ops)
			var disagree *DisagreementError
			if !errors.As(err, &disagree) {
				t.Errorf("%q, take %v: %v", reply, take, err)
				continue
			}
			if want := way.charged && take; disagree.Charged != want || disagree.Kind != way.ops[0].Algorithm.Spec().Kind {
				t.Errorf("%q, take %v: %+v, want charged %v", reply, take, disagree, want)
			}
			for _, other := range []error{store.ErrUnavailable, store.ErrCorrupt, store.ErrContention} {
				if errors.Is(err, other) {
					t.Errorf("%q: %v says that nothing was charged", reply, err)
				}
			}
		}
	}
}

// TestMarksOfRefusedGroupsNameTheOp: and neither the key nor what is stored.
func TestMarksOfRefusedGroupsNameTheOp(t *testing.T) {
	secret := append(oneOp("secret", windowOf10), oneOp("other secret", logOf10)...)
	for reply, want := range map[string]string{
		"!":                "store: corrupt state: op 0, fixed-window/1",
		"?":                `script: op 0: the Lua of fixed-window/1 failed; nothing was charged: limit "", cost 1: no reason is given`,
		"?why":             `script: op 0: the Lua of fixed-window/1 failed; nothing was charged: limit "", cost 1: why`,
		"5;!1":             "store: corrupt state: op 0, fixed-window/1",
		"5;!2":             "store: corrupt state: op 1, sliding-log/1",
		"5;?2":             `script: op 1: the Lua of sliding-log/1 failed; nothing was charged: limit "", cost 1: no reason is given`,
		"5;?2 it is three": `script: op 1: the Lua of sliding-log/1 failed; nothing was charged: limit "", cost 1: it is three`,
	} {
		ops := secret
		if reply[0] != '5' {
			ops = secret[:1]
		}
		_, _, err := ask(t, open(t, answering(reply, nil), nil), true, ops)
		if err == nil || err.Error() != want || errors.Is(err, store.ErrCorrupt) != strings.Contains(reply, "!") {
			t.Errorf("%q: %v, want %s", reply, err, want)
		}
	}
}
