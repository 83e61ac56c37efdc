package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// capacity is how much a store is measured with.
type capacity struct{ keys, decisions, callers int }

// BenchmarkCapacity reports what an operator plans with, for each algorithm: the time of
// processors for a decision, in the server and in this process, where each decision is a call
// (alone) and where callers that ask at the same time share calls (shared); and the memory
// of a million keys of 20 bytes, of which use has taken units. The times are those that the
// server and the kernel count, so that other work on the machine hardly shows.
func BenchmarkCapacity(b *testing.B) {
	c := capacity{keys: 1_000_000, decisions: 60_000, callers: 128}
	for _, f := range algorithm.Families() {
		for _, kind := range servers {
			b.Run(f.Name+"/"+string(kind), func(b *testing.B) { report(b, c.onServer(b, kind, f.Name)) })
		}
		b.Run(f.Name+"/memory", func(b *testing.B) { report(b, c.inMemory(b, f.Name)) })
	}
}

func report(b *testing.B, numbers map[string]float64) {
	b.ReportMetric(0, "ns/op")
	for unit, n := range numbers {
		b.ReportMetric(n, unit)
	}
}

// TestCapacityRows runs each row of BenchmarkCapacity for a moment.
func TestCapacityRows(t *testing.T) {
	c := capacity{keys: 20_000, decisions: 1000, callers: 4} // keys that take more than the buffers of clients
	for _, f := range algorithm.Families() {
		t.Run(f.Name, func(t *testing.T) {
			for unit, n := range c.onServer(t, servertest.Redis, f.Name) {
				if n <= 0 {
					t.Errorf("%s: %v on a server", unit, n)
				}
			}
			c.inMemory(t, f.Name) // too few for its numbers
		})
	}
}

// spread decides for many keys, each caller on its own part of them.
func (c capacity) spread(tb testing.TB, limiter *weir.Limiter, keys []string) {
	tb.Helper()
	var next atomic.Int64
	var callers sync.WaitGroup
	for range c.callers {
		callers.Go(func() {
			for i := next.Add(1); i <= int64(c.decisions); i = next.Add(1) {
				if d, err := limiter.Allow(context.Background(), keys[int(i)%len(keys)]); err != nil || !d.Allowed {
					tb.Errorf("%+v, %v", d, err)
					return
				}
			}
		})
	}
	callers.Wait()
}

func (c capacity) onServer(tb testing.TB, kind servertest.Kind, name string) map[string]float64 {
	numbers := map[string]float64{}
	server := servertest.Start(tb, kind, nil)
	keys := make([]string, min(c.keys, 10_000))
	for i := range keys {
		keys[i] = userKey(i)
	}
	for _, mode := range []struct {
		name   string
		states store.Store
	}{{"alone", separate(tb, server)}, {"shared", openValkey(tb, server.Addr(), nil)}} {
		limiter := limiterOf(tb, mode.states, serverSpec(name, false))
		c.spread(tb, limiter, keys) // connections, scripts, and tables of the server
		before := spent(tb, server)
		c.spread(tb, limiter, keys)
		used := spent(tb, server).since(before)
		numbers["server-µs/"+mode.name] = used.server / float64(c.decisions) * 1e6
		numbers["client-µs/"+mode.name] = used.client / float64(c.decisions) * 1e6
	}
	numbers["MB/1e6-keys"] = c.serverBytes(tb, server, name)
	return numbers
}

// serverBytes returns how many bytes a key takes, from copies of one.
func (c capacity) serverBytes(tb testing.TB, server *servertest.Server, name string) float64 {
	server.Do("FLUSHALL", "SYNC")
	limiter := limiterOf(tb, openValkey(tb, server.Addr(), nil), capacitySpec(name))
	use(tb, limiter, name, userKey(0))
	names, _ := server.Do("KEYS", "*").([]any)
	if len(names) != 1 {
		tb.Fatalf("keys: %v", names)
	}
	server.Do("PEXPIRE", names[0].(string), "3600000") // a window may be near its end
	before := usedMemory(tb, server)
	const copies = 50_000 // in one script, which is over before a server calls it slow
	for from := 0; from < c.keys; from += copies {
		server.Do("EVAL", `
			local before, after = string.match(KEYS[1], '^(.*)'..ARGV[3]..'(.*)$')
			for i = ARGV[1] + 1, ARGV[1] + ARGV[2] do
				redis.call('COPY', KEYS[1], before..string.format('user:%015.0f', i)..after)
			end`, "1", names[0].(string), fmt.Sprint(from), fmt.Sprint(min(copies, c.keys-from)), userKey(0))
	}
	if keys := server.Do("DBSIZE"); keys != int64(1+c.keys) {
		tb.Fatalf("%v keys", keys)
	}
	return (usedMemory(tb, server) - before) / float64(c.keys) // bytes of a key, and MB of a million
}

// capacitySpec is a usual limit of an algorithm.
func capacitySpec(name string) string {
	if name == "calendar-window" {
		return name + ":1000/year"
	}
	return name + ":1000/1h"
}

// use takes units of a key: half an hour of a bucket, one of a window, ten of a log.
func use(tb testing.TB, limiter *weir.Limiter, name, key string) {
	times, cost := 1, int64(1)
	switch name {
	case "sliding-log":
		times = 10
	case "gcra", "token-bucket", "leaky-bucket":
		cost = 500
	}
	for range times {
		if d, err := limiter.AllowN(context.Background(), key, cost); err != nil || !d.Allowed {
			tb.Fatalf("%+v, %v", d, err)
		}
	}
}

func (c capacity) inMemory(tb testing.TB, name string) map[string]float64 {
	numbers := map[string]float64{}
	states := weir.Must(memorystore.New(nil))
	defer states.Close()
	limiter := limiterOf(tb, states, capacitySpec(name))
	keys := make([]string, c.keys)
	for i := range keys {
		keys[i] = userKey(i)
	}
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := heap()
	for _, key := range keys {
		use(tb, limiter, name, key)
	}
	numbers["MB/1e6-keys"] = (heap() - before) / float64(c.keys)
	start := ownTime(tb)
	one := c
	one.callers = 1
	one.spread(tb, limiter, keys)
	numbers["ns/decision"] = (ownTime(tb) - start) / float64(c.decisions) * 1e9
	runtime.KeepAlive(keys)
	return numbers
}
