package acceptance_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// grace is how much longer than needed a key is kept.
const grace = time.Second

// expiry reads when a key ends, in ms since the epoch; -1 is never.
func expiry(t *testing.T, e *env, name string) int64 {
	t.Helper()
	return e.server.Do("PEXPIRETIME", name).(int64)
}

// admit applies ops, which must be admitted, and checks the life time of the one key
// that the server then has: not shorter than the time until the key is fresh, and not
// longer than that, rounded up to ms, and the grace.
func admit(t *testing.T, e *env, s *serverStore, ops ...store.Op) {
	t.Helper()
	begin := time.Now()
	at, committed, err := s.Apply(context.Background(), ops)
	took := time.Since(begin)
	if err != nil || !committed {
		t.Fatalf("admitted %v, %v", committed, err)
	}
	names := e.server.Do("KEYS", "*").([]any)
	if len(names) != 1 {
		t.Fatalf("keys: %v", names)
	}
	ends := algorithm.Instant(expiry(t, e, names[0].(string))) * 1000
	full := at + algorithm.Instant(ops[0].Outcome.ResetAfter/time.Microsecond)
	if ends < full {
		t.Errorf("the key ends at %d, before it is fresh at %d", ends, full)
	}
	// The server counts from when it writes, which is a little later than at.
	if most := full + algorithm.Instant((grace+took)/time.Microsecond) + 1000; ends > most {
		t.Errorf("the key ends %d µs after it is fresh", ends-full)
	}
}

// TestKeysLiveUntilTheyAreFresh: for every algorithm, for periods from a microsecond to
// a year and around 2^31 ms, each admission sets a life time that is right.
func TestKeysLiveUntilTheyAreFresh(t *testing.T) {
	limits := []struct {
		units int64
		per   time.Duration
	}{
		{1, time.Microsecond}, {3, 7 * time.Microsecond}, {2, 500 * time.Millisecond}, {1, 1500 * time.Millisecond},
		{300, time.Second}, {1000, time.Second}, {7, 333_333 * time.Microsecond}, {60, time.Minute},
		{5, 2147483647 * time.Millisecond}, {5, 2147483648 * time.Millisecond}, {5, 365 * 24 * time.Hour},
		{1_000_000, 24 * time.Hour}, {1, 400 * 24 * time.Hour}, {999_983, 400 * 24 * time.Hour},
	}
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, withQuotaLua())
		for _, l := range limits {
			kinds := map[string]algorithm.Algorithm{
				"own Lua":     session(l.units, l.per),
				"without Lua": plainQuota{session(l.units, l.per)},
			}
			for _, name := range kindNames {
				kinds[name] = limitOf(name, l.units, l.per)
			}
			for name, a := range kinds {
				t.Run(fmt.Sprintf("%s/%d per %v", name, l.units, l.per), func(t *testing.T) {
					e.server.Do("FLUSHALL")
					admit(t, e, s, op("user", "", a, 1))
					if l.units > 2 {
						admit(t, e, s, op("user", "", a, l.units/2))
					}
				})
			}
		}
	})
}

// TestPeriodsThatAreNotWholeMicrosecondsAreRefused when the limit is built, as are
// those that are too long.
func TestPeriodsThatAreNotWholeMicrosecondsAreRefused(t *testing.T) {
	for _, per := range []time.Duration{0, -time.Second, time.Second / 3, time.Nanosecond, 401 * 24 * time.Hour} {
		rate := algorithm.Rate{Units: 1, Per: per}
		for name, build := range map[string]func() (algorithm.Algorithm, error){
			"gcra":            func() (algorithm.Algorithm, error) { return algorithm.NewGCRA(rate, 1) },
			"token-bucket":    func() (algorithm.Algorithm, error) { return algorithm.NewTokenBucket(rate, 1) },
			"leaky-bucket":    func() (algorithm.Algorithm, error) { return algorithm.NewLeakyBucket(rate, 1) },
			"fixed-window":    func() (algorithm.Algorithm, error) { return algorithm.NewFixedWindow(rate) },
			"sliding-log":     func() (algorithm.Algorithm, error) { return algorithm.NewSlidingLog(rate) },
			"sliding-counter": func() (algorithm.Algorithm, error) { return algorithm.NewSlidingCounter(rate) },
		} {
			if _, err := build(); err == nil {
				t.Errorf("%s with a period of %v is accepted", name, per)
			}
		}
	}
}

// TestShortWindowsAdmitTheirLimitEach: eight callers, on connections that are cut again
// and again, take from windows of a fraction of a second. A window that has denied
// anybody has admitted its limit, none more than that, and no key is ever without a
// life time.
func TestShortWindowsAdmitTheirLimitEach(t *testing.T) {
	t.Parallel()
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		const limit, per = 10, 125 * time.Millisecond
		var mu sync.Mutex
		admitted, unknown, denied := map[algorithm.Instant]int64{}, map[algorithm.Instant]int64{}, map[algorithm.Instant]bool{}
		var full atomic.Int64 // windows that have denied
		stop := make(chan struct{})
		var callers sync.WaitGroup
		for _, share := range []int{0, 1} {
			s := e.store(t, &storeOptions{Share: share})
			for range 4 {
				callers.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						ops := []store.Op{op("user", "", limitOf("fixed-window", limit, per), 1)}
						before := algorithm.Instant(time.Now().UnixMicro())
						at, committed, err := s.Apply(context.Background(), ops)
						window := at / algorithm.Instant(per/time.Microsecond)
						mu.Lock()
						switch kind(err) {
						case "none":
							if committed {
								admitted[window]++
							} else if !denied[window] {
								denied[window] = true
								full.Add(1)
							}
						case "unknown": // it may have been charged to any window meanwhile
							for w := before / algorithm.Instant(per/time.Microsecond); w <= algorithm.Instant(time.Now().UnixMicro())/algorithm.Instant(per/time.Microsecond); w++ {
								unknown[w]++
							}
						case "unavailable":
						default:
							t.Error(err)
						}
						mu.Unlock()
					}
				})
			}
		}
		done, scanned := make(chan struct{}), 0
		go func() {
			defer close(done)
			onProgress(e.server, stop, func() {
				if scanned++; scanned%10 == 0 {
					_, _ = e.server.Try("CLIENT", "KILL", "TYPE", "normal")
				}
				if n := withoutLife(e); n != 0 {
					t.Errorf("%v keys have no life time", n)
				}
			})
		}()
		servertest.Await(t, "five windows that deny", func() bool { return full.Load() >= 5 })
		close(stop)
		<-done
		callers.Wait()
		for window := range denied {
			if n := admitted[window]; n > limit || n+unknown[window] < limit {
				t.Errorf("a window has admitted %d, and %d are in doubt, of %d", n, unknown[window], limit)
			}
		}
		for window, n := range admitted {
			if n > limit {
				t.Errorf("window %d has admitted %d", window, n)
			}
		}
	})
}

// withoutLife counts the keys that never end, at one instant.
func withoutLife(e *env) int64 {
	n, err := e.server.Try("EVAL", `
local n = 0
for _, name in ipairs(redis.call('KEYS', '*')) do
  if redis.call('PTTL', name) == -1 then n = n + 1 end
end
return n`, "0")
	if err != nil {
		return 0 // its own connection was cut
	}
	return n.(int64)
}

// TestLostLifeTimeHeals: somebody else makes a key live for ever. The next change gives
// it a life time again, and until then it decides as before.
func TestLostLifeTimeHeals(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, withQuotaLua())
		for name, a := range quietKinds() {
			e.server.Do("FLUSHALL")
			mustApply(t, s, op("user", "", a, 4))
			stored := e.server.Do("KEYS", "*").([]any)[0].(string)
			e.server.Do("PERSIST", stored)
			if mustApply(t, s, op("user", "", a, 7)) || expiry(t, e, stored) != -1 {
				t.Errorf("%s: a denial has changed something", name)
			}
			admit(t, e, s, op("user", "", a, 6))
		}
		// A window that has ended is fresh, even where its key is still there.
		for _, name := range kindNames {
			e.server.Do("FLUSHALL")
			a := limitOf(name, 2, 20*time.Millisecond)
			mustApply(t, s, op("user", "", a, 2))
			e.server.Do("PERSIST", e.server.Do("KEYS", "*").([]any)[0].(string))
			servertest.Await(t, name+" is served again", func() bool { return mustApply(t, s, op("user", "", a, 2)) })
			if n := withoutLife(e); n != 0 {
				t.Errorf("%s: the key still has no life time", name)
			}
		}
	})
}

// TestIdleKeysAreGone: some time after the last request, the server holds nothing.
func TestIdleKeysAreGone(t *testing.T) {
	t.Parallel()
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, withQuotaLua())
		begin := time.Now()
		for i := range 100 {
			var ops []store.Op
			for _, name := range kindNames {
				ops = append(ops, op(fmt.Sprint("user", i), name, limitOf(name, 5, 100*time.Millisecond), 3))
			}
			ops = append(ops, op(fmt.Sprint("user", i), "", session(5, 100*time.Millisecond), 3))
			if !mustApply(t, s, ops...) {
				t.Fatal("was denied")
			}
		}
		if n := e.server.Do("DBSIZE"); n != int64(700) && time.Since(begin) < grace { // none is gone before
			t.Errorf("%v keys", n)
		}
		servertest.Await(t, "all keys are gone", func() bool { return e.server.Do("DBSIZE") == int64(0) })
		if took := time.Since(begin); took < grace {
			t.Errorf("they were gone after %v", took)
		}
	})
}

// TestChangedPeriodChangesTheLifeTime: the life time follows the period that a limit
// has now, at the next change.
func TestChangedPeriodChangesTheLifeTime(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, nil)
		for _, name := range kindNames {
			e.server.Do("FLUSHALL")
			for _, per := range []time.Duration{time.Hour, time.Minute, 24 * time.Hour} {
				limit := limitOf(name, 100, per)
				if limit.Spec().Identity != "" {
					e.server.Do("FLUSHALL") // another period is another state
				}
				admit(t, e, s, op("user", "", limit, 1))
			}
		}
	})
}
