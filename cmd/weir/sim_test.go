package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/internal/storeurl"
	"github.com/weirgo/weir/sim"
	simresult "github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

const (
	smallScenario  = "testdata/sim-small.yaml"
	missedScenario = "testdata/sim-missed.yaml"
)

// simulated returns the standard output of a simulation in which all is well.
func simulated(t *testing.T, args ...string) string {
	t.Helper()
	got := start(append([]string{"sim"}, args...)...)
	if got.status != exitOK || got.err != "" {
		t.Fatalf("%q: status %d, %s", args, got.status, got.err)
	}
	return got.out
}

func TestSimShowsTwoLimitsSideBySide(t *testing.T) {
	wantGolden(t, "sim-small.golden", simulated(t, smallScenario))
}

func TestSimShowsAMissedExpectationAndWhatToDo(t *testing.T) {
	got := start("sim", missedScenario)
	if want := "weir: missed: 1 expectation missed\n"; got.status != exitNo || got.err != want {
		t.Errorf("status %d, error %q, want %q", got.status, got.err, want)
	}
	wantGolden(t, "sim-missed.golden", got.out)
}

// Whichever way a scenario is given, it is the same.
func TestSimReadsScenariosFromEverywhere(t *testing.T) {
	want := simulated(t, smallScenario)
	text := read(t, smallScenario)
	if got := startWith(text, "sim", "-"); got.status != exitOK || got.out != want {
		t.Errorf("standard input: status %d, %s%s", got.status, got.err, difference(got.out, want))
	}
	if got := simulated(t, "--replay", smallScenario); got != want {
		t.Errorf("--replay: %s", difference(got, want))
	}
	// A file named as a built-in scenario is found by --replay only.
	t.Chdir(t.TempDir())
	write(t, "hot-key", text)
	if got := simulated(t, "--replay", "hot-key"); got != want {
		t.Errorf("--replay: %s", difference(got, want))
	}
	if got := simulated(t, "hot-key", "--duration", "100ms"); got == want {
		t.Error("the file went before the built-in scenario")
	}
}

func TestSimListsTheBuiltInScenarios(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(simulated(t, "--list")), "\n")
	all := scenario.List()
	if len(lines) != len(all)+1 {
		t.Fatalf("%d lines for %d scenarios", len(lines), len(all))
	}
	for i, b := range all {
		if name, about, _ := strings.Cut(lines[i+1], " "); name != b.Name || strings.TrimSpace(about) != b.About {
			t.Errorf("%q, want %s and %q", lines[i+1], b.Name, b.About)
		}
	}
}

func TestSimPrintsWhatItWouldRun(t *testing.T) {
	for _, b := range scenario.List() {
		want, err := scenario.Text(b.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got := simulated(t, b.Name, "--print"); got != want {
			t.Errorf("%s: %s", b.Name, difference(got, want))
		}
	}
	flags := []string{"--limit", "gcra:5/1s", "--limit", "gcra:5/1s,burst=9", "--limit", "fixed-window:7/1s", "--seed", "99", "--duration", "45s"}
	printed := simulated(t, append(flags, "--print", smallScenario)...)
	const dropped = "What the scenario expects\n\n2 expectations of the scenario left out with --limit.\n\n" // what was printed has none
	whole := simulated(t, append(flags, smallScenario)...)
	want := strings.Replace(whole, dropped, "", 1)
	if want == whole {
		t.Errorf("no %q in\n%s", dropped, whole)
	}
	if got := startWith(printed, "sim", "-"); got.status != exitOK || got.out != want {
		t.Errorf("status %d, %s%s", got.status, got.err, difference(got.out, want))
	}
	for _, part := range []string{"run       45 s with seed 99 on memory://\n", "\ngcra          gcra:5/1s ", "\ngcra-2        gcra:5/1s,burst=9 ", "\nfixed-window  fixed-window:7/1s "} {
		if !strings.Contains(want, part) {
			t.Errorf("no %q in\n%s", part, want)
		}
	}
	if strings.Contains(want, "expect") {
		t.Error("the expectations were about other limits")
	}
}

func TestSimLimitsKeepTheGroups(t *testing.T) {
	const grouped = "name: g\nduration: 1s\nlimits: [{name: a, spec: 'gcra:1/1s', groups: 3}, {name: b, spec: 'gcra:2/1s', groups: 3}]\n" +
		"traffic: [{name: t, process: {kind: constant, rate: 100/1s}, keys: {kind: spray}}]\n"
	got := startWith(grouped, "sim", "-", "--limit", "sliding-log:1/1s")
	if got.status != exitOK || !strings.Contains(got.out, "sliding-log:1/1s for each of 3 groups of keys") {
		t.Errorf("status %d, %s%s", got.status, got.err, got.out)
	}
	if !strings.Contains(strings.Join(strings.Fields(got.out), " "), " admitted 3 ") {
		t.Errorf("not one for each of 3 groups:\n%s", got.out)
	}
}

// run gives what sim.Run gives.
func TestSimJSONHoldsTheResults(t *testing.T) {
	s, err := scenario.Parse(strings.NewReader(read(t, smallScenario)))
	if err != nil {
		t.Fatal(err)
	}
	results, err := sim.Run(context.Background(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := report.WriteJSON(&want, &report.Simulation{Scenario: "small", Seed: 7, Store: storeurl.Memory, Results: results}); err != nil {
		t.Fatal(err)
	}
	if got := simulated(t, smallScenario, "--json", "-"); got != want.String() {
		t.Error(difference(got, want.String()))
	}
	file := filepath.Join(t.TempDir(), "out.json")
	if got := simulated(t, smallScenario, "--json", file); got != simulated(t, smallScenario) || read(t, file) != want.String() {
		t.Error("a file holds something else, or the text was left out")
	}
	if !json.Valid(want.Bytes()) {
		t.Error("that is no JSON")
	}
}

func TestSimTraceHoldsEveryEvent(t *testing.T) {
	got := start("sim", smallScenario, "--trace", "-")
	if got.status != exitOK || got.err != simulated(t, smallScenario) {
		t.Fatalf("status %d, %s", got.status, got.err)
	}
	var r report.Simulation
	if err := json.Unmarshal([]byte(simulated(t, smallScenario, "--json", "-")), &r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	for _, one := range r.Results {
		if len(lines) < int(one.Events)+1 || lines[0] != simresult.EventColumns {
			t.Fatalf("%s: %d lines, the first is %q", one.Limit, len(lines), lines[0])
		}
		for i, line := range lines[1 : one.Events+1] {
			var number int
			if _, err := parse(line, &number); err != nil || number != i+1 {
				t.Fatalf("%s: line %d is %q", one.Limit, i+1, line)
			}
		}
		lines = lines[one.Events+1:]
	}
	if len(lines) > 0 {
		t.Errorf("there is more: %q", lines[0])
	}
	file := filepath.Join(t.TempDir(), "trace")
	if simulated(t, smallScenario, "--trace", file); read(t, file) != got.out {
		t.Error("a file holds something else")
	}
}

func TestSimDrawsAPageAndPlots(t *testing.T) {
	leftToTheRaceRun(t)
	dir := t.TempDir()
	page := filepath.Join(dir, "page.html")
	for name, starts := range map[string]string{"plot.svg": "<", "plot.png": "\x89PNG"} {
		var bytes [2]string
		for i := range bytes {
			plot := filepath.Join(dir, name)
			simulated(t, smallScenario, "--html", page, "--plot", plot)
			bytes[i] = read(t, plot)
			if err := os.Remove(plot); err != nil {
				t.Fatal(err)
			}
		}
		if bytes[0] != bytes[1] || !strings.HasPrefix(bytes[0], starts) {
			t.Errorf("%s: %d bytes, then %d", name, len(bytes[0]), len(bytes[1]))
		}
	}
	html := read(t, page)
	for _, want := range []string{"<html", "small", "weir sim " + smallScenario, "</html>"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
	if got := simulated(t, smallScenario, "--html", "-"); got != html {
		t.Error("standard output is another page")
	}
}

// A scenario of a traffic that names a file finds it beside itself.
func TestSimFindsFilesBesideTheScenario(t *testing.T) {
	dir := t.TempDir()
	text := "name: counts\nduration: 3s\nlimits: [{name: a, spec: 'gcra:1/1s'}]\ntraffic: [{name: t, process: {kind: counts, file: per-second.txt, step: 1s}}]\n"
	file := filepath.Join(dir, "s.yaml")
	write(t, file, text)
	if got := start("sim", file); got.status != exitUsage || !strings.Contains(got.err, "per-second.txt") {
		t.Errorf("without the file: status %d, %s", got.status, got.err)
	}
	write(t, filepath.Join(dir, "per-second.txt"), "0\n0\n3\n")
	want := simulated(t, file)
	if strings.Contains(strings.Join(strings.Fields(want), " "), " requests 0 ") {
		t.Error(want)
	}
	t.Chdir(dir)
	if got := startWith(text, "sim", "-"); got.status != exitOK || got.out != want {
		t.Errorf("standard input: status %d, %s%s", got.status, got.err, got.out)
	}
}

// What a scenario calls things cannot act on a terminal.
func TestSimShowsNoControlCharacters(t *testing.T) {
	text := "name: \"\\e[31mred\"\nduration: 1s\nlimits: [{name: \"a\\e[2J\", spec: 'gcra:1/1s'}]\ntraffic: [{name: t, process: {kind: constant, rate: 1/1s}, keys: {name: \"\\e[5m\"}}]\n"
	got := startWith(text, "sim", "-", "--trace", "-")
	if got.status != exitOK || strings.Contains(got.out+got.err, "\x1b") || !strings.Contains(got.err, `"\x1b[31mred"`) || !strings.Contains(got.out, "·[5m") {
		t.Errorf("status %d, %q", got.status, got.out+got.err)
	}
}

// The report says so where the curve is not of all keys.
func TestSimSaysHowManyKeysTheCurveIsOf(t *testing.T) {
	got := startWith("name: s\nduration: 20s\nlimits: [{name: l, spec: 'gcra:20/1s'}]\ntraffic:\n"+
		"  - {name: spray, process: {kind: constant, rate: 1000/1s}, keys: {kind: spray}}\n"+
		"  - {name: abuser, process: {kind: constant, rate: 100/1s}, start: 15s}\n", "sim", "-")
	if got.status != exitOK || !strings.Contains(got.out, "\nkeys of the curve  ") || !strings.Contains(got.out, "10,001 of 20,001, 1 late\n") {
		t.Errorf("status %d, %s%s", got.status, got.err, got.out)
	}
}
