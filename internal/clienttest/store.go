package clienttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// open returns a store that is closed with the test.
func open(tb testing.TB, o *Opened, opts *script.Options) *script.Store {
	tb.Helper()
	s, err := o.New(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// take is an op of one unit of ten in an hour.
func take() []store.Op {
	limit := algorithm.Must(algorithm.NewGCRA(algorithm.PerHour(10), 10))
	return []store.Op{{Slot: store.Slot{Key: "user:1", Algorithm: limit}, Request: algorithm.Request{Cost: 1}}}
}

func storeDecides(t *testing.T, lib *Library) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		o := lib.Open(t, At{Addr: server.Addr(), Mode: lib.Modes[0]})
		if o.Client.(script.Sharded).Sharded() {
			t.Error("a client of one server says that there are several")
		}
		s := open(t, o, nil)
		ops := take()
		for n := range int64(12) {
			_, committed, err := s.Apply(context.Background(), ops)
			if want := n < 10; err != nil || committed != want || ops[0].Outcome.Remaining != max(9-n, 0) {
				t.Fatalf("take %d: %v, %v, %+v", n, committed, err, ops[0].Outcome)
			}
		}
		if err := s.Reset(context.Background(), []store.Slot{ops[0].Slot}); err != nil {
			t.Error(err)
		}
		if _, err := s.Peek(context.Background(), ops); err != nil || ops[0].Outcome.Remaining != 9 {
			t.Errorf("after a reset: %v, %+v", err, ops[0].Outcome)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if reply, err := o.Client.Do(context.Background(), Words("PING")); reply != "PONG" {
			t.Errorf("closing the store closed the client: %q, %v", reply, err)
		}
	})
}

func lostReplyIsChargedOnce(t *testing.T, lib *Library) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		p := servertest.NewProxy(t, server.Addr())
		s := open(t, lib.Open(t, At{Addr: p.Addr(), Mode: lib.Modes[0]}), nil)
		ops := take()
		if _, _, err := s.Apply(context.Background(), ops); err != nil {
			t.Fatal(err)
		}
		p.DropReplies(true)
		if _, _, err := s.Apply(context.Background(), ops); !errors.Is(err, store.ErrOutcomeUnknown) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("lost reply: %v", err)
		}
		p.DropReplies(false)
		if _, err := s.Peek(context.Background(), ops); err != nil || ops[0].Outcome.Remaining != 7 {
			t.Errorf("%v, %d left of 10, want 7 after a third", err, ops[0].Outcome.Remaining)
		}
	})
}

// RunAllocations measures decisions of a single caller. Nothing else may run meanwhile.
func RunAllocations(t *testing.T, lib *Library) {
	race.SkipAllocations(t)
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		within, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		s := open(t, lib.Open(t, At{Addr: server.Addr(), Mode: lib.Modes[0]}), &script.Options{Share: 1})
		for name, ctx := range map[string]context.Context{"no deadline": context.Background(), "deadline": within} {
			ops := take()
			allocs := testing.AllocsPerRun(1000, func() {
				if _, _, err := s.Apply(ctx, ops); err != nil {
					t.Fatal(err)
				}
			})
			t.Logf("%s: %v allocations a decision", name, allocs)
			if allocs > lib.Allocations {
				t.Errorf("%s: %v allocations a decision, want %v at most", name, allocs, lib.Allocations)
			}
		}
	})
}
