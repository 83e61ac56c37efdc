package weir_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// embedding is a decorator as a user first writes it: it embeds one of our stores,
// and with it the method Features that leads past its own Apply.
type embedding struct {
	*memorystore.Store
	applies, peeks *atomic.Int64
}

func (e embedding) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	e.applies.Add(1)
	return e.Store.Apply(ctx, ops)
}

func (e embedding) Peek(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
	e.peeks.Add(1)
	return e.Store.Peek(ctx, ops)
}

// counting hooks count what a decorator sees.
func countingHooks(applies, peeks *atomic.Int64) store.Hooks {
	return store.Hooks{
		Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
			applies.Add(1)
			return next(ctx, ops)
		},
		Peek: func(ctx context.Context, ops []store.Op, next store.PeekFunc) (algorithm.Instant, error) {
			peeks.Add(1)
			return next(ctx, ops)
		},
	}
}

// TestDecoratorSeesEveryDecision: whatever verb asks, on whatever path, the code of a
// decorator runs.
func TestDecoratorSeesEveryDecision(t *testing.T) {
	var applies, peeks atomic.Int64
	for name, wrap := range map[string]func(*memorystore.Store) store.Store{
		"embedded": func(s *memorystore.Store) store.Store { return embedding{s, &applies, &peeks} },
		"wrapped":  func(s *memorystore.Store) store.Store { return store.Wrap(s, countingHooks(&applies, &peeks)) },
		"wrapped twice": func(s *memorystore.Store) store.Store {
			return store.Wrap(store.Wrap(s, countingHooks(&applies, &peeks)), store.Hooks{})
		},
		"embedded and wrapped": func(s *memorystore.Store) store.Store {
			return store.Wrap(embedding{s, &applies, &peeks}, store.Hooks{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := wrap(newMemory(t, nil))
			l := newLimiter(t, s, parse(t, "gcra:100/1s"), "l")
			m := newMulti(t, s)
			a, b := ask(t, "k", "gcra:100/1s", 1), ask(t, "k", "fixed-window:100/1h", 1)
			for _, c := range []struct {
				verb           string
				applies, peeks int64
				call           func() error
			}{
				{"Allow", 1, 0, func() error { _, err := l.Allow(background, "k"); return err }},
				{"AllowN", 1, 0, func() error { _, err := l.AllowN(background, "k", 2); return err }},
				{"Wait", 1, 0, func() error { _, err := l.Wait(background, "k"); return err }},
				{"Peek", 0, 1, func() error { _, err := l.Peek(background, "k"); return err }},
				{"PeekN", 0, 1, func() error { _, err := l.PeekN(background, "k", 2); return err }},
				{"Take", 1, 0, func() error { _, err := m.Take(background, a, b); return err }},
				{"MultiLimiter.Wait", 1, 0, func() error { _, err := m.Wait(background, a, b); return err }},
				{"MultiLimiter.Peek", 0, 1, func() error { _, err := m.Peek(background, a); return err }},
			} {
				applies.Store(0)
				peeks.Store(0)
				if err := c.call(); err != nil {
					t.Errorf("%s: %v", c.verb, err)
				}
				if applies.Load() != c.applies || peeks.Load() != c.peeks {
					t.Errorf("%s: the decorator saw %d applies and %d peeks, want %d and %d", c.verb, applies.Load(), peeks.Load(), c.applies, c.peeks)
				}
			}
		})
	}
}

// TestDecoratorSeesDecisionsWithATimeout: also where the inner store watches the time.
func TestDecoratorSeesDecisionsWithATimeout(t *testing.T) {
	inner := &watching{Store: memory(t)}
	var applies, peeks atomic.Int64
	l := newLimiter(t, store.Wrap(inner, countingHooks(&applies, &peeks)), parse(t, "gcra:5/1s"), "l")
	if _, err := l.Allow(background, "k"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("the answer is not that of Within: %v", err)
	}
	if applies.Load() != 1 || len(inner.within) != 1 {
		t.Errorf("the decorator saw %d applies, Within was asked %d times", applies.Load(), len(inner.within))
	}
}

// TestDecoratorAllocatesNothing: the pooled op of a bound limit, and method values made
// once.
func TestDecoratorAllocatesNothing(t *testing.T) {
	var applies, peeks atomic.Int64
	l := newLimiter(t, store.Wrap(newMemory(t, nil), countingHooks(&applies, &peeks)), parse(t, "gcra:5/1s"), "l")
	if n := testing.AllocsPerRun(1000, func() { _, _ = l.Allow(background, "k") }); n > 0 && !race.Enabled {
		t.Errorf("%v allocations", n)
	}
}

func TestSecondLimitOfANameIsRefused(t *testing.T) {
	s := newMemory(t, nil)
	five, six := weir.Must(weir.ParseLimit("login", "gcra:5/1m")), weir.Must(weir.ParseLimit("login", "gcra:6/1m"))
	window := weir.Must(weir.ParseLimit("login", "fixed-window:5/1m"))
	first, err := weir.New(s, five, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := weir.New(s, five, nil)
	if err != nil {
		t.Errorf("the same limit a second time: %v", err)
	}
	for _, other := range []weir.Limit{six, window} {
		for name, on := range map[string]store.Store{"the store": s, "a decorator of it": store.Wrap(s, store.Hooks{}), "an embedding of it": embedding{Store: s}} {
			if l, err := weir.New(on, other, nil); l != nil || !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), `"login"`) {
				t.Errorf("another limit of the name on %s: %v, error %v", name, l, err)
			}
		}
	}
	if _, err := weir.New(newMemory(t, nil), six, nil); err != nil {
		t.Errorf("another limit of the name on another store: %v", err)
	}
	if _, err := weir.New(s, six, &weir.Options{Replaces: true}); err != nil {
		t.Errorf("one that replaces the first: %v", err)
	}
	if _, err := weir.New(s, five, nil); err == nil {
		t.Error("the limit that was replaced is built again beside the new one")
	}
	for _, l := range []*weir.Limiter{first, again, first} { // closing what was replaced leaves the new one
		_ = l.Close()
	}
	if _, err := weir.New(s, five, nil); err == nil {
		t.Error("closing the limit that was replaced has freed the name")
	}
}

func TestClosedLimiterFreesItsName(t *testing.T) {
	s := newMemory(t, nil)
	l, err := weir.New(s, weir.Must(weir.ParseLimit("login", "gcra:5/1m")), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_ = l.Close()
	}
	if _, err := weir.New(s, weir.Must(weir.ParseLimit("login", "gcra:6/1m")), nil); err != nil {
		t.Error(err)
	}
}

func TestAskWithoutACostIsRefused(t *testing.T) {
	m := newMulti(t, newMemory(t, nil))
	l := limit(t, "gcra:5/1m")
	for _, call := range []func(context.Context, ...weir.Ask) (weir.Result, error){m.Take, m.Peek, m.Wait} {
		if r, err := call(background, weir.Ask{Limit: l, Key: "k"}); !errors.Is(err, store.ErrInvalid) || r.Allowed || !strings.Contains(err.Error(), "Ask.Cost") {
			t.Errorf("%+v, error %v", r, err)
		}
		if r, err := call(background, l.ForN("k", 0)); err != nil || !r.Allowed || r.Decisions[0].Remaining != 5 {
			t.Errorf("a look: %+v, error %v", r, err)
		}
		if r, err := call(background, weir.Ask{Limit: weir.Limit{Algorithm: l.Algorithm}, Key: "k", Cost: 1}); !errors.Is(err, store.ErrInvalid) || r.Allowed {
			t.Errorf("a limit without a name: %+v, error %v", r, err)
		}
	}
	if err := m.Reset(background, weir.Ask{Key: "k"}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("Reset without a limit: %v", err)
	}
}

func TestRetryAtAndResetAt(t *testing.T) {
	at := midnight.UTC()
	for _, c := range []struct {
		d            weir.Decision
		retry, reset time.Time
	}{
		{weir.Decision{Allowed: true, ResetAfter: time.Second, At: at}, at, at.Add(time.Second)},
		{weir.Decision{RetryAfter: time.Minute, ResetAfter: time.Hour, At: at}, at.Add(time.Minute), at.Add(time.Hour)},
		{weir.Decision{RetryAfter: weir.Never, At: at}, time.Time{}, at},
		{weir.Decision{RetryAfter: time.Second}, time.Time{}, time.Time{}},
	} {
		if got := c.d.RetryAt(); !got.Equal(c.retry) {
			t.Errorf("%+v: retry at %v, want %v", c.d, got, c.retry)
		}
		if got := c.d.ResetAt(); !got.Equal(c.reset) {
			t.Errorf("%+v: reset at %v, want %v", c.d, got, c.reset)
		}
	}
}

// multiBubble runs a test of MultiLimiter.Wait with virtual time.
func multiBubble(t *testing.T, f func(t *testing.T, m *weir.MultiLimiter, start time.Time)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := memorystore.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		f(t, newMulti(t, s), time.Now())
	})
}

func TestWaitForSeveralLimitsReturnsAtTheFirstMicrosecondItMay(t *testing.T) {
	multiBubble(t, func(t *testing.T, m *weir.MultiLimiter, start time.Time) {
		fast, slow := ask(t, "k", "gcra:1/1s", 1), ask(t, "k", "gcra:1/3s", 1)
		for i := range 3 {
			r, err := m.Wait(background, fast, slow)
			if err != nil || !r.Allowed {
				t.Fatalf("%+v, error %v", r, err)
			}
			if got, want := time.Since(start), time.Duration(i)*3*time.Second; got != want {
				t.Errorf("wait %d returned after %v, want %v", i, got, want)
			}
		}
	})
}

func TestWaitForSeveralLimitsFailsWhereItCannotSucceed(t *testing.T) {
	multiBubble(t, func(t *testing.T, m *weir.MultiLimiter, start time.Time) {
		one, many := ask(t, "k", "gcra:1/1m", 1), ask(t, "k", "fixed-window:5/1h", 1)
		if _, err := m.Take(background, one, many); err != nil {
			t.Fatal(err)
		}
		var why *weir.WaitError
		if _, err := m.Wait(within(t, 59*time.Second), one, many); !errors.As(err, &why) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a deadline before the limit admits: %v", err)
		}
		if r, err := m.Wait(background, one, ask(t, "k", "fixed-window:5/1h", 6)); !errors.Is(err, weir.ErrNeverAdmitted) || r.Allowed {
			t.Errorf("more than a limit: %+v, error %v", r, err)
		}
		ended, cancel := context.WithCancel(background)
		cancel()
		if _, err := m.Wait(ended, one); !errors.Is(err, context.Canceled) || !errors.As(err, &why) {
			t.Errorf("an ended context: %v", err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("that took %v", took)
		}
		if r, err := m.Peek(background, many); err != nil || r.Decisions[0].Remaining != 3 {
			t.Errorf("what failed has charged: %+v, error %v", r, err)
		}
	})
}

func TestWaitForSeveralLimitsWaitsTheDelayOfAQueue(t *testing.T) {
	multiBubble(t, func(t *testing.T, m *weir.MultiLimiter, start time.Time) {
		turn, quota := ask(t, "k", "leaky-bucket:1/1s,capacity=2", 1), ask(t, "k", "fixed-window:100/1h", 1)
		for i := range 2 {
			if r, err := m.Wait(background, turn, quota); err != nil || time.Since(start) != time.Duration(i)*time.Second {
				t.Errorf("turn %d came after %v: %+v, error %v", i, time.Since(start), r, err)
			}
		}
		if _, err := m.Take(background, turn); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Wait(background, turn, quota); !errors.Is(err, weir.ErrQueueFull) {
			t.Errorf("a full queue: %v", err)
		}
		time.Sleep(time.Second)
		if _, err := m.Wait(within(t, time.Millisecond), turn, quota); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a turn after the deadline: %v", err)
		}
		if r, err := m.Peek(background, quota); err != nil || r.Decisions[0].Remaining != 97 {
			t.Errorf("what failed has charged: %+v, error %v", r, err)
		}
	})
}

// TestWaitersOfSeveralLimitsDoNotDeadlock: each names its limits in another order.
func TestWaitersOfSeveralLimitsDoNotDeadlock(t *testing.T) {
	multiBubble(t, func(t *testing.T, m *weir.MultiLimiter, start time.Time) {
		a, b, c := ask(t, "a", "gcra:1/1s", 1), ask(t, "b", "gcra:1/1s", 1), ask(t, "c", "gcra:1/1s", 1)
		orders := [][]weir.Ask{{a, b}, {b, a}, {b, c}, {c, a}, {c, b, a}, {a, b, c}}
		var done atomic.Int64
		for _, asks := range orders {
			go func() {
				if r, err := m.Wait(background, asks...); err != nil || !r.Allowed {
					t.Errorf("%+v, error %v", r, err)
				}
				done.Add(1)
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := done.Load(); got != int64(len(orders)) {
			t.Errorf("%d of %d calls returned within a minute", got, len(orders))
		}
	})
}

// TestWaitersForWindowsOfTwoPeriodsDoNotDeadlock: the period is part of the identity of
// a window, and so of the order in which the queues are entered.
func TestWaitersForWindowsOfTwoPeriodsDoNotDeadlock(t *testing.T) {
	multiBubble(t, func(t *testing.T, m *weir.MultiLimiter, _ time.Time) {
		short := weir.Must(weir.ParseLimit("l", "fixed-window:1/1s")).For("k")
		long := weir.Must(weir.ParseLimit("l", "fixed-window:1/2s")).For("k")
		if _, err := m.Take(background, short, long); err != nil {
			t.Fatal(err)
		}
		var done atomic.Int64
		// The first two hold one queue each while the others enter.
		for _, asks := range [][]weir.Ask{{short}, {long}, {short, long}, {long, short}} {
			go func() {
				if r, err := m.Wait(background, asks...); err != nil || !r.Allowed {
					t.Errorf("%+v, error %v", r, err)
				}
				done.Add(1)
			}()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := done.Load(); got != 4 {
			t.Errorf("%d of 4 calls returned within a minute", got)
		}
	})
}

func TestCloseEndsCallsThatWaitForSeveralLimits(t *testing.T) {
	multiBubble(t, func(t *testing.T, m *weir.MultiLimiter, _ time.Time) {
		one := ask(t, "k", "gcra:1/1h", 1)
		if _, err := m.Take(background, one); err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, 2)
		for range cap(errs) { // the first sleeps, the second waits for its turn
			go func() { _, err := m.Wait(background, one); errs <- err }()
			synctest.Wait()
		}
		_ = m.Close()
		for range cap(errs) {
			if err := <-errs; !errors.Is(err, store.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		}
	})
}
