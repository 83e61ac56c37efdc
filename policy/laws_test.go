package policy

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	memorystore "github.com/weirgo/weir/store/memory"
)

var drawnNames = []string{"a", "b", "ip"}

// drawnValues are few, so that they often match.
var drawnValues = map[string][]string{
	"a": {"x", "y", "x=y", "a&b"}, "b": {"x", "y", "%3D"}, "ip": {"192.0.2.1", "192.0.2.77:80", "10.1.2.3", "2001:db8::1", "nobody"},
}

var drawnConditions = map[string][]string{
	"a": {"x", "y", "x=y", "!x", "*", ""}, "b": {"x", "y", "!y", "*", ""}, "ip": {"192.0.2.0/24", "192.0.2.1", "!10.0.0.0/8", "2001:db8::/32", "*", ""},
}

func drawConditions(t *rapid.T, least int) Conditions {
	all := Conditions{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(drawnNames), least, 2, rapid.ID[string]).Draw(t, "attributes") {
		all[name] = rapid.SliceOfN(rapid.SampledFrom(drawnConditions[name]), 1, 2).Draw(t, "values")
	}
	return all
}

func drawUntil(t *rapid.T) time.Time {
	return rapid.SampledFrom([]time.Time{noon.Add(-time.Hour), noon, noon.Add(time.Microsecond), noon.Add(time.Hour)}).Draw(t, "until")
}

func drawSpec(t *rapid.T) Spec {
	return rapid.SampledFrom([]Spec{"gcra:2/1m", "sliding-log:1/1m", "token-bucket:3/1m", Block, Unlimited}).Draw(t, "spec")
}

func drawRule(t *rapid.T, id string) Rule {
	r := Rule{
		ID: id, Match: Match{Attributes: drawConditions(t, 0)},
		Key:       rapid.SliceOfNDistinct(rapid.SampledFrom(drawnNames), 0, 3, rapid.ID[string]).Draw(t, "key"),
		OnMissing: rapid.SampledFrom([]OnMissing{SkipMissing, DenyMissing, ShareMissing}).Draw(t, "missing"),
		Mode:      rapid.SampledFrom([]Mode{Enforce, Enforce, Shadow, Off, EnforcePercent(50)}).Draw(t, "mode"),
		Colocate:  rapid.SampledFrom([]string{"", "", "a", "ip"}).Draw(t, "colocate"),
	}
	if rapid.Bool().Draw(t, "active") {
		r.Active = Active{From: noon.Add(-time.Hour), Until: drawUntil(t).Add(time.Microsecond)}
	}
	if !r.Active.Until.After(r.Active.From) {
		r.Active = Active{}
	}
	switch rapid.IntRange(0, 3).Draw(t, "form") {
	case 0:
		r.Limit = specOf(drawSpec(t))
	case 1:
		r.Limit = LimitRef{Tier: "api"}
		r.Match.Endpoints = []string{"/api/", "POST /login"}
	case 2:
		r.Limits = map[string]LimitRef{"one": specOf(drawSpec(t)), "two": {Tier: "api"}}
	case 3:
		r.Endpoints = map[string]LimitRef{"/api/": specOf(drawSpec(t)), "GET /api/{id}": {Tier: "api"}, "POST /api/x": specOf(drawSpec(t))}
	}
	return r
}

func drawPolicy(t *rapid.T) Policy {
	p := Policy{
		Version: FormatVersion, Attributes: map[string]Attribute{"a": {}, "b": {}}, DefaultTier: "low",
		Tiers: map[string]Tier{"low": {Limits: map[string]Spec{"api": "gcra:1/1m"}}, "high": {Extends: "low", Algorithms: []string{"gcra"}}},
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "rules") {
		r := drawRule(t, fmt.Sprint("r", i))
		for other := range i {
			if rapid.IntRange(0, 3).Draw(t, "replaces") == 0 {
				r.Replaces = append(r.Replaces, fmt.Sprint("r", other))
			}
		}
		p.Rules = append(p.Rules, r)
	}
	for range rapid.IntRange(0, 2).Draw(t, "subjects") {
		p.Subjects = append(p.Subjects, Subject{Match: drawConditions(t, 1), Tier: rapid.SampledFrom([]string{"low", "high"}).Draw(t, "tier")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "overrides") {
		p.Overrides = append(p.Overrides, Override{Rule: "r0", Match: drawConditions(t, 1), Limit: rapid.SampledFrom([]Spec{Block, Unlimited}).Draw(t, "limit"), Until: drawUntil(t)})
	}
	if rapid.IntRange(0, 3).Draw(t, "lists") == 0 {
		p.Lists.Allow = []Entry{{Match: drawConditions(t, 1), Until: drawUntil(t)}}
	}
	return p
}

func drawRequest(t *rapid.T) Request {
	r := Request{
		Method: rapid.SampledFrom([]string{"GET", "POST", ""}).Draw(t, "method"),
		Path:   rapid.SampledFrom([]string{"", "/", "/api/x", "//api", "/login", "/api/x/y"}).Draw(t, "path"), Attributes: Attributes{},
	}
	for _, name := range drawnNames {
		if rapid.Bool().Draw(t, "has") {
			r.Attributes[name] = rapid.SampledFrom(drawnValues[name]).Draw(t, "value")
		}
	}
	if rapid.Bool().Draw(t, "tiered") {
		r.Attributes["tier"] = rapid.SampledFrom([]string{"low", "high", "other"}).Draw(t, "tier")
	}
	return r
}

// planned is a plan as text, without what is no answer.
func planned(c *Compiled, r Request, at algorithm.Instant) (list ListAction, limits []string) {
	var p Plan
	c.Resolve(&p, r, at)
	for _, l := range p.Limits {
		limits = append(limits, fmt.Sprintf("%s %s %s %t %s %d %s %d", l.Limit.Name, l.Action, l.Spec, l.Enforced, l.Key, l.Cost, l.Source, l.Until))
	}
	return p.List, limits
}

func same(t *rapid.T, what string, first, second *Compiled, r Request, at time.Time) {
	list1, limits1 := planned(first, r, instantOf(at))
	list2, limits2 := planned(second, r, instantOf(at))
	if list1 != list2 || !slices.Equal(limits1, limits2) {
		t.Fatalf("%s: %d %q becomes %d %q", what, list1, limits1, list2, limits2)
	}
}

func compiled(t *rapid.T, p Policy) *Compiled {
	c, err := Compile(p, &CompileOptions{SecretKey: secretKey})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestResolutionDoesNotDependOnTheOrderOfAttributes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r := drawPolicy(t), drawRequest(t)
		other := p
		other.Rules = slices.Clone(p.Rules)
		for i := range other.Rules {
			other.Rules[i].Key = rapid.Permutation(p.Rules[i].Key).Draw(t, "order")
		}
		reversed := r
		reversed.Attributes = Attributes{"unknown": "x"}
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(r.Attributes))) {
			reversed.Attributes[name] = r.Attributes[name]
		}
		list1, limits1 := planned(compiled(t, p), r, instantOf(noon))
		list2, limits2 := planned(compiled(t, other), reversed, instantOf(noon))
		if list1 != list2 || !slices.Equal(limits1, limits2) {
			t.Fatalf("%q becomes %q", limits1, limits2)
		}
	})
}

func TestRuleThatDoesNotMatchChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r := drawPolicy(t), drawRequest(t)
		extra := drawRule(t, "extra")
		extra.Match.Attributes = Conditions{"user": {"nobody"}}
		for _, rule := range p.Rules {
			extra.Replaces = append(extra.Replaces, rule.ID)
		}
		more := p
		more.Rules = slices.Insert(slices.Clone(p.Rules), rapid.IntRange(0, len(p.Rules)).Draw(t, "at"), extra)
		same(t, "a rule more", compiled(t, p), compiled(t, more), r, noon)
	})
}

// TestRulesAreFoundAsIfEachWereAlone holds the index over all rules against policies with
// one rule.
func TestRulesAreFoundAsIfEachWereAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r := drawPolicy(t), drawRequest(t)
		for i := range p.Rules {
			p.Rules[i].Replaces = nil
		}
		list, got := planned(compiled(t, p), r, instantOf(noon))
		var want []string
		for i, rule := range p.Rules {
			alone := p
			alone.Rules = []Rule{rule}
			if i > 0 {
				alone.Overrides = nil // they name the first rule
			}
			_, limits := planned(compiled(t, alone), r, instantOf(noon))
			want = append(want, limits...)
		}
		if list == None && !slices.Equal(got, want) {
			t.Fatalf("together %q, alone %q", got, want)
		}
	})
}

func TestShadowNeverChangesAnAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		shadow := drawRule(t, "extra")
		shadow.Mode = Shadow
		for _, rule := range p.Rules {
			shadow.Replaces = append(shadow.Replaces, rule.ID)
		}
		more := p
		more.Rules = slices.Insert(slices.Clone(p.Rules), rapid.IntRange(0, len(p.Rules)).Draw(t, "at"), shadow)
		var enforcers []*Enforcer
		for _, policy := range []Policy{p, more} {
			s := weir.Must(memorystore.New(&memorystore.Options{Clock: still{}}))
			defer s.Close()
			enforcers = append(enforcers, weir.Must(NewEnforcer(weir.Must(weir.NewMultiLimiter(s, nil)), compiled(t, policy), &EnforcerOptions{Clock: still{}, Sequential: true})))
		}
		for range 8 {
			r := drawRequest(t)
			if diff := cmp.Diff(answerOf(t, enforcers[0], r), answerOf(t, enforcers[1], r)); diff != "" {
				t.Fatalf("a rule in shadow changes an answer:\n%s", diff)
			}
		}
	})
}

type still struct{}

func (still) Now() time.Time { return noon }

// answerOf is a verdict without the limits in shadow.
func answerOf(t *rapid.T, e *Enforcer, r Request) any {
	v, err := e.Decide(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	binding, decisions := "", map[string]weir.Decision{}
	if v.Binding >= 0 {
		binding = v.Rules[v.Binding].Limit.Name
	}
	for _, rule := range v.Rules {
		if rule.Enforced {
			decisions[rule.Limit.Name+" "+rule.Action.String()] = rule.Decision
		}
	}
	return []any{v.Allowed, v.RetryAfter, v.Delay, v.Standing, v.List, v.Degraded, binding, decisions}
}

func TestDenyEntryWinsOverEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r := drawPolicy(t), drawRequest(t)
		r.Attributes["a"] = "x"
		p.Lists.Deny = []Entry{{Match: Conditions{"a": {"y"}}}, {Match: Conditions{"a": {"x"}}, Until: noon.Add(time.Microsecond), Reason: "r"}}
		var plan Plan
		c := compiled(t, p)
		if c.Resolve(&plan, r, instantOf(noon)); plan.List != Denied || plan.Entry.Index != 1 || plan.Entry.Reason != "r" || len(plan.Limits) > 0 {
			t.Fatalf("got list %d, entry %+v and %d limits", plan.List, plan.Entry, len(plan.Limits))
		}
		p.Lists.Deny = nil
		same(t, "an entry that has ended", c, compiled(t, p), r, noon.Add(time.Microsecond))
	})
}

func TestOverrideThatHasEndedIsAsIfAbsent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r := drawPolicy(t), drawRequest(t)
		r.Attributes["a"] = "x"
		p.Lists, p.Overrides = Lists{}, nil
		without := compiled(t, p)
		until := noon.Add(time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "µs")) * time.Microsecond)
		p.Overrides = []Override{{Rule: "r0", Match: Conditions{"a": {"x"}}, Limit: Block, Until: until.Add(time.Duration(rapid.IntRange(0, 999).Draw(t, "ns")))}}
		with := compiled(t, p)
		same(t, "an override that has ended", without, with, r, until)
		last := until.Add(-time.Microsecond)
		var plan Plan
		with.Resolve(&plan, r, instantOf(last))
		for _, l := range plan.Limits {
			if l.Rule == "r0" && l.Action != ActionMissing && (l.Source != FromOverride || l.Action != ActionBlock || l.Until != instantOf(until)) {
				t.Fatalf("1 µs before its end the override is not there: %+v", l)
			}
		}
	})
}

func TestExplanationAgreesWithThePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r := drawPolicy(t), drawRequest(t)
		c := compiled(t, p)
		var plan Plan
		c.Resolve(&plan, r, instantOf(noon))
		e := c.Explain(r, instantOf(noon))
		var got, want []string
		for _, rule := range e.Rules {
			if len(rule.Limits) > 0 != (rule.Applies == RuleApplies) {
				t.Fatalf("rule %s %s with %d limits", rule.Rule, rule.Applies, len(rule.Limits))
			}
			for _, l := range rule.Limits {
				got = append(got, l.Limit.Name)
			}
		}
		for _, l := range plan.Limits {
			want = append(want, l.Limit.Name)
		}
		if e.List != plan.List || e.List == None && len(e.Rules) != len(p.Rules) || !slices.Equal(got, want) {
			t.Fatalf("explained %q, planned %q", got, want)
		}
		if text := e.String(); strings.Contains(text, "unknown\n") || text == "" {
			t.Fatal(text)
		}
	})
}

// FuzzKeys looks for two compositions of attributes with one key.
func FuzzKeys(f *testing.F) {
	f.Add("x", "y", "192.0.2.1", "x&b=y", "", "192.0.2.1", false)
	f.Add("{a", "}", "::1", "{a}", "", "::2", true)
	f.Add("%3D", "", "", "=", "", "", true)
	c, err := Compile(Policy{Version: FormatVersion, Attributes: map[string]Attribute{"a": {}, "b": {}}, Rules: []Rule{
		{ID: "r", Key: []string{"a", "b", "ip"}, Limit: specOf("gcra:1/1m")},
		{ID: "s", Key: []string{"a", "b", "ip"}, Colocate: "b", Limit: specOf("gcra:1/1m")},
		{ID: "one", Key: []string{"a"}, Limit: specOf("gcra:1/1m")},
		{ID: "shared", Key: []string{"a"}, Limit: specOf("gcra:1/1m"), OnMissing: ShareMissing},
	}}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, a1, b1, ip1, a2, b2, ip2 string, _ bool) {
		keys := make([]map[string]string, 2)
		values := make([][]value, 2)
		for i, r := range []Request{of("a", a1, "b", b1, "ip", ip1), of("a", a2, "b", b2, "ip", ip2)} {
			keys[i] = map[string]string{}
			var p Plan
			c.Resolve(&p, r, 1)
			for _, l := range p.Limits {
				if l.Key == "" {
					t.Fatal("an empty key")
				}
				keys[i][l.Rule] = l.Key
			}
			for _, name := range []string{"a", "b", "ip"} {
				v := c.attributes.read(c.attributes.number[name], r.Attributes[name])
				if v.addr.Is6() {
					v.addr = prefixOf(v.addr, 64)
				}
				values[i] = append(values[i], v)
			}
		}
		for _, rule := range []string{"r", "s", "one", "shared"} {
			n := 3
			if rule == "one" || rule == "shared" {
				n = 1
			}
			first, has := keys[0][rule]
			second, both := keys[1][rule]
			if has && both && (first == second) != slices.Equal(values[0][:n], values[1][:n]) {
				t.Fatalf("rule %s: keys %q and %q for %v and %v", rule, first, second, values[0], values[1])
			}
		}
	})
}

func TestPercentIsKeptAndGrows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var inside [101]int
	const keys = 20_000
	for range keys {
		inside[percentile("rule", fmt.Sprint("user=", random.Uint64()))]++
	}
	for _, n := range []int{1, 10, 50, 99} {
		total := 0
		for i := range n {
			total += inside[i]
		}
		if want := keys * n / 100; total < want-want/5-30 || total > want+want/5+30 {
			t.Errorf("%d%% enforces for %d of %d keys", n, total, keys)
		}
	}
	rule := func(mode Mode) *Compiled {
		return compile(t, one(Rule{ID: "r", Key: []string{"user"}, Limit: specOf("gcra:1/1m"), Mode: mode}))
	}
	ten, thirty := rule(EnforcePercent(10)), rule(EnforcePercent(30))
	apart := 0
	for i := range 1000 {
		var p Plan
		ten.Resolve(&p, of("user", fmt.Sprint(i)), 1)
		first := p.Limits[0].Enforced
		thirty.Resolve(&p, of("user", fmt.Sprint(i)), 1)
		if first && !p.Limits[0].Enforced {
			t.Fatalf("user %d is enforced at 10%% and not at 30%%", i)
		}
		if first != p.Limits[0].Enforced {
			apart++
		}
	}
	if apart < 100 || apart > 300 {
		t.Errorf("%d of 1000 keys come in between 10%% and 30%%", apart)
	}
	if percentile("r", "user=0") == percentile("s", "user=0") && percentile("r", "user=1") == percentile("s", "user=1") && percentile("r", "user=2") == percentile("s", "user=2") {
		t.Error("two rules choose the same keys")
	}
}

func prefixOf(a netip.Addr, bits int) netip.Addr { return netip.PrefixFrom(a, bits).Masked().Addr() }
