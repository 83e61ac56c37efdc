package bench

import (
	"context"
	"hash/maphash"
	"sync"
	"testing"
	"time"

	limiter "github.com/sethvargo/go-limiter/memorystore"
	"golang.org/x/time/rate"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	memorystore "github.com/weirgo/weir/store/memory"
)

// take asks for one unit for a key. Each contender is set to admit always, or,
// after its first unit, never.
type take func(key string) bool

// contender makes a limiter ready to be measured.
type contender struct {
	name string
	make func(tb testing.TB, denied bool) take
}

func contenders() []contender {
	all := []contender{
		{"x-time-rate", newXTimeRate},
		{"sethvargo", newSethvargo},
	}
	for _, name := range []string{"gcra", "token-bucket", "leaky-bucket", "fixed-window", "sliding-counter"} {
		all = append(all, contender{"weir-" + name, func(tb testing.TB, denied bool) take { return newWeir(tb, name, denied) }})
	}
	// Of a rate whose interval is no whole number of µs.
	all = append(all, contender{"weir-gcra-fraction", func(tb testing.TB, denied bool) take {
		return newWeirSpec(tb, choose(denied, "gcra:7/9600h,burst=1", "gcra:999999999999/1s,burst=1000000000000"))
	}})
	return all
}

// floor is what a decision costs at least: shards chosen by a hash, each a
// mutex and a map that holds the instant of a GCRA, the monotonic clock, and a
// bare bool as the answer.
type floor struct {
	seed          maphash.Seed
	start         time.Time
	interval, tau int64
	shards        [64]struct {
		mu     sync.Mutex
		states map[string]int64
		_      [112]byte
	}
}

func newFloor() take {
	f := &floor{seed: maphash.MakeSeed(), start: time.Now(), interval: 1, tau: 1 << 60}
	for i := range f.shards {
		f.shards[i].states = map[string]int64{}
	}
	return f.take
}

func (f *floor) take(key string) bool {
	shard := &f.shards[maphash.String(f.seed, key)%64]
	now := int64(time.Since(f.start))
	shard.mu.Lock()
	next := max(shard.states[key], now) + f.interval
	allowed := next-now <= f.tau
	if allowed {
		shard.states[key] = next
	}
	shard.mu.Unlock()
	return allowed
}

// newWeir measures Limiter.Allow with every field of the Decision filled in.
func newWeir(tb testing.TB, name string, denied bool) take {
	spec := name + ":1000000000000/1s"
	switch {
	case denied:
		spec = name + ":1/9600h"
	case name == "gcra" || name == "token-bucket":
		spec = name + ":1000000/1s,burst=1000000000000"
	case name == "leaky-bucket":
		spec = name + ":1000000/1s,capacity=1000000000000"
	}
	return newWeirSpec(tb, spec)
}

func newWeirSpec(tb testing.TB, spec string) take {
	states, err := memorystore.New(nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { states.Close() })
	a, err := algorithm.ParseSpec(spec)
	if err != nil {
		tb.Fatal(err)
	}
	l, err := weir.New(states, weir.Limit{Name: "limit", Algorithm: a}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	ctx := context.Background()
	return func(key string) bool {
		d, err := l.Allow(ctx, key)
		if err != nil {
			tb.Error(err)
		}
		sink = d.Remaining
		return d.Allowed
	}
}

// sink keeps the compiler from dropping what a Decision holds.
var sink int64

func newXTimeRate(_ testing.TB, denied bool) take {
	var limiters sync.Map
	limit, burst := rate.Limit(1e12), int(1e12)
	if denied {
		limit, burst = 1e-9, 1
	}
	return func(key string) bool {
		l, found := limiters.Load(key)
		if !found {
			l, _ = limiters.LoadOrStore(key, rate.NewLimiter(limit, burst))
		}
		return l.(*rate.Limiter).Allow()
	}
}

func newSethvargo(tb testing.TB, denied bool) take {
	config := &limiter.Config{Tokens: 1 << 40, Interval: time.Second}
	if denied {
		config = &limiter.Config{Tokens: 1, Interval: 9600 * time.Hour}
	}
	s, err := limiter.New(config)
	if err != nil {
		tb.Fatal(err)
	}
	ctx := context.Background()
	tb.Cleanup(func() { s.Close(ctx) })
	return func(key string) bool {
		_, _, _, allowed, err := s.Take(ctx, key)
		if err != nil {
			tb.Error(err)
		}
		return allowed
	}
}

func choose[T any](condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}
