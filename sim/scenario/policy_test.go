package scenario

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weirgo/weir/policy"
)

const governed = `
name: governed
duration: 1s
policy: |
  version: 1
  rules:
    - {id: api, match: {endpoints: ["/api/"]}, key: [user], limit: "gcra:5/1s"}
    - {id: org, key: [org], limits: {second: "gcra:5/1s", day: "fixed-window:9/24h"}}
traffic:
  - name: t
    process: {kind: poisson, rate: 5/1s}
    request: {method: GET, host: example.com, path: "/api/{key%3}", attributes: {user: "{key}", units: "{cost}", org: acme}}
`

func TestPolicyAndRequestsSurviveTheirText(t *testing.T) {
	s := parsed(t, governed)
	text, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again := parsed(t, string(text))
	if again.Policy != s.Policy || !reflect.DeepEqual(again.Traffic, s.Traffic) || !again.Governed() || again.Limits != nil {
		t.Errorf("this came back:\n%s", text)
	}
}

// TestPolicyIsWrittenInLines: as a block, unless the block would not read back as the same text.
func TestPolicyIsWrittenInLines(t *testing.T) {
	for text, block := range map[string]bool{
		"version: 1\nrules: []\n":                    true,
		"version: 1\nrules: []":                      true,
		"version: 1\n\nrules: []\n\n\n":              true,
		"# a\n#\tb: |\nversion: 1\nrules: []\n":      true,
		"\nversion: 1\nrules: [] # \u00a0\u2028 x\n": true,
		"  version: 1\n  rules: []\n":                false,
		"version: 1\r\nrules: []\r\n":                false,
		"{version: 1, rules: []}":                    false,
	} {
		s := parsed(t, governed)
		s.Policy = text
		written, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if again := parsed(t, string(written)); again.Policy != text || !reflect.DeepEqual(again.Traffic, s.Traffic) {
			t.Errorf("%q came back as %q:\n%s", text, again.Policy, written)
		}
		if got := strings.Contains(string(written), "\npolicy: |"); got != block {
			t.Errorf("%q is a block: %t:\n%s", text, got, written)
		}
	}
}

func TestRequestIsMadeForAKey(t *testing.T) {
	r := parsed(t, governed).Traffic[0].Request
	got := r.For("ann", 7)
	if got.Method != "GET" || got.Host != "example.com" || !strings.HasPrefix(got.Path, "/api/") || len(got.Path) != len("/api/0") || got.Path > "/api/2" {
		t.Errorf("%+v", got)
	}
	if want := (policy.Attributes{"user": "ann", "units": "7", "org": "acme"}); !reflect.DeepEqual(got.Attributes, want) {
		t.Errorf("%v, want %v", got.Attributes, want)
	}
	if again := r.For("ann", 9); again.Path != got.Path {
		t.Errorf("one key has the paths %s and %s", got.Path, again.Path)
	}
	if got := (*Request)(nil).For("ann", 1); !reflect.DeepEqual(got, policy.Request{Attributes: policy.Attributes{"user": "ann"}}) {
		t.Errorf("%+v", got)
	}
}

func TestPartsOfAKeyAreAboutEqual(t *testing.T) {
	r := &Request{Path: "{key%4}"}
	counts := map[string]int{}
	for i := range 400 {
		counts[r.For("user-"+string(rune('a'+i%26))+string(rune('a'+i/26)), 1).Path]++
	}
	for part, n := range counts {
		if n < 60 {
			t.Errorf("%d of 400 keys are in part %s", n, part)
		}
	}
	if len(counts) != 4 {
		t.Errorf("%v", counts)
	}
}

func TestPolicyOfAScenarioIsChecked(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"policy":             {"version: 1", "version: 7", `policy: line 1, column 10: version "7" is not allowed`},
		"its place":          {"version: 1", "versoin: 1", "line 4, column 9: policy: line 1, column 1: versoin: unknown field"},
		"spec":               {"gcra:5/1s\"}", "gcra:0/1s\"}", "rules[0].limit"},
		"shards":             {"rules:\n", "rules:\n    - {id: hot, limit: \"gcra:9/1s\", shards: 3}\n", "policy: rules[0].shards 3 is not allowed: must be absent in a simulation"},
		"a lease":            {"rules:\n", "rules:\n    - {id: hot, limit: \"gcra:9/1s\", lease: true}\n", "policy: rules[0].lease true is not allowed: must be absent in a simulation"},
		"limits beside it":   {"duration: 1s", "duration: 1s\nlimits: [{name: l, spec: \"gcra:1/1s\"}]", "limits 1 of them is not allowed: must be absent where a policy is given"},
		"together":           {"duration: 1s", "duration: 1s\ntogether: true", "together true is not allowed"},
		"servers":            {"duration: 1s", "duration: 1s\nserver: {count: 2}", "server.count 2 is not allowed: must be 1 where a policy is given"},
		"two policies":       {"duration: 1s", "duration: 1s\npolicy_file: p.yaml", "policy_file p.yaml is not allowed: must be absent"},
		"placeholder":        {"{key%3}", "{kye}", `traffic[0].request.path "{kye}" is not allowed: must be {key}, {cost}, or {key%N}`},
		"open placeholder":   {"user: \"{key}\"", "user: \"{key\"", `traffic[0].request.attributes.user "{key" is not allowed`},
		"parts":              {"{key%3}", "{key%1000001}", "with N from 1 to 1000000"},
		"no parts":           {"{key%3}", "{key%0}", "with N from 1 to 1000000"},
		"empty request":      {"attributes: {user: \"{key}\", units: \"{cost}\", org: acme}", "attributes: {}", "attributes 0 of them is not allowed: must be 1 to 100 of them"},
		"list of attributes": {"attributes: {user: \"{key}\", units: \"{cost}\", org: acme}", "attributes: [user]", "request.attributes a list is not allowed: must be a mapping"},
		"expected limit":     {"traffic:", "expect: [{limit: org, metric: over_units, max: 0}]\ntraffic:", "expect[0].limit org is not allowed: must be the name of a limit"},
		"request alone": {governed[strings.Index(governed, "policy:"):strings.Index(governed, "traffic:")],
			"limits: [{name: l, spec: \"gcra:1/1s\"}]\n", "traffic[0].request a request is not allowed: must be absent where there is no policy"},
		"late": {"duration: 1s", "duration: 1s\nstart: 2242-03-16T00:00:00Z", "start "},
	} {
		text := strings.Replace(governed, c.from, c.to, 1)
		if text == governed {
			t.Fatalf("%s: nothing is replaced", name)
		}
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := Parse(strings.NewReader(strings.Replace(governed, "traffic:", "expect: [{limit: org/day, metric: over_units, max: 0}]\ntraffic:", 1))); err != nil {
		t.Error(err)
	}
}
