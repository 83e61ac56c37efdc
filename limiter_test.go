package weir_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	"pgregory.net/rapid"
)

var (
	background = context.Background()
	midnight   = time.Unix(1_764_288_000, 0)
)

// movable is a clock without a sleep in it; see clock.Mock.Set.
type movable struct{ now time.Time }

func (m *movable) Now() time.Time         { return m.now }
func (m *movable) at(since time.Duration) { m.now = midnight.Add(since) }

// tb is what *testing.T and *rapid.T share.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Cleanup(f func())
}

func newMemory(t tb, opts *memorystore.Options) *memorystore.Store {
	t.Helper()
	s, err := memorystore.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// withoutBind hides the features of a store.
func withoutBind(s store.Store) store.Store { return struct{ store.Store }{s} }

func newLimiter(t tb, s store.Store, a algorithm.Algorithm, name string) *weir.Limiter {
	t.Helper()
	if name == "" {
		name = "limit"
	}
	l, err := weir.New(s, weir.Limit{Name: name, Algorithm: a}, &weir.Options{Replaces: true})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// limit is the limit of a spec; the spec is also its name.
func limit(t tb, spec string) weir.Limit {
	t.Helper()
	return weir.Limit{Name: spec, Algorithm: parse(t, spec)}
}

func parse(t tb, spec string) algorithm.Algorithm {
	t.Helper()
	a, err := algorithm.ParseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// eachLimiter runs a test on a Limiter that uses Bind and on one that cannot.
func eachLimiter(t *testing.T, spec string, test func(t *testing.T, l *weir.Limiter, clk *movable, s store.Store)) {
	t.Helper()
	for _, bind := range []bool{true, false} {
		t.Run(fmt.Sprintf("bind-%t", bind), func(t *testing.T) {
			clk := &movable{midnight}
			var s store.Store = newMemory(t, &memorystore.Options{Clock: clk})
			if !bind {
				s = withoutBind(s)
			}
			test(t, newLimiter(t, s, parse(t, spec), ""), clk, s)
		})
	}
}

// mustDecide fails unless an answer is what is wanted and came without error.
func mustDecide(t *testing.T, what string, want weir.Decision, got weir.Decision, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestLimiterVerbs(t *testing.T) {
	eachLimiter(t, "gcra:5/10s", func(t *testing.T, l *weir.Limiter, clk *movable, _ store.Store) {
		at := midnight.UTC()
		got, err := l.Peek(background, "a")
		mustDecide(t, "Peek of a fresh key", weir.Decision{Allowed: true, Limit: 5, Remaining: 5, At: at}, got, err)
		got, err = l.Allow(background, "a")
		mustDecide(t, "Allow", weir.Decision{Allowed: true, Limit: 5, Remaining: 4, ResetAfter: 2 * time.Second, At: at}, got, err)
		got, err = l.AllowN(background, "a", 4)
		mustDecide(t, "AllowN", weir.Decision{Allowed: true, Limit: 5, ResetAfter: 10 * time.Second, At: at}, got, err)
		got, err = l.Allow(background, "a")
		mustDecide(t, "Allow, denied", weir.Decision{Limit: 5, RetryAfter: 2 * time.Second, ResetAfter: 10 * time.Second, At: at}, got, err)
		got, err = l.AllowN(background, "a", 0)
		mustDecide(t, "AllowN of 0 in debt", weir.Decision{Allowed: true, Limit: 5, ResetAfter: 10 * time.Second, At: at}, got, err)
		got, err = l.AllowN(background, "a", 6)
		mustDecide(t, "AllowN above the limit", weir.Decision{Limit: 5, RetryAfter: weir.Never, ResetAfter: 10 * time.Second, At: at}, got, err)
		got, err = l.PeekN(background, "a", 3)
		mustDecide(t, "PeekN, denied", weir.Decision{Limit: 5, RetryAfter: 6 * time.Second, ResetAfter: 10 * time.Second, At: at}, got, err)

		clk.at(6 * time.Second)
		at = at.Add(6 * time.Second)
		got, err = l.PeekN(background, "a", 3)
		mustDecide(t, "PeekN, allowed", weir.Decision{Allowed: true, Limit: 5, ResetAfter: 10 * time.Second, At: at}, got, err)
		got, err = l.Peek(background, "a")
		mustDecide(t, "Peek", weir.Decision{Allowed: true, Limit: 5, Remaining: 3, ResetAfter: 4 * time.Second, At: at}, got, err)
		for range 2 {
			if err := l.Reset(background, "a"); err != nil {
				t.Fatal(err)
			}
		}
		got, err = l.AllowN(background, "a", 5)
		mustDecide(t, "AllowN after Reset", weir.Decision{Allowed: true, Limit: 5, ResetAfter: 10 * time.Second, At: at}, got, err)
	})
}

func TestLimiterTellsTheDelayOfALeakyBucket(t *testing.T) {
	eachLimiter(t, "leaky-bucket:10/1s,capacity=3", func(t *testing.T, l *weir.Limiter, _ *movable, _ store.Store) {
		for _, want := range []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond} {
			d, err := l.Allow(background, "a")
			if err != nil || !d.Allowed || d.Delay != want {
				t.Errorf("%+v, error %v; want the delay %v", d, err, want)
			}
		}
		if d, err := l.Allow(background, "a"); err != nil || d.Allowed || d.Delay != 0 || d.RetryAfter != 100*time.Millisecond {
			t.Errorf("%+v, error %v", d, err)
		}
		if d, err := l.Peek(background, "a"); err != nil || !d.Allowed || d.Delay != 300*time.Millisecond {
			t.Errorf("%+v, error %v", d, err)
		}
	})
}

// Bind is a shorter way to the same answers.
func TestLimiterDecidesEquallyWithAndWithoutBind(t *testing.T) {
	specs := []string{"gcra:7/3s,burst=4", "token-bucket:7/3s,burst=4", "leaky-bucket:5/1s", "fixed-window:5/1s", "sliding-log:5/1s", "sliding-counter:5/1s"}
	rapid.Check(t, func(t *rapid.T) {
		clk := &movable{midnight}
		a := parse(t, rapid.SampledFrom(specs).Draw(t, "limit"))
		bound := newLimiter(t, newMemory(t, &memorystore.Options{Clock: clk}), a, "l")
		plain := newLimiter(t, withoutBind(newMemory(t, &memorystore.Options{Clock: clk})), a, "l")
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			clk.now = clk.now.Add(time.Duration(rapid.Int64Range(-2_000_000, 5_000_000).Draw(t, "µs")) * time.Microsecond)
			key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
			n := rapid.Int64Range(0, 7).Draw(t, "cost")
			verb := rapid.SampledFrom([]string{"Allow", "AllowN", "Peek", "PeekN", "Reset"}).Draw(t, "verb")
			ask := func(l *weir.Limiter) (d weir.Decision, err error) {
				switch verb {
				case "Allow":
					return l.Allow(background, key)
				case "AllowN":
					return l.AllowN(background, key, n)
				case "Peek":
					return l.Peek(background, key)
				case "PeekN":
					return l.PeekN(background, key, n)
				}
				return d, l.Reset(background, key)
			}
			want, err := ask(plain)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ask(bound)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s of %d: with Bind (+), without (-)\n%s", verb, n, diff)
			}
		}
	})
}

func TestLimiterErrorsAreNoDecisions(t *testing.T) {
	ended, cancel := context.WithCancel(background)
	cancel()
	eachLimiter(t, "gcra:5/10s", func(t *testing.T, l *weir.Limiter, clk *movable, s store.Store) {
		verbs := func(ctx context.Context, key string, n int64) map[string]func() (weir.Decision, error) {
			return map[string]func() (weir.Decision, error){
				"AllowN": func() (weir.Decision, error) { return l.AllowN(ctx, key, n) },
				"PeekN":  func() (weir.Decision, error) { return l.PeekN(ctx, key, n) },
				"Allow":  func() (weir.Decision, error) { return l.Allow(ctx, key) },
				"Peek":   func() (weir.Decision, error) { return l.Peek(ctx, key) },
				"Reset":  func() (weir.Decision, error) { return weir.Decision{}, l.Reset(ctx, key) },
			}
		}
		must := func(what string, want error, ask func() (weir.Decision, error)) {
			t.Helper()
			d, err := ask()
			if !errors.Is(err, want) || d != (weir.Decision{}) {
				t.Errorf("%s: %+v, error %v; want no decision and %v", what, d, err, want)
			}
			if err != nil && strings.Contains(err.Error(), "secret key") {
				t.Errorf("%s: %q shows the key", what, err)
			}
		}
		for verb, ask := range verbs(background, "", 1) {
			must(verb+" of an empty key", store.ErrInvalid, ask)
		}
		for verb, ask := range verbs(ended, "secret key", 1) {
			must(verb+" with an ended context", context.Canceled, ask)
		}
		for _, verb := range []string{"AllowN", "PeekN"} {
			must(verb+" of −1", store.ErrInvalid, verbs(background, "secret key", -1)[verb])
		}
		clk.now = time.Unix(-1, 0)
		for _, verb := range []string{"Allow", "Peek"} {
			if d, err := verbs(background, "a", 1)[verb](); err == nil || d != (weir.Decision{}) {
				t.Errorf("%s before 1970: %+v, error %v", verb, d, err)
			}
		}
		clk.now = midnight
		if d, err := l.Peek(background, "secret key"); err != nil || d.Remaining != 5 {
			t.Errorf("an error has charged the key: %+v, %v", d, err)
		}

		// A closed Limiter leaves its store open; a closed store closes all.
		other := newLimiter(t, s, parse(t, "gcra:5/10s"), "")
		for range 2 {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		for verb, ask := range verbs(background, "secret key", 1) {
			must(verb+" after Close", store.ErrClosed, ask)
		}
		if d, err := other.Allow(background, "a"); err != nil || !d.Allowed {
			t.Errorf("another Limiter of the store: %+v, error %v", d, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		l = other
		for verb, ask := range verbs(background, "secret key", 1) {
			must(verb+" after Close of the store", store.ErrClosed, ask)
		}
		if _, err := weir.New(s, limit(t, "gcra:1/1s"), nil); err != nil && !errors.Is(err, store.ErrClosed) {
			t.Errorf("New on a closed store: %v", err)
		}
	})
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	s := newMemory(t, nil)
	a := parse(t, "gcra:5/1s")
	var noStore *memorystore.Store
	var noAlgorithm *algorithm.GCRA
	for what, c := range map[string]struct {
		s     store.Store
		l     weir.Limit
		parts []string
	}{
		"no store":                 {nil, weir.Limit{Name: "n", Algorithm: a}, []string{"store", "nil"}},
		"a nil pointer to a store": {noStore, weir.Limit{Name: "n", Algorithm: a}, []string{"store", "nil"}},
		"no algorithm":             {s, weir.Limit{Name: "n"}, []string{"Slot.Algorithm", "nil"}},
		"a nil pointer to one":     {s, weir.Limit{Name: "n", Algorithm: noAlgorithm}, []string{"Slot.Algorithm", "nil"}},
		"a long name":              {s, weir.Limit{Name: strings.Repeat("n", 201), Algorithm: a}, []string{"Limit.Name", "201", "1 to 200 bytes"}},
		"no name":                  {s, weir.Limit{Algorithm: a}, []string{"Limit.Name", "0 bytes", "1 to 200 bytes"}},
	} {
		l, err := weir.New(c.s, c.l, nil)
		if !errors.Is(err, store.ErrInvalid) || l != nil {
			t.Errorf("%s: %v, error %v", what, l, err)
			continue
		}
		for _, part := range c.parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", what, err, part)
			}
		}
	}
	for _, name := range []string{"n", strings.Repeat("n", 200), "any {name}: \x00\xff"} {
		l := newLimiter(t, s, a, name)
		if d, err := l.Allow(background, "a"); err != nil || d.Remaining != 4 {
			t.Errorf("name %q: %+v, error %v", name, d, err)
		}
	}
}

func TestLimitersShareStatesByNameAndKind(t *testing.T) {
	eachLimiter(t, "gcra:5/10s", func(t *testing.T, l *weir.Limiter, _ *movable, s store.Store) {
		if _, err := l.AllowN(background, "a", 5); err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string]struct {
			spec, name string
			remaining  int64
		}{
			"the same":         {"gcra:5/10s", "", 0},
			"other parameters": {"gcra:10/10s", "", 0}, // runs on from the state: a debt of 10 s
			"another name":     {"gcra:5/10s", "b", 5},
			"another kind":     {"token-bucket:5/10s", "", 5},
		} {
			d, err := newLimiter(t, s, parse(t, c.spec), c.name).Peek(background, "a")
			if err != nil || d.Remaining != c.remaining {
				t.Errorf("%s: %+v, error %v; want %d remaining", what, d, err, c.remaining)
			}
		}
	})
}

// spy is a store that fails when told to, and keeps what it was given.
type spy struct {
	store.Store
	fail error
	kept []store.Op
}

func (s *spy) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	s.kept = ops
	at, committed, err := s.Store.Apply(ctx, ops)
	return at, committed, errors.Join(err, s.fail)
}

func (s *spy) Peek(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
	s.kept = ops
	at, err := s.Store.Peek(ctx, ops)
	return at, errors.Join(err, s.fail)
}

// Where a store fails after it has written outcomes, they are not believed.
func TestErrorOfTheStoreIsPassedOn(t *testing.T) {
	s := &spy{Store: newMemory(t, nil)}
	l := newLimiter(t, s, parse(t, "gcra:5/1s"), "")
	multi := newMulti(t, s)
	for _, fail := range []error{store.ErrUnavailable, store.ErrOutcomeUnknown, store.ErrContention, store.ErrFull, store.ErrCorrupt} {
		s.fail = fmt.Errorf("mystore: apply: %w", fail)
		for _, ask := range []func(context.Context, string) (weir.Decision, error){l.Allow, l.Peek} {
			if d, err := ask(background, "a"); !errors.Is(err, fail) || d != (weir.Decision{}) {
				t.Errorf("%+v, error %v; want no decision and %v", d, err, fail)
			}
		}
		for _, call := range []func(context.Context, ...weir.Ask) (weir.Result, error){multi.Take, multi.Peek} {
			if r, err := call(background, ask(t, "a", "gcra:5/1s", 1)); !errors.Is(err, fail) || r.Allowed || r.Decisions != nil {
				t.Errorf("%+v, error %v; want no decision and %v", r, err, fail)
			}
		}
	}
}

// The op of a call is used again by later ones: it must not hold on to a key.
func TestLimiterKeepsNoKey(t *testing.T) {
	s := &spy{Store: newMemory(t, nil)}
	l := newLimiter(t, s, parse(t, "gcra:5/1s"), "")
	for _, ask := range []func(context.Context, string) (weir.Decision, error){l.Allow, l.Peek} {
		if _, err := ask(background, "somebody@example.com"); err != nil {
			t.Fatal(err)
		}
		if len(s.kept) != 1 || s.kept[0].Key != "" {
			t.Errorf("after the call the ops are %+v", s.kept)
		}
	}
}

func TestLimiterIsSafeForConcurrentUse(t *testing.T) {
	eachLimiter(t, "gcra:50/1h", func(t *testing.T, l *weir.Limiter, _ *movable, _ store.Store) {
		var admitted [4]atomic.Int64
		var callers sync.WaitGroup
		for i := range 16 {
			callers.Go(func() {
				for n := range 60 {
					k := (i + n) % len(admitted)
					d, err := l.Allow(background, string(rune('a'+k)))
					if err != nil || d.Limit != 50 {
						t.Errorf("%+v, error %v", d, err)
						return
					}
					if d.Allowed {
						admitted[k].Add(1)
					}
				}
			})
		}
		callers.Wait()
		for k := range admitted {
			if got := admitted[k].Load(); got != 50 {
				t.Errorf("key %d: %d admitted of 50", k, got)
			}
		}
	})
}

// clock.Mock and clock.New fit where a store wants a Clock.
var _ store.Clock = clock.Clock(nil)

func TestAllowWithinBoundsTheDelay(t *testing.T) {
	s, mock := onMock(t)
	l := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("api", "leaky-bucket:1/1s,capacity=9")), nil))
	for i, test := range []struct {
		maxDelay, delay, retry time.Duration
		allowed                bool
	}{
		{1, 0, 0, true}, // 1 ns: no delay at all
		{1, 0, time.Second, false},
		{999 * time.Millisecond, 0, time.Millisecond, false},
		{time.Second, time.Second, 0, true},
		{0, 2 * time.Second, 0, true}, // no bound
	} {
		d, err := l.AllowWithin(t.Context(), "k", 1, test.maxDelay)
		if err != nil || d.Allowed != test.allowed || d.Delay != test.delay || d.RetryAfter != test.retry {
			t.Errorf("%d: %+v, %v", i, d, err)
		}
	}
	if _, err := l.AllowWithin(t.Context(), "k", 1, -1); !errors.Is(err, store.ErrInvalid) {
		t.Error(err)
	}
	bucket := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("bucket", "gcra:1/1s")), nil))
	mock.Add(time.Hour)
	if d, err := bucket.AllowWithin(t.Context(), "k", 1, 1); err != nil || !d.Allowed {
		t.Errorf("gcra: %+v %v", d, err)
	}
}
