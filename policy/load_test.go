package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weirgo/weir/internal/document"
)

// decoded reads a text without compiling it.
func decoded(t testing.TB, text string) (Policy, []*FieldError) {
	t.Helper()
	root, mistakes := document.Parse([]byte(text))
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	var p Policy
	d := newDecoder()
	d.decode(root, &p)
	return p, d.errs
}

// whole is a policy with every field.
const whole = `version: 1
attributes:
  ip:      {type: address, ipv6_prefix: 56}
  api_key: {secret: true}
  units:   {}
default_tier: free
tiers:
  free:       {limits: {api: "gcra:60/1m,burst=10"}}
  enterprise: {extends: free, limits: {api: unlimited}, algorithms: [gcra, token-bucket], schedule: [{when: Sat-Sun, limits: {api: "gcra:600/1m"}}]}
rules:
  - id: login
    match: {endpoints: ["POST /login"], attributes: {org: [acme, "!globex"], user: 42, tier: "*"}}
    key: [ip]
    limit: sliding-log:5/15m
    on_failure: closed
    mode: enforce 10%
    active: {from: 2026-12-01T00:00:00Z, until: 2026-12-31T01:00:00+01:00}
    warn_at: 90
    calm_at: 50
    schedule:
      - {when: "Mon-Fri 08:00-18:00, Sat", zone: Europe/Berlin, limit: "sliding-log:3/15m"}
      - {when: 22:00-06:00, limit: 0}
  - id: api
    key: [org, api_key]
    limit: {tier: api, spec: 0}
    cost: {attribute: units, default: 1, max: 1000}
    on_missing: deny
    colocate: org
  - id: orders
    endpoints:
      "POST /api/orders": gcra:10/1m
      "GET /api/orders/{id}": {tier: api}
    schedule: [{when: Sun, limits: {"POST /api/orders": "gcra:20/1m"}}]
  - id: total
    limits: {minute: "gcra:10000/1m", day: 0}
    replaces: [login]
subjects:
  - {match: {org: acme}, tier: enterprise, limits: {api: "gcra:9000/1m"}}
overrides:
  - {rule: total, name: day, match: {org: initech}, limit: "gcra:2000/1m", until: 2026-12-31T00:00:00Z, reason: migration}
lists:
  deny:  [{match: {ip: 203.0.113.0/24}, until: 2026-12-01T00:00:00.5Z, reason: scan}]
  allow: [{match: {ip: 10.0.0.0/8}}]
`

func wholePolicy() Policy {
	at := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC) }
	return Policy{
		Version: 1,
		Attributes: map[string]Attribute{
			"ip": {Type: Address, IPv6Prefix: 56}, "api_key": {Secret: true}, "units": {},
		},
		DefaultTier: "free",
		Tiers: map[string]Tier{
			"free": {Limits: map[string]Spec{"api": "gcra:60/1m,burst=10"}},
			"enterprise": {Extends: "free", Limits: map[string]Spec{"api": Unlimited}, Algorithms: []string{"gcra", "token-bucket"},
				Schedule: []Scheduled{{When: "Sat-Sun", Limits: map[string]Spec{"api": "gcra:600/1m"}}}},
		},
		Rules: []Rule{
			{
				ID: "login",
				Match: Match{
					Endpoints:  []string{"POST /login"},
					Attributes: Conditions{"org": {"acme", "!globex"}, "user": {"42"}, "tier": {"*"}},
				},
				Key: []string{"ip"}, Limit: LimitRef{Spec: "sliding-log:5/15m"},
				OnFailure: FailClosed, Mode: EnforcePercent(10), Active: Active{From: at(12, 1), Until: at(12, 31)}, WarnAt: 90, CalmAt: 50,
				Schedule: []Scheduled{{When: "Mon-Fri 08:00-18:00, Sat", Zone: "Europe/Berlin", Limit: "sliding-log:3/15m"}, {When: "22:00-06:00", Limit: Block}},
			},
			{
				ID: "api", Key: []string{"org", "api_key"}, Limit: LimitRef{Tier: "api", Spec: Block},
				Cost: Cost{Attribute: "units", Default: 1, Max: 1000}, OnMissing: DenyMissing, Colocate: "org",
			},
			{ID: "orders", Endpoints: map[string]LimitRef{"POST /api/orders": {Spec: "gcra:10/1m"}, "GET /api/orders/{id}": {Tier: "api"}},
				Schedule: []Scheduled{{When: "Sun", Limits: map[string]Spec{"POST /api/orders": "gcra:20/1m"}}}},
			{ID: "total", Limits: map[string]LimitRef{"minute": {Spec: "gcra:10000/1m"}, "day": {Spec: Block}}, Replaces: []string{"login"}},
		},
		Subjects: []Subject{{Match: Conditions{"org": {"acme"}}, Tier: "enterprise", Limits: map[string]Spec{"api": "gcra:9000/1m"}}},
		Overrides: []Override{{
			Rule: "total", Name: "day", Match: Conditions{"org": {"initech"}}, Limit: "gcra:2000/1m", Until: at(12, 31), Reason: "migration",
		}},
		Lists: Lists{
			Deny:  []Entry{{Match: Conditions{"ip": {"203.0.113.0/24"}}, Until: at(12, 1).Add(time.Second / 2), Reason: "scan"}},
			Allow: []Entry{{Match: Conditions{"ip": {"10.0.0.0/8"}}}},
		},
	}
}

func TestTextBecomesThePolicy(t *testing.T) {
	got, errs := decoded(t, whole)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if diff := cmp.Diff(wholePolicy(), got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestDecoderRefusesWithThePlace(t *testing.T) {
	rule := "version: 1\nrules:\n  - id: a\n"
	for _, c := range []struct{ name, text, want string }{
		{"list at the top", "- 1\n", `line 1, column 1: a list is not allowed: must be a mapping`},
		{"unknown field", rule + "    limti: gcra:1/1s\n", `line 4, column 5: rules[0].limti: unknown field: must be one of id, match, key, limit, limits, endpoints, schedule, cost, on_missing, on_failure, mode, active, replaces, colocate, shards, lease, warn_at, calm_at; did you mean "limit"?`},
		{"unknown field at the top", "version: 1\nrule: []\n", `line 2, column 1: rule: unknown field: must be one of version, attributes, default_tier, tiers, rules, subjects, overrides, lists; did you mean "rules"?`},
		{"unknown field of a limit", rule + "    limit: {teir: api}\n", `line 4, column 13: rules[0].limit.teir: unknown field: must be one of spec, tier; did you mean "tier"?`},
		{"mapping in place of a list", "rules: {id: a}\n", `line 1, column 8: rules: a mapping is not allowed: must be a list`},
		{"nothing in place of a list", "rules:\n", `line 1, column 8: rules: nothing is not allowed: must be a list`},
		{"text in place of a list", rule + "    key: ip\n", `line 4, column 10: rules[0].key "ip" is not allowed: must be a list`},
		{"number in place of a text", "default_tier: 1\n", `line 1, column 15: default_tier "1" is not allowed: must be a text`},
		{"text in place of a number", "version: one\n", `line 1, column 10: version "one" is not allowed: must be a whole number`},
		{"quoted number", "version: \"1\"\n", `line 1, column 10: version "1" is not allowed: must be a whole number`},
		{"hexadecimal number", "version: 0x1\n", `line 1, column 10: version "0x1" is not allowed: must be a whole number`},
		{"number that is no int64", rule + "    cost: {max: 9223372036854775808}\n", `line 4, column 17: rules[0].cost.max "9223372036854775808" is not allowed: must be a whole number`},
		{"text in place of a switch", "attributes: {a: {secret: yes}}\n", `line 1, column 26: attributes.a.secret "yes" is not allowed: must be true or false`},
		{"time without a zone", "overrides: [{until: 2026-12-31T00:00:00}]\n", `line 1, column 21: overrides[0].until "2026-12-31T00:00:00" is not allowed: must be RFC 3339 with a zone, such as 2026-12-31T00:00:00Z`},
		{"date", "overrides: [{until: 2026-12-31}]\n", `line 1, column 21: overrides[0].until "2026-12-31" is not allowed: must be RFC 3339 with a zone`},
		{"condition that is a mapping", rule + "    match: {attributes: {org: {a: b}}}\n", `line 4, column 31: rules[0].match.attributes.org[0]: a mapping is not allowed: must be a text or a number`},
		{"condition without a value", rule + "    match: {attributes: {org: []}}\n", `line 4, column 31: rules[0].match.attributes.org: no value: must be left out, or have one`},
		{"condition that is nothing", rule + "    match: {attributes: {org: }}\n", `rules[0].match.attributes.org[0]: nothing is not allowed: must be a text or a number`},
		{"no endpoints", rule + "    match: {endpoints: []}\n", `line 4, column 24: rules[0].match.endpoints: is empty: must be left out, or have an entry`},
		{"limit that is a list", rule + "    limits: {a: [x]}\n", `line 4, column 17: rules[0].limits.a: a list is not allowed: must be a text`},
		{"pattern in the path", rule + "    endpoints: {\"GET /x\": {x: y}}\n", `line 4, column 28: rules[0].endpoints["GET /x"].x: unknown field`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, errs := decoded(t, c.text)
			if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), c.want) && !strings.Contains(errs[0].Error(), ": "+c.want) {
				t.Errorf("got  %v\nwant %s", errs, c.want)
			}
		})
	}
}

func TestDecoderGoesOnBehindMistakes(t *testing.T) {
	p, errs := decoded(t, "version: x\nrules:\n  - {id: 1, limit: gcra:1/1s}\n  - {id: b, mood: off, limit: gcra:2/1s}\nlists: []\n")
	if len(errs) != 4 || len(p.Rules) != 2 || p.Rules[0].Limit.Spec != "gcra:1/1s" || p.Rules[1].ID != "b" {
		t.Errorf("%v\n%+v", errs, p)
	}
}

func TestInvalidErrorShowsTwenty(t *testing.T) {
	var text strings.Builder
	text.WriteString("version: 1\n")
	for i := range 25 {
		fmt.Fprintf(&text, "f%d: 1\n", i)
	}
	_, errs := decoded(t, text.String())
	lines := strings.Split((&InvalidError{File: "p.yaml", Fields: errs}).Error(), "\n")
	if len(lines) != 21 || lines[20] != "and 5 more" || !strings.HasPrefix(lines[0], "policy: p.yaml: line 2, column 1: f0: unknown field") {
		t.Errorf("%q", lines)
	}
}
