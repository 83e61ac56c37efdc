package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// parse reads the number that an event begins with.
func parse(line string, number *int) (int, error) { return fmt.Sscan(line, number) }

func TestSimRefusesWrongUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "s.yaml", "name: s\nduration: 10s\nlimits: [{name: a, spec: 'gcra:1/1s'}]\ntraffic: [{name: t, process: {kind: constant, rate: 1/1s}}]\nfaults: [{kind: down, at: 5s}]\n")
	for name, c := range map[string]struct {
		args string
		want []string // what the error names: the flag, the value, what is allowed
	}{
		"no scenario":         {"", []string{"the scenario is missing", "--list", "a file, or -"}},
		"two scenarios":       {"s.yaml --replay t.yaml", []string{"--replay", `"t.yaml"`, `"s.yaml"`, "must be one of them"}},
		"unknown name":        {"flash", []string{`"flash"`, "built-in", "boundary-attack, flash-crowd"}},
		"limit no spec":       {"s.yaml --limit 10", []string{"--limit", `"10"`, "NAME:LIMIT/PERIOD"}},
		"limit of no seed":    {"--seeds 3 --limit gcra:0/1s", []string{"--limit", "limit 0", "1 to 1000000000000"}},
		"seed no number":      {"s.yaml --seed -1", []string{"--seed"}},
		"duration no unit":    {"s.yaml --duration 10", []string{"--duration"}},
		"duration 0":          {"s.yaml --duration 0s", []string{"--duration", "0s", "from 1µs"}},
		"duration and faults": {"s.yaml --duration 1s", []string{"--duration: 1s", "faults[0].at"}},
		"seeds 0":             {"--seeds 0", []string{"--seeds", "0 is not allowed", "1 to 1000000000"}},
		"store unknown":       {"s.yaml --store http://h", []string{"--store", `"http://h"`, "memory://", "valkeys://"}},
		"plot of what":        {"s.yaml --plot x.gif", []string{"--plot", `"x.gif"`, ".png or .svg"}},
		"one place":           {"s.yaml --json x --html ./x", []string{"--json and --html", "two places"}},
		"both stdout":         {"s.yaml --json - --trace -", []string{"--trace and --json", `"-"`, "two places"}},
		"onto itself":         {"s.yaml --json s.yaml", []string{"--json", `"s.yaml"`, "the scenario itself", "another file"}},
		"shrunk onto itself":  {"s.yaml --shrink --out s.yaml", []string{"--out", "the scenario itself"}},
		"out of a run":        {"s.yaml --out x", []string{"--out is for --seeds and --shrink"}},
		"out to stdout":       {"s.yaml --shrink --out -", []string{"--out", `"-"`, "must be a file"}},
		"list of one":         {"s.yaml --list", []string{"SCENARIO does not go with --list"}},
		"print and json":      {"s.yaml --print --json x", []string{"--json does not go with --print"}},
		"shrink and store":    {"s.yaml --shrink --store redis://h", []string{"--store does not go with --shrink"}},
		"shrink and seeds":    {"s.yaml --shrink --seeds 3", []string{"--seeds does not go with --shrink"}},
		"seeds and trace":     {"--seeds 3 --trace x", []string{"--trace does not go with --seeds"}},
		"shrink nothing":      {"--shrink", []string{"the scenario is missing"}},
		"too many limits":     {"s.yaml" + strings.Repeat(" --limit gcra:1/1s", 17), []string{"--limit was given 17 times", "up to 16"}},
	} {
		before := files(t)
		got := start(append([]string{"sim"}, strings.Fields(c.args)...)...)
		if got.status != exitUsage || got.out != "" {
			t.Errorf("%s: status %d, output %q, error %q", name, got.status, got.out, got.err)
		}
		for _, want := range append(c.want, "weir: ", "Try 'weir --help'") {
			if !strings.Contains(got.err, want) {
				t.Errorf("%s: the error does not say %q:\n%s", name, want, got.err)
			}
		}
		if after := files(t); after != before {
			t.Errorf("%s: there is %s, and was %s", name, after, before)
		}
	}
}

// files lists the names in the working folder.
func files(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestSimFailsWithTheNameOfAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	nowhere := filepath.Join("no", "where")
	write(t, "bad.yaml", "name: s\nduration: 1s\nlimits: [{name: a, spec: 'gcra:1/1s'}]\ntraffic:\n  - {name: t, process: {kind: constant, rate: 1/1s}, cost: 3}\n")
	write(t, "good.yaml", "name: s\nduration: 1s\nlimits: [{name: a, spec: 'gcra:1/1s'}]\ntraffic: [{name: t, process: {kind: constant, rate: 1/1s}}]\n")
	for name, c := range map[string]struct {
		args string
		want string
	}{
		"no such file":    {"no-such.yaml", "no-such.yaml: no such file"},
		"no such replay":  {"--replay hot-key", "hot-key: no such file"},
		"a directory":     {".", ".: is a directory"},
		"bad line":        {"bad.yaml", `bad.yaml: scenario: line 5, column 54: traffic[0]: field "cost" is not allowed`},
		"trace nowhere":   {"good.yaml --trace " + nowhere, "--trace: open " + nowhere},
		"json nowhere":    {"good.yaml --json " + nowhere, "--json: open " + nowhere},
		"html nowhere":    {"good.yaml --html " + nowhere, "--html: open " + nowhere},
		"plot nowhere":    {"good.yaml --plot " + nowhere + ".png", "--plot: open " + nowhere},
		"seeds nowhere":   {"--seeds 1 --json " + nowhere, "--json: open " + nowhere},
		"nothing fails":   {"good.yaml --shrink", "s: nothing to shrink: no rule was violated"},
		"no server there": {"good.yaml --store redis://127.0.0.1:1", "redis://127.0.0.1:1: "},
	} {
		got := start(append([]string{"sim"}, strings.Fields(c.args)...)...)
		want := exitFailed
		switch name {
		case "no such file", "no such replay", "a directory", "bad line":
			want = exitUsage
		case "nothing fails":
			want = exitNo
		}
		if got.status != want || got.out != "" || !strings.Contains(got.err, "weir: ") || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: status %d, output %q, error %q, want %q", name, got.status, got.out, got.err, c.want)
		}
	}
	if got := startWith("name: s\n", "sim", "-"); got.status != exitUsage || !strings.Contains(got.err, "standard input: scenario: ") {
		t.Errorf("standard input: status %d, %s", got.status, got.err)
	}
}

func TestSimFailsWhereNobodyReads(t *testing.T) {
	for _, args := range []string{"", "--json -", "--trace -", "--html -", "--print", "--seeds 1", "--shrink"} {
		from, want := smallScenario, "report"
		if flag, dash, _ := strings.Cut(args, " "); dash == "-" {
			want = flag
		}
		switch args {
		case "--print":
			want = "scenario"
		case "--shrink":
			from = missedScenario
			args += " --out " + filepath.Join(t.TempDir(), "small.yaml")
		}
		var errs strings.Builder
		status := run(context.Background(), append([]string{"sim", from}, strings.Fields(args)...), strings.NewReader(""), broken{syscall.EPIPE}, &errs)
		if want = "weir: " + want + ": broken pipe\n"; status != exitFailed || errs.String() != want {
			t.Errorf("%s: status %d, error %q, want %q", args, status, errs.String(), want)
		}
	}
}

func TestSimIsInterrupted(t *testing.T) {
	for _, args := range []string{smallScenario, "--seeds 5", missedScenario + " --shrink", "-"} {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		var out, errs strings.Builder
		status := run(ctx, append([]string{"sim"}, strings.Fields(args)...), strings.NewReader(""), &out, &errs)
		if status != exitInterrupted || out.String() != "" || errs.String() != "weir: interrupted\n" {
			t.Errorf("%s: status %d, output %q, error %q", args, status, out.String(), errs.String())
		}
	}
}

func TestSimHelpNamesEveryFlagAndTheStatuses(t *testing.T) {
	got := start("sim", "--help")
	for _, want := range []string{
		"<scenario>", "--list", "--print", "--limit=SPEC", "--seed=N", "--duration=D", "--seeds=N", "--replay=FILE", "--shrink", "--out=FILE",
		"--store=URL", "--trace=FILE", "--json=FILE", "--html=FILE", "--plot=FILE", "leaky-bucket:L/P[,capacity=N]", "valkey-unix://", "Exit status",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the help does not say %q:\n%s", want, got.out)
		}
	}
	if got.status != exitOK || got.err != "" {
		t.Errorf("status %d, error %q", got.status, got.err)
	}
}
