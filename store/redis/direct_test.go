package redisstore

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// TestClientHonorsADeadlineWithItsOptions: a negative time-out switches deadlines off.
func TestClientHonorsADeadlineWithItsOptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		opts redis.Options
		want bool
	}{
		{redis.Options{ContextTimeoutEnabled: true}, true},
		{redis.Options{ContextTimeoutEnabled: true, ReadTimeout: -1, WriteTimeout: -1}, true}, // none but that of the context
		{redis.Options{}, false},
		{redis.Options{ContextTimeoutEnabled: true, ReadTimeout: -2}, false},
		{redis.Options{ContextTimeoutEnabled: true, WriteTimeout: -2}, false},
	} {
		if _, c := open(t, &test.opts); c.HonorsDeadline() != test.want {
			t.Errorf("%+v: %v", test.opts, c.HonorsDeadline())
		}
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = cluster.Close() })
	if newClient(cluster).HonorsDeadline() {
		t.Error("a cluster client")
	}
}

// TestDirectCallWithoutAConnectionEndsInTime: nothing was sent, whatever it waits for.
func TestDirectCallWithoutAConnectionEndsInTime(t *testing.T) {
	t.Parallel()
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		pool, _ := open(t, &redis.Options{Addr: server.Addr(), PoolSize: 1, PoolTimeout: time.Minute, ContextTimeoutEnabled: true})
		hold(t, pool)
		greeting, _ := open(t, &redis.Options{Addr: listen(t), ReadTimeout: time.Minute, ContextTimeoutEnabled: true})
		dialed := make(chan struct{})
		var begun, given atomic.Int32 // none begins where the time is up before
		dial, _ := open(t, &redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true,
			Dialer: func(context.Context, string, string) (net.Conn, error) {
				begun.Add(1)
				defer given.Add(1)
				<-dialed
				return nil, errors.New("given up")
			}})
		for name, raw := range map[string]*redis.Client{"pool": pool, "greeting": greeting, "dial": dial} {
			s, err := New(raw, nil)
			if err != nil {
				t.Fatal(err)
			}
			ops := []store.Op{{
				Slot:    store.Slot{Key: "k", Algorithm: algorithm.Must(algorithm.NewGCRA(algorithm.PerHour(10), 10))},
				Request: algorithm.Request{Cost: 1},
			}}
			start := time.Now()
			_, _, err = store.FeaturesOf(s).Within(50*time.Millisecond).Apply(context.Background(), ops)
			if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("%s: after %v", name, took)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		close(dialed)
		servertest.Await(t, "no dial is left", func() bool { return begun.Load() == given.Load() })
	})
}
