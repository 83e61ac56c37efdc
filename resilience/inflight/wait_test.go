package inflight_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/resilience/inflight"
	"github.com/weirgo/weir/store"
)

func TestWaitIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, newMemory(t, nil), 1, nil)
		first := take(t, l)
		order := make(chan int, 10)
		for i := range 10 {
			go func() {
				hold, err := l.Wait(background, "k")
				if err != nil {
					t.Error(err)
					return
				}
				order <- i
				if err := hold.Release(background); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		if n := l.Stats().Waiting; n != 10 {
			t.Errorf("%d wait", n)
		}
		begin := time.Now()
		if err := first.Release(background); err != nil {
			t.Fatal(err)
		}
		var got []int
		for range 10 {
			got = append(got, <-order)
		}
		if !slices.IsSorted(got) || time.Since(begin) != 0 {
			t.Errorf("served %v in %v: a release wakes the first", got, time.Since(begin))
		}
	})
}

func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, newMemory(t, nil), 2, &inflight.Options{MaxWaiting: 2})
		a, b := take(t, l), take(t, l)
		if _, err := l.WaitN(background, "k", 3); !errors.Is(err, weir.ErrNeverAdmitted) {
			t.Error(err)
		}
		if _, err := l.WaitN(background, "k", 0); !errors.Is(err, store.ErrInvalid) {
			t.Error(err)
		}
		begin := time.Now()
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		ended := make(chan error, 2)
		for range 2 { // the first and one behind it
			go func() { _, err := l.Wait(ctx, "k"); ended <- err }()
		}
		synctest.Wait()
		if _, err := l.Wait(background, "k"); !errors.Is(err, weir.ErrQueueFull) {
			t.Error(err)
		}
		for range 2 {
			if err := <-ended; !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
				t.Errorf("%v after %v", err, time.Since(begin))
			}
		}
		if l.Stats().Waiting != 0 || inUse(t, l) != 2 {
			t.Errorf("%+v", l.Stats())
		}
		for _, hold := range []*inflight.Hold{a, b} {
			if err := hold.Release(background); err != nil {
				t.Error(err)
			}
		}
	})
}

// Who waits behind a call that the store does not answer waits for one time-out, and not for one
// after the other.
func TestWaitersOfAStoreThatHangsDoNotQueue(t *testing.T) {
	for _, mode := range []weir.FailureMode{weir.FailOpen, weir.FailClosed} {
		synctest.Test(t, func(t *testing.T) {
			h := &hooked{inner: newMemory(t, nil), hang: true}
			l := newLimiter(t, h, 1, &inflight.Options{OnFailure: mode, Timeout: 100 * time.Millisecond})
			begin := time.Now()
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					hold, err := l.Wait(background, "k")
					if took := time.Since(begin); took > 200*time.Millisecond {
						t.Errorf("%v: answered after %v", mode, took)
					}
					if mode == weir.FailClosed && !errors.Is(err, store.ErrUnavailable) {
						t.Error(err)
					}
					if mode == weir.FailOpen && (err != nil || !hold.Allowed() || hold.Release(background) != nil) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			h.set(func(h *hooked) { h.hang = false })
			hold, err := l.Wait(background, "k")
			if err != nil || hold.Cause() != nil {
				t.Errorf("later: %v", err)
			}
			if err := hold.Release(background); err != nil || l.Stats().Waiting != 0 {
				t.Errorf("%v, %+v", err, l.Stats())
			}
		})
	}
}

// A unit that another process releases, or that expires, is found without a wake-up.
func TestWaitFindsWhatOthersRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t, nil)
		l, other := newLimiter(t, m, 1, nil), newLimiter(t, m, 1, nil)
		theirs := take(t, other)
		got := make(chan time.Time)
		wait := func() {
			hold, err := l.Wait(background, "k")
			if err != nil {
				t.Error(err)
			}
			got <- time.Now()
			if err := hold.Release(background); err != nil {
				t.Error(err)
			}
		}
		go wait()
		time.Sleep(10 * time.Second)
		released := time.Now()
		if err := theirs.Release(background); err != nil {
			t.Fatal(err)
		}
		if late := (<-got).Sub(released); late > 250*time.Millisecond {
			t.Errorf("found after %v", late)
		}
		synctest.Wait()
		dead := holder("k", "dead")
		begin := time.Now()
		if s, err := m.Acquire(background, dead, 1); err != nil || !s.Held {
			t.Fatal(s, err)
		}
		go wait()
		if at := (<-got).Sub(begin); at < time.Second-time.Microsecond || at > time.Second+time.Microsecond {
			t.Errorf("the unit of a dead holder of a second is found after %v", at)
		}
		synctest.Wait()
	})
}
