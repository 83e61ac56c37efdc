package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/store"
)

// poolClient is a manualClient whose calls wait for a connection first.
type poolClient struct {
	*manualClient
	connections chan struct{}
}

var _ Sender = (*poolClient)(nil)

func (p *poolClient) CallsSend() bool { return true }

func (p *poolClient) Do(ctx context.Context, c *Command) (string, error) {
	select {
	case <-p.connections:
	case <-ctx.Done():
		return "", fmt.Errorf("pool: %w: %w", store.ErrUnavailable, ctx.Err())
	}
	if !c.Send() {
		return "", fmt.Errorf("pool: %w: withdrawn", store.ErrUnavailable)
	}
	return p.manualClient.Do(ctx, c)
}

// connect gives one call a connection.
func (p *poolClient) connect() {
	p.connections <- struct{}{}
	synctest.Wait()
}

// withPool is onOneServer, with a poolClient.
func withPool(t *testing.T, opts *Options, f func(t *testing.T, s *Store, p *poolClient)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &poolClient{manualClient: newManual(), connections: make(chan struct{})}
		s := open(t, p, opts)
		f(t, s, p)
		p.none(t)
		wantNothingLeft(t, s)
	})
}

// TestCallerWhoLeavesBeforeAConnectionIsNotCharged: its call waits for one, so nothing
// was sent, and nothing is when there is one.
func TestCallerWhoLeavesBeforeAConnectionIsNotCharged(t *testing.T) {
	for _, take := range []bool{true, false} {
		withPool(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, p *poolClient) {
			leaves := start(s, take, "leaves")
			leaves.cancel()
			leaves.wantError(t, "leaves", nil, context.Canceled)
			late := start(store.FeaturesOf(s).Within(time.Second), take, "late")
			late.wantError(t, "late", store.ErrUnavailable, context.DeadlineExceeded)
			p.none(t)
			stays := start(s, take, "stays")
			p.connect()
			p.next(t).admit()
			stays.wantAdmitted(t, "stays")
		})
	}
}

// TestCallerWhoLeavesIsTakenOutOfItsCall: the others of the call are sent without it.
func TestCallerWhoLeavesIsTakenOutOfItsCall(t *testing.T) {
	withPool(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, p *poolClient) {
		first := start(s, true, "first")
		p.connect()
		call := p.next(t)
		a, leaves, b := start(s, true, "a"), start(s, true, "leaves", "leaves too"), start(s, true, "b", "b too")
		leaves2 := start(store.FeaturesOf(s).Within(time.Second), true, "leaves later")
		call.admit()
		first.wantAdmitted(t, "first")
		synctest.Wait()
		leaves.cancel()
		leaves.wantError(t, "leaves", nil, context.Canceled)
		p.connect() // and the call of four is not sent
		p.none(t)
		leaves2.wantError(t, "leaves later", store.ErrUnavailable, context.DeadlineExceeded)
		p.connect()
		p.none(t)
		p.connect()
		call = p.next(t)
		if got, want := fmt.Sprint(call.groups), "[[a] [b b too]]"; got != want {
			t.Errorf("%s is sent, want %s", got, want)
		}
		call.admit()
		a.wantAdmitted(t, "a")
		b.wantAdmitted(t, "b")
		if got := s.Stats(); got.Calls != 2 || got.Groups != 3 || got.Errors.OutcomeUnknown != 0 {
			t.Errorf("%+v, want 2 calls of 3 groups", got)
		}
	})
}

// TestCallerWhoLeavesAfterTheSendIsUnknown: from there on it may be charged.
func TestCallerWhoLeavesAfterTheSendIsUnknown(t *testing.T) {
	withPool(t, nil, func(t *testing.T, s *Store, p *poolClient) {
		leaves := start(s, true, "leaves")
		p.connect()
		call := p.next(t)
		leaves.cancel()
		leaves.wantError(t, "leaves", store.ErrOutcomeUnknown, context.Canceled)
		if call.ctx.Err() != nil {
			t.Error("the call ends with its last caller, though it was sent")
		}
		call.admit()
	})
}

// TestCommandOfOneCallerIsWithdrawn: a Reset, and an algorithm without Lua.
func TestCommandOfOneCallerIsWithdrawn(t *testing.T) {
	withPool(t, nil, func(t *testing.T, s *Store, p *poolClient) {
		in := store.FeaturesOf(s).Within(time.Second)
		err := in.Reset(t.Context(), []store.Slot{oneOp("k", windowOf10)[0].Slot})
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrOutcomeUnknown) {
			t.Errorf("reset: %v", err)
		}
		_, _, err = in.Apply(t.Context(), oneOp("k", kindOnly("mine/1")))
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrOutcomeUnknown) {
			t.Errorf("apply: %v", err)
		}
	})
}

// idleClient is a manualClient with idle connections.
type idleClient struct {
	*manualClient
	closed []string // keys
}

var _ IdleCloser = (*idleClient)(nil)

func (i *idleClient) CloseIdle(_ context.Context, key string) { i.closed = append(i.closed, key) }

// TestIdleConnectionsOfASilentServerAreClosed: when all callers of a call have left and
// the server has answered nothing meanwhile; not where it is only slow.
func TestIdleConnectionsOfASilentServerAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &idleClient{manualClient: newManual()}
		s := open(t, i, nil)
		in := store.FeaturesOf(s).Within(100 * time.Millisecond)
		slow, other := start(in, true, "slow"), start(s, true, "other")
		calls := []*manualCall{i.next(t), i.next(t)}
		slices.SortFunc(calls, func(a, b *manualCall) int { return len(b.groups[0][0]) - len(a.groups[0][0]) })
		calls[0].admit() // other: the server answers
		other.wantAdmitted(t, "other")
		<-slow.done
		if synctest.Wait(); i.closed != nil {
			t.Errorf("closed for %q, of a server that answers", i.closed)
		}
		short := start(store.FeaturesOf(s).Within(time.Millisecond), true, "short")
		calls = append(calls, i.next(t))
		<-short.done
		if synctest.Wait(); i.closed != nil {
			t.Errorf("closed for %q, after a moment", i.closed)
		}
		for range 3 {
			silent := start(in, true, "silent")
			calls = append(calls, i.next(t))
			<-silent.done
		}
		if synctest.Wait(); len(i.closed) != 1 || i.closed[0] != s.name(&oneOp("silent", windowOf10)[0].Slot) {
			t.Errorf("closed for %q, want once", i.closed)
		}
		time.Sleep(closePause)
		silent := start(in, true, "silent")
		calls = append(calls, i.next(t))
		<-silent.done
		if synctest.Wait(); len(i.closed) != 2 {
			t.Errorf("closed %d times, want twice", len(i.closed))
		}
		for _, call := range calls[1:] {
			call.admit()
		}
		synctest.Wait()
		wantNothingLeft(t, s)
	})
}

// TestAbandonedCallsAreBounded: who comes later waits, and knows that nothing was sent.
func TestAbandonedCallsAreBounded(t *testing.T) {
	onOneServer(t, &Options{InFlight: 2}, func(t *testing.T, s *Store, h *manualClient) {
		in := store.FeaturesOf(s).Within(time.Second)
		var calls []*manualCall
		for range abandonedFor {
			var callers []*caller
			for range 2 {
				callers = append(callers, start(in, true, fmt.Sprint(len(calls))))
				calls = append(calls, h.next(t))
			}
			for _, c := range callers {
				c.wantError(t, "sent", store.ErrOutcomeUnknown, context.DeadlineExceeded)
			}
		}
		waits := start(in, true, "waits")
		h.none(t)
		if got := s.Stats(); got.Abandoned != 2*abandonedFor || got.InFlight != 0 || got.Waiting != 1 {
			t.Errorf("%+v", got)
		}
		waits.wantError(t, "waits", store.ErrUnavailable, context.DeadlineExceeded)
		stays := start(s, true, "stays")
		calls[0].admit()
		h.next(t).admit()
		stays.wantAdmitted(t, "stays")
		for _, call := range calls[1:] {
			call.admit()
		}
	})
}
