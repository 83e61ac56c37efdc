package sim

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/world"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
)

// shop is a policy with most of what policies have.
const shop = `
policy: |
  version: 1
  attributes:
    ip: {type: address, ipv6_prefix: 64}
    api_key: {secret: true}
    units: {}
  default_tier: free
  tiers:
    free: {limits: {api: "gcra:20/1s,burst=10"}}
    premium: {extends: free, limits: {api: "gcra:100/1s,burst=50"}}
  rules:
    - id: login
      match: {endpoints: ["POST /login"]}
      key: [ip]
      limit: sliding-log:5/10s
      on_failure: closed
    - id: api
      match: {endpoints: ["/api/"]}
      key: [org, user]
      limit: {tier: api}
      cost: {attribute: units, default: 1, max: 5}
      on_failure: local
    - id: per-org
      key: [org]
      limits: {second: "token-bucket:80/1s,burst=40", minute: "fixed-window:2000/1m"}
      on_failure: open
    - id: strict
      key: [user]
      limit: leaky-bucket:2/1s,capacity=4
      mode: shadow
    - id: rollout
      key: [user]
      limit: sliding-counter:30/2s
      mode: enforce 30%
    - id: partners
      match: {attributes: {org: [org-1]}}
      key: [org]
      limit: gcra:500/1s
      replaces: [per-org]
  subjects:
    - {match: {org: org-2}, tier: premium}
  overrides:
    - {rule: api, match: {org: org-3}, limit: "gcra:5/1s,burst=5", until: 2026-01-01T00:00:06Z}
  lists:
    deny: [{match: {user: user-7}, until: 2026-01-01T00:00:07Z}, {match: {ip: 203.0.113.0/24}}]
    allow: [{match: {ip: 10.0.0.0/8}}]
traffic:
  - name: users
    process: {kind: poisson, rate: 200/1s}
    keys: {kind: zipf, n: 40, alpha: 1, name: user}
    costs: {kind: mix, large: 9}
    request: {method: GET, path: "/api/orders/{key%9}", attributes: {user: "{key}", org: "org-{key%5}", units: "{cost}", ip: "192.0.2.{key%200}"}}
  - name: log-ins
    process: {kind: poisson, rate: 20/1s}
    keys: {kind: uniform, n: 30, name: user}
    request: {method: POST, path: /login, attributes: {user: "{key}", ip: "2001:db8:0:{key%4}::{key%99}"}}
    retry: {kind: obey, attempts: 2}
  - name: scan
    process: {kind: constant, rate: 10/1s}
    request: {method: POST, path: /login, attributes: {ip: "203.0.113.{key%200}"}}
  - name: inside
    closed: {callers: 3, think: {mean: 100ms}}
    request: {path: /api/, method: GET, attributes: {ip: 10.1.2.3, user: root}}
`

const shopWorld = `name: shop
duration: 10s
seed: 4
` + shop

func TestPolicyDecidesASimulation(t *testing.T) {
	r := ran(t, parsed(t, shopWorld), nil)[0]
	p := r.Policy
	if p == nil || r.Limit != "policy" || len(p.Rules) != 7 || p.DeniedByList == 0 || p.Exempt == 0 || p.Version == "" {
		t.Fatalf("%+v", p)
	}
	rules := map[string]result.Rule{}
	for _, rule := range p.Rules {
		rules[rule.Limit] = rule
		if rule.Requests == 0 || rule.Subjects == 0 {
			t.Errorf("no request met a rule: %+v", rule)
		}
	}
	if s := rules["strict"]; s.Denied != 0 || s.WouldDeny == 0 || s.Mode != "shadow" {
		t.Errorf("%+v", s)
	}
	if s := rules["rollout"]; s.Denied == 0 || s.WouldDeny == 0 {
		t.Errorf("%+v", s)
	}
	specs := map[string]int{}
	for _, l := range r.Limits {
		specs[l.Name]++
		if l.OverUnits > 0 {
			t.Errorf("%s was exceeded by %d", l.Name, l.OverUnits)
		}
	}
	if specs["api"] != 3 || goalOf(r, check.CarriedDenied) == 0 || goalOf(r, check.ShadowDenied) == 0 {
		t.Errorf("%v, %d denials for another limit", specs, goalOf(r, check.CarriedDenied))
	}
	again := ran(t, parsed(t, shopWorld), nil)[0]
	if r.Digest != again.Digest || fmt.Sprint(r.Limits) != fmt.Sprint(again.Limits) || fmt.Sprint(*r.Policy) != fmt.Sprint(*again.Policy) {
		t.Error("the same scenario has other results")
	}
}

// With each fault, each clock and each failure mode no rule is violated.
func TestPolicyHoldsUnderFaults(t *testing.T) {
	for name, more := range map[string]string{
		"slow network": "network: {delay: {kind: exponential, mean: 5ms}}\n",
		"down":         "nodes: {count: 3}\nnetwork: {delay: {mean: 1ms}}\nfaults: [{kind: down, at: 3s, for: 2s}]\n",
		"down, open":   "nodes: {count: 3, on_failure: open}\nnetwork: {delay: {mean: 1ms}}\nfaults: [{kind: down, at: 3s, for: 2s}]\n",
		"fail-over":    "server: {lag: 300ms}\nnetwork: {delay: {mean: 1ms}}\nfaults: [{kind: failover, at: 5s}, {kind: restart, at: 6s, data: lost}]\n",
		"loss":         "nodes: {count: 2, on_failure: local}\nnetwork: {delay: {kind: uniform, high: 20ms}, repeats: true}\nfaults: [{kind: loss, rate: 5%}, {kind: duplication, rate: 10%}, {kind: reordering, rate: 5%, delay: 30ms}]\n",
		"clocks":       "nodes: {count: 3, skew: 2s, drift: 500}\nserver: {clock: node}\n",
		"server clock": "faults: [{kind: clock, at: 3s, step: -3s}, {kind: clock, at: 5s, for: 3s, drift: 100000}]\n",
		"crash":        "nodes: {count: 3}\nnetwork: {delay: {mean: 4ms}}\nfaults: [{kind: crash, at: 3s, for: 1s, nodes: [0]}, {kind: crash, at: 5s, for: 1s, nodes: [1, 2]}]\n",
		"eviction":     "faults: [{kind: eviction, every: 50ms}]\n",
		"frozen, dead": "nodes: {count: 2, on_failure: local, call_timeout: 300ms}\nnetwork: {delay: {mean: 1ms}}\nfaults: [{kind: freeze, at: 4s, for: 2s}, {kind: dead, at: 7s}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran(t, parsed(t, shopWorld+more), nil)
		})
	}
}

// Where nothing takes time, a rule in shadow may as well be off: the answers are the same.
func TestShadowRuleChangesNoAnswerOfASimulation(t *testing.T) {
	shadow := ran(t, parsed(t, shopWorld), nil)[0]
	off := ran(t, parsed(t, strings.Replace(shopWorld, "mode: shadow", "mode: \"off\"", 1)), nil)[0]
	if shadow.Totals != off.Totals || fmt.Sprint(shadow.Traffic) != fmt.Sprint(off.Traffic) || fmt.Sprint(shadow.Fairness) != fmt.Sprint(off.Fairness) {
		t.Errorf("with the rule in shadow %+v, without it %+v", shadow.Totals, off.Totals)
	}
}

// Every exploration scenario keeps the rules with a policy, too.
func TestPolicyHoldsInGeneratedScenarios(t *testing.T) {
	policy := parsed(t, shopWorld).Policy
	request := parsed(t, shopWorld).Traffic[0].Request
	seeds := uint64(10)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		s := scenario.Generate(seed)
		s.Limits, s.Together, s.Server.Count, s.Policy, s.Start = nil, false, 0, policy, parsed(t, shopWorld).Start
		for i := range s.Faults {
			s.Faults[i].Servers = nil
		}
		for i := range s.Traffic {
			s.Traffic[i].Reserve = nil
			if s.Traffic[i].Keys.Kind != "spray" {
				s.Traffic[i].Request = request
			}
		}
		ran(t, copyOf(t, s), nil)
	}
}

func TestPolicyOfAScenarioIsReadFromAFile(t *testing.T) {
	inline := parsed(t, shopWorld)
	text := inline.Policy
	inFile := *inline
	inFile.Policy, inFile.PolicyFile = "", "policies/shop.yaml"
	r := ran(t, &inFile, &Options{Files: fstest.MapFS{"policies/shop.yaml": {Data: []byte(text)}}})[0]
	if want := ran(t, inline, nil)[0]; r.Digest != want.Digest {
		t.Errorf("the digest is %s, and of the same policy inline %s", r.Digest, want.Digest)
	}
	for name, files := range map[string]fstest.MapFS{
		"no files": nil, "no such file": {}, "empty": {"policies/shop.yaml": {}}, "wrong": {"policies/shop.yaml": {Data: []byte("version: 2\n")}},
	} {
		opts := &Options{}
		if files != nil {
			opts.Files = files
		}
		if _, err := Run(t.Context(), &inFile, opts); err == nil || !strings.Contains(err.Error(), "policy_file: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPolicyWithDecorators: breaker, deny cache and share of the nodes keep their rules under a policy, in scenarios with
// every fault, and have something to do.
func TestPolicyWithDecorators(t *testing.T) {
	policy := parsed(t, shopWorld).Policy
	request := parsed(t, shopWorld).Traffic[0].Request
	met := map[string]int64{}
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		s := scenario.Generate(100 + seed)
		s.Limits, s.Together, s.Server.Count, s.Policy, s.Start = nil, false, 0, policy, parsed(t, shopWorld).Start
		s.Nodes.Breaker, s.Nodes.DenyCache, s.Nodes.LocalShare = true, 50, 3
		s.Nodes.OnFailure = []string{"local", "open", "closed"}[seed%3]
		for i := range s.Faults {
			s.Faults[i].Servers = nil
		}
		for i := range s.Traffic {
			s.Traffic[i].Reserve, s.Traffic[i].Request = nil, request
		}
		for _, r := range ran(t, copyOf(t, s), nil) {
			for _, g := range r.Goals {
				met[g.Name] += g.Count
			}
		}
	}
	for _, name := range []string{"denied without a call to the server", "breaker opened", "breaker refused a call", "breaker closed again", "failure mode admitted"} {
		if met[name] == 0 && !testing.Short() {
			t.Errorf("never: %s", name)
		}
	}
}

// TestMistakesInDecoratorsAreCaughtUnderAPolicy: the rules of the decorators see what is planted there, too.
func TestMistakesInDecoratorsAreCaughtUnderAPolicy(t *testing.T) {
	for rule, plant := range map[string]world.Decorators{
		check.DenyCache: {DenyCache: func(inner store.Store, o *resilience.DenyCacheOptions) (store.Store, error) {
			return resilience.NewDenyCache(answers(inner, longer), o)
		}},
		check.Breaker: {Breaker: func(inner store.Store, o *resilience.BreakerOptions) (store.Store, error) {
			b, err := resilience.NewBreaker(inner, o)
			return onOpen(b, inner.Apply), err
		}},
		check.Local: {Share: func(local store.Store, _ func() int64) (store.Store, error) { return local, nil }},
	} {
		s := parsed(t, shopWorld)
		s.Nodes.Breaker, s.Nodes.DenyCache, s.Nodes.LocalShare, s.Nodes.OnFailure = true, 50, 3, "local"
		s.Nodes.Timeout = 50 * time.Millisecond
		s.Faults = []scenario.Fault{{Kind: "down", At: s.Duration / 4, For: s.Duration / 2}}
		s.Checks = []string{rule}
		r, err := world.Run(t.Context(), s, nil, world.Options{Decorators: plant})
		if err != nil {
			t.Fatal(err)
		}
		if r.Failure == nil {
			t.Errorf("%s: nothing was violated", rule)
		}
	}
}

// TestScheduleChangesOverInASimulation: while numbers change, also on nodes whose clocks differ, no rule is
// violated, and each limit admits what it is.
func TestScheduleChangesOverInASimulation(t *testing.T) {
	r := ran(t, parsed(t, `name: night
start: 2026-01-01T20:59:50Z
duration: 30s
nodes: {count: 3, skew: 500ms}
network: {delay: {mean: 1ms}}
policy: |
  version: 1
  default_tier: free
  tiers:
    free: {limits: {api: "gcra:20/1s,burst=10"}, schedule: [{when: "22:00-06:00", zone: Europe/Berlin, limits: {api: "gcra:200/1s,burst=40"}}]}
  rules:
    - {id: api, key: [user], limit: {tier: api}}
    - {id: total, limit: "fixed-window:2000/1m", schedule: [{when: "Thu 21:00-22:00", limit: "fixed-window:900/1m"}]}
traffic:
  - name: users
    process: {kind: poisson, rate: 100/1s}
    keys: {kind: uniform, n: 4, name: user}
    request: {method: GET, path: /, attributes: {user: "{key}"}}
`), nil)[0]
	decided := map[string]int64{}
	for _, l := range r.Limits {
		decided[l.Name+" "+l.Spec] = l.ExecutedAllowed
		if l.OverUnits > 0 {
			t.Errorf("%s was exceeded by %d", l.Name, l.OverUnits)
		}
	}
	for _, want := range []string{"api gcra:20/1s,burst=10", "api gcra:200/1s,burst=40", "total fixed-window:2000/1m", "total fixed-window:900/1m"} {
		if decided[want] == 0 {
			t.Errorf("%s admitted nothing: %v", want, decided)
		}
	}
}
