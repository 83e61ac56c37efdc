package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgo/weir/policy"
)

// suggestTrace writes a trace of clients of very different speeds.
func suggestTrace(t *testing.T, clients int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 0))
	var b strings.Builder
	for client := range clients {
		at, pause := int64(1_700_000_000_000_000), 1+r.Int64N(60_000_000)
		for range 1 + r.IntN(60) {
			at += r.Int64N(2 * pause)
			fmt.Fprintf(&b, `{"at_us":%d,"key":"user:%d"}`+"\n", at, client)
		}
	}
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	write(t, name, b.String())
	return name
}

// TestSuggestedLimitsAreWhatReplaySays: the limit denies as many in a replay of the same
// trace, and one unit less misses the target.
func TestSuggestedLimitsAreWhatReplaySays(t *testing.T) {
	name := suggestTrace(t, 150)
	r := start("suggest", "--max-clients-hit", "4%", "--json", "-", name)
	if r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.err)
	}
	var answer suggestions
	if err := json.Unmarshal([]byte(r.out), &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Limits) != len(defaultForms) || answer.Clients != 150 {
		t.Fatalf("%+v", answer)
	}
	for _, l := range answer.Limits {
		if l.ClientsHit > 6 || l.OneLess == nil || l.OneLess.ClientsHit <= 6 {
			t.Errorf("%s hits %d clients, and with one less %+v: at most 6 of 150 are allowed", l.Limit, l.ClientsHit, l.OneLess)
		}
		again := start("replay", "--sort", "--limit", l.Limit, "--json", "-", name)
		var replay struct{ Denied int64 }
		if err := json.Unmarshal([]byte(again.out), &replay); err != nil {
			t.Fatal(err)
		}
		if replay.Denied != l.RequestsDenied {
			t.Errorf("%s: suggest counts %d denials, replay %d", l.Limit, l.RequestsDenied, replay.Denied)
		}
	}
}

// TestSuggestedPolicyIsOne: in shadow mode, with the limit.
func TestSuggestedPolicyIsOne(t *testing.T) {
	r := start("suggest", "--limit", "gcra:?/1m,burst=5", "--max-requests-denied", "2.5%", "--policy", "-", suggestTrace(t, 30))
	if r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.err)
	}
	name := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, name, r.out)
	file, err := policy.Load(name, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, r.out)
	}
	rule := file.Policy.Rules[0]
	if rule.Mode != policy.Shadow || !strings.HasPrefix(string(rule.Limit.Spec), "gcra:") || rule.Key[0] != "key" {
		t.Errorf("%+v", rule)
	}
}

// TestSuggestSaysWhatItCannotTell: with the exit status.
func TestSuggestSaysWhatItCannotTell(t *testing.T) {
	dir := t.TempDir()
	burst := filepath.Join(dir, "burst.jsonl")
	write(t, burst, strings.Repeat(`{"at_us":1700000000000000,"key":"a"}`+"\n", 3))
	unusable := filepath.Join(dir, "unusable.jsonl")
	write(t, unusable, `{"at_us":"x"}`+"\n")
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"no number", []string{"--limit", "gcra:?/1m,burst=2", "--max-clients-hit", "0%", burst}, 1, "no number meets the target"},
		{"short", []string{burst}, 0, "too few to tell much"},
		{"no form", []string{"--limit", "gcra:10/1m", burst}, 2, "has no ?"},
		{"bad form", []string{"--limit", "gcra:?/1x", burst}, 2, "--limit"},
		{"a form of periods", []string{"--limit", "gcra:1/?s", burst}, 2, "--limit"},
		{"bad percent", []string{"--max-clients-hit", "1", burst}, 2, "--max-clients-hit"},
		{"too much", []string{"--max-requests-denied", "101%", burst}, 2, "--max-requests-denied"},
		{"a trailing point", []string{"--max-requests-denied", "1.%", burst}, 2, "--max-requests-denied"},
		{"no line", []string{unusable}, 2, "no line can be used"},
		{"no file", []string{filepath.Join(dir, "none")}, 2, "none"},
	} {
		r := start(append([]string{"suggest"}, c.args...)...)
		if r.status != c.status || !strings.Contains(r.out+r.err, c.want) {
			t.Errorf("%s: status %d, %s%s: want %d and %q", c.name, r.status, r.out, r.err, c.status, c.want)
		}
	}
}

// TestPercentIsReadExactly: as a share in whole numbers.
func TestPercentIsReadExactly(t *testing.T) {
	for text, want := range map[string][2]int64{"1%": {1, 100}, "0.5%": {5, 1000}, "100%": {100, 100}, "0%": {0, 100}, "0.000001%": {1, 100_000_000}, ".5%": {5, 1000}} {
		got, err := parsePercent("--x", text)
		if err != nil || got.Part != want[0] || got.Of != want[1] {
			t.Errorf("%s: %+v, %v: want %v", text, got, err, want)
		}
	}
}

// TestSuggestSaysWhatAllClientsGetTogether: without a limit for all, and with one; the policy has it.
func TestSuggestSaysWhatAllClientsGetTogether(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	var b strings.Builder
	for client := range 10 {
		for i := range 3 { // 30 requests within a second
			fmt.Fprintf(&b, `{"at_us":%d,"key":"user:%d"}`+"\n", 1_700_000_000_000_000+i*1000, client)
		}
	}
	write(t, name, b.String())
	r := start("suggest", "--limit", "gcra:?/1m", "--protect", "20/s", "--json", "-", "--policy", filepath.Join(t.TempDir(), "p.yaml"), name)
	var answer suggestions
	if err := json.Unmarshal([]byte(r.out), &answer); err != nil {
		t.Fatalf("%v: %s", err, r.err)
	}
	l := answer.Limits[0]
	if r.status != 0 || answer.Protect != "sliding-log:20/1s" || l.Limit != "gcra:3/1m" || l.Together != 30 || l.Protected.RequestsDenied != 10 || l.Protected.ClientsHit != 10 {
		t.Errorf("status %d, %s: %+v, %+v", r.status, answer.Protect, l, l.Protected)
	}
	r = start("suggest", "--limit", "gcra:?/1m", "--protect", "20/1s", "--policy", "-", name)
	policyName := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, policyName, r.out)
	file, err := policy.Load(policyName, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, r.out)
	}
	if len(file.Policy.Rules) != 2 || file.Policy.Rules[1].ID != "total" || file.Policy.Rules[1].Limit.Spec != "sliding-log:20/1s" || len(file.Policy.Rules[1].Key) > 0 {
		t.Errorf("%+v", file.Policy.Rules)
	}
	for _, wrong := range []string{"20", "20/", "/s", "0/s", "-1/s", "20/x", "20/1s,burst=3", "2.5/s", "99999999999999999999/s"} {
		if r := start("suggest", "--protect", wrong, name); r.status != 2 || !strings.Contains(r.err, "--protect") {
			t.Errorf("%s: status %d, %s", wrong, r.status, r.err)
		}
	}
}

// TestSuggestDrawsACurveForEachLimit: with the name of each.
func TestSuggestDrawsACurveForEachLimit(t *testing.T) {
	name, file := suggestTrace(t, 30), filepath.Join(t.TempDir(), "limits.svg")
	if r := start("suggest", "--limit", "gcra:?/1m", "--limit", "gcra:?/1m,burst=5", "--limit", "token-bucket:30/1m,burst=?", "--plot", file, name); r.status > 1 {
		t.Fatalf("status %d: %s", r.status, r.err)
	}
	drawn := read(t, file)
	if strings.Count(drawn, "<polyline") < 3 || !strings.Contains(drawn, "gcra:?/1m,burst=5") || !strings.Contains(drawn, "token-bucket:30/1m,burst=?") || strings.Contains(drawn, "NaN") {
		t.Errorf("%.2000s", drawn)
	}
	if r := start("suggest", "--plot", "limits.gif", name); r.status != 2 || !strings.Contains(r.err, "--plot") {
		t.Errorf("status %d: %s", r.status, r.err)
	}
}
