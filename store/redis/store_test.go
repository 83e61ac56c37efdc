package redisstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	redisstore "github.com/weirgo/weir/store/redis"
)

// open returns a store on a client, both closed with the test.
func open(tb testing.TB, opts *redis.Options, more *redisstore.Options) (*redis.Client, *redisstore.Store) {
	tb.Helper()
	opts.DialerRetries = 1
	client := redis.NewClient(opts)
	tb.Cleanup(func() { _ = client.Close() })
	s, err := redisstore.New(client, more)
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
		client, s := open(t, &redis.Options{Addr: server.Addr()}, nil)
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
		if err := client.Ping(context.Background()).Err(); err != nil {
			t.Errorf("closing the store closed the client: %v", err)
		}
	})
}

func TestLostReplyIsChargedOnceAndUnknown(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		p := servertest.NewProxy(t, server.Addr())
		_, s := open(t, &redis.Options{Addr: p.Addr(), MaxRetries: 20, MinRetryBackoff: -1, MaxRetryBackoff: -1}, nil)
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
	if redisstore.UnderRace {
		t.Skip("the race detector allocates")
	}
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		_, s := open(t, &redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true}, &redisstore.Options{Share: 1})
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
			if allocs > 11 {
				t.Errorf("%s: %v allocations a decision, want 11 at most", name, allocs)
			}
		}
	})
}
