package acceptance_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// start is where clocks of tests begin: the start of a day.
const start algorithm.Instant = 1_764_288_000_000_000

// manualClock shows what it was set to.
type manualClock struct {
	mu sync.Mutex
	at algorithm.Instant
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at.Time()
}

func (c *manualClock) set(at algorithm.Instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// instant is a number of microseconds.
func instant(n int) algorithm.Instant { return algorithm.Instant(n) }

// TestGatewaysWithClocksApartShareOneBudget: one gateway takes all there is; the clock
// of the other is a second behind. Ten rounds in which no time passes grant nothing.
func TestGatewaysWithClocksApartShareOneBudget(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		ahead, behind := &manualClock{}, &manualClock{}
		ahead.set(start + 100_000_000)
		behind.set(start + 99_000_000)
		a, b := e.store(t, &storeOptions{Clock: ahead}), e.store(t, &storeOptions{Clock: behind})
		for _, name := range kindNames {
			limit := limitOf(name, 10, time.Second)
			if !mustApply(t, a, op(name, "", limit, 10)) {
				t.Errorf("%s: the first was denied", name)
			}
			for round := range 10 {
				if mustApply(t, b, op(name, "", limit, 1)) || mustApply(t, a, op(name, "", limit, 10)) || mustApply(t, a, op(name, "", limit, 1)) {
					t.Errorf("%s: round %d has admitted something", name, round)
				}
			}
		}
	})
}

// TestServerTimeIsTheTime: without a clock of their own, decisions are made at the time
// of the server. (What the clocks of the callers show is not even sent.) In memory, at
// the instants that they name, they come out the same.
func TestServerTimeIsTheTime(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, withQuotaLua())
		clock := &manualClock{}
		memory, err := memorystore.New(&memorystore.Options{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		defer memory.Close()
		limits := map[string]algorithm.Algorithm{
			"without Lua": plainQuota{session(3, 5*time.Millisecond)},
			"own Lua":     session(3, 5*time.Millisecond),
		}
		for _, name := range kindNames {
			limits[name] = limitOf(name, 3, 5*time.Millisecond)
		}
		for range 20 * rounds() {
			for name, a := range limits {
				for _, ops := range [][]store.Op{{op("user", name, a, 1)}, {op("user", name, a, 1), op("user", "beside", longest("gcra", 5), 0)}} {
					before := serverTime(t, e)
					at, committed, err := s.Apply(context.Background(), ops)
					if after := serverTime(t, e); err != nil || at < before || at > after {
						t.Fatalf("%s: decided at %d, between %d and %d: %v", name, at, before, after, err)
					}
					again := slices.Clone(ops)
					clock.set(at)
					if _, wanted, err := memory.Apply(context.Background(), again); err != nil || wanted != committed {
						t.Errorf("%s at %d: committed %v, in memory %v, %v", name, at, committed, wanted, err)
					}
					for i := range ops {
						if ops[i].Outcome != again[i].Outcome {
							t.Errorf("%s at %d: %+v, in memory %+v", name, at, ops[i].Outcome, again[i].Outcome)
						}
					}
				}
			}
		}
	})
}

// serverTime is what the clock of the server shows.
func serverTime(t *testing.T, e *env) algorithm.Instant {
	t.Helper()
	parts := e.server.Do("TIME").([]any)
	var seconds, micros int64
	if _, err := fmt.Sscan(parts[0].(string)+" "+parts[1].(string), &seconds, &micros); err != nil {
		t.Fatal(err)
	}
	return algorithm.Instant(seconds*1_000_000 + micros)
}

// TestNoOrderOfClockReadingsGrantsUnits: gateways whose clocks step back and forth by
// less than a window, at the same time, take no more than the limit and what comes
// back between the earliest and the latest reading.
func TestNoOrderOfClockReadingsGrantsUnits(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		const limit, per, swing = 50, 10 * time.Second, 4 * time.Second
		window := start + 5_000_000 // in the middle of a window
		for round := range 2 * rounds() {
			for _, name := range kindNames {
				key := fmt.Sprint(name, round)
				a := limitOf(name, limit, per)
				most := int64(limit) // windows: all readings lie in one of them
				if name == "gcra" || name == "token-bucket" || name == "leaky-bucket" {
					most += int64(swing * limit / per)
				}
				var admitted atomic.Int64
				inParallel(4, func(gateway int) {
					clock := &manualClock{}
					clock.set(window)
					s := e.store(t, &storeOptions{Clock: clock, Share: gateway % 2})
					random := rand.New(rand.NewPCG(uint64(round), uint64(gateway)))
					for range 60 {
						clock.set(window + algorithm.Instant(random.Int64N(swing.Microseconds()+1)))
						cost := random.Int64N(3)
						if mustApply(t, s, op(key, "", a, cost)) {
							admitted.Add(cost)
						}
					}
				})
				if n := admitted.Load(); n > most || n < limit {
					t.Errorf("%s: %d units of %d were admitted, and at most %d may be", name, n, limit, most)
				}
			}
		}
	})
}

// TestClockOutOfRangeIsAnError before anything is sent.
func TestClockOutOfRangeIsAnError(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		clock := &farClock{}
		s := e.store(t, &storeOptions{Clock: clock})
		for _, year := range []int{1, 1969, 2300, 9999} {
			clock.at = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
			for name, a := range quietKinds() {
				_, committed, err := s.Apply(context.Background(), []store.Op{op("user", name, a, 1)})
				if got := kind(err); err == nil || committed || got == "unknown" {
					t.Errorf("%s in the year %d: %v, %s: %v", name, year, committed, got, err)
				}
			}
		}
		if n := e.server.Do("DBSIZE"); n != int64(0) {
			t.Errorf("%v keys", n)
		}
	})
}

// farClock shows any time.
type farClock struct{ at time.Time }

func (c *farClock) Now() time.Time { return c.at }
