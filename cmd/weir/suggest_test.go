package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
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

// suggestLogs are logs that the repository does not have, such as
// "--max-requests-denied 1% nasa.log; --max-clients-hit 0% apache.log".
var suggestLogs = flag.String("suggest.logs", "", "arguments of weir suggest whose answers replays check, with semicolons between")

// TestSuggestedLimitsAreWhatReplaySays: a replay of the same trace by the limit meets the
// target, one by a limit smaller by one misses it, and both deny as many as suggest says.
func TestSuggestedLimitsAreWhatReplaySays(t *testing.T) {
	all := [][]string{
		{"--max-clients-hit", "4%", suggestTrace(t, 150)},
		{"--max-clients-hit", "1%", "--max-requests-denied", "0.5%", "../../examples/accesslog/access.log"},
	}
	if *suggestLogs != "" {
		for log := range strings.SplitSeq(*suggestLogs, ";") {
			all = append(all, strings.Fields(log))
		}
	}
	for _, args := range all {
		r := start(append([]string{"suggest", "--json", "-"}, args...)...)
		if r.status != exitOK {
			t.Fatalf("%q: status %d: %s", args, r.status, r.err)
		}
		var answer suggestions
		if err := json.Unmarshal([]byte(r.out), &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Limits) == 0 {
			t.Errorf("%q: no limit", args)
		}
		for _, l := range answer.Limits {
			if !l.Found || l.OneLess == nil {
				t.Errorf("%q: nothing was found for %s, or nothing is smaller: %+v", args, l.Form, l)
				continue
			}
			met, hit, denied := replayMeets(t, args, l.Limit)
			if !met || hit != int64(l.ClientsHit) || denied != l.RequestsDenied {
				t.Errorf("%q: %s: a replay hits %d and denies %d, target met %t: suggest says %+v", args, l.Limit, hit, denied, met, l)
			}
			less := oneLess(t, l.Form, l.Limit)
			missed, hitBy, deniedBy := replayMeets(t, args, less)
			if missed || hitBy != int64(l.OneLess.ClientsHit) || deniedBy != l.OneLess.RequestsDenied {
				t.Errorf("%q: %s: a replay hits %d and denies %d, target met %t: suggest says %+v", args, less, hitBy, deniedBy, missed, *l.OneLess)
			}
			t.Logf("%q: %s hits %d of %d clients and denies %d of %d requests; %s hits %d and denies %d", args, l.Limit, hit, answer.Clients, denied, answer.Requests, less, hitBy, deniedBy)
		}
	}
}

// replayMeets replays a trace by a limit, and says whether that meets the target in the
// arguments of suggest.
func replayMeets(t *testing.T, args []string, limit string) (met bool, hit, denied int64) {
	t.Helper()
	replay, shares := []string{"replay", "--sort", "--json", "-", "--limit", limit}, map[string]float64{"--max-clients-hit": 1, "--max-requests-denied": 1}
	for i := 0; i < len(args); i++ {
		_, isTarget := shares[args[i]]
		switch {
		case isTarget:
			percent, err := strconv.ParseFloat(strings.TrimSuffix(args[i+1], "%"), 64)
			if err != nil {
				t.Fatal(err)
			}
			shares[args[i]] = percent / 100
			i++
		case args[i] == "--limit":
			i++
		default:
			replay = append(replay, args[i])
		}
	}
	if shares["--max-clients-hit"] == 1 && shares["--max-requests-denied"] == 1 { // what suggest asks for by itself
		shares["--max-clients-hit"] = 0.01
	}
	r := start(replay...)
	var answer struct {
		Keys    int64
		KeysHit int64 `json:"keys_hit"`
		Events  int64
		Denied  int64
	}
	if err := json.Unmarshal([]byte(r.out), &answer); err != nil {
		t.Fatalf("%q: %v: %s", replay, err, r.err)
	}
	met = float64(answer.KeysHit) <= shares["--max-clients-hit"]*float64(answer.Keys) && float64(answer.Denied) <= shares["--max-requests-denied"]*float64(answer.Events)
	return met, answer.KeysHit, answer.Denied
}

// oneLess is the limit of a form with a number smaller by one.
func oneLess(t *testing.T, form, limit string) string {
	t.Helper()
	before, after, _ := strings.Cut(form, "?")
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(limit, before), after))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(before, n-1, after)
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
