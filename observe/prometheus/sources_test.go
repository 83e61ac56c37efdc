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
	c.AddPool("redis", func() Pool { return Pool{InUse: 2, Idle: 3, Memory: map[string]int64{"10.0.0.1:6379": 1 << 20}} })
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
		"rate_limiter_keys": 1, "rate_limiter_redis_memory_bytes": 1 << 20, "rate_limiter_rule_limit": 1, "rate_limiter_rule_period_seconds": 3600, "rate_limiter_store_operations_total": 9,
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
	for _, m := range got["rate_limiter_pool_connections"].Metric {
		if want := map[string]float64{"in_use": 2, "idle": 3}[m.Label[1].GetValue()]; m.GetGauge().GetValue() != want {
			t.Errorf("connections: %v", m)
		}
	}
	if s := got["rate_limiter_decisions_per_call"].Metric[0].GetSummary(); s.GetSampleCount() != 2 || s.GetSampleSum() != 8 {
		t.Errorf("decisions per call: %v", s)
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

// TestLimitsOfAPolicyAreShown: as they are written, of each rule that has its own, and anew
// after a Swap; no more rules than have labels.
func TestLimitsOfAPolicyAreShown(t *testing.T) {
	c := weir.Must(New(&Options{Rules: 4}))
	e := enforcer(t, c,
		policy.Rule{ID: "burst", Key: []string{"user"}, Limit: spec("token-bucket:10/1s,burst=50")},
		policy.Rule{ID: "two", Key: []string{"user"}, Limits: map[string]policy.LimitRef{"hour": spec("gcra:2/1h"), "day": spec("sliding-log:4/24h")}},
		policy.Rule{ID: "blocked", Key: []string{"user"}, Limit: spec("0")},
		policy.Rule{ID: "third", Key: []string{"user"}, Limit: spec("gcra:3/1m")},
		policy.Rule{ID: "beyond", Key: []string{"user"}, Limit: spec("gcra:3/1m")},
	)
	c.AddEnforcer("api", e)
	expect(t, c, `
		# HELP rate_limiter_rule_limit Units that a rule of the policy admits in its period, for those who have no other limit. limit is the name among several limits of the rule.
		# TYPE rate_limiter_rule_limit gauge
		rate_limiter_rule_limit{enforcer="api",limit="",rule="burst"} 10
		rate_limiter_rule_limit{enforcer="api",limit="",rule="third"} 3
		rate_limiter_rule_limit{enforcer="api",limit="day",rule="two"} 4
		rate_limiter_rule_limit{enforcer="api",limit="hour",rule="two"} 2
		# HELP rate_limiter_rule_period_seconds The period of that limit.
		# TYPE rate_limiter_rule_period_seconds gauge
		rate_limiter_rule_period_seconds{enforcer="api",limit="",rule="burst"} 1
		rate_limiter_rule_period_seconds{enforcer="api",limit="",rule="third"} 60
		rate_limiter_rule_period_seconds{enforcer="api",limit="day",rule="two"} 86400
		rate_limiter_rule_period_seconds{enforcer="api",limit="hour",rule="two"} 3600
		`, "rate_limiter_rule_limit", "rate_limiter_rule_period_seconds")
	next := weir.Must(policy.Compile(policy.Policy{Version: 1, Attributes: map[string]policy.Attribute{"user": {}},
		Rules: []policy.Rule{{ID: "burst", Key: []string{"user"}, Limit: spec("gcra:7/1s")}}}, nil))
	if _, err := e.Swap(next); err != nil {
		t.Fatal(err)
	}
	if f := gather(t, c)["rate_limiter_rule_limit"]; len(f.Metric) != 1 || f.Metric[0].GetGauge().GetValue() != 7 {
		t.Errorf("after a Swap: %v", f)
	}
}

// TestAgeOfAConfigurationIsThatOfTheLastGoodOne: a failed reload leaves it as it is.
func TestAgeOfAConfigurationIsThatOfTheLastGoodOne(t *testing.T) {
	c := weir.Must(New(nil))
	begun := c.now()
	now := begun
	c.now = func() time.Time { return now }
	for i, step := range []struct {
		err  error
		want float64
	}{{errors.New("no policy"), 10}, {nil, 0}, {errors.New("no policy"), 10}} {
		now = now.Add(10 * time.Second)
		c.ObserveReload(step.err)
		got := gather(t, c)["rate_limiter_config_age_seconds"].Metric[0].GetGauge().GetValue()
		if got < step.want || got > step.want+1 { // begun is read after the Collector was made
			t.Errorf("step %d: %v s, want %v", i, got, step.want)
		}
	}
}
