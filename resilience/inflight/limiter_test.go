package inflight_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/inflighttest"
	"github.com/weirgo/weir/resilience/inflight"
	"github.com/weirgo/weir/store"
)

// hooked is a Store whose calls a test can change.
type hooked struct {
	mu     sync.Mutex
	inner  inflight.Store
	before error // returned in place of a call
	after  error // returned after a call was made
	hang   bool  // until the context ends
	verbs  map[string]int
}

func (h *hooked) set(f func(*hooked)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(h)
}

func (h *hooked) run(ctx context.Context, verb string, f func(inflight.Store) (inflight.Standing, error)) (inflight.Standing, error) {
	h.mu.Lock()
	if h.verbs == nil {
		h.verbs = map[string]int{}
	}
	h.verbs[verb]++
	inner, before, after, hang := h.inner, h.before, h.after, h.hang
	h.mu.Unlock()
	if hang {
		<-ctx.Done()
		return inflight.Standing{}, ctx.Err()
	}
	if before != nil {
		return inflight.Standing{}, before
	}
	s, err := f(inner)
	if err == nil && after != nil {
		return inflight.Standing{}, after
	}
	return s, err
}

func (h *hooked) Acquire(ctx context.Context, holder inflight.Holder, limit int64) (inflight.Standing, error) {
	return h.run(ctx, "acquire", func(s inflight.Store) (inflight.Standing, error) { return s.Acquire(ctx, holder, limit) })
}

func (h *hooked) Renew(ctx context.Context, holder inflight.Holder) (inflight.Standing, error) {
	return h.run(ctx, "renew", func(s inflight.Store) (inflight.Standing, error) { return s.Renew(ctx, holder) })
}

func (h *hooked) Release(ctx context.Context, holder inflight.Holder) (inflight.Standing, error) {
	return h.run(ctx, "release", func(s inflight.Store) (inflight.Standing, error) { return s.Release(ctx, holder) })
}

func (h *hooked) Peek(ctx context.Context, slot inflight.Slot) (inflight.Standing, error) {
	return h.inner.Peek(ctx, slot)
}

func newLimiter(tb testing.TB, s inflight.Store, units int64, opts *inflight.Options) *inflight.Limiter {
	tb.Helper()
	l, err := inflight.New(s, inflight.Limit{Name: "l", Units: units}, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// take acquires a unit of "k".
func take(tb testing.TB, l *inflight.Limiter) *inflight.Hold {
	tb.Helper()
	hold, err := l.Acquire(background, "k")
	if err != nil {
		tb.Fatal(err)
	}
	return hold
}

func inUse(tb testing.TB, l *inflight.Limiter) int64 {
	tb.Helper()
	s, err := l.Peek(background, "k")
	if err != nil {
		tb.Fatal(err)
	}
	return s.InUse
}

func isLost(h *inflight.Hold) bool {
	select {
	case <-h.Lost():
		return true
	default:
		return false
	}
}

func TestAcquireRefusesImmediatelyAndReleaseFrees(t *testing.T) {
	l := newLimiter(t, newMemory(t, nil), 2, nil)
	a, b, c := take(t, l), take(t, l), take(t, l)
	if !a.Allowed() || !b.Allowed() || c.Allowed() || c.Standing().InUse != 2 {
		t.Fatal("2 of 3 are to be allowed")
	}
	for range 2 { // a refusal, and a second release, do nothing
		for _, hold := range []*inflight.Hold{c, a} {
			if err := hold.Release(background); err != nil {
				t.Error(err)
			}
		}
	}
	if n := inUse(t, l); n != 1 {
		t.Errorf("%d in use", n)
	}
	two, err := l.AcquireN(background, "k", 2)
	if err != nil || two.Allowed() {
		t.Error("2 units of 1 are allowed", err)
	}
	if other, err := l.AcquireN(background, "other", 2); err != nil || !other.Allowed() {
		t.Error("another key is refused", err)
	}
	if _, err := l.AcquireN(background, "k", 0); !errors.Is(err, store.ErrInvalid) {
		t.Error(err)
	}
	if got := l.Stats(); got != (inflight.Stats{Limit: 2, Held: 2, Allowed: 3, Refused: 2, Failed: 1}) {
		t.Errorf("%+v", got)
	}
}

func TestHoldIsRenewedWhileItsHolderLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, newMemory(t, nil), 1, &inflight.Options{Life: time.Second})
		hold := take(t, l)
		time.Sleep(time.Minute)
		if take(t, l).Allowed() || isLost(hold) {
			t.Error("a live hold has expired")
		}
		if err := hold.Release(background); err != nil {
			t.Error(err)
		}
		if inUse(t, l) != 0 {
			t.Error("released, and still in use")
		}
		time.Sleep(time.Minute) // no renewal takes it again
		if inUse(t, l) != 0 {
			t.Error("renewed after its release")
		}
	})
}

func TestReleaseAfterTheEndSaysSo(t *testing.T) {
	clock := inflighttest.NewClock()
	l := newLimiter(t, newMemory(t, &inflight.MemoryOptions{Clock: clock}), 1, nil)
	hold := take(t, l)
	clock.Move(time.Minute) // the process stood still
	other := take(t, l)
	if err := hold.Release(background); !errors.Is(err, inflight.ErrExpired) || !isLost(hold) {
		t.Error(err)
	}
	if err := hold.Release(background); err != nil {
		t.Errorf("told twice: %v", err)
	}
	if inUse(t, l) != 1 {
		t.Error("the unit of another was released")
	}
	if err := other.Release(background); err != nil {
		t.Error(err)
	}
	if l.Stats().Lost != 1 {
		t.Errorf("%+v", l.Stats())
	}
}

// Lost is closed at the end of the life, and not when the next renewal would be.
func TestHoldIsLostAtTheEndOfItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{inner: newMemory(t, nil)}
		l := newLimiter(t, h, 1, &inflight.Options{Life: 3 * time.Second, Timeout: 70 * time.Millisecond})
		begin := time.Now()
		hold := take(t, l)
		h.set(func(h *hooked) { h.hang = true })
		<-hold.Lost()
		if after := time.Since(begin); after < 3*time.Second || after > 3*time.Second+70*time.Millisecond {
			t.Errorf("lost after %v, with a life of 3 s", after)
		}
		h.set(func(h *hooked) { h.hang = false })
		if err := hold.Release(background); !errors.Is(err, inflight.ErrExpired) {
			t.Error(err)
		}
	})
}

// A store that has lost its holders gets them back by their renewals, where there is room.
func TestHoldsComeBackAfterAStoreHasLostThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{inner: newMemory(t, nil)}
		l := newLimiter(t, h, 2, &inflight.Options{Life: 3 * time.Second})
		a, b := take(t, l), take(t, l)
		h.set(func(h *hooked) { h.inner = newMemory(t, nil) })
		late := take(t, l) // before the first renewal
		if !late.Allowed() {
			t.Fatal("the store is empty")
		}
		time.Sleep(1100 * time.Millisecond)
		if isLost(a) == isLost(b) {
			t.Errorf("of two holds and room for one, lost: %v, %v", isLost(a), isLost(b))
		}
		if err := late.Release(background); err != nil {
			t.Error(err)
		}
		time.Sleep(1100 * time.Millisecond)
		if inUse(t, l) != 2 {
			t.Errorf("%d in use: what is in flight is not counted", inUse(t, l))
		}
		for _, hold := range []*inflight.Hold{a, b} {
			if err := hold.Release(background); err != nil {
				t.Error(err)
			}
		}
		if inUse(t, l) != 0 || l.Stats().Held != 0 {
			t.Errorf("%d in use, %+v", inUse(t, l), l.Stats())
		}
	})
}

func TestHoldIsLostWhenTheStoreIsGoneForALife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{inner: newMemory(t, nil)}
		l := newLimiter(t, h, 1, &inflight.Options{Life: 3 * time.Second})
		hold := take(t, l)
		time.Sleep(1500 * time.Millisecond) // renewed after 1 s: until 4 s
		h.set(func(h *hooked) { h.before = store.ErrUnavailable })
		time.Sleep(2400 * time.Millisecond)
		if isLost(hold) {
			t.Error("lost before its end")
		}
		time.Sleep(time.Second)
		if !isLost(hold) {
			t.Error("not lost after its end")
		}
		if err := hold.Release(background); !errors.Is(err, store.ErrUnavailable) {
			t.Error(err)
		}
		h.set(func(h *hooked) { h.before = nil })
		if err := hold.Release(background); !errors.Is(err, inflight.ErrExpired) {
			t.Errorf("released later: %v", err)
		}
	})
}

func TestUnknownOutcomeLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{inner: newMemory(t, nil), after: store.ErrOutcomeUnknown}
		l := newLimiter(t, h, 1, nil)
		if hold, err := l.Acquire(background, "k"); !errors.Is(err, store.ErrOutcomeUnknown) || hold != nil {
			t.Fatal(hold, err)
		}
		synctest.Wait()
		if inUse(t, l) != 0 {
			t.Error("the unit of an unknown acquire stays taken")
		}
		// A release whose reply is lost is made again, and is no release of an expired hold.
		h.set(func(h *hooked) { h.after = nil })
		hold := take(t, l)
		h.set(func(h *hooked) { h.after = store.ErrOutcomeUnknown })
		if err := hold.Release(background); !errors.Is(err, store.ErrOutcomeUnknown) {
			t.Error(err)
		}
		h.set(func(h *hooked) { h.after = nil })
		if err := hold.Release(background); err != nil {
			t.Errorf("released again: %v", err)
		}
	})
}

func TestFailureModes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, failure := range []error{store.ErrUnavailable, store.ErrFull} {
			h := &hooked{inner: newMemory(t, nil), before: failure}
			if _, err := newLimiter(t, h, 1, nil).Acquire(background, "k"); !errors.Is(err, failure) {
				t.Errorf("closed: %v", err)
			}
			open := newLimiter(t, h, 1, &inflight.Options{OnFailure: weir.FailOpen})
			for range 3 {
				hold := take(t, open)
				if !hold.Allowed() || !errors.Is(hold.Cause(), failure) {
					t.Fatalf("open: %v", hold.Cause())
				}
				if err := hold.Release(background); err != nil {
					t.Errorf("nothing is held: %v", err)
				}
			}
			if h.verbs["release"] != 0 || open.Stats().Degraded != 3 || open.Stats().Held != 0 {
				t.Errorf("%v, %+v", h.verbs, open.Stats())
			}
		}
		// What may be held is released.
		h := &hooked{inner: newMemory(t, nil), after: store.ErrOutcomeUnknown}
		open := newLimiter(t, h, 1, &inflight.Options{OnFailure: weir.FailOpen})
		hold := take(t, open)
		h.set(func(h *hooked) { h.after = nil })
		if !hold.Allowed() || inUse(t, open) != 1 {
			t.Error("not allowed")
		}
		if err := hold.Release(background); err != nil || inUse(t, open) != 0 {
			t.Error(err)
		}
		for _, own := range []error{store.ErrClosed, store.ErrCorrupt, store.ErrInvalid} {
			h.set(func(h *hooked) { h.before = own })
			if _, err := open.Acquire(background, "k"); !errors.Is(err, own) {
				t.Errorf("%v is answered for: %v", own, err)
			}
		}
	})
}

func TestTimeoutBoundsACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{inner: newMemory(t, nil), hang: true}
		l := newLimiter(t, h, 1, &inflight.Options{Timeout: time.Second})
		begin := time.Now()
		if _, err := l.Acquire(background, "k"); !errors.Is(err, store.ErrUnavailable) || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(background, time.Millisecond)
		defer cancel()
		open := newLimiter(t, h, 1, &inflight.Options{Timeout: time.Second, OnFailure: weir.FailOpen})
		if _, err := open.Acquire(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("the caller's own deadline: %v", err)
		}
	})
}

func TestReleaseOutlivesItsContext(t *testing.T) {
	h := &hooked{inner: newMemory(t, nil)}
	l := newLimiter(t, h, 1, nil)
	hold := take(t, l)
	ctx, cancel := context.WithCancel(background)
	cancel()
	if err := hold.Release(ctx); err != nil || inUse(t, l) != 0 {
		t.Error(err, inUse(t, l))
	}
}

func TestNeverMoreThanTheLimitInFlight(t *testing.T) {
	const limit = 3
	l := newLimiter(t, newMemory(t, nil), limit, nil)
	var running, most, served atomic.Int64
	var done sync.WaitGroup
	for caller := range 8 {
		done.Go(func() {
			for range 200 {
				hold, err := l.Acquire(background, "k")
				if caller%2 == 0 {
					if err == nil && !hold.Allowed() {
						hold, err = l.Wait(background, "k")
					}
				}
				if err != nil {
					t.Error(err)
					return
				}
				if !hold.Allowed() {
					continue
				}
				now := running.Add(1)
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				served.Add(1)
				running.Add(-1)
				if err := hold.Release(background); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	if most.Load() > limit || served.Load() < 4*200 || inUse(t, l) != 0 {
		t.Errorf("%d in flight, %d served, %d left", most.Load(), served.Load(), inUse(t, l))
	}
}

func TestNewRefuses(t *testing.T) {
	m := newMemory(t, nil)
	var none *inflight.Memory
	limit := inflight.Limit{Name: "l", Units: 1}
	var clock *inflighttest.Clock
	for _, c := range []struct {
		s     inflight.Store
		limit inflight.Limit
		opts  *inflight.Options
	}{
		{nil, limit, nil}, {none, limit, nil}, {m, inflight.Limit{Units: 1}, nil}, {m, inflight.Limit{Name: "l"}, nil},
		{m, inflight.Limit{Name: "l", Units: -1}, nil}, {m, inflight.Limit{Name: "l", Units: inflight.MaxUnits + 1}, nil},
		{m, limit, &inflight.Options{Life: -1}}, {m, limit, &inflight.Options{Life: time.Microsecond}}, {m, limit, &inflight.Options{Life: 25 * time.Hour}},
		{m, limit, &inflight.Options{Timeout: -1}}, {m, limit, &inflight.Options{MaxWaiting: -1}}, {m, limit, &inflight.Options{OnFailure: weir.FailLocal}},
		{m, limit, &inflight.Options{Adaptive: &inflight.Adaptive{Min: 2}}}, {m, limit, &inflight.Options{Clock: clock}},
	} {
		if _, err := inflight.New(c.s, c.limit, c.opts); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestIgnoredLatencyDoesNotCount(t *testing.T) {
	clock := inflighttest.NewClock()
	l := newLimiter(t, newMemory(t, &inflight.MemoryOptions{Clock: clock}), 100, &inflight.Options{Clock: clock, Adaptive: &inflight.Adaptive{Min: 1}})
	serve := func(n int, latency time.Duration, ignored bool) {
		for range n {
			hold := take(t, l)
			clock.Move(latency)
			if ignored {
				hold.Ignore()
			}
			if err := hold.Release(background); err != nil {
				t.Fatal(err)
			}
		}
	}
	serve(50, time.Millisecond, true)
	if !l.Adapts() || l.Stats().Limit != 1 {
		t.Errorf("ignored latencies have ended the probe: %+v", l.Stats())
	}
	serve(10, 10*time.Millisecond, false)
	if l.Stats().Limit != 20 {
		t.Errorf("%+v", l.Stats())
	}
}

// A cost above the limit of the moment is admitted alone: where all cost that much, no
// latency would come, and the limit would never rise.
func TestAdaptiveLimitAdmitsACostAboveItAlone(t *testing.T) {
	clock := inflighttest.NewClock()
	l := newLimiter(t, newMemory(t, &inflight.MemoryOptions{Clock: clock}), 10, &inflight.Options{Clock: clock, Adaptive: &inflight.Adaptive{Min: 1}})
	ask := func(cost int64) *inflight.Hold {
		t.Helper()
		hold, err := l.AcquireN(background, "k", cost)
		if err != nil {
			t.Fatal(err)
		}
		return hold
	}
	for range 10 {
		hold := ask(3)
		if !hold.Allowed() || ask(1).Allowed() || ask(3).Allowed() || ask(11).Allowed() {
			t.Fatal("3 units are to be held alone while the limit is 1")
		}
		clock.Move(10 * time.Millisecond)
		if err := hold.Release(background); err != nil {
			t.Fatal(err)
		}
	}
	if limit := l.Stats().Limit; limit != 10 {
		t.Errorf("a limit of %d after the probe", limit)
	}
	if ask(11).Allowed() {
		t.Error("more than Limit.Units are held")
	}
}

// Others who hold units on a shared store do not keep a limiter in its probe for ever.
func TestAdaptiveLimitIsNotStarvedByOthersOnItsStore(t *testing.T) {
	clock := inflighttest.NewClock()
	m := newMemory(t, &inflight.MemoryOptions{Clock: clock})
	others := newLimiter(t, m, 10, nil)
	l := newLimiter(t, m, 10, &inflight.Options{Clock: clock, Adaptive: &inflight.Adaptive{}})
	held := []*inflight.Hold{take(t, others), take(t, others)}
	for range 61 {
		if take(t, l).Allowed() {
			t.Fatal("one more than the limit of a probe")
		}
		clock.Move(time.Second)
		for i := range held { // never without a hold
			next := take(t, others)
			if err := held[i].Release(background); err != nil {
				t.Fatal(err)
			}
			held[i] = next
		}
	}
	hold := take(t, l)
	if !hold.Allowed() {
		t.Errorf("refused still: %+v", l.Stats())
	}
	for _, hold := range append(held, hold) {
		if err := hold.Release(background); err != nil {
			t.Error(err)
		}
	}
}
