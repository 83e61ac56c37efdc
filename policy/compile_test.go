package policy

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/store"
)

// TestCompileRefuses has the mistakes that a policy in Go can have, and where they are
// shown. Those of files are in mistakes_test.go.
func TestCompileRefuses(t *testing.T) {
	rule := func(r Rule) func(*Policy) {
		if r.ID == "" {
			r.ID = "r"
		}
		if r.Limit == (LimitRef{}) && r.Limits == nil && r.Endpoints == nil {
			r.Limit = specOf("gcra:1/1s")
		}
		return func(p *Policy) { p.Rules = []Rule{r} }
	}
	where := func(c Conditions) func(*Policy) { return rule(Rule{Match: Match{Attributes: c}}) }
	override := func(o Override) func(*Policy) {
		if o.Match == nil {
			o.Match = Conditions{"org": {"o"}}
		}
		if o.Until.IsZero() {
			o.Until = noon
		}
		return func(p *Policy) {
			p.Rules = []Rule{{ID: "r", Limits: map[string]LimitRef{"a": specOf("gcra:1/1s"), "b": specOf("gcra:1/1s")}}}
			p.Overrides = []Override{o}
		}
	}
	subject := func(s Subject) func(*Policy) {
		if s.Match == nil {
			s.Match = Conditions{"org": {"o"}}
		}
		return func(p *Policy) { p.Subjects = []Subject{s} }
	}
	attribute := func(a Attribute) func(*Policy) {
		return func(p *Policy) { p.Attributes = map[string]Attribute{"x": a} }
	}
	for _, test := range []struct {
		path, contains string
		change         func(p *Policy)
	}{
		{"version", "must be 1", func(p *Policy) { p.Version = 0 }},
		{`attributes["a b"]`, "1 to 64 of", func(p *Policy) { p.Attributes = map[string]Attribute{"a b": {}} }},
		{"attributes.x.ipv6_prefix", "1 to 128", attribute(Attribute{Type: Address, IPv6Prefix: 129})},
		{"attributes.x.ipv6_prefix", "left out", attribute(Attribute{IPv6Prefix: 64})},
		{"attributes.x.secret", "left out", attribute(Attribute{Type: Address, Secret: true})},
		{"attributes.tier", "names a tier", func(p *Policy) { p.Attributes = map[string]Attribute{"tier": {Secret: true}} }},
		{"tiers.paid.extends", "unknown tier", func(p *Policy) { p.Tiers["paid"] = Tier{Extends: "fre"} }},
		{"tiers.free.algorithms[0]", `did you mean "gcra"`, func(p *Policy) { p.Tiers["free"] = Tier{Algorithms: []string{"gcr"}} }},
		{"default_tier", "no tier for requests that have no other", func(p *Policy) {
			p.DefaultTier = ""
			rule(Rule{Limit: LimitRef{Tier: "api"}})(p)
		}},
		{"rules[0].limit.tier", "unknown limit of the tiers", rule(Rule{Limit: LimitRef{Tier: "search"}})},
		{"rules[0].limit.tier", "the tier paid has no such limit", func(p *Policy) {
			p.Tiers["paid"] = Tier{}
			rule(Rule{Limit: LimitRef{Tier: "api"}})(p)
		}},
		{"rules[0].id", "1 to 64 of", rule(Rule{ID: "a/b"})},
		{`rules[0].limits["a/b"]`, "1 to 64 of", rule(Rule{Limits: map[string]LimitRef{"a/b": specOf("gcra:1/1s")}})},
		{"rules[0]", "more than one way", rule(Rule{Limit: specOf("gcra:1/1s"), Limits: map[string]LimitRef{"a": specOf("gcra:1/1s")}})},
		{"rules[0].match.endpoints", "left out", rule(Rule{Match: Match{Endpoints: []string{"/"}}, Endpoints: map[string]LimitRef{"/a": specOf("gcra:1/1s")}})},
		{"rules[0].match.endpoints[0]", "port", rule(Rule{Match: Match{Endpoints: []string{"h:80/"}}})},
		{"rules[0].match.endpoints[0]", "not clean", rule(Rule{Match: Match{Endpoints: []string{"/a//b"}}})},
		{"rules[0].match.endpoints[1]", "conflicts", rule(Rule{Match: Match{Endpoints: []string{"/a", "/a"}}})},
		{"rules[0].endpoints[\"/" + strings.Repeat("a", 200) + "\"]", "198 bytes", rule(Rule{Endpoints: map[string]LimitRef{"/" + strings.Repeat("a", 200): specOf("gcra:1/1s")}})},
		{"rules[0].match.attributes.org", "no value", where(Conditions{"org": {}})},
		{"rules[0].match.attributes.org[0]", `"*" for any`, where(Conditions{"org": {"!"}})},
		{"rules[0].match.attributes.org[0]", "spaces", where(Conditions{"org": {" a"}})},
		{"rules[0].match.attributes.ip[0]", "no address", where(Conditions{"ip": {"somewhere"}})},
		{"rules[0].match.attributes.ip[0]", `did you mean "10.0.0.0/8"`, where(Conditions{"ip": {"10.1.0.0/8"}})},
		{"rules[0].match.attributes.ip[0]", `did you mean "10.0.0.0/8"`, where(Conditions{"ip": {"!::ffff:10.0.0.0/104"}})},
		{"rules[0].match.attributes.ip[0]", `did you mean "fe80::1"`, where(Conditions{"ip": {"fe80::1%eth0"}})},
		{"rules[0].match.attributes.ip[0]", "no network", where(Conditions{"ip": {"10.0.0.0/33"}})},
		{"rules[0].key[1]", "once", rule(Rule{Key: []string{"ip", "ip"}})},
		{"rules[0].colocate", "unknown attribute", rule(Rule{Colocate: "orgg"})},
		{"rules[0].cost.attribute", "not secret", rule(Rule{Cost: Cost{Attribute: "ip", Default: 1}})},
		{"rules[0].cost.max", "without an attribute", rule(Rule{Cost: Cost{Max: 3}})},
		{"rules[0].cost.max", "1 to 1000000000000", rule(Rule{Cost: Cost{Attribute: "n", Default: 1, Max: -1}})},
		{"rules[0].cost.default", "1 to 3", rule(Rule{Cost: Cost{Attribute: "n", Default: 4, Max: 3}})},
		{"rules[0].cost.default", "1 to", rule(Rule{Cost: Cost{Default: -1}})},
		{"rules[0].mode", "1 to 100", rule(Rule{Mode: "enforce 0%"})},
		{"rules[0].mode", "1 to 100", rule(Rule{Mode: EnforcePercent(101)})},
		{"rules[0].mode", `did you mean "shadow"`, rule(Rule{Mode: "shdow"})},
		{"rules[0].on_missing", "skip, deny, shared", rule(Rule{OnMissing: "ignore"})},
		{"rules[0].on_failure", "closed, local, open", rule(Rule{OnFailure: "shut"})},
		{"rules[0].warn_at", "1 to 100", rule(Rule{WarnAt: 101})},
		{"rules[0].calm_at", "at most warn_at", rule(Rule{CalmAt: 90})},
		{"rules[0].active.until", "never active", rule(Rule{Active: Active{From: noon, Until: noon}})},
		{"rules[0].active.from", "1970", rule(Rule{Active: Active{From: time.Unix(-1, 0)}})},
		{"rules[0].replaces[0]", "the rule itself", rule(Rule{Replaces: []string{"r"}})},
		{"subjects[0]", "gives nothing", subject(Subject{})},
		{"subjects[0].match", "about nobody", subject(Subject{Match: Conditions{}, Tier: "free"})},
		{"subjects[0].tier", "unknown tier", subject(Subject{Tier: "gold"})},
		{"subjects[0].limits.apis", `unknown limit`, subject(Subject{Limits: map[string]Spec{"apis": "gcra:1/1s"}})},
		{"subjects[0].limits.api", "of gcra", subject(Subject{Tier: "paid", Limits: map[string]Spec{"api": "sliding-log:1/1s"}})},
		{"overrides[0].rule", "unknown rule", override(Override{Rule: "q", Limit: Block})},
		{"overrides[0].name", "several limits", override(Override{Rule: "r", Limit: "gcra:1/1s"})},
		{"overrides[0].name", "one of a, b", override(Override{Rule: "r", Name: "c", Limit: "gcra:1/1s"})},
		{"overrides[0].limit", "no limit", override(Override{Rule: "r"})},
		{"lists.deny[0].match", "about nobody", func(p *Policy) { p.Lists.Deny = []Entry{{}} }},
		{"lists.allow[0].until", "1970", func(p *Policy) {
			p.Lists.Allow = []Entry{{Match: Conditions{"org": {"o"}}, Until: time.Unix(-1, 0)}}
		}},
	} {
		p := Policy{
			Version: FormatVersion, DefaultTier: "free",
			Tiers: map[string]Tier{"free": {Limits: map[string]Spec{"api": "gcra:1/1s"}}, "paid": {Extends: "free", Algorithms: []string{"gcra"}}},
			Rules: []Rule{{ID: "r", Limit: LimitRef{Tier: "api"}}},
		}
		compile(t, p) // is right before the change
		test.change(&p)
		_, err := Compile(p, &CompileOptions{SecretKey: secretKey})
		var invalid *InvalidError
		if !errors.As(err, &invalid) {
			t.Errorf("%s: got %v", test.path, err)
			continue
		}
		found := false
		for _, f := range invalid.Fields {
			found = found || f.Path.String() == test.path && strings.Contains(f.Error(), test.contains)
		}
		if !found {
			t.Errorf("%s, %q: got %v", test.path, test.contains, err)
		}
	}
}

func TestCompileNeedsAKeyForSecrets(t *testing.T) {
	p := one()
	p.Attributes = map[string]Attribute{"api_key": {Secret: true}}
	for _, opts := range []*CompileOptions{nil, {}, {SecretKey: make([]byte, 15)}} {
		if _, err := Compile(p, opts); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "SecretKey") {
			t.Errorf("%+v: got %v", opts, err)
		}
	}
	if _, err := Compile(one(), &CompileOptions{SecretKey: []byte("short")}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a key that is too short gives %v", err)
	}
}

// TestSecretsAreNowhere: neither a plan nor an explanation nor an error shows a secret.
func TestSecretsAreNowhere(t *testing.T) {
	const secret = "sk-live-123"
	p := one(Rule{ID: "r", Match: Match{Attributes: Conditions{"api_key": {secret}}}, Key: []string{"api_key"}, Limit: specOf("gcra:1/1s")})
	p.Attributes = map[string]Attribute{"api_key": {Secret: true}}
	c := compile(t, p)
	r := of("api_key", " "+secret)
	var plan Plan
	c.Resolve(&plan, r, 1)
	if len(plan.Limits) != 1 || strings.Contains(line(&plan), secret) || strings.Contains(c.Explain(r, 1).String(), secret) {
		t.Errorf("plan %s", line(&plan))
	}
	other := weirCompile(t, p, "another key of 16 bytes")
	var second Plan
	other.Resolve(&second, r, 1)
	if plan.Limits[0].Key == second.Limits[0].Key {
		t.Error("the key of the HMAC does not count")
	}
	p.Lists.Deny = []Entry{{Match: Conditions{"api_key": {" " + secret}}}}
	if _, err := Compile(p, &CompileOptions{SecretKey: secretKey}); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("an error shows a secret, or there is none: %v", err)
	}
}

func weirCompile(t *testing.T, p Policy, key string) *Compiled {
	t.Helper()
	c, err := Compile(p, &CompileOptions{SecretKey: []byte(key)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCosts(t *testing.T) {
	c := compile(t, one(Rule{ID: "r", Limit: specOf("gcra:9/1s"), Cost: Cost{Attribute: "units", Default: 2, Max: 5}}))
	for text, want := range map[string]int64{"": 2, "3": 3, " 4 ": 4, "0": 0, "5": 5, "6": 5, "99999999999999999999": 5, "-1": 2, "-99999999999999999999": 2, "x": 2, "1.5": 2, "1e3": 2} {
		var p Plan
		c.Resolve(&p, of("units", text), 1)
		if got := p.Limits[0].Cost; got != want {
			t.Errorf("units %q cost %d, want %d", text, got, want)
		}
	}
}

func TestLayersOfALimit(t *testing.T) {
	p := one(Rule{ID: "r", Key: []string{"org"}, Limit: LimitRef{Tier: "api", Spec: "gcra:1/1s"}}, Rule{ID: "many", Key: []string{"org"}, Limits: map[string]LimitRef{"a": specOf("gcra:1/1s"), "b": {Tier: "api"}}})
	p.DefaultTier = "none"
	p.Tiers = map[string]Tier{"none": {Limits: map[string]Spec{}}, "some": {Limits: map[string]Spec{"api": "gcra:2/1s"}, Algorithms: []string{"gcra"}}}
	p.Rules[1].Limits["b"] = LimitRef{Tier: "api", Spec: "gcra:1/1s"}
	p.Subjects = []Subject{
		{Match: Conditions{"org": {"log"}}, Limits: map[string]Spec{"api": "sliding-log:3/1s"}},
		{Match: Conditions{"org": {"log", "gcra"}}, Limits: map[string]Spec{"api": "gcra:3/1s", "many/a": Unlimited}},
		{Match: Conditions{"org": {"log", "gcra", "paid"}}, Tier: "some"},
	}
	p.Overrides = []Override{
		{Rule: "r", Match: Conditions{"org": {"gcra"}}, Limit: "sliding-log:4/1s", Until: noon.Add(time.Hour)}, // some tiers do not allow it
		{Rule: "r", Match: Conditions{"org": {"gcra"}}, Limit: "gcra:4/1s", Until: noon},                       // has ended
		{Rule: "many", Name: "b", Match: Conditions{"org": {"paid"}}, Limit: "gcra:4/1s", Until: noon.Add(time.Hour)},
	}
	c := compile(t, p)
	for org, want := range map[string]string{
		"free": "r=gcra:1/1s from rule for org=free x1; many/a=gcra:1/1s from rule for org=free x1; many/b=gcra:1/1s from rule for org=free x1",
		"paid": "r=gcra:2/1s from tier for org=paid x1; many/a=gcra:1/1s from rule for org=paid x1; many/b=gcra:4/1s from override for org=paid x1",
		"gcra": "r=gcra:3/1s from subject for org=gcra x1; many/a=exempt from subject for org=gcra x1; many/b=gcra:3/1s from subject for org=gcra x1",
		"log":  "r=gcra:3/1s from subject for org=log x1; many/a=exempt from subject for org=log x1; many/b=gcra:3/1s from subject for org=log x1",
	} {
		var plan Plan
		c.Resolve(&plan, of("org", org), instantOf(noon))
		if got := line(&plan); got != want {
			t.Errorf("%s:\n got %s\nwant %s", org, got, want)
		}
	}
}

func TestColocateIsTheHashTagAndPartOfTheKey(t *testing.T) {
	c := compile(t, one(
		Rule{ID: "user", Key: []string{"user"}, Colocate: "org", Limit: specOf("gcra:1/1s")},
		Rule{ID: "org", Key: []string{"org"}, Colocate: "org", Limit: specOf("gcra:1/1s")},
		Rule{ID: "plain", Key: []string{"org"}, Limit: specOf("gcra:1/1s")},
	))
	var p Plan
	c.Resolve(&p, of("org", "a{b}", "user", "u"), 1)
	const want = "user=gcra:1/1s from rule for {org=a%7Bb%7D}&user=u x1; org=gcra:1/1s from rule for {org=a%7Bb%7D} x1; plain=gcra:1/1s from rule for org=a%7Bb%7D x1"
	if got := line(&p); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	c.Resolve(&p, of("user", "u"), 1)
	if len(p.Limits) != 0 {
		t.Errorf("without org %s", line(&p))
	}
}

func TestSharedKeyLiesWithTheRulesThatItIsColocatedWith(t *testing.T) {
	c := compile(t, one(
		Rule{ID: "user", Key: []string{"api_key", "user"}, Colocate: "org", OnMissing: ShareMissing, Limit: specOf("gcra:1/1s")},
		Rule{ID: "plain", Key: []string{"api_key", "user"}, OnMissing: ShareMissing, Limit: specOf("gcra:1/1s")},
	))
	var p Plan
	for _, test := range []struct {
		request Request
		want    string
	}{
		{of("org", "acme", "api_key", "k"), "user=gcra:1/1s from rule for {org=acme}&missing x1; plain=gcra:1/1s from rule for missing x1"},
		{of("org", "acme"), "user=gcra:1/1s from rule for {org=acme}&missing x1; plain=gcra:1/1s from rule for missing x1"},
		{of("user", "u"), "user=gcra:1/1s from rule for missing x1; plain=gcra:1/1s from rule for missing x1"},
	} {
		c.Resolve(&p, test.request, 1)
		if got := line(&p); got != test.want {
			t.Errorf("got %s\nwant %s", got, test.want)
		}
	}
}

func TestVersionIsADigestOfThePolicy(t *testing.T) {
	first, again := compile(t, example()).Version(), compile(t, example()).Version()
	changed := example()
	changed.Rules[0].Limit.Spec = "sliding-log:6/15m"
	if other := compile(t, changed).Version(); first != again || first == other || len(first) != 12 {
		t.Errorf("versions %s, %s, and %s of another policy", first, again, other)
	}
}

// TestAttributeOfACostIsDeclaredByNoOtherRule: whether a rule may name it must not depend
// on the order of the rules.
func TestAttributeOfACostIsDeclaredByNoOtherRule(t *testing.T) {
	priced := Rule{ID: "priced", Limit: specOf("gcra:1/1s"), Cost: Cost{Attribute: "units", Default: 1}}
	keyed := Rule{ID: "keyed", Limit: specOf("gcra:1/1s"), Key: []string{"units"}}
	for _, rules := range [][]Rule{{priced, keyed}, {keyed, priced}} {
		_, err := Compile(Policy{Version: 1, Rules: rules}, nil)
		if err == nil || !strings.Contains(err.Error(), `key[0] "units": unknown attribute`) {
			t.Errorf("%s first: %v", rules[0].ID, err)
		}
		p := Policy{Version: 1, Rules: rules, Attributes: map[string]Attribute{"units": {}}}
		if _, err := Compile(p, nil); err != nil {
			t.Errorf("%s first, declared: %v", rules[0].ID, err)
		}
	}
}
