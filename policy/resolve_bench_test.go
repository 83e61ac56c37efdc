package policy

import (
	"fmt"
	"testing"

	"github.com/weirgo/weir/internal/race"
)

// manyRules is a policy of n rules in the shapes that services have: by endpoint, by
// organisation, by both, by network, with as many subjects, overrides and entries. Request
// many(i) meets four rules, whatever n.
func manyRules(n int) Policy {
	p := Policy{
		Version: FormatVersion, DefaultTier: "free",
		Tiers: map[string]Tier{"free": {Limits: map[string]Spec{"api": "gcra:60/1m"}}, "paid": {Extends: "free", Limits: map[string]Spec{"api": "gcra:600/1m"}}},
		Rules: []Rule{{ID: "all", Key: []string{"ip"}, Limit: specOf("gcra:1000/1s")}},
	}
	for i := range n {
		org, id := fmt.Sprint("org", i), fmt.Sprint("r", i)
		r := Rule{ID: id, Key: []string{"org", "user"}, Limit: specOf("gcra:100/1m")}
		switch i % 4 {
		case 0:
			r.Match.Endpoints = []string{fmt.Sprintf("GET /api/v1/service%d/{id}", i), fmt.Sprintf("/api/v1/service%d/", i)}
		case 1:
			r.Match.Attributes = Conditions{"org": {fmt.Sprint("org", i-1)}}
		case 2:
			r.Match = Match{Endpoints: []string{"/api/"}, Attributes: Conditions{"org": {fmt.Sprint("org", i-2)}}}
			r.Limit = LimitRef{Tier: "api"}
		case 3:
			r.Match.Attributes = Conditions{"ip": {fmt.Sprintf("10.%d.%d.0/24", i/256%256, i%256)}, "user": {"*"}}
		}
		p.Rules = append(p.Rules, r)
		if i%4 == 0 {
			p.Subjects = append(p.Subjects, Subject{Match: Conditions{"org": {org}}, Tier: "paid"})
			p.Overrides = append(p.Overrides, Override{Rule: id, Match: Conditions{"user": {org}}, Limit: "gcra:7/1m", Until: noon.AddDate(1, 0, 0)})
			p.Lists.Deny = append(p.Lists.Deny, Entry{Match: Conditions{"ip": {fmt.Sprintf("11.%d.%d.1", i/256%256, i%256)}}})
		}
	}
	return p
}

// many is a request that meets the rules 0, 1 and 2 of each four, and the rule for all.
func many(n int) Request {
	i := n / 2 / 4 * 4
	r := on("GET", fmt.Sprintf("/api/v1/service%d/77", i), "org", fmt.Sprint("org", i), "user", "u", "ip", "192.0.2.1")
	r.Host = "api.example.com"
	return r
}

// TestResolveLooksAtTheRulesThatMayApply counts what Resolve looks at, which does not depend
// on how busy a machine is; BenchmarkResolve measures the time.
func TestResolveLooksAtTheRulesThatMayApply(t *testing.T) {
	for _, n := range []int{100, 10_000} {
		c := compile(t, manyRules(n))
		var p Plan
		c.Resolve(&p, many(n), instantOf(noon))
		if rules, met := len(p.candidates), len(p.search.found); rules > 4 || met > 1 {
			t.Errorf("%d rules: %d were looked at, of which %d were met by their endpoints, to find %d", n, rules, met, len(p.Limits))
		}
	}
}

func TestResolveAllocatesItsKeysOnly(t *testing.T) {
	race.SkipAllocations(t)
	for _, n := range []int{100, 10_000} {
		c := compile(t, manyRules(n))
		var p Plan
		r, at := many(n), instantOf(noon)
		c.Resolve(&p, r, at)
		keys := map[string]bool{}
		for _, l := range p.Limits {
			keys[l.Key] = true
		}
		if len(p.Limits) != 4 || len(keys) != 2 {
			t.Fatalf("%d rules: %d limits with %d keys, want 4 and 2", n, len(p.Limits), len(keys))
		}
		if got := testing.AllocsPerRun(100, func() { c.Resolve(&p, r, at) }); got > float64(len(keys)) {
			t.Errorf("%d rules: %g allocations, want %d: the keys", n, got, len(keys))
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("%d-rules", n), func(b *testing.B) {
			c := compile(b, manyRules(n))
			var p Plan
			r, at := many(n), instantOf(noon)
			b.ReportAllocs()
			for b.Loop() {
				c.Resolve(&p, r, at)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	p := manyRules(10_000)
	for b.Loop() {
		if _, err := Compile(p, nil); err != nil {
			b.Fatal(err)
		}
	}
}
