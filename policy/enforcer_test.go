package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

func TestEnforcedLimitsAreOneTakeAndShadowsTheirOwn(t *testing.T) {
	b := newBench(t, one(
		Rule{ID: "ip", Key: []string{"ip"}, Limit: specOf("gcra:10/1m")},
		Rule{ID: "user", Key: []string{"user"}, Limit: specOf("gcra:5/1m")},
		Rule{ID: "org", Key: []string{"org"}, Limits: map[string]LimitRef{"minute": specOf("gcra:2/1m"), "day": specOf("gcra:100/24h")}},
		Rule{ID: "trial", Key: []string{"org"}, Limit: specOf("gcra:1/1m"), Mode: Shadow},
	), nil)
	request := of("ip", "192.0.2.1", "user", "u", "org", "o")
	v := b.decide(request)
	if takes, asks := b.asked.takes.Load(), b.asked.asks.Load(); takes != 2 || asks != 5 {
		t.Errorf("%d calls with %d asks, want 2 with 5", takes, asks)
	}
	if !v.Allowed || v.Rules[v.Binding].Limit.Name != "org/minute" {
		t.Errorf("allowed %t, binding %q: want org/minute, which has the least remaining", v.Allowed, v.Rules[v.Binding].Limit.Name)
	}
	b.decide(request)
	v = b.decide(request) // the third: org/minute is empty
	if binding := v.Rules[v.Binding]; v.Allowed || binding.Limit.Name != "org/minute" || v.RetryAfter != 30*time.Second || v.RetryAfter != binding.RetryAfter {
		t.Errorf("allowed %t, binding %q, retry after %s: want a denial of org/minute for 30s", v.Allowed, binding.Limit.Name, v.RetryAfter)
	}
	if v.Rules[0].Decision.Remaining != 8 {
		t.Errorf("ip has %d left: a denied request must be charged nowhere, want 8", v.Rules[0].Decision.Remaining)
	}
	if trial := v.Rules[4]; trial.Enforced || trial.Allowed || !trial.Decided {
		t.Errorf("shadow %+v: want decided, denied and not enforced", trial)
	}
}

// TestShadowRuleIsAllOrNothingByItself: its limits are asked as if they were enforced, also
// where an enforced limit denies.
func TestShadowRuleIsAllOrNothingByItself(t *testing.T) {
	for _, sequential := range []bool{true, false} {
		b := newBench(t, one(
			Rule{ID: "tight", Limit: specOf("gcra:1/24h")},
			Rule{ID: "trial", Limits: map[string]LimitRef{"day": specOf("gcra:3/24h"), "minute": specOf("gcra:100/24h")}, Mode: Shadow},
			Rule{ID: "blocks", Limits: map[string]LimitRef{"a": specOf(Block), "b": specOf("gcra:9/24h")}, Mode: Shadow},
		), &EnforcerOptions{Sequential: sequential})
		var v Verdict
		for range 5 {
			v = b.decide(of())
		}
		day, minute, blocked := v.Rules[1], v.Rules[2], v.Rules[4]
		if day.Allowed || day.Decision.Remaining != 0 || minute.Decision.Remaining != 97 || blocked.Decided {
			t.Errorf("sequential %t: day has %d left, minute %d: want 0 and 97, since the two are charged together", sequential, day.Decision.Remaining, minute.Decision.Remaining)
		}
		if n := b.asked.takes.Load(); n != 10 {
			t.Errorf("sequential %t: %d calls, want 10", sequential, n)
		}
	}
}

func TestSwapIsAtomic(t *testing.T) {
	policies := make([]*Compiled, 2)
	for i, name := range []string{"a", "b"} {
		spec := Spec(fmt.Sprintf("gcra:%d00000/1s", i+1))
		policies[i] = weir.Must(Compile(one(
			Rule{ID: "first", Key: []string{"user"}, Limit: specOf(spec)},
			Rule{ID: "second", Key: []string{"user"}, Limit: specOf(spec)},
			Rule{ID: "only-" + name, Key: []string{"user"}, Limit: specOf(spec), Mode: Shadow},
		), &CompileOptions{Version: name}))
	}
	s := weir.Must(memorystore.New(nil))
	defer s.Close()
	e := weir.Must(NewEnforcer(weir.Must(weir.NewMultiLimiter(s, nil)), policies[0], nil))
	var callers sync.WaitGroup
	var halves atomic.Int64
	for caller := range 64 {
		callers.Go(func() {
			for range 30 {
				v, err := e.Decide(context.Background(), of("user", fmt.Sprint(caller)))
				want := Spec("gcra:100000/1s")
				if v.Version == "b" {
					want = "gcra:200000/1s"
				}
				if err != nil || len(v.Rules) != 3 || v.Rules[0].Spec != want || v.Rules[1].Spec != want || v.Rules[2].Rule != "only-"+v.Version {
					halves.Add(1)
				}
			}
		})
	}
	for i := range 200 {
		if _, err := e.Swap(policies[(i+1)%2]); err != nil {
			t.Error(err)
		}
	}
	callers.Wait()
	if n := halves.Load(); n > 0 {
		t.Errorf("%d requests were decided by half a policy, or not", n)
	}
}

func TestBlocksTakeNothing(t *testing.T) {
	p := one(Rule{ID: "counted", Key: []string{"user"}, Limit: specOf("gcra:3/1m")}, Rule{ID: "blocked", Key: []string{"user"}, Limit: specOf("gcra:3/1m")})
	p.Overrides = []Override{
		{Rule: "blocked", Match: Conditions{"user": {"bad"}}, Limit: Block, Until: noon.Add(time.Minute), Reason: "abuse"},
		{Rule: "blocked", Match: Conditions{"user": {"good"}}, Limit: Unlimited, Until: noon.Add(time.Minute)},
	}
	b := newBench(t, p, nil)
	v := b.decide(of("user", "bad"))
	if v.Allowed || v.RetryAfter != time.Minute || v.Rules[v.Binding].Rule != "blocked" || v.Standing != Throttled || b.asked.takes.Load() != 0 {
		t.Errorf("%+v after %d calls", v, b.asked.takes.Load())
	}
	v = b.decide(of("user", "good"))
	if !v.Allowed || v.Rules[1].Action != ActionExempt || b.asked.asks.Load() != 1 {
		t.Errorf("%+v after %d asks", v, b.asked.asks.Load())
	}
	b.clock.Set(noon.Add(time.Minute - time.Microsecond))
	if v := b.decide(of("user", "bad")); v.Allowed || v.RetryAfter != time.Microsecond {
		t.Errorf("one µs before its end the block says allowed %t, retry after %s", v.Allowed, v.RetryAfter)
	}
	b.clock.Set(noon.Add(time.Minute))
	if !b.decide(of("user", "bad")).Allowed {
		t.Error("the block counts at its end")
	}
}

func TestListsTouchNoState(t *testing.T) {
	b := newBench(t, example(), nil)
	v := b.decide(on("POST", "/login", "ip", "203.0.113.5"))
	if v.Allowed || v.List != Denied || v.Entry.Reason != "scan" || v.RetryAfter != time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).Sub(noon) {
		t.Errorf("%+v", v)
	}
	if v := b.decide(on("POST", "/login", "ip", "10.0.0.5")); !v.Allowed || v.List != Exempt {
		t.Errorf("%+v", v)
	}
	if v := b.decide(on("GET", "/", "ip", "192.0.2.5")); !v.Allowed || v.Binding != -1 {
		t.Errorf("%+v", v)
	}
	if n := b.asked.takes.Load(); n != 0 {
		t.Errorf("%d calls to the store", n)
	}
	if s := b.Stats(); s.DeniedByList != 1 || s.Exempt != 1 || s.Unmatched != 1 || s.Denied != 1 || s.Decisions != 3 {
		t.Errorf("counted %+v", s)
	}
}

func TestEnforcerRefuses(t *testing.T) {
	c := compile(t, one())
	d := &counting{}
	for name, build := range map[string]func() (*Enforcer, error){
		"decider":   func() (*Enforcer, error) { return NewEnforcer(nil, c, nil) },
		"policy":    func() (*Enforcer, error) { return NewEnforcer(d, nil, nil) },
		"OnFailure": func() (*Enforcer, error) { return NewEnforcer(d, c, &EnforcerOptions{OnFailure: "shut"}) },
		"Local":     func() (*Enforcer, error) { return NewEnforcer(d, c, &EnforcerOptions{OnFailure: FailLocal}) },
		"Standings": func() (*Enforcer, error) { return NewEnforcer(d, c, &EnforcerOptions{Standings: -1}) },
		"Lookup":    func() (*Enforcer, error) { return NewEnforcer(d, c, &EnforcerOptions{Subjects: &SubjectLookup{}}) },
		"Attributes": func() (*Enforcer, error) {
			return NewEnforcer(d, c, &EnforcerOptions{Subjects: &SubjectLookup{Lookup: noTerms}})
		},
		"Life": func() (*Enforcer, error) {
			return NewEnforcer(d, c, &EnforcerOptions{Subjects: &SubjectLookup{Lookup: noTerms, Attributes: []string{"org"}, Life: -1}})
		},
		"Entries": func() (*Enforcer, error) {
			return NewEnforcer(d, c, &EnforcerOptions{Subjects: &SubjectLookup{Lookup: noTerms, Attributes: []string{"org"}, Entries: -1}})
		},
		"Timeout": func() (*Enforcer, error) {
			return NewEnforcer(d, c, &EnforcerOptions{Subjects: &SubjectLookup{Lookup: noTerms, Attributes: []string{"org"}, Timeout: -1}})
		},
	} {
		if _, err := build(); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	b := newBench(t, one(), nil)
	b.clock.Set(algorithm.MaxInstant.Time().Add(time.Hour))
	if v, err := b.Decide(context.Background(), of()); err == nil || v.Allowed {
		t.Errorf("a clock outside of all instants gives %+v, %v", v, err)
	}
}

func noTerms(context.Context, Attributes) (Terms, error) { return Terms{}, nil }
