package script

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/store"
)

// TestEachCallerEndsAtItsOwnTimeOut: there is one timer for all, and each leaves at its own
// time, whether it waits or is in a call, and with whatever others.
func TestEachCallerEndsAtItsOwnTimeOut(t *testing.T) {
	for _, take := range []bool{true, false} {
		onOneServer(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
			first := start(s, take, "first")
			call := h.next(t)
			began := time.Now()
			timeouts := []time.Duration{5 * time.Second, time.Second, 3 * time.Second, 2 * time.Second, 4 * time.Second}
			var callers []*caller
			for i, timeout := range timeouts {
				callers = append(callers, forever(store.FeaturesOf(s).Within(timeout), take, fmt.Sprint(i)))
			}
			ended := func(i int, want error) {
				t.Helper()
				callers[i].wantError(t, fmt.Sprint(i), want, context.DeadlineExceeded)
				if took := time.Since(began); took != timeouts[i] {
					t.Errorf("%d ends after %v, want %v", i, took, timeouts[i])
				}
			}
			ended(1, store.ErrUnavailable) // it waits
			ended(3, store.ErrUnavailable)
			call.admit()
			first.wantAdmitted(t, "first")
			call = h.next(t)
			if got := fmt.Sprint(call.groups); got != "[[0] [2] [4]]" {
				t.Errorf("%s is sent", got)
			}
			sent := store.ErrOutcomeUnknown
			if !take {
				sent = store.ErrUnavailable
			}
			ended(2, sent)
			ended(4, sent)
			if !callers[0].waiting() {
				t.Error("it is not its time")
			}
			call.admit()
			callers[0].wantAdmitted(t, "in time")
			wantNothingLeft(t, s)
		})
	}
}

// TestTimeOutOfAnAnsweredCallerEndsNobody: what waits in its place later has its own time.
func TestTimeOutOfAnAnsweredCallerEndsNobody(t *testing.T) {
	onOneServer(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
		in, began := store.FeaturesOf(s).Within(time.Second), time.Now()
		for time.Since(began) < 10*time.Second {
			callers := []*caller{forever(in, true, "a"), forever(in, true, "b"), start(in, true, "c"), start(s, true, "d")}
			time.Sleep(700 * time.Millisecond)
			h.next(t).admit()
			h.next(t).admit()
			for _, c := range callers {
				c.wantAdmitted(t, "in time")
			}
		}
	})
}

// TestCallersOfAClosedStoreEndInTime: those who wait are told that it is closed, and those in a
// call wait until their time is up.
func TestCallersOfAClosedStoreEndInTime(t *testing.T) {
	onOneServer(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
		in := store.FeaturesOf(s).Within(time.Second)
		sent, waits := forever(in, true, "sent"), forever(in, true, "waits")
		call := h.next(t)
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		synctest.Wait()
		waits.wantError(t, "waits", store.ErrClosed, nil)
		sent.wantError(t, "sent", store.ErrOutcomeUnknown, context.DeadlineExceeded)
		call.fail(errors.New("too late"))
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// TestAnswersAndTimeOutsAtOneTime: a pending that was answered while the timer collects those
// whose time is over may be used by another caller when the timer gives it up. Only the race
// detector sees a read of its fields then.
func TestAnswersAndTimeOutsAtOneTime(t *testing.T) {
	const callers, each = 16, 400
	s := open(t, clientFunc(func(context.Context, *Command) (string, error) {
		time.Sleep(100 * time.Microsecond)
		return "", errors.New("refused")
	}), nil)
	var all sync.WaitGroup
	for i := range callers {
		in := store.FeaturesOf(s).Within(time.Duration(100+20*i) * time.Microsecond)
		all.Go(func() {
			for range each {
				if _, _, err := in.Apply(context.Background(), oneOp(fmt.Sprint(i), windowOf10)); err == nil {
					t.Error("an answer of a server that has given none")
				}
			}
		})
	}
	all.Wait()
}

// TestNoTimerOutlivesTheStore: a timer that is set keeps the store reachable.
func TestNoTimerOutlivesTheStore(t *testing.T) {
	for _, take := range []bool{true, false} {
		onOneServer(t, nil, func(t *testing.T, s *Store, h *manualClient) {
			c := forever(store.FeaturesOf(s).Within(time.Hour), take, "k")
			h.next(t).admit()
			c.wantAdmitted(t, "k")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			d := &s.looks
			if take {
				d = &s.takes
			}
			if d.expiry.timer.Stop() {
				t.Error("the timer was still set")
			}
		})
	}
}
