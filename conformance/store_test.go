package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

func openPlain(clk clock.Clock) store.Store { return newPlainStore(clk) }

func checkNamed(t *testing.T, name string) conformance.Check {
	t.Helper()
	return checkOf(t, quickConfig(), name)
}

// checkOf is a check for the stores that a Config describes.
func checkOf(t *testing.T, cfg *conformance.Config, name string) conformance.Check {
	t.Helper()
	all := cfg.Checks()
	i := slices.IndexFunc(all, func(c conformance.Check) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no check %q", name)
	}
	return all[i]
}

func mutantNamed(t *testing.T, name string) mutant {
	t.Helper()
	all := mutants()
	i := slices.IndexFunc(all, func(m mutant) bool { return m.name == name })
	if i < 0 {
		t.Fatalf("there is no mutant %q", name)
	}
	return all[i]
}

func TestCheckNamesAreStableWords(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range conformance.Checks() {
		if seen[c.Name] {
			t.Errorf("two checks are named %q", c.Name)
		}
		seen[c.Name] = true
		if !regexp.MustCompile(`^[a-z]+(/[a-z]+(-[a-z]+)*)+$`).MatchString(c.Name) {
			t.Errorf("%q: a name is lower case, in parts joined by slashes", c.Name)
		}
		if !regexp.MustCompile(`^[A-Z]+[0-9]+( [A-Z]+[0-9]+)*$`).MatchString(c.Property) {
			t.Errorf("%s: property %q", c.Name, c.Property)
		}
		if c.Rule == "" || strings.HasSuffix(c.Rule, ".") || c.Run == nil {
			t.Errorf("%s: rule %q", c.Name, c.Rule)
		}
	}
}

// A failure shows the check, its rule, what was asked, what came and what
// had to.
func TestFailureShowsTheTranscript(t *testing.T) {
	c := checkNamed(t, "take/refused-changes-nothing")
	err := c.Verify(func(clk clock.Clock) store.Store {
		f := &faultyStore{plainStore: newPlainStore(clk)}
		oneByOne(f)
		return f
	})
	if err == nil {
		t.Fatal("a store that charges a batch by half passes")
	}
	for _, part := range []string{
		c.Name, "(X1)", c.Rule, "check:     conformance/internal/checks/take.go:", "broken by: op 0", "Remaining is 3, not 4",
		"got:       allowed, 3 of 5 remain", "want:      allowed, 4 of 5 remain",
		"clock  call   slot ", `apply  "a"/"l" gcra:5/1s `,
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the failure does not show %q:\n%v", part, err)
		}
	}
}

// Of a history without an order it shows the shortest part, and what the last
// call could have been told.
func TestFailureOfAHistoryIsShort(t *testing.T) {
	m, c := mutantNamed(t, "looks come from a copy that lags"), checkNamed(t, "linear/one-slot/gcra")
	err := c.Verify(m.open)
	for tries := 0; err == nil && tries < 5; tries++ {
		err = c.Verify(m.open)
	}
	if err == nil {
		t.Fatal("a store whose looks lag passes")
	}
	for _, part := range []string{"no order of concurrent calls", "alone have no order", "caller  began  returned", "after all of the others"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the failure does not show %q:\n%v", part, err)
		}
	}
	if n := strings.Count(err.Error(), "\n"); n > 40 {
		t.Errorf("%d lines:\n%v", n, err)
	}
}

func TestTimelineFailureShowsFileAndLine(t *testing.T) {
	err := checkNamed(t, "timeline/take").Verify(func(clk clock.Clock) store.Store {
		f := &faultyStore{plainStore: newPlainStore(clk)}
		f.answer = func(op *store.Op) { op.Outcome.Remaining++ }
		return f
	})
	const line = "timelines/take.txt:7: 0s repeat u/min 1 times 16 admits 10"
	if err == nil || !strings.Contains(err.Error(), line) {
		t.Errorf("the failure does not show %q:\n%v", line, err)
	}
}

func TestVerifyTurnsPanicsIntoFailures(t *testing.T) {
	err := checkNamed(t, "look/changes-nothing").Verify(func(clk clock.Clock) store.Store {
		return &faultyStore{plainStore: newPlainStore(clk), rewrite: func(*store.Op) { panic("not today") }}
	})
	if err == nil || !strings.Contains(err.Error(), "panic: not today") {
		t.Errorf("got %v", err)
	}
}

// panickingStore panics in each step, with an ID and without.
type panickingStore struct{ *onceStore }

func (s *panickingStore) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	return panicking(ctx, ops)
}

func (s *panickingStore) Features() store.Features { return store.Features{Owner: s, Once: s.once} }

// A panic under concurrent callers fails the check that made the call, and says where.
func TestPanicUnderConcurrentCallersFailsTheirCheck(t *testing.T) {
	concurrent := 0
	for _, c := range conformance.Checks() {
		if !byChance(c) || c.Name == "capability/own-clock" {
			continue
		}
		concurrent++
		err := c.Verify(func(clk clock.Clock) store.Store {
			s := newOnceStore(clk)
			s.apply = panicking
			return &panickingStore{s}
		})
		if err == nil || !strings.HasPrefix(err.Error(), c.Name) {
			t.Errorf("%s: got %v", c.Name, err)
			continue
		}
		for _, part := range []string{"panic: not together", "conformance_test.panicking", "store_test.go:"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s fails without saying %q:\n%v", c.Name, part, err)
			}
		}
	}
	if concurrent < 19 {
		t.Errorf("only %d checks have concurrent callers", concurrent)
	}
}

func panicking(context.Context, []store.Op) (algorithm.Instant, bool, error) { panic("not together") }

// A Close that hangs ends its check within seconds, with the rule, and the checks after it
// do not wait as long.
func TestCloseThatHangsEndsItsCheckAndTheRestRunsOn(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for i, c := range quickConfig().Checks() {
		if testing.Short() && i%10 > 0 {
			continue // each waits
		}
		err := c.Verify(func(clk clock.Clock) store.Store {
			return &faultyStore{plainStore: newPlainStore(clk), close: func() error { select {} }}
		})
		if errors.Is(err, conformance.ErrSkipped) {
			continue
		}
		for _, part := range []string{c.Name, "rule: ", "Close", "has not returned within "} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("check %d fails without saying %q: %v", i, part, err)
			}
		}
	}
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("the suite takes %v", took)
	}
}

// A store that loses a word of a state, or makes another of it, fails a check and never
// panics.
func TestChangedStateIsAFailureThatSaysSo(t *testing.T) {
	for _, text := range []string{"1", "1 2", "1 2 3", "1 2 3 4", "-1 0 0 0", "9007199254740991 -9007199254740991 0 0", "+1 1:2"} {
		s, err := algorithm.ParseState(text)
		if err != nil {
			t.Error(err)
		}
		for _, cost := range []int64{0, 1, 1 << 62} {
			if _, o := world.NewCooldown(5, 1).Step(s, world.Start, algorithm.Request{Cost: cost}); o.Allowed {
				t.Errorf("the state %q is decided: %+v", text, o)
			}
		}
	}
	for how, read := range map[string]func(algorithm.State) algorithm.State{"a word is lost": withoutWord(3), "digits are lost": fourteenDigits} {
		f := func(clk clock.Clock) store.Store {
			s := &faultyStore{plainStore: newPlainStore(clk)}
			reading(read)(s)
			return s
		}
		err := checkNamed(t, "boundary/written-elsewhere").Verify(f)
		if err == nil || strings.Contains(err.Error(), "panic") || !strings.Contains(err.Error(), "its state came back from the store changed") {
			t.Errorf("%s: %v", how, err)
		}
	}
}

// Long limit names are cut off in a failure, as keys are.
func TestFailureCutsOffLongNames(t *testing.T) {
	err := checkNamed(t, "key/any-limit-name").Verify(func(clk clock.Clock) store.Store {
		return &faultyStore{plainStore: newPlainStore(clk), rewrite: func(op *store.Op) { op.Limit = op.Limit[:min(192, len(op.Limit))] }}
	})
	if err == nil || !strings.Contains(err.Error(), "…(") || len(err.Error()) > 20_000 {
		t.Errorf("got %v", err)
	}
}

func TestVerifyOfAnUnopenedStoreFails(t *testing.T) {
	err := checkNamed(t, "look/changes-nothing").Verify(func(clock.Clock) store.Store { return nil })
	if err == nil || !strings.Contains(err.Error(), "no store was opened") {
		t.Errorf("got %v", err)
	}
}

func TestVerifySaysWhatDoesNotApply(t *testing.T) {
	err := checkNamed(t, "boundary/bound-limit").Verify(openPlain)
	if !errors.Is(err, conformance.ErrSkipped) || !strings.Contains(err.Error(), "has no store.Features.Bind") {
		t.Errorf("got %v", err)
	}
}

func TestVerifyWorksOutsideGoTest(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a command, which takes some seconds")
	}
	out, err := exec.Command("go", "run", "./testdata/outside").CombinedOutput()
	passed := 0
	if _, scanErr := fmt.Sscanf(string(out), "%d checks passed\n", &passed); err != nil || scanErr != nil || passed < 70 {
		t.Errorf("got %q, error %v", out, err)
	}
}

func TestWaivedCheckIsSkippedWithItsReason(t *testing.T) {
	conformance.TestStore(t, func(_ testing.TB, clk clock.Clock) store.Store {
		f := &faultyStore{plainStore: newPlainStore(clk)}
		f.rewrite = func(op *store.Op) { op.Key = op.Key[:min(200, len(op.Key))] }
		return f
	}, &conformance.Config{Histories: quick, Waive: map[string]string{"key/long": "keys are cut off at 200 bytes"}})
}

// The tests below that must fail run as a process of their own.
const failing = "WEIR_CONFORMANCE_MUST_FAIL"

func mustFailWith(t *testing.T, parts ...string) { t.Helper(); mustFailIn(t, "", parts...) }

// mustFailIn is mustFailWith for some of the subtests.
func mustFailIn(t *testing.T, subtests string, parts ...string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$"+subtests, "-test.v", "-rapid.nofailfile")
	cmd.Env = append(os.Environ(), failing+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("the test passes, and must not:\n%s", out)
	}
	for _, part := range parts {
		if !strings.Contains(string(out), part) {
			t.Errorf("the test fails without %q:\n%s", part, out)
		}
	}
}

func TestUnknownWaiverFails(t *testing.T) {
	t.Parallel()
	if os.Getenv(failing) == "" {
		mustFailIn(t, "/^waived$", `Config.Waive names "key/lang", and there is no such check`)
		return
	}
	conformance.TestStore(t, func(_ testing.TB, clk clock.Clock) store.Store { return newPlainStore(clk) },
		&conformance.Config{Waive: map[string]string{"key/lang": "a slip of the pen"}})
}

func TestRandomHistoryFailsWithASeedAndATranscript(t *testing.T) {
	t.Parallel()
	if os.Getenv(failing) == "" {
		mustFailIn(t, "/^model$", "--- FAIL: "+t.Name()+"/model/random-history", "-rapid.seed=", "model/random-history (P3)", "transcript, by the clock from ")
		return
	}
	conformance.TestStore(t, func(_ testing.TB, clk clock.Clock) store.Store {
		f := &faultyStore{plainStore: newPlainStore(clk)}
		stepping(func(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
			return a.Step(s, now+now%2, r)
		})(f)
		return f
	}, nil)
}

// boundStore offers store.Features.Bind on top of a plainStore.
type boundStore struct {
	*plainStore
	charges int64 // how often a Bound charges; 1 is right
	ignores bool  // a bound on the delay
	waits   bool  // also where the context of a Bound has ended meanwhile
}

type boundLimit struct {
	s    *boundStore
	slot store.Slot
}

func (s *boundStore) Features() store.Features { return store.Features{Owner: s, Bind: s.bind} }

func (s *boundStore) bind(limit string, a algorithm.Algorithm) (store.Bound, error) {
	if err := store.ValidateLimit(-1, a); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &boundLimit{s, store.Slot{Limit: limit, Algorithm: a}}, s.usable(context.Background())
}

func (b *boundLimit) op(key string, r algorithm.Request) []store.Op {
	op := store.Op{Slot: b.slot, Request: r}
	if op.Key = key; b.s.ignores && r.MaxDelay > 0 {
		op.Request.MaxDelay = 0
	}
	return []store.Op{op}
}

func (b *boundLimit) Apply(ctx context.Context, key string, r algorithm.Request) (o algorithm.Outcome, at algorithm.Instant, err error) {
	ops := b.op(key, r)
	if b.s.waits && ctx.Err() == nil {
		ctx = context.Background()
	}
	for range b.s.charges {
		if at, _, err = b.s.Apply(ctx, ops); err != nil {
			return o, 0, err
		}
	}
	return ops[0].Outcome, at, nil
}

func (b *boundLimit) Peek(ctx context.Context, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error) {
	ops := b.op(key, r)
	at, err := b.s.Peek(ctx, ops)
	return ops[0].Outcome, at, err
}

// A sound Bound passes; brokenFeatures are others.
func TestBoundLimitConforms(t *testing.T) {
	conformance.TestStore(t, func(_ testing.TB, clk clock.Clock) store.Store {
		return &boundStore{plainStore: newPlainStore(clk), charges: 1}
	}, quickConfig())
}

// A wrong answer that is that of a fresh key leads to its cause, and the transcript counts
// from its start.
func TestFailureOfADroppedStateSaysSo(t *testing.T) {
	dropped := func(fault func(s *textStore)) conformance.Opener {
		return func(clk clock.Clock) store.Store {
			s := newTextStore(clk, textLimits{})
			fault(s)
			return s
		}
	}
	limits := textLimits{}
	early := dropped(shortBy(store.Grace + 3900*time.Millisecond))
	for name, want := range map[string][]string{
		"expiry/never-decides": {"; a fresh key is answered like this: was its state dropped?\n", " µs on:\n    clock", "\n    +0s "},
		"stored/is-the-state":  {"got:       nothing is kept\n", "which may be dropped in ", " and not before\n"},
		"stored/for-a-while":   {"got:       0s\n", "want:      2s to 1h0m0s\n"},
	} {
		err := checkOf(t, limits.config(), name).Verify(early)
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s does not say %q:\n%v", name, part, err)
			}
		}
	}
	// What is wrong in another way is not taken for it.
	err := checkNamed(t, "timeline/gcra").Verify(func(clk clock.Clock) store.Store {
		return &faultyStore{plainStore: newPlainStore(clk), answer: func(op *store.Op) { op.Outcome.Remaining++ }}
	})
	if err == nil || strings.Contains(err.Error(), "fresh key is answered") {
		t.Errorf("got %v", err)
	}
}
