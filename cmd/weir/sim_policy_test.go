package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgo/weir/sim/scenario"
)

const simulatedPolicy = `version: 1
rules:
  - {id: user, key: [user], limit: "gcra:5/1s"}
  - {id: all, limit: "gcra:2/1s", mode: shadow}
lists: {deny: [{match: {user: key-hot}}]}
`

const policyWorld = `name: small
duration: 3s
limits: [{name: l, spec: "gcra:1/1s"}]
traffic:
  - {name: t, process: {kind: poisson, rate: 100/1s}, keys: {kind: hot, n: 3}}
expect: [{metric: denied, max: 0}]
`

func TestSimRunsAPolicyInPlaceOfLimits(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "p.yaml", simulatedPolicy)
	write(t, "s.yaml", policyWorld)
	got := start("sim", "s.yaml", "--policy", "p.yaml", "--html", "page.html")
	for _, want := range []string{
		"Rules of the policy\n", "\nuser             enforce", "\nall              shadow", "denied by the deny list",
		"1 expectation of the scenario left out", "policy    version ", "No rule was violated",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s%s", want, got.out, got.err)
		}
	}
	if page := read(t, "page.html"); !strings.Contains(page, "Rules of the policy") || !strings.Contains(page, "would deny") {
		t.Error("the page does not show the rules")
	}
	// What is printed is whole: it runs without the policy file.
	write(t, "whole.yaml", start("sim", "s.yaml", "--policy", "p.yaml", "--print").out)
	write(t, filepath.Join("below.yaml"), strings.Replace(policyWorld, "limits: [{name: l, spec: \"gcra:1/1s\"}]", "policy_file: p.yaml", 1))
	digest := func(args ...string) string {
		var r struct {
			Results []struct {
				Digest string
				Policy struct {
					Rules []struct{ Limit string }
					List  int64 `json:"denied_by_a_list"`
				}
			}
		}
		got := start(append(append([]string{"sim"}, args...), "--json", "-")...)
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || len(r.Results) != 1 || len(r.Results[0].Policy.Rules) != 2 || r.Results[0].Policy.List == 0 {
			t.Fatalf("%v: %v %s%s", args, err, got.out, got.err)
		}
		return r.Results[0].Digest
	}
	if a, b, c := digest("s.yaml", "--policy", "p.yaml"), digest("whole.yaml"), digest("below.yaml"); a != b || a != c {
		t.Errorf("the digests are %s, %s and %s", a, b, c)
	}
	if got := start("sim", "whole.yaml", "--limit", "gcra:1/1s"); got.status != exitOK || strings.Contains(got.out, "Rules of the policy") {
		t.Errorf("status %d: %s%s", got.status, got.out, got.err)
	}
	if got := start("sim", "--seeds", "2", "--policy", "p.yaml"); got.status != exitOK {
		t.Errorf("status %d: %s%s", got.status, got.out, got.err)
	}
}

// TestSimWithAPolicyThatAsksNoLimit: no rule applies, or the lists answer everything.
func TestSimWithAPolicyThatAsksNoLimit(t *testing.T) {
	leftToTheRaceRun(t)
	t.Chdir(t.TempDir())
	write(t, "s.yaml", policyWorld)
	for text, want := range map[string]string{
		"version: 1\nrules: []\n": "met no rule",
		"version: 1\nrules: [{id: org, key: [org], limit: \"gcra:1/1s\"}]\n":                 "met no rule",
		"version: 1\nlists: {deny: [{match: {user: \"*\"}}]}\n":                              "denied by the deny list",
		"version: 1\nrules: [{id: user, key: [user], limit: unlimited}]\n":                   "Rules of the policy",
		"version: 1\nrules: [{id: user, key: [user], limit: \"0\"}]\n":                       "Rules of the policy",
		"version: 1\nrules: [{id: o, key: [org], on_missing: deny, limit: \"gcra:1/1s\"}]\n": "Rules of the policy",
	} {
		write(t, "p.yaml", text)
		for _, format := range []string{"svg", "png"} {
			got := start("sim", "s.yaml", "--policy", "p.yaml", "--verbose", "--html", "page.html", "--plot", "plot."+format)
			if got.status != exitOK || !strings.Contains(got.out, "No rule was violated") || !strings.Contains(got.out, want) || strings.Contains(got.out, "what each limit let through") {
				t.Errorf("%s: status %d: %s%s", text, got.status, got.out, got.err)
			}
		}
	}
}

// TestAPolicyReplacesTheLimitsOfEveryBuiltInScenario: but where traffic is reserved, which a
// policy does not do.
func TestAPolicyReplacesTheLimitsOfEveryBuiltInScenario(t *testing.T) {
	leftToTheRaceRun(t)
	t.Chdir(t.TempDir())
	write(t, "p.yaml", simulatedPolicy)
	for _, s := range scenario.List() {
		status, want := exitOK, "mode: shadow"
		if s.Name == "late-costs" {
			status, want = exitUsage, "must be absent where traffic is reserved"
		}
		if got := start("sim", s.Name, "--policy", "p.yaml", "--print"); got.status != status || !strings.Contains(got.out+got.err, want) {
			t.Errorf("%s: status %d: %s%s", s.Name, got.status, got.out, got.err)
		}
	}
}

// TestSimSaysWhoDecidesByAPolicyWithoutTheServer: each rule, and not the nodes.
func TestSimSaysWhoDecidesByAPolicyWithoutTheServer(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "s.yaml", policyWorld+"faults: [{kind: down, at: 1s, for: 1s}]\nnodes: {on_failure: local}\n")
	write(t, "p.yaml", "version: 1\nrules: [{id: user, key: [user], limit: \"gcra:5/1s\", on_failure: closed}]\n")
	got := start("sim", "s.yaml", "--policy", "p.yaml")
	if want := "got no decision: at 1 s the store failed for 1 s, and each rule has its own on_failure."; !strings.Contains(got.out, want) {
		t.Errorf("no %q in\n%s%s", want, got.out, got.err)
	}
}

func TestSimRefusesWhatIsWrongWithAPolicy(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "p.yaml", simulatedPolicy)
	write(t, "bad.yaml", "version: 1\nrules: [{id: a, limit: gcra}]\n")
	write(t, "s.yaml", policyWorld)
	write(t, "f.yaml", strings.Replace(policyWorld, "limits: [{name: l, spec: \"gcra:1/1s\"}]", "policy_file: p.yaml", 1))
	for args, want := range map[string]string{
		"s.yaml --policy bad.yaml":                 `bad.yaml: line 2`,
		"s.yaml --policy none.yaml":                "none.yaml",
		"s.yaml --policy p.yaml --limit gcra:1/1s": "--limit does not go with --policy",
		"- --policy -":                             "standard input can be read once",
		"s.yaml --policy p.yaml --json p.yaml":     `--json: "p.yaml" is the policy itself`,
		"f.yaml --html p.yaml":                     `--html: "p.yaml" is a file that the scenario names`,
	} {
		if got := start(append([]string{"sim"}, strings.Fields(args)...)...); got.status != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%s: status %d: %s%s", args, got.status, got.out, got.err)
		}
	}
	if read(t, "p.yaml") != simulatedPolicy {
		t.Error("the policy was overwritten")
	}
}
