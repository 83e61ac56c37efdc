package rules

import (
	"fmt"
	"testing"

	"github.com/weirgo/weir/policy"
)

const text = `
version: 1
attributes: {plan: {}}
default_tier: free
tiers:
  free: {limits: {api: "gcra:1/1s"}}
rules:
  - {id: a, key: [user, ip], limit: {tier: api}, match: {attributes: {plan: ["x", "!y"]}}}
  - {id: b, limits: {z: "gcra:3/1s", y: "gcra:2/1s"}, colocate: org, key: [user], on_missing: shared}
  - {id: c, endpoints: {"GET /": "0", "GET /a": "gcra:1/1s"}}
  - {id: d, limit: "gcra:4/1s", active: {from: 1970-01-01T00:00:01Z, until: 1970-01-01T00:00:02Z}}
  - {id: e, limit: unlimited, replaces: [f]}
  - {id: f, limit: "gcra:5/1s", schedule: [{when: Mon, limit: "gcra:8/1s"}]}
subjects: [{match: {org: o}, limits: {api: "gcra:6/1s"}}]
overrides: [{rule: f, match: {org: o}, limit: "gcra:7/1s", until: 1970-01-01T00:00:02Z}]
lists:
  deny: [{match: {ip: ["10.0.0.0/8", "2001:db8::1"]}, until: 1970-01-01T00:00:02Z}, {match: {user: "*", org: ""}}]
  allow: [{match: {ip: "!10.1.0.0/16"}}]
`

func TestLimitsAndSpecsOfAPolicy(t *testing.T) {
	file, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range Limits(&file.Policy) {
		names = append(names, l.Name+" of "+l.Rule.ID)
	}
	if got := fmt.Sprintf("%q", names); got != `["a of a" "b/y of b" "b/z of b" "c GET / of c" "c GET /a of c" "d of d" "e of e" "f of f"]` {
		t.Error(got)
	}
	if got := fmt.Sprint(Specs(&file.Policy)); got != "[gcra:2/1s gcra:3/1s gcra:1/1s gcra:4/1s gcra:5/1s gcra:8/1s gcra:6/1s gcra:7/1s]" {
		t.Error(got)
	}
}

func TestReferenceSaysWhatAPolicyMeans(t *testing.T) {
	file, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := NewReference(&file.Policy)
	const second = 1_000_000
	for _, c := range []struct {
		of   policy.Attributes
		at   int64
		list policy.ListAction
		must string
	}{
		{policy.Attributes{}, 0, policy.Exempt, "[b e]"},
		{policy.Attributes{"ip": "10.2.3.4"}, 0, policy.Denied, "[b e]"},
		{policy.Attributes{"ip": "10.2.3.4:80"}, 2*second - 1, policy.Denied, "[b d e]"},
		{policy.Attributes{"ip": "10.2.3.4"}, 2 * second, policy.Exempt, "[b e]"},
		{policy.Attributes{"ip": "10.1.3.4"}, 2 * second, policy.None, "[b e]"},
		{policy.Attributes{"ip": "[2001:db8::1]:9"}, 1, policy.Denied, "[b e]"},
		{policy.Attributes{"user": "u", "org": " "}, 9 * second, policy.Denied, "[b e]"},
		{policy.Attributes{"user": "u", "org": "o"}, second, policy.Exempt, "[b d e]"},
		{policy.Attributes{"user": "u", "org": "o", "ip": "10.1.1.1", "plan": "x"}, 3 * second, policy.None, "[a b e]"},
		{policy.Attributes{"user": "u", "org": "o", "ip": "10.1.1.1", "plan": "y"}, 3 * second, policy.None, "[b e]"},
	} {
		var must []string
		for _, rule := range r.Must(c.of, c.at) {
			must = append(must, rule.ID)
		}
		if list := r.Listed(c.of, c.at); list != c.list || fmt.Sprint(must) != c.must {
			t.Errorf("%v at %d: the lists say %d and %v applies, want %d and %s", c.of, c.at, list, must, c.list, c.must)
		}
	}
	rules := file.Policy.Rules
	if name, whole := r.Subject(&rules[1], policy.Attributes{"user": "a", "org": "b"}); name != `org"b"user"a"` || !whole || !r.Distinct(&rules[1]) || r.Distinct(&rules[0]) {
		t.Errorf("%s %t", name, whole)
	}
}
