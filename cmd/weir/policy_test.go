package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/servertest"
)

const apiPolicy = `version: 1
attributes: {api_key: {secret: true}}
default_tier: free
tiers:
  free: {limits: {api: "gcra:60/1m,burst=10"}}
rules:
  - id: everything
    limit: gcra:1000/1s
  - id: api
    match: {endpoints: ["/api/"]}
    key: [org]
    limit: {tier: api}
    colocate: org
overrides:
  - {rule: api, match: {org: initech}, limit: "gcra:2000/1m", until: 2026-12-31T00:00:00Z, reason: migration}
lists:
  deny: [{match: {ip: 203.0.113.0/24}, until: 2026-12-01T00:00:00Z, reason: scan}]
`

// policyFile writes a policy, and returns its name.
func policyFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, name, text)
	return name
}

func TestPolicyCheckShowsMistakesByLine(t *testing.T) {
	good, bad := policyFile(t, apiPolicy), policyFile(t, "version: 1\nrules:\n  - {id: a, limti: gcra:1/1s}\n  - {id: a, limit: grca:1/1s}\n")
	got := start("policy", "check", good, bad)
	want := bad + `:3:13: rules[0].limti: unknown field: must be one of id, match, key, limit, `
	if got.status != exitUsage || !strings.Contains(got.out, want) || !strings.Contains(got.out, bad+`:4:10: rules[1].id "a": is the id of rules[0], too`) ||
		!strings.Contains(got.out, `did you mean "gcra"?`) || !strings.Contains(got.err, "1 policy cannot be used") {
		t.Errorf("%+v", got)
	}
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, "f%d: x\n", i)
	}
	got = startWith(many.String(), "policy", "check", "-")
	if lines := strings.Count(got.out, "\n"); lines != 21 || !strings.Contains(got.out, "standard input: and 11 more\n") {
		t.Errorf("%d lines: %s", lines, got.out)
	}
}

func TestPolicyCheckShowsFindings(t *testing.T) {
	name := policyFile(t, apiPolicy)
	at := []string{"policy", "check", name, "--at", "2026-12-15T00:00:00Z"}
	got := start(at...)
	if got.status != exitOK || !strings.Contains(got.out, name+":17:10: unreachable: lists.deny[0]: the entry ended at 2026-12-01T00:00:00Z\n") ||
		!strings.Contains(got.out, name+":9:5: cluster: rules[1]: ") || !strings.Contains(got.out, "2 rules, 1 tier, 2 findings\n") {
		t.Errorf("%+v", got)
	}
	if got := start(append(at, "--strict")...); got.status != exitNo || !strings.Contains(got.err, "2 findings") {
		t.Errorf("%+v", got)
	}
	if got := start(append(at, "--strict", "--ignore", "cluster", "--ignore", "unreachable")...); got.status != exitOK || strings.Count(got.out, "\n") != 1 {
		t.Errorf("%+v", got)
	}
	if got := start(append(at, "--attr", "ip")...); !strings.Contains(got.out, "attribute: rules[1].key[0]: nothing gives the attribute org\n") {
		t.Errorf("%+v", got)
	}
}

func TestPolicyExplainSaysWhatApplies(t *testing.T) {
	name := policyFile(t, apiPolicy)
	at := []string{"policy", "explain", name, "--at", "2026-11-28T00:00:00Z", "--method", "POST", "--path", "/api/orders"}
	got := start(append(at, "--attr", "org=acme")...)
	for _, want := range []string{"rule everything: applies", "rule api: applies, by /api/", "gcra:60/1m,burst=10, from tier", "{org=acme}", "tier: free, from default"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in %s", want, got.out)
		}
	}
	if got.status != exitOK {
		t.Errorf("%+v", got)
	}
	at[len(at)-1] = "/api/orders?page=2" // a query is no part of the path
	if got := start(append(at, "--attr", "org=acme")...); !strings.Contains(got.out, "rule api: applies, by /api/") {
		t.Error(got.out)
	}
	login := policyFile(t, "version: 1\nrules: [{id: login, limit: \"gcra:1/1s\", match: {endpoints: [\"/login\"]}}]\n")
	if got := start("policy", "explain", login, "--path", "/login?next=%2F"); !strings.Contains(got.out, "rule login: applies") {
		t.Error(got.out)
	}
	if got := start(append(at, "--attr", "org=initech")...); !strings.Contains(got.out, "gcra:2000/1m, from override") {
		t.Error(got.out)
	}
	if got := start(at...); !strings.Contains(got.out, "rule api: key attribute missing: org") {
		t.Error(got.out)
	}
	if got := start(append(at, "--attr", "ip=203.0.113.9")...); got.status != exitNo || !strings.Contains(got.out, "denied by lists.deny[0]: scan") {
		t.Errorf("%+v", got)
	}
	at[4] = "2026-12-15T00:00:00Z"
	if got := start(append(at, "--attr", "ip=203.0.113.9")...); got.status != exitOK {
		t.Errorf("an entry that has ended denies: %+v", got)
	}
}

func TestPolicyExplainShowsHowLimitsStand(t *testing.T) {
	plain := policyFile(t, strings.Replace(apiPolicy, "attributes: {api_key: {secret: true}}\n", "", 1))
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		url := "redis://" + server.Addr()
		args := []string{"policy", "explain", plain, "--path", "/api/x", "--attr", "org=acme", "--at", "2026-11-28T00:00:00Z", "--store", url}
		got := start(args...)
		if got.status != exitOK || !strings.Contains(got.out, "limit api: admits, with 9 of 10 left then, normal\n") || !strings.HasSuffix(got.out, "the request is allowed\n") {
			t.Errorf("%+v", got)
		}
		// A state that is in debt for an hour, by the name that the enforcer gives it.
		server.Do("SET", "w{org=acme}Gapi:%7Borg=acme%7D", fmt.Sprint(time.Now().Add(time.Hour).UnixMicro()))
		got = start(args...)
		if got.status != exitNo || !strings.Contains(got.out, "limit api: denies, again in ") {
			t.Errorf("%+v", got)
		}
		if got := start(append(args, "--prefix", "other:")...); got.status != exitOK {
			t.Errorf("%+v", got)
		}
		secret := policyFile(t, apiPolicy)
		args[2] = secret
		if got := start(args...); got.status != exitUsage || !strings.Contains(got.err, "--secret-key is missing") {
			t.Errorf("%+v", got)
		}
		key := filepath.Join(t.TempDir(), "key")
		write(t, key, "0123456789abcdef\n")
		if got := start(append(args, "--secret-key", key)...); got.status != exitNo {
			t.Errorf("%+v", got)
		}
	})
}

func TestPolicyDiffShowsChanges(t *testing.T) {
	before := policyFile(t, apiPolicy)
	after := policyFile(t, `version: 1
attributes: {api_key: {secret: true}}
default_tier: free
tiers:
  free: {limits: {api: "gcra:60/1m,burst=20"}}
rules:
  - id: api
    match: {endpoints: ["/api/", "/v2/"]}
    key: [org]
    limit: {tier: api}
    colocate: org
  - id: everything
    limit: sliding-log:1000/1s
  - id: new
    limit: gcra:1/1s
overrides:
  - {rule: api, match: {org: initech}, limit: "gcra:2000/1m", until: 2027-12-31T00:00:00Z, reason: migration}
`)
	got := start("policy", "diff", before, after)
	want := `- lists.deny[{"ip":["203.0.113.0/24"]}].listed: true
- lists.deny[{"ip":["203.0.113.0/24"]}].reason: scan
- lists.deny[{"ip":["203.0.113.0/24"]}].until: 2026-12-01T00:00:00Z
~ overrides[{"org":["initech"]} api ].until: 2026-12-31T00:00:00Z → 2027-12-31T00:00:00Z
~ rules.api.match.endpoints: [/api/] → [/api/, /v2/]
~ rules.everything.limit.spec: gcra:1000/1s → sliding-log:1000/1s (starts fresh)
+ rules.new.id: new
+ rules.new.limit.spec: gcra:1/1s
~ tiers.free.limits.api: gcra:60/1m,burst=10 → gcra:60/1m,burst=20 (states run on)
`
	if got.status != exitNo || got.out != want || !strings.Contains(got.err, "the policies differ: 9 changes") {
		t.Errorf("status %d, %s\n%s", got.status, got.err, got.out)
	}
	if got := start("policy", "diff", before, before); got.status != exitOK || got.out != "" {
		t.Errorf("%+v", got)
	}
}

func TestPolicyDiffSaysWhatAChangeOfShardsMeans(t *testing.T) {
	rules := func(shards string) string {
		return policyFile(t, "version: 1\nrules: [{id: hot, limits: {shards: \"gcra:100/1s\"}"+shards+"}]\n")
	}
	for _, c := range []struct{ before, after, want string }{
		{"", ", shards: 4", "+ rules.hot.shards: 4 (starts fresh)\n"},
		{", shards: 4", "", "- rules.hot.shards: 4 (starts fresh)\n"},
		{", shards: 4", ", shards: 8", "~ rules.hot.shards: 4 → 8 (the states of the first 4 shards run on, the others start fresh)\n"},
		{", shards: 8", ", shards: 4", "~ rules.hot.shards: 8 → 4 (the states of the first 4 shards run on)\n"},
		{"", ", lease: true", "+ rules.hot.lease: true\n"},
	} {
		if got := start("policy", "diff", rules(c.before), rules(c.after)); got.status != exitNo || got.out != c.want {
			t.Errorf("status %d, got %swant %s", got.status, got.out, c.want)
		}
	}
}

func TestPolicyDiffShowsNoSecret(t *testing.T) {
	const text = `version: 1
attributes: {api_key: {secret: true}}
rules: [{id: r, limit: "gcra:1/1s", match: {attributes: {api_key: ["!sk_live_rule", "*"]}}}]
subjects: [{match: {api_key: sk_live_subject}, limits: {r: "gcra:2/1s"}}]
overrides: [{rule: r, match: {api_key: sk_live_override}, limit: "gcra:3/1s", until: 2026-12-31T00:00:00Z}]
lists:
  deny: [{match: {api_key: sk_live_denied}}]
  allow: [{match: {api_key: sk_live_allowed, org: acme}}]
`
	got := start("policy", "diff", policyFile(t, text), policyFile(t, strings.ReplaceAll(text, "sk_live", "sk_test")))
	if strings.Contains(got.out, "sk_") || got.status != exitNo {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{"- lists.deny[", "+ lists.deny[", "- lists.allow[", "- subjects[", "- overrides[", "~ rules.r.match.attributes.api_key: [!secret-1, *] → [!secret-"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %s in\n%s", want, got.out)
		}
	}
	// Also where only one of the two says that it is secret.
	plain := strings.Replace(text, "{secret: true}", "{}", 1)
	if got := start("policy", "diff", policyFile(t, plain), policyFile(t, text)); strings.Contains(got.out, "sk_") || !strings.Contains(got.out, "attributes.api_key.secret") {
		t.Errorf("%+v", got)
	}
}

func TestPolicyDiffShowsTheOrderOfExceptions(t *testing.T) {
	const text = "version: 1\nrules: [{id: r, limit: \"gcra:1/1s\"}]\n"
	const acme, ann = `{match: {org: acme}, limits: {r: "gcra:2/1s"}}`, `{match: {user: ann}, limits: {r: "gcra:3/1s"}}`
	const bob = `{match: {user: bob}, limits: {r: "gcra:4/1s"}}`
	subjects := func(all ...string) string {
		return policyFile(t, text+"subjects: ["+strings.Join(all, ", ")+"]\n")
	}
	const want = "~ subjects: the order; the first that matches counts\n"
	if got := start("policy", "diff", subjects(acme, ann), subjects(ann, acme)); got.status != exitNo || got.out != want {
		t.Errorf("%+v", got)
	}
	if got := start("policy", "diff", subjects(acme, ann), subjects(bob, acme, ann)); strings.Contains(got.out, want) || got.out == "" {
		t.Errorf("one more moves nothing: %+v", got)
	}
	if got := start("policy", "diff", subjects(acme, ann), subjects(acme, ann)); got.status != exitOK || got.out != "" {
		t.Errorf("%+v", got)
	}
}

// TestPolicyTextsDoNotActOnATerminal: a policy under review is what somebody else wrote.
func TestPolicyTextsDoNotActOnATerminal(t *testing.T) {
	const text = `version: 1
rules: [{id: r, limit: "gcra:1/1s", match: {attributes: {org: ["!acme"]}}}]
lists: {deny: [{match: {org: acme}, until: 2026-12-31T00:00:00Z, reason: "\e[2Jscan\n+ all: well"}]}
`
	name := policyFile(t, text)
	for _, args := range [][]string{
		{"diff", policyFile(t, strings.Replace(text, "scan", "x", 1)), name},
		{"explain", name, "--attr", "org=acme", "--at", "2026-11-28T00:00:00Z"},
		{"check", name, "--at", "2027-11-28T00:00:00Z"},
		{"check", policyFile(t, text+"\"\\e[2J\": 1\n")},
		{"check", name + "\x1b[2J"}, // which is not there
	} {
		if got := start(append([]string{"policy"}, args...)...); got.out+got.err == "" || strings.Contains(got.out+got.err, "\x1b") {
			t.Errorf("%q: %+v", args, got)
		}
	}
	got := start("policy", "diff", policyFile(t, strings.Replace(text, "scan", "x", 1)), name)
	if want := `~ lists.deny[{"org":["acme"]}].reason: "\x1b[2Jx\n+ all: well" → "\x1b[2Jscan\n+ all: well"` + "\n"; got.out != want {
		t.Errorf("%s, want %s", got.out, want)
	}
}

func TestPolicySchemaIsJSON(t *testing.T) {
	got := start("policy", "schema")
	var schema map[string]any
	if err := json.Unmarshal([]byte(got.out), &schema); err != nil || schema["$schema"] == nil || got.status != exitOK {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestPolicyRefusesWrongUsage(t *testing.T) {
	name := policyFile(t, apiPolicy)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "<action> is missing"},
		{[]string{"lint"}, `"lint" is no action: must be check, explain, diff or schema`},
		{[]string{"check"}, "the file is missing"},
		{[]string{"explain"}, "0 files to explain: must be one"},
		{[]string{"diff", name}, "1 files to compare: must be two"},
		{[]string{"diff", "-", "-"}, "- was given more than once"},
		{[]string{"check", "-", name, "-"}, "- was given more than once"},
		{[]string{"schema", name}, "FILE does not go with schema: must be left out"},
		{[]string{"diff", name, name, "--strict"}, "--strict does not go with diff"},
		{[]string{"check", name, "--at", "today"}, `--at: "today" is not allowed: must be RFC 3339`},
		{[]string{"check", name, "--ignore", "x"}, `--ignore: "x" is not allowed: must be one of unreachable`},
		{[]string{"explain", name, "--attr", "org"}, `--attr: "org" is not allowed: must be NAME=VALUE`},
		{[]string{"explain", name, "--attr", "a=1", "--attr", "a=2"}, "--attr: a was given twice"},
		{[]string{"explain", name, "--prefix", "x"}, "--prefix is for --store"},
		{[]string{"explain", name, "--store", "memory://"}, "--store: memory:// has no states"},
		{[]string{"explain", name, "--secret-key", name + "x"}, "--secret-key: "},
		{[]string{"check", name + "x"}, "no such file"},
	} {
		got := start(append([]string{"policy"}, c.args...)...)
		if got.status != exitUsage || got.out != "" || !strings.Contains(got.err, c.want) {
			t.Errorf("%q: %+v, want %s", c.args, got, c.want)
		}
	}
}
