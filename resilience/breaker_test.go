package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/store"
)

// faulty is a store that fails as a test says. It is asked by one goroutine.
type faulty struct {
	store.Store // one in memory, on the clock
	clock       *hand
	err         error // of each call; nil: the store answers
	takes       time.Duration
	calls       int
	during      func() // called while a call is made
}

func (f *faulty) wrap() store.Store {
	before := func() error {
		f.calls++
		f.clock.move(f.takes)
		if f.during != nil {
			f.during()
		}
		return f.err
	}
	return store.Wrap(f.Store, store.Hooks{
		Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
			if err := before(); err != nil {
				return 0, false, err
			}
			return next(ctx, ops)
		},
		Peek: func(ctx context.Context, ops []store.Op, next store.PeekFunc) (algorithm.Instant, error) {
			if err := before(); err != nil {
				return 0, err
			}
			return next(ctx, ops)
		},
		Reset: func(ctx context.Context, slots []store.Slot, next func(context.Context, []store.Slot) error) error {
			if err := before(); err != nil {
				return err
			}
			return next(ctx, slots)
		},
	})
}

// bench is a breaker around a faulty store, with a limit that nobody reaches.
type bench struct {
	*testing.T
	*faulty
	breaker     *resilience.Breaker
	transitions []resilience.BreakerTransition
	draw        int64 // what Random returns; -1: the middle, no jitter
}

func newBench(t *testing.T, opts resilience.BreakerOptions) *bench {
	t.Helper()
	h := newHand()
	b := &bench{T: t, faulty: &faulty{Store: newMemory(t, h), clock: h}, draw: -1}
	opts.Clock = h
	opts.OnTransition = func(tr resilience.BreakerTransition) { b.transitions = append(b.transitions, tr) }
	opts.Random = func(n int64) int64 {
		if b.draw >= 0 {
			return min(b.draw, n-1)
		}
		return n / 2
	}
	var err error
	if b.breaker, err = resilience.NewBreaker(b.wrap(), &opts); err != nil {
		t.Fatal(err)
	}
	return b
}

// take makes n calls, each of which ends with err.
func (b *bench) take(n int, err error) {
	b.Helper()
	b.err = err
	for range n {
		if _, _, got := b.breaker.Apply(background, opOf(b, "fixed-window:1000000/24h", "k", 1)); !errors.Is(got, err) {
			b.Fatalf("error %v, want %v", got, err)
		}
	}
}

// refused makes n calls that must not reach the store.
func (b *bench) refused(n int) {
	b.Helper()
	before := b.calls
	for range n {
		if _, _, err := b.breaker.Apply(background, opOf(b, "gcra:5/1s", "k", 1)); !errors.Is(err, resilience.ErrOpen) || !errors.Is(err, store.ErrUnavailable) {
			b.Fatalf("a call while the breaker is open: %v", err)
		}
	}
	if b.calls != before {
		b.Fatalf("%d calls reached the store", b.calls-before)
	}
}

func (b *bench) state(want resilience.BreakerState) {
	b.Helper()
	if got := b.breaker.Stats()[0].State; got != want {
		b.Fatalf("the breaker is %v, want %v", got, want)
	}
}

func TestBreakerConforms(t *testing.T) {
	conformance.TestStore(t, func(tb testing.TB, clk clock.Clock) store.Store {
		// The suite moves the clock while a call is made: no call is slow.
		b, err := resilience.NewBreaker(newMemory(tb, clk), &resilience.BreakerOptions{Window: time.Hour, SlowCall: algorithm.Never})
		if err != nil {
			tb.Fatal(err)
		}
		return b
	}, &conformance.Config{Seen: func(_ conformance.TB, s store.Store) int64 {
		n := int64(0)
		for _, one := range s.(*resilience.Breaker).Stats() {
			n += one.Calls
		}
		return n
	}})
}

func TestBreakerOpensAtHalfOfTwentyCalls(t *testing.T) {
	for _, c := range []struct {
		good, bad int
		open      bool
	}{
		{0, 19, false}, {0, 20, true}, {10, 10, true}, {11, 10, false}, {100, 99, false}, {100, 100, true},
	} {
		t.Run(fmt.Sprintf("%d of %d fail", c.bad, c.good+c.bad), func(t *testing.T) {
			b := newBench(t, resilience.BreakerOptions{})
			b.take(c.good, nil)
			b.take(c.bad, store.ErrUnavailable)
			if !c.open {
				b.state(resilience.BreakerClosed)
				return
			}
			b.state(resilience.BreakerOpen)
			b.refused(5)
			if tr := b.transitions; len(tr) != 1 || tr[0].From != resilience.BreakerClosed || tr[0].To != resilience.BreakerOpen ||
				tr[0].Failures != int64(c.bad) || tr[0].Calls != int64(c.good+c.bad) || !tr[0].At.Equal(b.clock.Now()) {
				t.Errorf("transitions %+v", tr)
			}
			if s := b.breaker.Stats()[0]; s.Refused != 5 || s.Opened != 1 || s.Probes != 0 || s.OpenFor != 5*time.Second {
				t.Errorf("stats %+v", s)
			}
		})
	}
}

func TestBreakerForgetsCallsThatLeftTheWindow(t *testing.T) {
	b := newBench(t, resilience.BreakerOptions{})
	b.take(19, store.ErrUnavailable)
	b.clock.move(10 * time.Second)
	b.take(1, store.ErrUnavailable)
	b.state(resilience.BreakerClosed)
	for range 8 { // spread over the window
		b.clock.move(time.Second)
		b.take(2, store.ErrOutcomeUnknown)
	}
	b.state(resilience.BreakerClosed)
	b.take(3, store.ErrOutcomeUnknown)
	b.state(resilience.BreakerOpen)
}

// TestBreakerProbesAlthoughCallsAreRefused: a refused call does not put the next probe
// off, however many come.
func TestBreakerProbesAlthoughCallsAreRefused(t *testing.T) {
	b := newBench(t, resilience.BreakerOptions{})
	b.take(20, store.ErrUnavailable)
	for range 499 {
		b.clock.move(10 * time.Millisecond)
		b.refused(1)
	}
	b.clock.move(10 * time.Millisecond)
	b.take(1, nil)
	b.state(resilience.BreakerHalfOpen)
	b.take(2, nil)
	b.state(resilience.BreakerClosed)
	b.take(100, nil)
	if s := b.breaker.Stats()[0]; s.Probes != 3 || s.Refused != 499 {
		t.Errorf("stats %+v", s)
	}
}

func TestBreakerOpensAnewWhenAProbeFails(t *testing.T) {
	b := newBench(t, resilience.BreakerOptions{})
	b.take(20, store.ErrUnavailable)
	for range 5 {
		b.clock.move(5 * time.Second)
		b.take(2, nil)
		b.take(1, store.ErrOutcomeUnknown)
		b.refused(3)
	}
	if s := b.breaker.Stats()[0]; s.Opened != 6 || s.Probes != 15 {
		t.Errorf("stats %+v", s)
	}
}

func TestBreakerHasOneProbeInFlight(t *testing.T) {
	b := newBench(t, resilience.BreakerOptions{})
	b.take(20, store.ErrUnavailable)
	b.clock.move(5 * time.Second)
	b.during = func() {
		b.during = nil
		b.refused(10)
		b.state(resilience.BreakerHalfOpen)
	}
	b.take(1, nil)
	b.take(2, nil)
	b.state(resilience.BreakerClosed)
}

// TestBreakerProbeIsADecisionThatIsCharged: F5.
func TestBreakerProbeIsADecisionThatIsCharged(t *testing.T) {
	b := newBench(t, resilience.BreakerOptions{})
	b.take(20, store.ErrUnavailable)
	b.clock.move(5 * time.Second)
	b.err = nil
	ops := opOf(t, "fixed-window:5/24h", "probe", 2)
	if _, committed, err := b.breaker.Apply(background, ops); err != nil || !committed || ops[0].Outcome.Remaining != 3 {
		t.Errorf("the probe: %+v, %v", ops[0].Outcome, err)
	}
	ops[0].Request.Cost = 0
	if _, err := b.Peek(background, ops); err != nil || ops[0].Outcome.Remaining != 3 {
		t.Errorf("after the probe: %+v, %v", ops[0].Outcome, err)
	}
}

// TestBreakerProbeThatNeverEndsCountsAsFailed: a call that hangs does not keep the breaker
// half-open for ever, and what it says in the end is not heard.
func TestBreakerProbeThatNeverEndsCountsAsFailed(t *testing.T) {
	b := newBench(t, resilience.BreakerOptions{})
	b.take(20, store.ErrUnavailable)
	b.clock.move(5 * time.Second)
	b.during = func() {
		b.during = nil
		b.clock.move(5 * time.Second)
		b.refused(1)
		b.state(resilience.BreakerOpen)
	}
	b.take(1, nil)
	b.state(resilience.BreakerOpen)
	b.clock.move(5 * time.Second)
	b.take(3, nil)
	b.state(resilience.BreakerClosed)
}

// TestBreakerIgnoresCallsOfAnEarlierState: calls that were sent before it opened say
// nothing of the store now.
func TestBreakerIgnoresCallsOfAnEarlierState(t *testing.T) {
	b := newBench(t, resilience.BreakerOptions{})
	b.during = func() {
		b.during = nil
		b.take(20, store.ErrUnavailable)
		b.clock.move(5 * time.Second)
		b.take(1, nil)
		b.state(resilience.BreakerHalfOpen)
		b.err = store.ErrUnavailable
	}
	b.take(1, store.ErrUnavailable)
	b.state(resilience.BreakerHalfOpen)
	b.take(2, nil)
	b.state(resilience.BreakerClosed)
}

func TestBreakerJudgesCalls(t *testing.T) {
	canceled, cancel := context.WithCancel(background)
	cancel()
	late, stop := context.WithDeadline(background, time.Now().Add(-time.Hour))
	defer stop()
	wrapped := func(err error) error { return fmt.Errorf("redisstore: apply: %w", err) }
	for _, c := range []struct {
		name  string
		ctx   context.Context
		err   error
		takes time.Duration
		opens bool
	}{
		{"unavailable", background, wrapped(store.ErrUnavailable), 0, true},
		{"unknown", background, wrapped(store.ErrOutcomeUnknown), 0, true},
		{"slow", background, nil, 50*time.Millisecond + 1, true},
		{"not slow", background, nil, 50 * time.Millisecond, false},
		{"contention", background, wrapped(store.ErrContention), 0, false},
		{"full", background, wrapped(store.ErrFull), 0, false},
		{"full and slow", background, wrapped(store.ErrFull), time.Second, true},
		{"corrupt", background, wrapped(store.ErrCorrupt), 0, false},
		{"keys on two nodes", background, wrapped(store.ErrCrossNode), time.Second, false},
		{"closed", background, wrapped(store.ErrClosed), 0, false},
		{"invalid", background, wrapped(store.ErrInvalid), 0, false},
		{"the caller gives up", canceled, wrapped(store.ErrOutcomeUnknown), time.Second, false},
		{"a short deadline of the caller", late, wrapped(store.ErrOutcomeUnknown), time.Millisecond, false},
		{"a long deadline of the caller", late, wrapped(store.ErrOutcomeUnknown), time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, resilience.BreakerOptions{})
			b.err, b.takes = c.err, c.takes
			for range 20 {
				b.clock.move(-c.takes) // in one window
				_, _, _ = b.breaker.Apply(c.ctx, opOf(t, "gcra:1000/1s", "k", 1))
			}
			if got := b.breaker.Stats()[0].State == resilience.BreakerOpen; got != c.opens {
				t.Errorf("opens %t, want %t: %+v", got, c.opens, b.breaker.Stats())
			}
		})
	}
}

// TestBreakerCountsLooksAndResets: whatever asks, the store is as broken.
func TestBreakerCountsLooksAndResets(t *testing.T) {
	b := newBench(t, resilience.BreakerOptions{})
	b.err = store.ErrUnavailable
	ops := opOf(t, "gcra:5/1s", "k", 1)
	for range 10 {
		_, _ = b.breaker.Peek(background, ops)
		_ = b.breaker.Reset(background, []store.Slot{ops[0].Slot})
	}
	b.state(resilience.BreakerOpen)
	if _, err := b.breaker.Peek(background, ops); !errors.Is(err, resilience.ErrOpen) {
		t.Errorf("a look: %v", err)
	}
	if err := b.breaker.Reset(background, []store.Slot{ops[0].Slot}); !errors.Is(err, resilience.ErrOpen) {
		t.Errorf("a reset: %v", err)
	}
	if err := b.breaker.Reset(background, nil); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, resilience.ErrOpen) {
		t.Errorf("a reset of nothing is about no server: %v", err)
	}
	if b.calls != 21 {
		t.Errorf("%d calls reached the store", b.calls)
	}
}

func TestBreakerRefusalsAndDenialsAreNoFailures(t *testing.T) {
	b := newBench(t, resilience.BreakerOptions{})
	for range 100 {
		if _, _, err := b.breaker.Apply(background, opOf(t, "gcra:1/24h", "k", 1)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.breaker.Apply(background, opOf(t, "gcra:1/24h", "k", -1)); !errors.Is(err, store.ErrInvalid) {
			t.Fatal(err)
		}
	}
	if s := b.breaker.Stats()[0]; s.State != resilience.BreakerClosed || s.Calls != 100 || s.Failures != 0 {
		t.Errorf("%+v", s)
	}
}

func TestBreakerStaysOpenGiveOrTakeAFifth(t *testing.T) {
	for draw, want := range map[int64]time.Duration{0: 4 * time.Second, 1 << 60: 6 * time.Second, int64(time.Second): 5 * time.Second} {
		b := newBench(t, resilience.BreakerOptions{})
		b.draw = draw
		b.take(20, store.ErrUnavailable)
		b.clock.move(want - 1)
		b.refused(1)
		b.clock.move(1)
		b.take(1, nil)
	}
}

// TestBreakerSurvivesAClockThatGoesBack: it neither stays open for longer nor counts twice.
func TestBreakerSurvivesAClockThatGoesBack(t *testing.T) {
	b := newBench(t, resilience.BreakerOptions{})
	b.take(19, store.ErrUnavailable)
	b.clock.move(-time.Hour)
	b.take(1, store.ErrUnavailable)
	b.state(resilience.BreakerOpen)
	b.clock.move(time.Hour + 5*time.Second)
	b.take(3, nil)
	b.state(resilience.BreakerClosed)
}

// TestBreakerOfACallThatPanics: the probe is over, and the breaker can be asked again.
func TestBreakerOfACallThatPanics(t *testing.T) {
	b := newBench(t, resilience.BreakerOptions{})
	b.take(20, store.ErrUnavailable)
	b.clock.move(5 * time.Second)
	b.during = func() { panic("a store that panics") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		b.take(1, nil)
	}()
	b.during = nil
	b.take(3, nil)
	b.state(resilience.BreakerClosed)
}

func TestBreakerOptionsOutOfBoundsAreRefused(t *testing.T) {
	var none *hand
	for _, c := range []struct {
		opts  resilience.BreakerOptions
		parts []string
	}{
		{resilience.BreakerOptions{Window: time.Millisecond}, []string{"BreakerOptions.Window", "1ms", "10ms to 1h"}},
		{resilience.BreakerOptions{Window: 2 * time.Hour}, []string{"BreakerOptions.Window", "2h0m0s"}},
		{resilience.BreakerOptions{SlowCall: -1}, []string{"BreakerOptions.SlowCall", "-1ns"}},
		{resilience.BreakerOptions{OpenFor: time.Millisecond}, []string{"BreakerOptions.OpenFor", "1ms"}},
		{resilience.BreakerOptions{MinCalls: -1}, []string{"BreakerOptions.MinCalls", "-1"}},
		{resilience.BreakerOptions{FailurePercent: 101}, []string{"BreakerOptions.FailurePercent", "101", "1 to 100"}},
		{resilience.BreakerOptions{Probes: -1}, []string{"BreakerOptions.Probes", "-1"}},
		{resilience.BreakerOptions{Clock: none}, []string{"BreakerOptions.Clock", "nil pointer"}},
	} {
		b, err := resilience.NewBreaker(newMemory(t, nil), &c.opts)
		if !errors.Is(err, store.ErrInvalid) || b != nil {
			t.Errorf("%+v: %v, error %v", c.opts, b, err)
			continue
		}
		for _, part := range c.parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
	}
	if _, err := resilience.NewBreaker(nil, nil); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("no store: %v", err)
	}
}

func TestBreakerAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	b := newBench(t, resilience.BreakerOptions{})
	ops := opOf(t, "gcra:5/1s", "k", 1)
	if n := testing.AllocsPerRun(100, func() { _, _, _ = b.breaker.Apply(background, ops) }); n > 0 {
		t.Errorf("%v allocations while it is closed", n)
	}
	b.take(200, store.ErrUnavailable)
	b.state(resilience.BreakerOpen)
	if n := testing.AllocsPerRun(100, func() { _, _, _ = b.breaker.Apply(background, ops) }); n > 0 {
		t.Errorf("%v allocations while it is open", n)
	}
}
