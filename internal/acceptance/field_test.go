package acceptance_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// Cases from reports on other limiters, on both servers.

// twoLimits has a short and a long limit of an algorithm on one key, and a clock.
func twoLimits(t *testing.T, e *env, short, long algorithm.Algorithm) (clock *manualClock, take *weir.MultiLimiter, ops []store.Op) {
	t.Helper()
	clock = &manualClock{}
	clock.set(start)
	take = multi(t, e.store(t, &storeOptions{Clock: clock}))
	return clock, take, []store.Op{op(t.Name(), "short", short, 1), op(t.Name(), "long", long, 1)}
}

// TestRefusedRequestIsChargedNowhere: what the short limit refuses does not count for
// the long one, in either order.
func TestRefusedRequestIsChargedNowhere(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		for _, reversed := range []bool{false, true} {
			t.Run(fmt.Sprint("reversed ", reversed), func(t *testing.T) {
				clock, take, ops := twoLimits(t, e, limitOf("fixed-window", 10, time.Minute), limitOf("fixed-window", 30, 30*time.Minute))
				if reversed {
					ops[0], ops[1] = ops[1], ops[0]
				}
				for minute, requests := range []int{16, 15, 15, 5} {
					clock.set(start + instant(minute)*60_000_000)
					admitted := 0
					for range requests {
						r, err := take.Take(context.Background(), asks(ops)...)
						if err != nil {
							t.Fatal(err)
						}
						if r.Allowed {
							admitted++
						}
					}
					if want := []int{10, 10, 10, 0}[minute]; admitted != want {
						t.Errorf("minute %d: %d admitted, want %d", minute, admitted, want)
					}
				}
			})
		}
	})
}

// TestLongestWaitIsTheOneReported: a day that is used up refuses, and is named, although
// the hour has room; the hour is not charged.
func TestLongestWaitIsTheOneReported(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		clock, take, ops := twoLimits(t, e, limitOf("fixed-window", 10, time.Hour), limitOf("fixed-window", 20, 24*time.Hour))
		for hour := range 2 {
			clock.set(start + instant(hour)*3_600_000_000)
			for range 10 {
				if r, err := take.Take(context.Background(), asks(ops)...); err != nil || !r.Allowed {
					t.Fatalf("hour %d: %v, %v", hour, r.Allowed, err)
				}
			}
		}
		clock.set(start + 7260*1_000_000)
		for range 15 {
			r, err := take.Take(context.Background(), asks(ops)...)
			if err != nil || r.Allowed || r.Binding != 1 || r.RetryAfter != 79140*time.Second || r.Decisions[0].Remaining != 10 {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	})
}

// TestOverlappingRulesCountOnce: two limits of one key that differ in name or numbers
// do not raise each other's count.
func TestOverlappingRulesCountOnce(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		for what, long := range map[string]algorithm.Algorithm{
			"wide and tight": limitOf("fixed-window", 1000, time.Minute), "almost the same": limitOf("fixed-window", 20, time.Minute),
		} {
			t.Run(what, func(t *testing.T) {
				_, take, ops := twoLimits(t, e, limitOf("fixed-window", 10, time.Minute), long)
				admitted := 0
				for range 12 {
					if r, err := take.Take(context.Background(), asks(ops)...); err != nil {
						t.Fatal(err)
					} else if r.Allowed {
						admitted++
					}
				}
				if admitted != 10 {
					t.Errorf("%d admitted of 10", admitted)
				}
			})
		}
	})
}

// TestYearLongWindowsHold: five in 365 days are denied the sixth after a second and
// after 30 days, and admitted after the window. So for windows around 2^31 ms.
func TestYearLongWindowsHold(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		clock := &manualClock{}
		s := e.store(t, &storeOptions{Clock: clock})
		for _, name := range []string{"fixed-window", "sliding-log", "gcra"} {
			for _, per := range []time.Duration{365 * 24 * time.Hour, 2147483647 * time.Millisecond, 2147483648 * time.Millisecond} {
				e.server.Do("FLUSHALL")
				window := instant(int(per.Microseconds()))
				begin := (start/window + 1) * window
				a := limitOf(name, 5, per)
				clock.set(begin)
				for range 5 {
					if !mustApply(t, s, op("user", "", a, 1)) {
						t.Fatalf("%s per %v: denied too early", name, per)
					}
				}
				ttl := time.Duration(e.server.Do("PTTL", e.server.Do("KEYS", "*").([]any)[0].(string)).(int64)) * time.Millisecond
				if ttl < per-patience || ttl > per+grace {
					t.Errorf("%s per %v: the key lives for %v", name, per, ttl)
				}
				for _, later := range []time.Duration{time.Second, (per / 12).Truncate(time.Microsecond)} {
					clock.set(begin + instant(int(later.Microseconds())))
					ops := []store.Op{op("user", "", a, 5)}
					_, committed, err := s.Apply(context.Background(), ops)
					if err != nil || committed || ops[0].Outcome.RetryAfter != per-later {
						t.Errorf("%s per %v, after %v: %v, %v, %+v", name, per, later, committed, err, ops[0].Outcome)
					}
				}
				clock.set(begin + window)
				if !mustApply(t, s, op("user", "", a, 5)) {
					t.Errorf("%s per %v: denied after the window", name, per)
				}
			}
		}
	})
}

// TestEvictionIsWarnedOf: a server that may drop limits admits too much, which nobody
// can see from a decision. Check says so, and how to avoid it.
func TestEvictionIsWarnedOf(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, nil)
		for _, policy := range []string{"noeviction", "allkeys-lru", "volatile-ttl", "allkeys-random", "volatile-lru"} {
			e.server.Do("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", policy)
			report, err := s.Check(context.Background())
			warned := strings.Contains(strings.Join(report.Warnings, "\n"), policy)
			if err != nil || warned == (policy == "noeviction") || report.EvictionPolicy != policy || report.MaxMemory != 100<<20 {
				t.Errorf("%s: %+v, %v", policy, report, err)
			}
		}
	})
}

// TestManyCallersAndKeysTakeEachLimit: 64 callers ask for keys at random; no key gives
// more than its limit, and all together what there is.
func TestManyCallersAndKeysTakeEachLimit(t *testing.T) {
	t.Parallel()
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		const callers, keys, limit, calls = 64, 300, 5, 60
		s := e.store(t, nil)
		names := make([]string, keys)
		var admitted, asked [keys]atomic.Int64
		for i := range names {
			names[i] = fmt.Sprint("user", i)
		}
		inParallel(callers, func(caller int) {
			random := rand.New(rand.NewPCG(7, uint64(caller)))
			for range calls * rounds() {
				i := random.IntN(keys)
				asked[i].Add(1)
				if mustApply(t, s, op(names[i], "", longest(kindNames[i%len(kindNames)], limit), 1)) {
					admitted[i].Add(1)
				}
			}
		})
		for i := range keys {
			if got, want := admitted[i].Load(), min(limit, asked[i].Load()); got != want {
				t.Errorf("key %d: %d admitted of %d, want %d", i, got, asked[i].Load(), want)
			}
		}
	})
}

// TestFractionalIntervalsAreExact: 300 in a second are 3.33… ms apart. Over two seconds
// exactly so many come back.
func TestFractionalIntervalsAreExact(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		clock := &manualClock{}
		s := e.store(t, &storeOptions{Clock: clock})
		for _, name := range []string{"gcra", "token-bucket"} {
			a := limitOf(name, 300, time.Second)
			clock.set(start)
			mustApply(t, s, op(name, "", a, 300))
			admitted := int64(0)
			for at := start; at <= start+2_000_000; at += 9_973 {
				clock.set(at)
				for mustApply(t, s, op(name, "", a, 1)) {
					admitted++
				}
			}
			if want := int64(2_000_000/9_973*9_973) * 300 / 1_000_000; admitted != want {
				t.Errorf("%s: %d admitted in two seconds, want %d", name, admitted, want)
			}
		}
	})
}

// TestVersionsWithTwoPeriodsDoNotEraseEachOther: during a rolling deployment one version
// of a service has a window of an hour and the other one of a second, under one name.
// Each has its state, so both admit at most what they admit alone: with one state for
// both, 1000/1h beside 10/1s admitted 10,318 in ten seconds.
func TestVersionsWithTwoPeriodsDoNotEraseEachOther(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		for _, kind := range []string{"fixed-window", "sliding-counter", "sliding-log"} {
			clock := &manualClock{}
			clock.set(start)
			s := e.store(t, &storeOptions{Clock: clock})
			long, short := limitOf(kind, 200, time.Hour), limitOf(kind, 10, time.Second)
			var admitted [2]int
			for step := range instant(500) { // every 20 ms
				clock.set(start + step*20_000)
				for i, limit := range []algorithm.Algorithm{long, short} {
					if mustApply(t, s, op(t.Name(), kind, limit, 1)) {
						admitted[i]++
					}
				}
			}
			f, _ := algorithm.FamilyOf(short.Spec().Kind)
			if most := f.Bound(short.Spec(), 10*time.Second); admitted[0] != 200 || int64(admitted[1]) > most || admitted[1] < 90 {
				t.Errorf("%s: %d admitted by 200/1h, and %d by 10/1s in ten seconds, of which at most %d", kind, admitted[0], admitted[1], most)
			}
		}
	})
}
