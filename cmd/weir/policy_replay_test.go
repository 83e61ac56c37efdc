package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// accessLog is a log of logins and orders: ann asks five times a second, and an address
// tries ten passwords.
func accessLog(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for i := range 10 {
		fmt.Fprintf(&text, "198.51.100.4 - ann [01/Jan/2026:00:00:%02d +0000] \"GET /api/orders?n=%d HTTP/1.1\" 200 1 \"-\" \"-\"\n", i/5, i)
		fmt.Fprintf(&text, "203.0.113.7 - - [01/Jan/2026:00:00:%02d +0000] \"POST /login HTTP/1.1\" 401 1 \"-\" \"-\"\n", i)
	}
	text.WriteString("not a line\n")
	name := filepath.Join(t.TempDir(), "access.log")
	write(t, name, text.String())
	return name
}

const replayedPolicy = `version: 1
rules:
  - {id: api, match: {endpoints: ["GET /api/"]}, key: [user], limit: "gcra:2/1s"}
  - {id: login, match: {endpoints: ["POST /login"]}, key: [ip], limit: "sliding-log:5/15m"}
  - {id: all, key: [ip], limit: "gcra:1/1s", mode: shadow}
`

func TestReplayOfAPolicyCountsByRule(t *testing.T) {
	name, log := policyFile(t, replayedPolicy), accessLog(t)
	got := start("replay", "--policy", name, "--attr", "user=user", log)
	for _, want := range []string{
		log + ", combined: 21 lines, of which 1 cannot be used\n",
		"allowed 9, denied 11, of which 0 by a list; 0 exempt, 0 met no rule\n",
		"  all        20       0          8     2         1\n",
		"  api        10       6          0     1         1\n",
		"login        10       5          0     1         1\n",
		"most denied by api: user=ann, 6 of 10\n",
		"most denied by login: ip=203.0.113.7, 5 of 10\n",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s%s", want, got.out, got.err)
		}
	}
	if got.status != exitOK {
		t.Errorf("status %d: %s", got.status, got.err)
	}
	// Without the user the rule of the API has no key, and is skipped.
	if got := start("replay", "--policy", name, log); strings.Contains(got.out, "  api ") || !strings.Contains(got.out, "allowed 15, denied 5") {
		t.Error(got.out)
	}
}

func TestReplayOfAPolicyAsJSON(t *testing.T) {
	got := start("replay", "--policy", policyFile(t, replayedPolicy), "--attr", "user=user", "--json", "-", accessLog(t))
	var r struct {
		Bad      int64
		Policies []policySide
	}
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.status != exitOK {
		t.Fatalf("%v, %+v", err, got)
	}
	if p := r.Policies[0]; r.Bad != 1 || p.Allowed != 9 || p.Denied != 11 || len(p.Rules) != 3 || p.Rules[1].Limit != "api" || p.Rules[1].Denied != 6 || p.Rules[1].Most[0].Key != "user=ann" {
		t.Errorf("%+v", r)
	}
}

func TestCompareOfPoliciesSaysWhoIsNewlyDenied(t *testing.T) {
	before := policyFile(t, replayedPolicy)
	after := policyFile(t, strings.Replace(strings.Replace(replayedPolicy, "sliding-log:5/15m", "sliding-log:3/15m", 1), "gcra:2/1s", "gcra:4/1s", 1))
	got := start("compare", "--policy", before, "--policy", after, "--attr", "user=user", accessLog(t))
	for _, want := range []string{"beside the first policy: 2 newly denied, 4 newly allowed\n", "newly denied\n", "login        10       7          0     1         1             2\n"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s%s", want, got.out, got.err)
		}
	}
	// The same policy changes nothing.
	if got := start("compare", "--policy", before, "--policy", before, accessLog(t)); !strings.Contains(got.out, "0 newly denied, 0 newly allowed") {
		t.Error(got.out)
	}
}

func TestReplayOfAPolicyReadsMembers(t *testing.T) {
	name := policyFile(t, "version: 1\nattributes: {tokens: {}}\nrules:\n  - {id: t, key: [org], limit: \"gcra:10/1s\", match: {endpoints: [\"POST /chat\"]}, cost: {attribute: tokens, default: 1}}\n")
	log := filepath.Join(t.TempDir(), "log.jsonl")
	// A query is no part of the path.
	write(t, log, strings.Repeat(`{"at_us":1000000,"who":{"org":"acme"},"verb":"POST","url":"/chat?stream=1","n":5}`+"\n", 3))
	got := start("replay", "--policy", name, "--attr", "org=who.org", "--attr", "method=verb", "--attr", "path=url", "--attr", "tokens=n", log)
	if got.status != exitOK || !strings.Contains(got.out, "allowed 2, denied 1,") {
		t.Errorf("%+v", got)
	}
}

func TestReplayOfAPolicyReadsTheHost(t *testing.T) {
	name := policyFile(t, "version: 1\nrules:\n  - {id: shop, limit: \"gcra:2/1h\", match: {endpoints: [\"shop.example.com/\"]}}\n")
	log := filepath.Join(t.TempDir(), "log.jsonl")
	line := `{"at_us":1000000,"verb":"GET","url":"/chat","vhost":"%s.example.com:443"}` + "\n"
	write(t, log, strings.Repeat(fmt.Sprintf(line, "Shop"), 3)+fmt.Sprintf(line, "api"))
	got := start("replay", "--policy", name, "--attr", "method=verb", "--attr", "path=url", "--attr", "host=vhost", log)
	if got.status != exitOK || !strings.Contains(got.out, "allowed 3, denied 1, of which 0 by a list; 0 exempt, 1 met no rule") {
		t.Errorf("%+v", got)
	}
}

// TestReplayOfAPolicyShowsWhatStrangersSent: a log holds it, and a terminal would act on it.
func TestReplayOfAPolicyShowsWhatStrangersSent(t *testing.T) {
	name := policyFile(t, "version: 1\nrules: [{id: r, key: [user], limit: \"gcra:1/1h\"}]\n")
	log := filepath.Join(t.TempDir(), "log.jsonl")
	write(t, log, strings.Repeat(`{"at_us":1000000,"user":"<a>\u001b[31m\nx\u202e"}`+"\n", 2))
	got := start("replay", "--policy", name, "--attr", "user=user", log)
	if want := `most denied by r: "user=<a>\x1b[31m\nx\u202e", 1 of 2` + "\n"; got.status != exitOK || !strings.HasSuffix(got.out, want) {
		t.Errorf("%+v, want %s", got, want)
	}
	if got := start("replay", "--policy", name, "--attr", "user=user", "--json", "-", log); !strings.Contains(got.out, `"key": "user=<a>\u001b[31m\nx`) {
		t.Error(got.out)
	}
}

func TestReplayOfAPolicyRefusesWrongUsage(t *testing.T) {
	name, log := policyFile(t, replayedPolicy), accessLog(t)
	bad := policyFile(t, "version: 2\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"replay", log}, "--limit=SPEC is missing, or --policy=FILE"},
		{[]string{"replay", "--policy", name, "--limit", "gcra:1/1s", log}, "--limit does not go with --policy"},
		{[]string{"replay", "--policy", name, "--policy", name, log}, "--policy was given 2 times: must be once; weir compare takes two"},
		{[]string{"compare", "--policy", name, log}, "--policy was given 1 times: must be twice"},
		{[]string{"replay", "--policy", name, "--store", "redis://localhost", log}, "does not go with --policy: must be memory://"},
		{[]string{"replay", "--policy", name, "--attr", "user", log}, `--attr: "user" is not allowed: must be NAME=FIELD`},
		{[]string{"replay", "--policy", name, "--attr", "user=a", "--attr", "user=b", log}, "--attr: user was given twice"},
		{[]string{"replay", "--policy", name, "--attr", "ip=a", "--attr", "ip=b", log}, "--attr: ip was given twice"},
		{[]string{"replay", "--policy", name, "--attr", "path=a", "--attr", "path=b", log}, "--attr: path was given twice"},
		{[]string{"replay", "--limit", "gcra:1/1s", "--attr", "user=a", log}, "--attr is for --policy"},
		{[]string{"replay", "--policy", name, "--attr", "user=nothing", log}, `--attr: a combined trace has no "nothing"`},
		{[]string{"replay", "--policy", "-", "-"}, "- was given more than once"},
		{[]string{"compare", "--policy", "-", "--policy", "-", log}, "- was given more than once"},
		{[]string{"replay", "--policy", bad, log}, "line 1, column 10: version"},
		{[]string{"replay", "--policy", name + "x", log}, "no such file"},
	} {
		got := start(c.args...)
		if got.status != exitUsage || got.out != "" || !strings.Contains(got.err, c.want) {
			t.Errorf("%q: %+v, want %s", c.args, got, c.want)
		}
	}
}

func TestReplayOfAPolicySaysWhatNoLineHas(t *testing.T) {
	got := start("replay", "--policy", policyFile(t, replayedPolicy), accessLog(t))
	if want := "no line has user, which the policy uses: --attr NAME=FIELD"; !strings.Contains(got.out, want) {
		t.Errorf("no %q in\n%s", want, got.out)
	}
	if got := start("replay", "--policy", policyFile(t, replayedPolicy), "--attr", "user=user", accessLog(t)); strings.Contains(got.out, "no line has") {
		t.Error(got.out)
	}
	// A rule that is off asks for nothing, and a limit of the tier for the tier where there are several.
	tiered := `version: 1
default_tier: free
tiers: {free: {limits: {api: "gcra:2/1s"}}, pro: {limits: {api: "gcra:9/1s"}}}
rules: [{id: api, limits: {second: {tier: api}}}, {id: off, key: [org], mode: "off", limit: "gcra:1/1s"}]
`
	got = start("replay", "--policy", policyFile(t, tiered), accessLog(t))
	if want := "no line has tier, which the policy uses: --attr NAME=FIELD"; !strings.Contains(got.out, want) {
		t.Errorf("no %q in\n%s%s", want, got.out, got.err)
	}
	if got := start("replay", "--policy", policyFile(t, strings.Replace(tiered, `, pro: {limits: {api: "gcra:9/1s"}}`, "", 1)), accessLog(t)); strings.Contains(got.out, "no line has") {
		t.Error(got.out)
	}
}

func TestReplayOfAPolicyOverwritesNothingThatItReads(t *testing.T) {
	policy, log := policyFile(t, replayedPolicy), accessLog(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(policy, link); err != nil {
		t.Fatal(err)
	}
	before := read(t, log)
	for _, out := range []string{policy, link, log} {
		if got := start("replay", "--policy", policy, "--json", out, log); got.status != exitUsage || !strings.Contains(got.err, "itself: must be another file") {
			t.Errorf("%s: status %d: %s", out, got.status, got.err)
		}
	}
	if read(t, policy) != replayedPolicy || read(t, log) != before {
		t.Error("a file that was read was overwritten")
	}
}

func TestPolicyCheckCallsStandardInputByOneName(t *testing.T) {
	for text, status := range map[string]int{replayedPolicy: exitOK, "version: 2\n": exitUsage} {
		if got := startWith(text, "policy", "check", "-"); got.status != status || !strings.HasPrefix(got.out, "standard input:") || strings.Contains(got.out, "\n-:") {
			t.Errorf("status %d: %s%s", got.status, got.out, got.err)
		}
	}
}

// A column that a CSV log does not have is an error that names --attr, however many attributes there are.
func TestAnAttributeOfAMissingColumnIsSaid(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "policy.yaml", "version: 1\nrules:\n  - {id: r, key: [user], limit: \"gcra:10/1m\"}\n")
	write(t, "log.csv", "time,user\n1.5,ada\n")
	got := start("replay", "--policy", "policy.yaml", "--time-column", "time", "--attr", "user=user", "--attr", "a=user", "--attr", "b=time", "--attr", "org=org", "log.csv")
	if want := `--attr: the header has no "org": it has "time", "user"`; got.status != exitUsage || !strings.Contains(got.err, want) {
		t.Errorf("%+v, want %s", got, want)
	}
}

// TestReplayOfAPolicyHonoursShards: the shards of a rule admit its limit together, the same in
// each run, and are one key of the report. A process alone is answered the same with leases.
func TestReplayOfAPolicyHonoursShards(t *testing.T) {
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, "{\"at_us\":%d,\"key\":\"k\"}\n", 1_700_000_000_000_000+i)
	}
	trace := filepath.Join(t.TempDir(), "trace.jsonl")
	write(t, trace, lines.String())
	name := policyFile(t, `version: 1
rules:
  - {id: hot, limit: "fixed-window:100/1h", shards: 5}
  - {id: leased, limit: "fixed-window:50/1h", lease: true, mode: shadow}
`)
	first := start("replay", "--policy", name, trace)
	if first.status != exitOK || !strings.Contains(first.out, "allowed 100, denied 200,") || !strings.Contains(first.out, "hot       300     200          0     1         1") ||
		!strings.Contains(first.out, "leased       300       0        250") {
		t.Errorf("status %d\n%s%s", first.status, first.out, first.err)
	}
	if again := start("replay", "--policy", name, trace); again.out != first.out {
		t.Errorf("the same trace came out as\n%s and\n%s", first.out, again.out)
	}
}
