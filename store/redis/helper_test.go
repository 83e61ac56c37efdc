package redisstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/internal/clienttest"
	"github.com/weirgo/weir/store/script"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // it tells of each connection that a test cuts
	// A pool asks each second whether a server that refused it is back, and a cluster client
	// pauses between two questions for the slots, also when it is closed by then.
	const goRedis = "github.com/redis/go-redis/v9"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(goRedis+"/internal/pool.(*ConnPool).tryDial"),
		goleak.IgnoreAnyFunction(goRedis+".(*clusterStateHolder).LazyReload.func1"))
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// library is go-redis, for what all libraries must do.
var library = &clienttest.Library{
	Open:         openAt,
	Modes:        []string{"default", "RESP2", "hook"},
	Few:          []string{"default", "hook"},
	ClusterModes: []string{"default", "dynamic"},
	Refusal: func(err error) bool {
		var theirs redis.Error
		return errors.As(err, &theirs)
	},
	Direct:      true,
	Allocations: 7,
}

func TestClient(t *testing.T) { clienttest.Run(t, library) }

func TestDecisionsOfALoneCallerAllocateLittle(t *testing.T) { clienttest.RunAllocations(t, library) }

// openAt is clienttest.Library.Open.
func openAt(tb testing.TB, at clienttest.At) *clienttest.Opened {
	const often = 100
	if at.Cluster != nil {
		raw := redis.NewClusterClient(&redis.ClusterOptions{Addrs: at.Cluster, ReadOnly: at.Mode == "dynamic", RouteRandomly: at.Mode == "dynamic"})
		if at.Mode == "dynamic" {
			raw.SetCommandInfoResolver(raw.NewDynamicResolver())
		}
		tb.Cleanup(func() { _ = raw.Close() })
		return &clienttest.Opened{Client: newClient(raw)}
	}
	opts := &redis.Options{
		Addr: at.Addr, Username: at.User, Password: at.Password,
		ReadTimeout: at.Answer, ContextTimeoutEnabled: true,
		MaxRetries: often, MinRetryBackoff: -1, MaxRetryBackoff: -1,
	}
	if at.Socket != "" {
		opts.Network, opts.Addr = "unix", at.Socket
	}
	switch at.Mode {
	case "RESP2":
		opts.Protocol = 2
	case "hook":
		opts.PoolSize, opts.PoolTimeout = 8, 20*time.Millisecond
	}
	raw, c := open(tb, opts)
	if at.Mode == "hook" {
		raw.AddHook(reader{})
	}
	return &clienttest.Opened{
		Client:   c,
		New:      func(opts *script.Options) (*script.Store, error) { return New(raw, opts) },
		Warm:     func(tb testing.TB, connections int) { warm(tb, raw, connections) },
		Repeated: func(key string) error { return raw.Incr(context.Background(), key).Err() },
	}
}

// open returns a client of go-redis that is closed with the test, and ours on it.
func open(tb testing.TB, opts *redis.Options) (*redis.Client, *client) {
	tb.Helper()
	opts.DialerRetries = 1
	raw := redis.NewClient(opts)
	tb.Cleanup(func() { _ = raw.Close() })
	return raw, newClient(raw)
}

// warm fills the pool with so many idle connections, at least.
func warm(tb testing.TB, raw *redis.Client, connections int) {
	tb.Helper()
	held := make([]*redis.Conn, connections)
	for i := range held {
		held[i] = raw.Conn()
		if err := held[i].Ping(context.Background()).Err(); err != nil {
			var refused redis.Error
			if !errors.As(err, &refused) {
				tb.Fatal(err)
			}
		}
	}
	for _, conn := range held {
		_ = conn.Close()
	}
	if idle := raw.PoolStats().IdleConns; int(idle) < connections {
		tb.Fatalf("%d idle connections, want %d", idle, connections)
	}
}

// hold takes the only connection of a client until the test ends.
func hold(tb testing.TB, raw *redis.Client) {
	tb.Helper()
	conn := raw.Conn()
	if err := conn.Ping(context.Background()).Err(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
}
