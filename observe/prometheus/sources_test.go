package promobserver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/resilience/inflight"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// server is a store on a server, as far as its counts go.
type server struct{}

func (server) Stats() script.Stats {
	return script.Stats{Calls: 2, Groups: 8, Ops: 9, Commands: 3, ScriptMisses: 1, Errors: script.Errors{Unavailable: 4}}
}

// withEverything returns a collector with every source and every metric.
func withEverything(t testing.TB) *Collector {
	t.Helper()
	c := weir.Must(New(&Options{ActiveKeys: true}))
	m := memory()
	breaker := weir.Must(resilience.NewBreaker(m, nil))
	denials := weir.Must(resilience.NewDenyCache(breaker, nil))
	lease := weir.Must(resilience.NewLease(memory(), nil))
	t.Cleanup(func() { _ = lease.Close() })
	share := weir.Must(resilience.NewShare(memory(), func() int64 { return 2 }, nil))
	e := enforcer(t, c, policy.Rule{ID: "user", Key: []string{"user"}, Limit: spec("gcra:1/1h")})
	c.AddMemory("local", m)
	c.AddServer("redis", server{})
	c.AddBreaker("redis", breaker)
	c.AddDenyCache("redis", denials)
	c.AddLease("redis", lease)
	c.AddShare("redis", share)
	c.AddEnforcer("api", e)
	busy := weir.Must(inflight.New(weir.Must(inflight.NewMemory(nil)), inflight.Limit{Name: "reports", Units: 2}, nil))
	c.AddInFlight("reports", busy)
	for range 3 {
		hold := weir.Must(busy.Acquire(t.Context(), "k"))
		t.Cleanup(func() { _ = hold.Release(context.Background()) })
	}
	measured := c.Wrap("redis", denials)
	l := limiterOn(t, measured, c, "gcra:1/1h", weir.Options{})
	weir.Must(l.Allow(t.Context(), "k"))
	weir.Must(l.Peek(t.Context(), "k"))
	weir.Must(l.Charge(t.Context(), "k", 1))
	for _, user := range []string{"ann", "eve"} {
		weir.Must(e.Decide(t.Context(), asUser(user)))
	}
	down := store.Wrap(memory(), store.Hooks{Apply: func(context.Context, []store.Op, store.ApplyFunc) (algorithm.Instant, bool, error) {
		return 0, false, store.ErrUnavailable
	}})
	weir.Must(limiterOn(t, down, c, "gcra:1/1s", weir.Options{OnFailure: weir.FailOpen}).Allow(t.Context(), "k"))
	c.ObserveReload(nil)
	c.ObserveReload(errors.New("no policy"))
	c.ObserveClockSkew(-time.Second)
	return c
}

// TestSourcesShowTheirCounts: one of each.
func TestSourcesShowTheirCounts(t *testing.T) {
	got := gather(t, withEverything(t))
	for name, want := range map[string]float64{
		"rate_limiter_keys": 1, "rate_limiter_store_decisions_total": 8, "rate_limiter_store_operations_total": 9,
		"rate_limiter_store_commands_total": 3, "rate_limiter_breaker_state": 0, "rate_limiter_denycache_misses_total": 2,
		"rate_limiter_leased_units": 0, "rate_limiter_share_unsettled_slots": 0, "rate_limiter_unmatched_requests_total": 0,
		"rate_limiter_inflight_limit": 2, "rate_limiter_inflight_holds": 2, "rate_limiter_inflight_waiting": 0, "rate_limiter_inflight_lost_total": 0,
	} {
		f := got[name]
		if f == nil || len(f.Metric) != 1 {
			t.Errorf("%s: %v", name, f)
			continue
		}
		if m := f.Metric[0]; m.GetCounter().GetValue()+m.GetGauge().GetValue() != want {
			t.Errorf("%s: %v, want %v", name, m, want)
		}
	}
	for _, m := range got["rate_limiter_inflight_decisions_total"].Metric {
		if want := map[string]float64{"allowed": 2, "refused": 1}[m.Label[1].GetValue()]; m.GetCounter().GetValue() != want {
			t.Errorf("requests in flight: %v", m)
		}
	}
	for _, m := range got["rate_limiter_redis_errors_total"].Metric {
		if unavailable := m.Label[0].GetValue() == "unavailable"; unavailable != (m.GetCounter().GetValue() == 4) {
			t.Errorf("errors: %v", m)
		}
	}
}

// TestAddedAgainASourceTakesItsPlace: a program that opens its store anew is not refused.
func TestAddedAgainASourceTakesItsPlace(t *testing.T) {
	c := weir.Must(New(nil))
	first, second := memory(), memory()
	weir.Must(limiterOn(t, second, c, "gcra:1/1h", weir.Options{}).Allow(t.Context(), "k"))
	c.AddMemory("local", first)
	c.AddMemory("local", second)
	if f := gather(t, c)["rate_limiter_keys"]; len(f.Metric) != 1 || f.Metric[0].GetGauge().GetValue() != 1 {
		t.Errorf("%v", f)
	}
}
