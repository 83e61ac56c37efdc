package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"github.com/weirgo/weir/store"
)

// TestCloseTellsThoseWhoWaitAndWaitsForThoseWhoFly: what was not sent has not
// happened; what was, is answered.
func TestCloseTellsThoseWhoWaitAndWaitsForThoseWhoFly(t *testing.T) {
	onOneServer(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
		takes, looks := start(s, true, "take"), start(s, false, "look")
		calls := []*manualCall{h.next(t), h.next(t)}
		waits := []*caller{start(s, true, "a"), start(s, true, "b", "c"), start(s, false, "d")}
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		synctest.Wait()
		for _, call := range calls {
			select {
			case <-closed:
				t.Error("Close returns while calls are in flight")
			default:
			}
			start(s, true, "late").wantError(t, "late", store.ErrClosed, nil)
			call.admit()
			synctest.Wait()
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		takes.wantAdmitted(t, "take")
		looks.wantAdmitted(t, "look")
		for _, c := range waits {
			c.wantError(t, "waits", store.ErrClosed, nil)
		}
	})
}

// TestClosedStoreSendsNothing: and closing it again does nothing.
func TestClosedStoreSendsNothing(t *testing.T) {
	s := open(t, clientFunc(func(context.Context, *Command) (string, error) {
		t.Error("something is sent")
		return "", nil
	}), nil)
	for range 3 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, call := range calls(s) {
		wantMeaning(t, name, call(), store.ErrClosed, store.ErrClosed)
	}
	_, err := s.Check(context.Background())
	wantMeaning(t, "check", err, store.ErrClosed, store.ErrClosed)
	for name, call := range map[string]func() error{
		"apply of nothing": func() error { _, _, err := s.Apply(context.Background(), nil); return err },
		"reset of no key":  func() error { return s.Reset(context.Background(), []store.Slot{{Algorithm: windowOf10}}) },
	} {
		wantMeaning(t, name, call(), store.ErrInvalid, nil)
	}
}

// TestCloseWaitsForCallsOfAlgorithmsWithoutLua: the owner of the client may close it
// as soon as Close has returned, so nothing may be in flight or be sent afterwards.
func TestCloseWaitsForCallsOfAlgorithmsWithoutLua(t *testing.T) {
	for name, call := range map[string]func(s *Store, ctx context.Context) error{
		"apply": func(s *Store, ctx context.Context) error {
			_, _, err := s.Apply(ctx, oneOp("k", kindOnly("mine/1")))
			return err
		},
		"reset": func(s *Store, ctx context.Context) error {
			return s.Reset(ctx, []store.Slot{{Key: "k", Algorithm: windowOf10}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			onOneServer(t, nil, func(t *testing.T, s *Store, h *manualClient) {
				done, closed := make(chan error, 1), make(chan error, 1)
				go func() { done <- call(s, t.Context()) }()
				first := h.next(t)
				go func() { closed <- s.Close() }()
				synctest.Wait()
				select {
				case <-closed:
					t.Error("Close returns while a call is in flight")
				default:
				}
				first.answer <- func() (string, error) { return "5\n-", nil }
				if err := <-done; err != nil && !errors.Is(err, store.ErrClosed) {
					t.Error(err)
				}
				if err := <-closed; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestCloseWaitsForCallsThatNobodyWaitsFor: those whose callers have left.
func TestCloseWaitsForCallsThatNobodyWaitsFor(t *testing.T) {
	onOneServer(t, nil, func(t *testing.T, s *Store, h *manualClient) {
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- s.Reset(ctx, []store.Slot{{Key: "k", Algorithm: windowOf10}}) }()
		call := h.next(t)
		cancel()
		wantMeaning(t, "reset", <-left, store.ErrOutcomeUnknown, context.Canceled)
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close returns while a call is in flight")
		default:
		}
		call.admit()
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// TestCloseMayRaceWithEverything: whoever calls gets an answer.
func TestCloseMayRaceWithEverything(t *testing.T) {
	for range 50 {
		s := open(t, clientFunc(func(_ context.Context, c *Command) (string, error) {
			return admission(groupsOf(c.Args)), nil
		}), nil)
		results := make(chan error)
		const callers = 20
		for i := range callers {
			go func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if i%3 == 0 {
					ctx = context.Background()
				}
				_, _, err := s.Apply(ctx, oneOp(fmt.Sprint(i), windowOf10))
				results <- err
			}()
		}
		go func() { results <- s.Close() }()
		go func() { results <- s.Close() }()
		for range callers + 2 {
			if err := <-results; err != nil && !errors.Is(err, store.ErrClosed) {
				t.Error(err)
			}
		}
	}
}

// TestClosedStoreLeavesTheClientOpen: it belongs to whoever made it.
func TestClosedStoreLeavesTheClientOpen(t *testing.T) {
	c := &closingClient{}
	s := open(t, c, nil)
	if err := s.Close(); err != nil || c.closed {
		t.Error(err, c.closed)
	}
	var _ io.Closer = c
}

type closingClient struct{ closed bool }

func (*closingClient) Do(context.Context, *Command) (string, error) { return "", nil }
func (c *closingClient) Close() error                               { c.closed = true; return nil }
