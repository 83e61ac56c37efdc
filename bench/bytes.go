package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"

	"github.com/weirgo/weir/internal/servertest"
)

// kept is something that is written into a server for one key of 20 bytes.
type kept struct {
	name  string
	spec  string  // of weir
	costs []int64 // of weir, one after the other
	write func(tb testing.TB, addr string)
}

// The states of weir, by how much they take beside an integer, which lies in the object
// itself. A bucket that is not full any more has a fraction.
var (
	keptInteger = []kept{
		{name: "gcra", spec: "gcra:1000/1h,burst=1000000", costs: []int64{999}},
		{name: "leaky-bucket", spec: "leaky-bucket:1000/1h,capacity=1000000", costs: []int64{999}},
	}
	keptShort = []kept{
		{name: "gcra-fraction", spec: "gcra:7/1h,burst=2000", costs: []int64{999}},
		{name: "token-bucket", spec: "token-bucket:1000000/1h,burst=1000000000", costs: []int64{999_999}},
		{name: "fixed-window", spec: "fixed-window:1000000000/24h", costs: []int64{999_999_999}},
		{name: "sliding-counter", spec: "sliding-counter:1000000000/24h", costs: []int64{999_999_999}},
		{name: "sliding-counter-1h", spec: "sliding-counter:1000000000/1h", costs: []int64{999_999_999}},
	}
	keptLong = []kept{
		{name: "gcra-largest", spec: "gcra:999999999989/9600h,burst=1000000000000", costs: []int64{400_000_000_000}},
		{name: "leaky-bucket-largest", spec: "leaky-bucket:999999999989/9600h,capacity=1000000000000", costs: []int64{400_000_000_000}},
		{name: "token-bucket-largest", spec: "token-bucket:999999999989/9600h,burst=1000000000000", costs: []int64{400_000_000_000, 400_000_000_000}},
	}
	keptByOthers = []kept{
		{name: "integer", write: func(tb testing.TB, addr string) {
			if err := goRedis(tb, addr).Set(context.Background(), userKey(0), "1764288000000000", time.Hour).Err(); err != nil {
				tb.Fatal(err)
			}
		}},
		{name: "redis_rate", write: func(tb testing.TB, addr string) {
			limit := redis_rate.Limit{Rate: 1000, Burst: 1_000_000, Period: time.Hour}
			if _, err := redis_rate.NewLimiter(goRedis(tb, addr)).AllowN(context.Background(), userKey(0), limit, 999); err != nil {
				tb.Fatal(err)
			}
		}},
		{name: "throttled", write: func(tb testing.TB, addr string) {
			if _, err := openThrottled(tb, addr, quota{1000, 1_000_000, time.Hour})(context.Background(), userKey(0), 999); err != nil {
				tb.Fatal(err)
			}
		}},
		{name: "ulule", write: func(tb testing.TB, addr string) {
			// Servers share the objects of integers below 10,000.
			if _, err := openUlule(tb, addr, quota{1000, 1_000_000, time.Hour})(context.Background(), userKey(0), 99_999); err != nil {
				tb.Fatal(err)
			}
		}},
	}
)

// fill writes what is kept.
func (k *kept) fill(tb testing.TB, addr string) {
	if k.write != nil {
		k.write(tb, addr)
		return
	}
	limiter := limiterOf(tb, openRedis(tb, addr, nil), k.spec)
	for _, cost := range k.costs {
		if d, err := limiter.AllowN(context.Background(), userKey(0), cost); err != nil || !d.Allowed {
			tb.Fatalf("%+v, %v", d, err)
		}
	}
}

// bytes measures what a server uses for each of many keys of 20 bytes with a state and an
// expiry: names, values and the tables of the server; and for an entry of a log.
func (r *run) bytes(tb testing.TB, kind servertest.Kind) {
	for _, list := range [][]kept{keptByOthers, keptInteger, keptShort, keptLong} {
		for _, k := range list {
			if name := fmt.Sprintf("bytes/%s/%s", kind, k.name); r.wants(name) {
				r.isolated(tb, func(tb testing.TB) {
					bytes, _, _ := k.bytes(tb, kind, r.copies)
					r.values.add(name, bytes)
				})
			}
		}
	}
	for name, costs := range keptEntries {
		if name = fmt.Sprintf("bytes/%s/%s", kind, name); r.wants(name) {
			r.isolated(tb, func(tb testing.TB) { r.values.add(name, entryBytes(tb, kind, costs)) })
		}
	}
}

// keptEntries are the costs of the entries of logs.
var keptEntries = map[string][]int64{"log-entry": {1}, "log-entry-of-1-to-5": {1, 2, 3, 4, 5}}

// entryBytes returns what an entry of a log takes.
func entryBytes(tb testing.TB, kind servertest.Kind, costs []int64) float64 {
	server := servertest.Start(tb, kind, nil)
	limiter := limiterOf(tb, openRedis(tb, server.Addr(), nil), "sliding-log:1000000/1h")
	for i := range entries {
		if d, err := limiter.AllowN(context.Background(), userKey(0), costs[i%len(costs)]); err != nil || !d.Allowed {
			tb.Fatalf("%+v, %v", d, err)
		}
	}
	bytes, _ := server.Do("MEMORY", "USAGE", onlyName(tb, server), "SAMPLES", "0").(int64)
	return float64(bytes) / entries
}

// onlyName returns the only key of the server.
func onlyName(tb testing.TB, server *servertest.Server) string {
	tb.Helper()
	names, _ := server.Do("KEYS", "*").([]any)
	if len(names) != 1 {
		tb.Fatalf("keys: %v", names)
	}
	return names[0].(string)
}

// bytes returns what each of many copies of the key takes, what it takes if its value is
// an integer, and the text of the value. The server is a new one: scripts reuse the
// memory of their arguments, so that a value has the room of a longer one before it.
func (k *kept) bytes(tb testing.TB, kind servertest.Kind, copies int) (bytes, integer float64, state string) {
	tb.Helper()
	server := servertest.Start(tb, kind, nil)
	k.fill(tb, server.Addr())
	name := onlyName(tb, server)
	if server.Do("PEXPIRE", name, "3600000", "XX") != int64(1) { // a window may be near its end
		tb.Fatal("a key without a time to live")
	}
	state = server.Do("GET", name).(string)
	own := server.Do("MEMORY", "USAGE", name)
	const number = "1764288000000000"
	copyMany(tb, server, name, number, copies) // what the first time takes besides
	integer = copyMany(tb, server, name, number, copies)
	bytes = copyMany(tb, server, name, state, copies)
	if usage := server.Do("MEMORY", "USAGE", name); usage != own {
		tb.Fatalf("%v bytes with %q of %q, where %v were written", usage, state, name, own)
	}
	return bytes, integer, state
}

// copyMany empties the server, writes many copies of a key, and returns what one takes. A
// number of 12,500 fills the tables, whose sizes are powers of two, to three quarters.
func copyMany(tb testing.TB, server *servertest.Server, name, value string, copies int) (bytes float64) {
	tb.Helper()
	before, after, found := strings.Cut(name, userKey(0))
	if !found {
		tb.Fatalf("%q is not of the user", name)
	}
	server.Do("FLUSHALL", "SYNC")
	server.Do("SET", name, value, "PX", "60000")
	used := usedMemory(tb, server)
	// The second loop lets the server finish the move to larger tables.
	server.Do("EVAL", `
		local function copy(i) return ARGV[2] .. string.format('user:%015.0f', i) .. ARGV[3] end
		for i = 1, ARGV[1] do redis.call('COPY', KEYS[1], copy(i)) end
		for i = 1, ARGV[1] do redis.call('PTTL', copy(i)) end`,
		"1", name, fmt.Sprint(copies), before, after)
	if keys := server.Do("DBSIZE"); keys != int64(1+copies) {
		tb.Fatalf("%v keys", keys)
	}
	return (usedMemory(tb, server) - used) / float64(copies)
}

func usedMemory(tb testing.TB, server *servertest.Server) float64 {
	tb.Helper()
	info, _ := server.Do("INFO", "memory").(string)
	_, after, _ := strings.Cut(info, "used_memory:")
	used, _, _ := strings.Cut(after, "\r")
	return number(tb, used)
}
