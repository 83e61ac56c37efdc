package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	throttledredis "github.com/throttled/throttled/v2/store/goredisstore.v9"
	ulule "github.com/ulule/limiter/v3"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"
	"github.com/valkey-io/valkey-go"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/store"
	redisstore "github.com/weirgo/weir/store/redis"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// quota is units per period, and a burst.
type quota struct {
	units, burst int
	per          time.Duration
}

var (
	// roomy always admits, however often one key is asked for.
	roomy = quota{1000, 1_000_000_000, time.Second}
	// lasting always admits, too, and keeps a state for an hour, so that none
	// of many keys gets fresh before its next turn.
	lasting = quota{1, 400_000, time.Hour}
	// spentAtOnce admits the first request only.
	spentAtOnce = quota{1, 1, 9600 * time.Hour}
)

// spec is the quota as a GCRA.
func (q quota) spec() string { return fmt.Sprintf("gcra:%d/%v,burst=%d", q.units, q.per, q.burst) }

// remote is a limiter on a server.
type remote struct {
	name    string
	states  string // remotes with equal states share them
	patient bool   // without a time-out of its own
	open    func(tb testing.TB, addr string, q quota) ask
}

// redisRate is what all others are compared with.
var redisRate = remote{"redis_rate", "redis_rate", true, func(tb testing.TB, addr string, q quota) ask {
	limiter := redis_rate.NewLimiter(goRedis(tb, addr))
	limit := redis_rate.Limit{Rate: q.units, Burst: q.burst, Period: q.per}
	return func(ctx context.Context, key string) (bool, error) {
		result, err := limiter.Allow(ctx, key, limit)
		return err == nil && result.Allowed > 0, err
	}
}}

// others are limiters of other libraries, on go-redis. Callers of one key fail with throttled
// where ten attempts to compare and set have.
var others = []remote{
	{"ulule", "ulule", true, func(tb testing.TB, addr string, q quota) ask { return openUlule(tb, addr, q).one }},
	{"throttled", "throttled", false, func(tb testing.TB, addr string, q quota) ask { return openThrottled(tb, addr, q).one }},
}

// askN asks for units for a key.
type askN func(ctx context.Context, key string, n int) (allowed bool, err error)

func (a askN) one(ctx context.Context, key string) (bool, error) { return a(ctx, key, 1) }

// openUlule is a window of the burst of a quota.
func openUlule(tb testing.TB, addr string, q quota) askN {
	states, err := ululeredis.NewStore(goRedis(tb, addr))
	if err != nil {
		tb.Fatal(err)
	}
	limiter := ulule.New(states, ulule.Rate{Limit: int64(q.burst), Period: max(q.per, time.Hour)})
	return func(ctx context.Context, key string, n int) (bool, error) {
		c, err := limiter.Increment(ctx, key, int64(n))
		return err == nil && !c.Reached, err
	}
}

func openThrottled(tb testing.TB, addr string, q quota) askN {
	states, err := throttledredis.NewCtx(goRedis(tb, addr), "throttled:")
	if err != nil {
		tb.Fatal(err)
	}
	limit := throttled.RateQuota{MaxRate: throttled.PerDuration(q.units, q.per), MaxBurst: q.burst - 1}
	limiter, err := throttled.NewGCRARateLimiterCtx(states, limit)
	if err != nil {
		tb.Fatal(err)
	}
	return func(ctx context.Context, key string, n int) (bool, error) {
		limited, _, err := limiter.RateLimitCtx(ctx, key, n)
		return err == nil && !limited, err
	}
}

// stores are the stores on servers, each made anew by open.
var stores = []struct {
	name string
	open func(tb testing.TB, addr string, opts *redisstore.Options) store.Store
}{{"redisstore", openRedis}, {"valkeystore", openValkey}}

func openRedis(tb testing.TB, addr string, opts *redisstore.Options) store.Store {
	s, err := redisstore.New(goRedis(tb, addr), opts)
	return opened(tb, s, err)
}

func openValkey(tb testing.TB, addr string, opts *valkeystore.Options) store.Store {
	s, err := valkeystore.New(valkeyGo(tb, addr), opts)
	return opened(tb, s, err)
}

func opened(tb testing.TB, s store.Store, err error) store.Store {
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

const (
	shared = 0 // the default
	alone  = 1 // a call to the server for each decision
)

// askLimiter asks a Limiter with its default time-out.
func askLimiter(tb testing.TB, s store.Store, q quota) ask {
	limiter, err := weir.New(s, weir.Limit{Name: nameOfLimit, Algorithm: parse(tb, q.spec())}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return func(ctx context.Context, key string) (bool, error) {
		d, err := limiter.Allow(ctx, key)
		return d.Allowed, err
	}
}

// allows are Limiter.Allow with its default time-out on each store.
func allows(share int) (all []remote) {
	for _, s := range stores {
		all = append(all, remote{s.name + suffix(share), "weir", false, func(tb testing.TB, addr string, q quota) ask {
			return askLimiter(tb, s.open(tb, addr, &redisstore.Options{Share: share}), q)
		}})
	}
	return all
}

// applies are Store.Apply of one op on each store.
func applies(share int) (all []remote) {
	for _, s := range stores {
		all = append(all, remote{s.name + "-apply" + suffix(share), "weir", true, func(tb testing.TB, addr string, q quota) ask {
			states, a := s.open(tb, addr, &redisstore.Options{Share: share}), parse(tb, q.spec())
			return func(ctx context.Context, key string) (bool, error) {
				ops := [1]store.Op{{Slot: store.Slot{Key: key, Algorithm: a}, Request: algorithm.Request{Cost: 1}}}
				_, committed, err := states.Apply(ctx, ops[:])
				return committed, err
			}
		}})
	}
	return all
}

// cached are Limiter.Allow with its default time-out and a deny cache on each store.
func cached() (all []remote) {
	for _, s := range stores {
		all = append(all, remote{s.name + "-denycache", "weir", false, func(tb testing.TB, addr string, q quota) ask {
			cache, err := resilience.NewDenyCache(s.open(tb, addr, nil), nil)
			if err != nil {
				tb.Fatal(err)
			}
			return askLimiter(tb, cache, q)
		}})
	}
	return all
}

// leased are Limiter.Allow with its default time-out and leases on each store.
func leased() (all []remote) {
	for _, s := range stores {
		all = append(all, remote{s.name + "-lease", "weir", false, func(tb testing.TB, addr string, q quota) ask {
			lease, err := resilience.NewLease(s.open(tb, addr, nil), nil)
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(func() { lease.Close() })
			return askLimiter(tb, lease, q)
		}})
	}
	return all
}

func suffix(share int) string { return choose(share == alone, "-alone", "") }

// bare are the client libraries with the least that a script can do: what a
// limiter costs on top.
var bare = []remote{
	{"bare-go-redis", "bare", true, func(tb testing.TB, addr string, q quota) ask {
		client, interval, tolerance := goRedis(tb, addr), q.interval(), q.tolerance()
		script := redis.NewScript(bareScript)
		return func(ctx context.Context, key string) (bool, error) {
			values, err := script.Run(ctx, client, []string{key}, interval, tolerance).Int64Slice()
			return err == nil && values[0] == 1, err
		}
	}},
	{"bare-valkey-go", "bare", true, func(tb testing.TB, addr string, q quota) ask {
		client, args := valkeyGo(tb, addr), []string{q.interval(), q.tolerance()}
		script := valkey.NewLuaScript(bareScript)
		return func(ctx context.Context, key string) (bool, error) {
			values, err := script.Exec(ctx, client, []string{key}, args).AsIntSlice()
			return err == nil && values[0] == 1, err
		}
	}},
}

func (q quota) interval() string { return fmt.Sprint(q.per.Microseconds() / int64(q.units)) }
func (q quota) tolerance() string {
	return fmt.Sprint(q.per.Microseconds() / int64(q.units) * int64(q.burst))
}

// bareScript is a GCRA of whole microseconds that checks nothing.
const bareScript = `
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local at = math.max(tonumber(redis.call('GET', KEYS[1])) or now, now) + ARGV[1]
local left = now + ARGV[2] - at
if left < 0 then
  return {0, 0, -left, at - ARGV[1] - now}
end
redis.call('SET', KEYS[1], string.format('%.0f', at), 'PX', math.ceil((at - now) / 1000))
return {1, left / ARGV[1], 0, at - now}
`

func goRedis(tb testing.TB, addr string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	tb.Cleanup(func() { client.Close() })
	return client
}

func valkeyGo(tb testing.TB, addr string) valkey.Client {
	client, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return client
}

func parse(tb testing.TB, spec string) algorithm.Algorithm {
	a, err := algorithm.ParseSpec(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}
