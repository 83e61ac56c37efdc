package script

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// withParams is an algorithm of a kind with parameters, of which nothing else counts.
type withParams struct {
	kindOnly
	params [4]int64
}

func (a withParams) Spec() algorithm.Spec {
	return algorithm.Spec{Kind: string(a.kindOnly), Params: a.params}
}

// sent returns the numbers that an Apply on a gives to the Lua of a user.
func sent(t *testing.T, source Source, a algorithm.Algorithm, r algorithm.Request) ([]string, error) {
	t.Helper()
	var numbers []string
	s := open(t, clientFunc(func(_ context.Context, c *Command) (string, error) {
		numbers = append(numbers, c.Args[6:]...)
		return "+5 ", nil
	}), &Options{Scripts: []Source{source}})
	_, _, err := s.Apply(context.Background(), []store.Op{{Slot: store.Slot{Key: "k", Algorithm: a}, Request: r}})
	return numbers, err
}

// TestNumbersOfAUserAreTheSpecAndTheRequest: as long as the Source says nothing else,
// and none is more than Lua can hold.
func TestNumbersOfAUserAreTheSpecAndTheRequest(t *testing.T) {
	a := withParams{"mine/1", [4]int64{1, -2, algorithm.MaxWord, -algorithm.MaxWord}}
	for _, test := range []struct {
		request algorithm.Request
		want    string
	}{
		{algorithm.Request{Cost: 1}, "1 -2 9007199254740991 -9007199254740991 1 0"},
		{algorithm.Request{}, "1 -2 9007199254740991 -9007199254740991 0 0"},
		{algorithm.Request{Cost: 3, MaxDelay: 7*time.Microsecond + 999}, "1 -2 9007199254740991 -9007199254740991 3 7"},
		{algorithm.Request{Cost: math.MaxInt64, MaxDelay: math.MaxInt64}, "1 -2 9007199254740991 -9007199254740991 9007199254740991 9007199254740991"},
	} {
		got, err := sent(t, Source{Kind: "mine/1", Lua: luaOfUser}, a, test.request)
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%+v: %v, %v, want %s", test.request, got, err, test.want)
		}
	}
	source := Source{
		Kind: "mine/1", Lua: luaOfUser,
		Limit:   func(_ algorithm.Algorithm, n []int64) []int64 { return append(n, 11, 12) },
		Request: func(_ algorithm.Algorithm, r algorithm.Request, n []int64) []int64 { return append(n, r.Cost*10) },
	}
	if got, err := sent(t, source, a, algorithm.Request{Cost: 4}); err != nil || strings.Join(got, " ") != "11 12 40" {
		t.Errorf("%v, %v", got, err)
	}
	source.Limit = func(algorithm.Algorithm, []int64) []int64 { return nil }
	source.Request = func(algorithm.Algorithm, algorithm.Request, []int64) []int64 { return nil }
	if got, err := sent(t, source, a, algorithm.Request{Cost: 4}); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestNumbersOfAUserAreAlwaysAsMany: one too many, or another count than before, is
// refused before anything is sent.
func TestNumbersOfAUserAreAlwaysAsMany(t *testing.T) {
	count := func(limit, request int) Source {
		return Source{
			Kind: "mine/1", Lua: luaOfUser,
			Limit: func(a algorithm.Algorithm, n []int64) []int64 {
				return append(n, make([]int64, limit+int(a.Spec().Params[0]))...)
			},
			Request: func(_ algorithm.Algorithm, r algorithm.Request, n []int64) []int64 {
				return append(n, make([]int64, request+int(max(0, r.Cost-1)))...)
			},
		}
	}
	for _, most := range [][2]int{{8, 0}, {0, 8}, {4, 4}} {
		if got, err := sent(t, count(most[0], most[1]), kindOnly("mine/1"), algorithm.Request{Cost: 1}); err != nil || len(got) != 8 {
			t.Errorf("%v: %v, %v", most, got, err)
		}
	}
	wantInvalid := func(err error, value, allowed string) {
		t.Helper()
		var input *store.InputError
		if !errors.As(err, &input) || input.Field != "Source mine/1" || input.Value != value || !strings.Contains(input.Allowed, allowed) {
			t.Errorf("%v, want %s and %s", err, value, allowed)
		}
	}
	for _, tooMany := range [][2]int{{9, 0}, {0, 9}, {5, 4}} {
		got, err := sent(t, count(tooMany[0], tooMany[1]), kindOnly("mine/1"), algorithm.Request{Cost: 1})
		wantInvalid(err, "9 numbers", "at most 8")
		if got != nil {
			t.Errorf("%v are sent", got)
		}
	}
	sentOnce := 0
	s := open(t, clientFunc(func(context.Context, *Command) (string, error) { sentOnce++; return "+5 ", nil }), &Options{Scripts: []Source{count(2, 2)}})
	apply := func(a algorithm.Algorithm, cost int64) error {
		_, _, err := s.Apply(context.Background(), []store.Op{{Slot: store.Slot{Key: "k", Algorithm: a}, Request: algorithm.Request{Cost: cost}}})
		return err
	}
	if err := apply(kindOnly("mine/1"), 1); err != nil {
		t.Error(err)
	}
	wantInvalid(apply(kindOnly("mine/1"), 2), "5 numbers", "the same count always, 4 at first")
	wantInvalid(apply(withParams{"mine/1", [4]int64{1}}, 1), "5 numbers", "the same count always, 4 at first")
	if err := apply(kindOnly("mine/1"), 1); err != nil || sentOnce != 2 {
		t.Error(err, sentOnce)
	}
}

// TestPreparedLimitsAreBounded: a program that makes up limits for every request does
// not make the store grow, and each is decided by its own numbers.
func TestPreparedLimitsAreBounded(t *testing.T) {
	var period string
	s := open(t, clientFunc(func(_ context.Context, c *Command) (string, error) { period = c.Args[7]; return "+5 ", nil }), nil)
	for n := range int64(maxPrepared + 100) {
		a := algorithm.Must(algorithm.NewFixedWindow(algorithm.Rate{Units: 1, Per: micros(n + 1)}))
		if _, _, err := s.Apply(context.Background(), oneOp("k", a)); err != nil || period != algorithm.Instant(n+1).String() {
			t.Fatalf("period %d: sent %s, %v", n+1, period, err)
		}
	}
	if len(s.limits.known) > maxPrepared {
		t.Errorf("%d limits are remembered", len(s.limits.known))
	}
}

// TestStatesOfAUserAreThoseOfGo: the check that stands before the Lua of a user knows
// one to four words as ParseState does.
func TestStatesOfAUserAreThoseOfGo(t *testing.T) {
	program := helpersOf(t, "number") + userLua("local function decide() return false end") + `
local out = {}
for i = 1, #ARGV do out[i] = decide(ARGV[i]) == '!' and '!' or '.' end
return table.concat(out)`
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		texts := append(boundaryTexts([]int64{5, -5}), damagedTexts(random(t), fewer(8_000))...)
		texts = append(texts, "-5", "-5 5", "5 -5 5 -5", "-9007199254740991", "-9007199254740992", "1 2 3 4", "1 2 3 4 5", "0 0 0 0", "-0", "--5", "5-5")
		got, accepted := dialWire(t, server).run(t, program, nil, texts), 0
		for i, text := range texts {
			want := byte('!')
			if state, err := algorithm.ParseState(text); err == nil && state.Words() > 0 {
				want = '.'
				accepted++
			}
			if got[i] != want {
				t.Fatalf("Lua says %c of %.60q, Go %c", got[i], text, want)
			}
		}
		if accepted < 100 {
			t.Errorf("%d of %d texts were states", accepted, len(texts))
		}
	})
}
