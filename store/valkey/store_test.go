package valkeystore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// open returns a store on a client, both closed with the test.
func open(tb testing.TB, addr string, more *valkeystore.Options) (valkey.Client, *valkeystore.Store) {
	tb.Helper()
	client, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	s, err := valkeystore.New(client, more)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return client, s
}

// take is an op of one unit of ten in an hour.
func take() []store.Op {
	limit := algorithm.Must(algorithm.NewFixedWindow(algorithm.PerHour(10)))
	return []store.Op{{Slot: store.Slot{Key: "user:1", Algorithm: limit}, Request: algorithm.Request{Cost: 1}}}
}

func TestStoreDecides(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		client, s := open(t, server.Addr(), nil)
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
		if err := client.Do(context.Background(), client.B().Ping().Build()).Error(); err != nil {
			t.Errorf("closing the store closed the client: %v", err)
		}
	})
}

func TestLostReplyIsChargedOnceAndUnknown(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		p := servertest.NewProxy(t, server.Addr())
		_, s := open(t, p.Addr(), nil)
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

func TestDecisionsOfALoneCallerAllocateLittle(t *testing.T) {
	if valkeystore.UnderRace {
		t.Skip("the race detector allocates")
	}
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		_, s := open(t, server.Addr(), &valkeystore.Options{Share: 1})
		within, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		for name, ctx := range map[string]context.Context{"no deadline": context.Background(), "deadline": within} {
			ops := take()
			allocs := testing.AllocsPerRun(1000, func() {
				if _, _, err := s.Apply(ctx, ops); err != nil {
					t.Fatal(err)
				}
			})
			t.Logf("%s: %v allocations a decision", name, allocs)
			if allocs > 3 {
				t.Errorf("%s: %v allocations a decision, want 3 at most", name, allocs)
			}
		}
	})
}
