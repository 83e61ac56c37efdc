package weir_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// counting counts the calls that reach a store. It hides Bind, so that every
// call is an Apply.
type counting struct {
	store.Store
	applied atomic.Int64
}

func (c *counting) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	c.applied.Add(1)
	return c.Store.Apply(ctx, ops)
}

// bubble runs f in a synctest bubble, with a limiter on a memory store.
func bubble(t *testing.T, spec string, f func(t *testing.T, l *weir.Limiter, s *counting)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		memory, err := memorystore.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer memory.Close()
		a, err := algorithm.ParseSpec(spec)
		if err != nil {
			t.Fatal(err)
		}
		s := &counting{Store: memory}
		l, err := weir.New(s, weir.Limit{Name: "limit", Algorithm: a}, nil)
		if err != nil {
			t.Fatal(err)
		}
		f(t, l, s)
	})
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestWaitReturnsAtTheFirstMicrosecondItMay(t *testing.T) {
	for _, spec := range []string{
		"gcra:7/3s,burst=1", "token-bucket:7/3s,burst=1", "fixed-window:1/3s", "sliding-log:1/3s", "sliding-counter:1/3s",
	} {
		t.Run(spec, func(t *testing.T) {
			bubble(t, spec, func(t *testing.T, l *weir.Limiter, _ *counting) {
				ctx := context.Background()
				for range 5 {
					start := time.Now()
					look, err := l.PeekN(ctx, "k", 1)
					if err != nil {
						t.Fatal(err)
					}
					d, err := l.Wait(ctx, "k")
					if err != nil || !d.Allowed {
						t.Fatalf("Wait: %+v, %v", d, err)
					}
					if waited := time.Since(start); waited != look.RetryAfter {
						t.Errorf("waited %v, want %v", waited, look.RetryAfter)
					}
				}
			})
		})
	}
}

func TestWaitersLeaveInTheOrderOfArrival(t *testing.T) {
	const waiters = 1000
	bubble(t, "gcra:1/1s,burst=1", func(t *testing.T, l *weir.Limiter, s *counting) {
		ctx := context.Background()
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		for i := range waiters {
			wg.Go(func() {
				if _, err := l.Wait(ctx, "k"); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
			})
			synctest.Wait() // each is in the queue before the next comes
		}
		start := time.Now()
		wg.Wait()
		if took := time.Since(start); took != (waiters-1)*time.Second {
			t.Errorf("%d waiters took %v", waiters, took)
		}
		if !slices.IsSorted(order) {
			t.Errorf("left in the order %v", order)
		}
		if calls := s.applied.Load(); calls > 2*waiters {
			t.Errorf("%d waiters made %d calls to the store", waiters, calls)
		}
	})
}

func TestWaitFailsAtOnceWhenItCannotSucceed(t *testing.T) {
	bubble(t, "gcra:1/1s,burst=3", func(t *testing.T, l *weir.Limiter, s *counting) {
		start := time.Now()
		var wait *weir.WaitError
		if _, err := l.WaitN(context.Background(), "k", 4); !errors.Is(err, weir.ErrNeverAdmitted) || !errors.As(err, &wait) {
			t.Errorf("a cost above the limit: %v", err)
		}
		if d, err := l.AllowN(context.Background(), "k", 3); err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
		if _, err := l.Wait(within(t, 999*time.Millisecond), "k"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a deadline before the wait is over: %v", err)
		}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		before := s.applied.Load()
		if _, err := l.Wait(ended, "other"); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that has ended: %v", err)
		}
		if s.applied.Load() != before {
			t.Error("a context that has ended reached the store")
		}
		if _, err := l.WaitN(context.Background(), "k", -1); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("a negative cost: %v", err)
		}
		if _, err := l.Wait(context.Background(), ""); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("an empty key: %v", err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("failing took %v", took)
		}
		if d, err := l.Peek(context.Background(), "k"); err != nil || d.ResetAfter != 3*time.Second {
			t.Errorf("failing took units: %+v, %v", d, err)
		}
	})
}

// boinkor-net/governor #11, golang/go #80698: waiting for more than the burst.
func TestWaitForMoreThanTheLimitFailsAtOnceBehindOthersToo(t *testing.T) {
	bubble(t, "gcra:1/10s,burst=1", func(t *testing.T, l *weir.Limiter, _ *counting) {
		if d, err := l.Allow(context.Background(), "k"); err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := l.Wait(context.Background(), "k"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		start := time.Now()
		d, err := l.WaitN(context.Background(), "k", 2)
		if took := time.Since(start); !errors.Is(err, weir.ErrNeverAdmitted) || took != 0 || d.RetryAfter != weir.Never || d.Limit != 1 {
			t.Errorf("after %v: %+v, %v", took, d, err)
		}
		wg.Wait()
	})
}

func TestDeadlinesOfManyWaitersAreKept(t *testing.T) {
	const waiters = 2000
	bubble(t, "gcra:1/1s,burst=1", func(t *testing.T, l *weir.Limiter, _ *counting) {
		start := time.Now()
		var admitted, late atomic.Int64
		var wg sync.WaitGroup
		for i := range waiters {
			wg.Go(func() {
				deadline := time.Duration(i%100)*time.Second + time.Millisecond
				ctx, cancel := context.WithTimeout(context.Background(), deadline)
				defer cancel()
				_, err := l.Wait(ctx, "k")
				switch took := time.Since(start); {
				case took > deadline:
					t.Errorf("returned after %v, deadline %v: %v", took, deadline, err)
				case err == nil:
					admitted.Add(1)
				case errors.Is(err, context.DeadlineExceeded):
					late.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if admitted.Load() != 100 || late.Load() != waiters-100 {
			t.Errorf("%d admitted, %d late", admitted.Load(), late.Load())
		}
	})
}

func TestWaiterBehindOthersFailsAtOnceWhenItsTurnCannotComeInTime(t *testing.T) {
	bubble(t, "gcra:1/10s,burst=1", func(t *testing.T, l *weir.Limiter, s *counting) {
		if d, err := l.Allow(context.Background(), "k"); err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := l.Wait(context.Background(), "k"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // the first sleeps for 10 s
		before := s.applied.Load()
		start := time.Now()
		if _, err := l.Wait(within(t, 9*time.Second), "k"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != 0 || s.applied.Load() != before {
			t.Errorf("took %v and %d calls", took, s.applied.Load()-before)
		}
		wg.Wait()
	})
}

func TestCancelledWaiterGivesUpItsPlace(t *testing.T) {
	bubble(t, "gcra:1/10s,burst=1", func(t *testing.T, l *weir.Limiter, _ *counting) {
		if d, err := l.Allow(context.Background(), "k"); err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
		start := time.Now()
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for range 2 { // one of them first in line, one not
			wg.Go(func() {
				if _, err := l.Wait(ctx, "k"); !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled: %v", err)
				}
			})
			synctest.Wait()
		}
		wg.Go(func() {
			if _, err := l.Wait(context.Background(), "k"); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took != 10*time.Second {
				t.Errorf("who came after the cancelled waited %v, want 10s", took)
			}
		})
		time.Sleep(time.Second)
		cancel()
		wg.Wait()
	})
}

func TestCloseEndsThoseWhoWait(t *testing.T) {
	bubble(t, "gcra:1/10s,burst=1", func(t *testing.T, l *weir.Limiter, _ *counting) {
		if d, err := l.Allow(context.Background(), "k"); err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := l.Wait(context.Background(), "k"); !errors.Is(err, store.ErrClosed) {
					t.Errorf("got %v", err)
				}
			})
		}
		synctest.Wait()
		if err := errors.Join(l.Close(), l.Close()); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

// The queue of nginx limit_req: netdata.cloud, "nginx limit_req burst tuning".
func TestWaitOnALeakyBucketIsItsQueue(t *testing.T) {
	bubble(t, "leaky-bucket:10/1s,capacity=21", func(t *testing.T, l *weir.Limiter, s *counting) {
		start := time.Now()
		var mu sync.Mutex
		left := map[time.Duration]int{}
		rejected := 0
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				d, err := l.Wait(context.Background(), "k")
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					left[time.Since(start)]++
				case errors.Is(err, weir.ErrQueueFull) && d.RetryAfter == 100*time.Millisecond:
					rejected++
				default:
					t.Errorf("%+v, %v", d, err)
				}
			})
		}
		wg.Wait()
		for i := range 21 {
			if at := time.Duration(i) * 100 * time.Millisecond; left[at] != 1 {
				t.Errorf("%d left at %v", left[at], at)
			}
		}
		if len(left) != 21 || rejected != 9 || s.applied.Load() != 30 {
			t.Errorf("%d left at %d times, %d rejected, %d calls", 30-rejected, len(left), rejected, s.applied.Load())
		}
	})
}

// resilience4j/resilience4j #2336: callers waited longer than the maximum.
func TestWaitOnALeakyBucketIsNeverLongerThanTheDeadline(t *testing.T) {
	bubble(t, "leaky-bucket:5/1s,capacity=1000", func(t *testing.T, l *weir.Limiter, _ *counting) {
		start := time.Now()
		var admitted, refused atomic.Int64
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second+time.Microsecond)
				defer cancel()
				_, err := l.Wait(ctx, "k")
				switch took := time.Since(start); {
				case err == nil && took <= 3*time.Second:
					admitted.Add(1)
				case errors.Is(err, context.DeadlineExceeded) && took == 0:
					refused.Add(1)
				default:
					t.Errorf("after %v: %v", took, err)
				}
			})
		}
		wg.Wait()
		if admitted.Load() != 16 || refused.Load() != 184 {
			t.Errorf("%d admitted, %d refused", admitted.Load(), refused.Load())
		}
		if d, err := l.Peek(context.Background(), "k"); err != nil || d.ResetAfter != 200*time.Millisecond {
			t.Errorf("the refused took a place: %+v, %v", d, err)
		}
	})
}

func TestWaitersForDifferentKeysDoNotWaitForEachOther(t *testing.T) {
	bubble(t, "gcra:1/10s,burst=1", func(t *testing.T, l *weir.Limiter, _ *counting) {
		var wg sync.WaitGroup
		start := time.Now()
		for key := range 100 {
			for range 2 {
				wg.Go(func() {
					if _, err := l.Wait(context.Background(), fmt.Sprint(key)); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestLookWaitsForNothing(t *testing.T) {
	for _, spec := range []string{"gcra:1/1h,burst=1", "leaky-bucket:1/1h,capacity=3"} {
		bubble(t, spec, func(t *testing.T, l *weir.Limiter, _ *counting) {
			for range 3 {
				if _, err := l.Allow(context.Background(), "k"); err != nil {
					t.Fatal(err)
				}
			}
			start := time.Now()
			d, err := l.WaitN(within(t, time.Minute), "k", 0)
			if took := time.Since(start); err != nil || !d.Allowed || took != 0 {
				t.Errorf("%s: after %v: %+v, %v", spec, took, d, err)
			}
		})
	}
}
