package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rotated writes three logs of a minute each, the oldest packed, and returns their folder.
func rotated(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i, name := range []string{"access.log.2.gz", "access.log.1", "access.log"} {
		var log strings.Builder
		for second := range 30 {
			fmt.Fprintf(&log, "192.0.2.%d - - [01/Jan/2026:00:%02d:%02d +0000] \"GET / HTTP/1.1\" 200 5\n", second%3, i, 2*second)
		}
		text := log.String()
		if strings.HasSuffix(name, ".gz") {
			text = packed(t, text)
		}
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

// Rotated logs are one trace, merged by time, however they are named.
func TestSeveralFilesAreOneTrace(t *testing.T) {
	t.Chdir(rotated(t))
	whole := start("replay", "--limit", "gcra:2/1m", "--decisions", "-", "access.log.2.gz", "access.log.1", "access.log")
	if whole.status != exitOK || strings.Count(whole.out, "\n") != 90 || !strings.Contains(whole.err, "trace     access.log.2.gz access.log.1 access.log (clf)") {
		t.Fatalf("status %d, %s%s", whole.status, whole.out, whole.err)
	}
	for _, names := range [][]string{{"access.log*"}, {"access.log", "access.log.[12]*"}, {"access.log", "./access.log.2.gz", "access.log.1"}} {
		got := start(append([]string{"replay", "--limit", "gcra:2/1m", "--decisions", "-"}, names...)...)
		if got.status != exitOK || got.out != whole.out {
			t.Errorf("%q: status %d, %s", names, got.status, difference(got.out, whole.out))
		}
	}
	write(t, "bad", "192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5\nx\n")
	got := start("replay", "--limit", "gcra:2/1m", "access.log", "access.log.1", "bad", "access.log.2.gz")
	if got.status != exitOK || !strings.Contains(got.out, "trace     access.log and 3 more (clf)") || !strings.Contains(got.out, "bad:2") {
		t.Errorf("status %d, %s%s", got.status, got.out, got.err)
	}
	write(t, "other", "x\ny\n")
	if got := start("replay", "--limit", "gcra:2/1m", "access.log", "other"); got.status != exitUsage || !strings.Contains(got.err, "weir: other: no line can be used as clf") {
		t.Errorf("status %d, %s%s", got.status, got.out, got.err)
	}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"access.log", "none"}, "none: no such file"},
		{[]string{"none*"}, `no file is like "none*"`},
		{[]string{"access.[log"}, "is not a pattern"},
		{[]string{"access.log", "access.log*"}, "is the same file as"},
		{[]string{"-", "-"}, `"-" is the same file as "-"`},
		{[]string{"."}, "is a directory"},
	} {
		if got := start(append([]string{"replay", "--limit", "gcra:2/1m"}, c.names...)...); got.status != exitUsage || got.out != "" || !strings.Contains(got.err, c.want) {
			t.Errorf("%q: status %d, %s", c.names, got.status, got.err)
		}
	}
	for _, output := range []string{"access.log", "access.log.2.gz"} {
		before := read(t, output)
		got := start("replay", "--limit", "gcra:2/1m", "--json", output, "access.log", "access.log.2.gz")
		if got.status != exitUsage || !strings.Contains(got.err, "is the trace itself") || read(t, output) != before {
			t.Errorf("%s: status %d, %s", output, got.status, got.err)
		}
	}
}

// Standard input can be one of the files.
func TestStandardInputBesideFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.jsonl")
	write(t, file, `{"at_us":2000000,"key":"b"}`+"\n")
	got := startWith(`{"at_us":3000000,"key":"c"}`+"\n"+`{"at_us":1000000,"key":"a"}`+"\n", "replay", "--limit", "gcra:1/1s", "--decisions", "-", "-", file)
	if keys := keysOf(got.out); got.status != exitOK || keys != "a b c " {
		t.Errorf("status %d, keys %q, %s", got.status, keys, got.err)
	}
}

// A trace of which no line can be used is status 2, and the error says what may read it.
func TestUnusableTraceSaysWhatMayReadIt(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		args []string
		want string
	}{
		"milliseconds":   {"time,k\n1700158623000,a\n", []string{"--time-column", "time"}, "try --time-unit ms"},
		"another format": {`{"at_us":1,"key":"a"}` + "\n", []string{"--format", "clf"}, "try --format jsonl"},
		"its own format": {"192.0.2.1|GET\n", []string{"--format", "combined"}, "try --log-format with the log_format of nginx"},
		"no format":      {"192.0.2.1|GET\n", nil, "must be named with the option format"},
		"no such member": {`{"at_us":1,"key":"a"}` + "\n", []string{"--key", "user"}, "line 1: user is missing"},
		"an archive":     {"PK\x03\x04 and more\n", nil, "the input is a zip archive"},
		"cut off":        {packed(t, strings.Repeat(oneEvent, 1000))[:60], nil, "the gzip data is cut off"},
	} {
		got := startWith(c.text, append([]string{"replay", "-", "--limit", "gcra:1/1s"}, c.args...)...)
		if got.status != exitUsage || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: status %d, %s", name, got.status, got.err)
		}
	}
	for _, empty := range []string{"", "\n\n"} {
		if got := startWith(empty, "replay", "-", "--limit", "gcra:1/1s"); got.status != exitOK || !strings.Contains(got.out, "Warning: the trace is empty.\n") {
			t.Errorf("empty: status %d, %s%s", got.status, got.out, got.err)
		}
	}
}

func TestHelpIsACommand(t *testing.T) {
	for _, c := range []struct{ command, flags []string }{
		{[]string{"help"}, []string{"--help"}},
		{[]string{"help", "replay"}, []string{"replay", "--help"}},
		{[]string{"help", "sim"}, []string{"sim", "--help"}},
	} {
		got, want := start(c.command...), start(c.flags...)
		if got != want || got.status != exitOK || got.out == "" {
			t.Errorf("%q: %+v", c.command, got)
		}
	}
	if got := start("help", "nothing"); got.status != exitUsage {
		t.Errorf("help nothing: %+v", got)
	}
	if got := start("--help"); !strings.Contains(got.out, "help") || !strings.Contains(got.out, "version") {
		t.Error(got.out)
	}
}

// A nearly right limit gets its correction.
func TestLimitsThatAreNearlyRight(t *testing.T) {
	for spec, want := range map[string]string{"60/min": "perhaps gcra:60/1m", "gcra:10/m": "perhaps 1m", "gcra:5/1d": "perhaps 24h"} {
		if got := startWith(oneEvent, "replay", "-", "--limit", spec); got.status != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%s: status %d, %s", spec, got.status, got.err)
		}
	}
}

// A typo in a scenario is 2, and an expectation that was missed is 1.
func TestSimTellsATypoFromAMissedExpectation(t *testing.T) {
	t.Chdir(t.TempDir())
	const scenario = "name: s\nduration: 1m\nlimits: [{name: l, spec: 'gcra:1/1m'}]\ntraffic: [{name: t, process: {kind: constant, rate: 1/1s}}]\nexpect: [{metric: denied, max: 0}]\n"
	for text, want := range map[string]int{
		scenario: exitNo,
		strings.Replace(scenario, "max: 0", "max: 1000", 1):           exitOK,
		strings.Replace(scenario, "duration", "durations", 1):         exitUsage,
		strings.Replace(scenario, "metric: denied", "metric: den", 1): exitUsage,
		strings.Replace(scenario, "gcra:1/1m", "gcra:1/1d", 1):        exitUsage,
	} {
		write(t, "s.yaml", text)
		if got := start("sim", "s.yaml"); got.status != want {
			t.Errorf("%s: status %d, want %d, %s", text, got.status, want, got.err)
		}
	}
	if _, err := os.Stat("s.yaml"); err != nil {
		t.Fatal(err)
	}
}
