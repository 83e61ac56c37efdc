package bench

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"

	"github.com/weirgo/weir/internal/servertest"
)

// TestServerBytes prints what a server uses for each of many keys of 20 bytes with
// a state and an expiry: names, values and the tables of the server. It fails where a
// state takes too much beside the least that a key can hold, an integer, which lies in
// the object itself: the name and the allocator of the server are the same for both.
func TestServerBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and fills many servers")
	}
	const none, short, long = 0, 32, 67 // bytes beside an integer
	for _, kind := range servers {
		for _, row := range []struct {
			spec  string
			costs []int64
			most  float64
		}{
			{"gcra:1000/1h,burst=1000000", []int64{999}, none},
			{"leaky-bucket:1000/1h,capacity=1000000", []int64{999}, none},
			{"gcra:7/1h,burst=2000", []int64{999}, short},
			{"token-bucket:1000000/1h,burst=1000000000", []int64{999_999}, short},
			{"fixed-window:1000000000/24h", []int64{999_999_999}, short},
			{"sliding-counter:1000000000/24h", []int64{999_999_999}, short},
			{"gcra:999999999989/9600h,burst=1000000000000", []int64{400_000_000_000}, long},
			{"leaky-bucket:999999999989/9600h,capacity=1000000000000", []int64{400_000_000_000}, long},
			// A bucket that is not full any more has a fraction.
			{"token-bucket:999999999989/9600h,burst=1000000000000", []int64{400_000_000_000, 400_000_000_000}, long},
		} {
			t.Run(fmt.Sprintf("%s/%s", kind, row.spec), func(t *testing.T) {
				server := servertest.Start(t, kind, nil)
				limiter := limiterOf(t, openRedis(t, server.Addr(), nil), row.spec)
				for _, cost := range row.costs {
					if d, err := limiter.AllowN(context.Background(), userKey(0), cost); err != nil || !d.Allowed {
						t.Fatalf("%+v, %v", d, err)
					}
				}
				bytes, integer, state := bytesOf(t, server)
				t.Logf("%.0f bytes, %.0f beside an integer, at most %.0f: %d characters: %s", bytes, bytes-integer, row.most, len(state), state)
				if bytes-integer > row.most+2 { // what else the server does
					t.Errorf("%.0f bytes beside an integer are more than %.0f", bytes-integer, row.most)
				}
			})
		}
		t.Run(fmt.Sprintf("%s/redis_rate", kind), func(t *testing.T) {
			server := servertest.Start(t, kind, nil)
			limit := redis_rate.Limit{Rate: 1000, Burst: 1_000_000, Period: time.Hour}
			limiter := redis_rate.NewLimiter(goRedis(t, server.Addr()))
			if _, err := limiter.AllowN(context.Background(), userKey(0), limit, 999); err != nil {
				t.Fatal(err)
			}
			bytes, integer, state := bytesOf(t, server)
			t.Logf("%.0f bytes, %.0f beside an integer: %s", bytes, bytes-integer, state)
		})
	}
}

// bytesOf returns what each of many copies of the only key of the server, a user's,
// takes, what it takes if its value is an integer, and the text of the value.
func bytesOf(t *testing.T, server *servertest.Server) (bytes, integer float64, state string) {
	t.Helper()
	names, _ := server.Do("KEYS", "*").([]any)
	if len(names) != 1 {
		t.Fatalf("keys: %v", names)
	}
	name := names[0].(string)
	if ttl, _ := server.Do("PTTL", name).(int64); ttl < 60_000 {
		t.Fatalf("a time to live of %d ms", ttl)
	}
	state = server.Do("GET", name).(string)
	own := server.Do("MEMORY", "USAGE", name)
	const number = "1764288000000000"
	copyMany(t, server, name, number) // what the first time takes besides
	integer = copyMany(t, server, name, number)
	bytes = copyMany(t, server, name, state)
	if usage := server.Do("MEMORY", "USAGE", name); usage != own {
		t.Fatalf("%v bytes where the store wrote %v", usage, own)
	}
	return bytes, integer, state
}

// copyMany empties the server, writes many copies of a key, and returns what one takes.
func copyMany(t *testing.T, server *servertest.Server, name, value string) (bytes float64) {
	t.Helper()
	const copies = 12_500 // fill the tables, whose sizes are powers of two, to three quarters
	before, after, found := strings.Cut(name, userKey(0))
	if !found {
		t.Fatalf("%q is not of the user", name)
	}
	server.Do("FLUSHALL", "SYNC")
	server.Do("SET", name, value, "PX", "60000")
	used := usedMemory(t, server)
	// The second loop lets the server finish the move to larger tables.
	server.Do("EVAL", `
		local function copy(i) return ARGV[2] .. string.format('user:%015.0f', i) .. ARGV[3] end
		for i = 1, ARGV[1] do redis.call('COPY', KEYS[1], copy(i)) end
		for i = 1, ARGV[1] do redis.call('PTTL', copy(i)) end`,
		"1", name, fmt.Sprint(copies), before, after)
	if keys := server.Do("DBSIZE"); keys != int64(1+copies) {
		t.Fatalf("%v keys", keys)
	}
	return (usedMemory(t, server) - used) / copies
}

func usedMemory(t testing.TB, server *servertest.Server) float64 {
	t.Helper()
	info, _ := server.Do("INFO", "memory").(string)
	_, after, _ := strings.Cut(info, "used_memory:")
	used, _, _ := strings.Cut(after, "\r")
	return number(t, used)
}

// TestServerBytesOfALog prints what an entry of a long log takes, and fails where it is
// more than it should be.
func TestServerBytesOfALog(t *testing.T) {
	for _, kind := range servers {
		t.Run(string(kind), func(t *testing.T) {
			server := servertest.Start(t, kind, nil)
			limiter := limiterOf(t, openRedis(t, server.Addr(), nil), "sliding-log:1000000/1h")
			for _, row := range []struct {
				name  string
				costs []int64
				most  float64
			}{{"of cost 1", []int64{1}, 14}, {"of cost 1 to 5", []int64{1, 2, 3, 4, 5}, 20}} {
				for i := range entries {
					if d, err := limiter.AllowN(context.Background(), row.name, row.costs[i%len(row.costs)]); err != nil || !d.Allowed {
						t.Fatalf("%+v, %v", d, err)
					}
				}
				names, _ := server.Do("KEYS", "*{"+row.name+"}*").([]any)
				if len(names) != 1 {
					t.Fatalf("keys: %v", names)
				}
				bytes, _ := server.Do("MEMORY", "USAGE", names[0].(string), "SAMPLES", "0").(int64)
				perEntry := float64(bytes) / entries
				t.Logf("an entry %-15s %.1f bytes, at most %.0f", row.name, perEntry, row.most)
				if perEntry > row.most {
					t.Errorf("an entry %s takes %.1f bytes, more than %.0f", row.name, perEntry, row.most)
				}
			}
		})
	}
}
