package acceptance_test

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	redisstore "github.com/weirgo/weir/store/redis"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// The names of the two stores; what they share is one type.
const (
	redisLibrary  = "redisstore"
	valkeyLibrary = "valkeystore"
)

type (
	serverStore  = redisstore.Store
	storeOptions = redisstore.Options
)

// pair is a client library and the server that it talks to.
type pair struct {
	library string
	kind    servertest.Kind
}

// allPairs is every library with every server; naturalPairs is each library with
// the server that it is named for.
func allPairs() []pair {
	return append(naturalPairs(), pair{redisLibrary, servertest.Valkey}, pair{valkeyLibrary, servertest.Redis})
}

func naturalPairs() []pair {
	return []pair{{redisLibrary, servertest.Redis}, {valkeyLibrary, servertest.Valkey}}
}

// each runs f as a subtest for each pair, with a server of its own.
func each(t *testing.T, pairs []pair, cfg *servertest.Config, f func(t *testing.T, e *env)) {
	t.Helper()
	if testing.Short() {
		t.Skip("real servers and seconds of traffic: not for -short")
	}
	for _, p := range pairs {
		t.Run(p.library+"/"+p.kind.String(), func(t *testing.T) {
			f(t, &env{library: p.library, server: servertest.Start(t, p.kind, cfg)})
		})
	}
}

// env is where a test runs.
type env struct {
	library string
	server  *servertest.Server // nil where there are several
	several *several
}

// dial says how to reach a server.
type dial struct {
	addr           string
	several        *several // in place of addr
	user, password string

	// answer is how long the library waits for a reply; 0 is as long as it takes.
	answer time.Duration

	// plain leaves the retries of the library as they are. Otherwise it repeats
	// what it may as often as it can, and at once.
	plain bool
}

// connect opens a client and a store on it.
func connect(library string, d dial, opts *storeOptions) (s *serverStore, closeBoth func(), err error) {
	newStore, closeClient, err := newClient(library, d)
	if err != nil {
		return nil, nil, err
	}
	if s, err = newStore(opts); err != nil {
		closeClient()
		return nil, nil, err
	}
	return s, func() { _ = s.Close(); closeClient() }, nil
}

// newClient opens a client, and returns what makes a store on it.
func newClient(library string, d dial) (newStore func(opts *storeOptions) (*serverStore, error), closeClient func(), err error) {
	if d.answer == 0 {
		d.answer = patience
	}
	if library == redisLibrary {
		o := &redis.Options{
			Addr: d.addr, Username: d.user, Password: d.password,
			ReadTimeout: d.answer, PoolTimeout: patience, ContextTimeoutEnabled: true,
		}
		if !d.plain {
			// Not -1 for no pause: a cluster client makes 0 of it, which its nodes take for the default.
			o.MaxRetries, o.MinRetryBackoff, o.MaxRetryBackoff, o.DialerRetries = 50, time.Nanosecond, time.Nanosecond, 1
		}
		client := d.several.redis(o)
		return func(opts *storeOptions) (*serverStore, error) { return redisstore.New(client, opts) }, func() { _ = client.Close() }, nil
	}
	o := valkey.ClientOption{
		InitAddress: d.several.addrs(d.addr), Username: d.user, Password: d.password, DisableCache: true,
		ConnWriteTimeout: d.answer,
	}
	if !d.plain {
		o.RetryDelay = func(int, valkey.Completed, error) time.Duration { return 0 }
	}
	client, err := valkey.NewClient(o)
	if err != nil {
		return nil, nil, err
	}
	return func(opts *storeOptions) (*serverStore, error) { return valkeystore.New(client, opts) }, client.Close, nil
}

// dial returns a store that is closed with the test.
func (e *env) dial(tb testing.TB, d dial, opts *storeOptions) *serverStore {
	tb.Helper()
	var s *serverStore
	var closeBoth func()
	var err error
	connected := func() bool { s, closeBoth, err = connect(e.library, d, opts); return err == nil }
	if d.answer > 0 { // a busy machine may miss it at first
		servertest.Await(tb, e.library+" connects", connected)
	} else if !connected() {
		tb.Fatalf("%s: %v", e.library, err)
	}
	tb.Cleanup(closeBoth)
	return s
}

// store returns a store on the server itself, whose shared calls have all the time
// that they need.
func (e *env) store(tb testing.TB, opts *storeOptions) *serverStore {
	tb.Helper()
	var all storeOptions
	if opts != nil {
		all = *opts
	}
	if all.Timeout == 0 {
		all.Timeout = patience
	}
	if e.several != nil {
		return e.dial(tb, dial{several: e.several}, &all)
	}
	return e.dial(tb, dial{addr: e.server.Addr()}, &all)
}

// limiter returns a limiter that gives the store all the time that it needs.
func limiter(tb testing.TB, s store.Store, a algorithm.Algorithm, name string) *weir.Limiter {
	tb.Helper()
	l, err := weir.New(s, weir.Limit{Name: limitName(name), Algorithm: a}, &weir.Options{Timeout: patience, Replaces: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

// multi is limiter for several limits.
func multi(tb testing.TB, s store.Store) *weir.MultiLimiter {
	tb.Helper()
	m, err := weir.NewMultiLimiter(s, &weir.Options{Timeout: patience})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = m.Close() })
	return m
}

// asks are ops as a MultiLimiter takes them.
func asks(ops []store.Op) (all []weir.Ask) {
	for _, op := range ops {
		a := weir.Limit{Name: op.Limit, Algorithm: op.Algorithm}.ForN(op.Key, op.Request.Cost)
		a.MaxDelay = op.Request.MaxDelay
		all = append(all, a)
	}
	return all
}

// limitName is the name of a limit that a test gives none.
func limitName(limit string) string { return cmp.Or(limit, "limit") }

// op is a request for one slot.
func op(key, limit string, a algorithm.Algorithm, cost int64) store.Op {
	return store.Op{Slot: store.Slot{Key: key, Limit: limitName(limit), Algorithm: a}, Request: algorithm.Request{Cost: cost}}
}

// kindNames are the algorithms with a period of any length, as ParseSpec knows them.
var kindNames = []string{"gcra", "token-bucket", "leaky-bucket", "fixed-window", "sliding-log", "sliding-counter"}

// limitOf builds an algorithm of a kind with a burst of units.
func limitOf(name string, units int64, per time.Duration) algorithm.Algorithm {
	return algorithm.Must(algorithm.ParseSpec(specOf(name, units, per)))
}

func specOf(name string, units int64, per time.Duration) string {
	return fmt.Sprintf("%s:%d/%v", name, units, per)
}

// long returns a period of at most 400 days whose windows have their edges more
// than an hour away: a test of it sees no window end, and no unit come back.
func long() time.Duration {
	now := time.Now().UnixMicro()
	for days := int64(400); ; days-- {
		period := time.Duration(days) * 24 * time.Hour
		into := time.Duration(now%period.Microseconds()) * time.Microsecond
		if into > time.Hour && into < period-time.Hour {
			return period
		}
	}
}

// longest is a limit of a kind that gives nothing back while a test runs.
func longest(name string, units int64) algorithm.Algorithm { return limitOf(name, units, long()) }

// remaining reads what a slot has left.
func remaining(tb testing.TB, s store.Store, slot store.Slot) int64 {
	tb.Helper()
	ops := []store.Op{{Slot: slot}}
	if _, err := s.Peek(context.Background(), ops); err != nil {
		tb.Fatalf("peek: %v", err)
	}
	return ops[0].Outcome.Remaining
}

// mustApply applies ops, which must not fail. It may be called from any goroutine.
func mustApply(tb testing.TB, s store.Store, ops ...store.Op) (committed bool) {
	tb.Helper()
	_, committed, err := s.Apply(context.Background(), ops)
	if err != nil {
		tb.Errorf("apply: %v", err)
	}
	return committed
}
