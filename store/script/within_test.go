package script

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// TestTimeOutEndsTheWait: at the time-out and not before, whether the call hangs in
// the client library or is still to be sent, and the error says which.
func TestTimeOutEndsTheWait(t *testing.T) {
	for _, take := range []bool{true, false} {
		onOneServer(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
			in := store.FeaturesOf(s).Within(time.Second)
			began := time.Now()
			sent := start(in, take, "sent")
			call := h.next(t)
			waits := start(store.FeaturesOf(s).Within(time.Second-1), take, "waits")
			patient := start(s, take, "patient")
			if time.Sleep(time.Second - 2); !sent.waiting() || !waits.waiting() {
				t.Error("given up too early")
			}
			waits.wantError(t, "waits", store.ErrUnavailable, context.DeadlineExceeded)
			want := store.ErrOutcomeUnknown
			if !take {
				want = store.ErrUnavailable
			}
			sent.wantError(t, "sent", want, context.DeadlineExceeded)
			if took := time.Since(began); took != time.Second {
				t.Errorf("given up after %v", took)
			}
			next := h.next(t) // nobody waits for the one before it
			if len(next.groups) != 1 || next.groups[0][0] != "patient" {
				t.Errorf("%v is sent", next.groups)
			}
			next.admit()
			patient.wantAdmitted(t, "patient")
			call.admit()
			// One that is answered in time starts the next with the whole time.
			for range 3 {
				c := start(in, take, "again")
				time.Sleep(time.Second - 1)
				h.next(t).admit()
				c.wantAdmitted(t, "again")
			}
		})
	}
}

// TestContextOfTheCallerEndsATimedWait: its error is that of the context, not of the
// time-out.
func TestContextOfTheCallerEndsATimedWait(t *testing.T) {
	onOneServer(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
		in := store.FeaturesOf(s).Within(time.Second)
		sent := start(in, true, "sent")
		call := h.next(t)
		waits := start(in, true, "waits")
		waits.cancel() // first: with its last caller the call in flight gives its place to the next one
		waits.wantError(t, "waits", nil, context.Canceled)
		sent.cancel()
		sent.wantError(t, "sent", store.ErrOutcomeUnknown, context.Canceled)
		call.admit()
	})
}

// TestTimeOutOfWhatIsNotShared: a Reset and an algorithm without Lua have it too.
func TestTimeOutOfWhatIsNotShared(t *testing.T) {
	onOneServer(t, nil, func(t *testing.T, s *Store, h *manualClient) {
		in := store.FeaturesOf(s).Within(time.Second)
		for name, one := range map[string]struct {
			call func() error
			want error
		}{
			"reset": {func() error { return in.Reset(context.Background(), []store.Slot{oneOp("k", windowOf10)[0].Slot}) }, store.ErrOutcomeUnknown},
			"go only": {func() error {
				_, _, err := in.Apply(context.Background(), oneOp("k", kindOnly("mine/1")))
				return err
			}, store.ErrUnavailable}, // what hangs is the read
		} {
			began, failed := time.Now(), make(chan error)
			go func() { failed <- one.call() }()
			call := h.next(t)
			err := <-failed
			if !errors.Is(err, one.want) || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
			call.fail(errors.New("too late"))
			synctest.Wait()
		}
	})
}

// TestTimedStoreDecidesAlike: on a server, with and without.
func TestTimedStoreDecidesAlike(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		s := open(t, dialWire(t, server), &Options{Clock: &manualClock{at: 5}})
		in := store.FeaturesOf(s).Within(time.Minute)
		for i := range 12 {
			on := []store.Store{s, in}[i%2]
			look, take := oneOp("k", windowOf10), oneOp("k", windowOf10)
			if at, err := on.Peek(context.Background(), look); err != nil || at != 5 {
				t.Fatal(at, err)
			}
			at, committed, err := on.Apply(context.Background(), take)
			if err != nil || at != 5 || committed != (i < 10) || take[0].Outcome != look[0].Outcome {
				t.Errorf("%d: at %d, %+v (looked %+v), %v", i, at, take[0].Outcome, look[0].Outcome, err)
			}
		}
		if err := in.Reset(context.Background(), []store.Slot{oneOp("k", windowOf10)[0].Slot}); err != nil {
			t.Fatal(err)
		}
		if _, committed, err := in.Apply(context.Background(), oneOp("k", windowOf10)); !committed || err != nil {
			t.Error(committed, err)
		}
	})
}
