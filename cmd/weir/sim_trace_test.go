package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/cmd/weir/internal/trace"
	simresult "github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

const recordedScenario = "testdata/sim-recorded.yaml"

// everySpec is a limit of each kind.
var everySpec = []string{
	"gcra:30/1m,burst=7", "token-bucket:30/1m,burst=7", "leaky-bucket:30/1m,capacity=7",
	"fixed-window:9/10s", "sliding-log:9/10s", "sliding-counter:9/10s",
}

func TestSimShowsATraceWithItsBadLines(t *testing.T) {
	wantGolden(t, "sim-recorded.golden", simulated(t, recordedScenario))
}

// Requests of a trace that come after the end are counted.
func TestSimCountsWhatOfATraceIsLeftOut(t *testing.T) {
	for cut, want := range map[string]string{"1s": "as it came 3 2 line 4: cost is negative", "1m": "as it came 0 2 line 4: cost is negative"} {
		got := simulated(t, recordedScenario, "--duration", cut)
		if !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("%s: no %q in\n%s", cut, want, got)
		}
	}
}

// busyTrace is a JSON Lines trace with bursts, pauses, costs from 0 to above every
// limit, and several requests at one instant. It is out of order where shuffled.
func busyTrace(shuffled bool) string {
	draw := rand.New(rand.NewPCG(1, 2))
	at := int64(1_700_000_000_123_457)
	var lines []string
	for range 3000 {
		if draw.IntN(3) > 0 {
			at += draw.Int64N(1 << draw.IntN(26))
		}
		cost := max(0, draw.Int64N(16)-4)
		lines = append(lines, fmt.Sprintf(`{"at_us":%d,"key":"user %d","cost":%d}`, at, draw.IntN(5), cost))
	}
	if shuffled {
		draw.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	}
	return strings.Join(lines, "\n") + "\n"
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A replay of a trace, and a simulation of the same requests without a network, decide
// each request in the same way, to the last number.
func TestSimOfATraceDecidesAsItsReplay(t *testing.T) {
	leftToTheRaceRun(t)
	for _, c := range []struct {
		name, text, fields string
		flags              []string
	}{
		{name: "jsonl", text: busyTrace(false)},
		{name: "jsonl/shuffled and packed", text: packed(t, busyTrace(true)), flags: []string{"--sort"}},
		{name: "combined", text: read(t, sample)},
		{name: "combined/user agents", text: read(t, sample), fields: ", format: combined, key: user-agent", flags: []string{"--key", "user-agent"}},
		{name: "combined/a format of its own in syslog", text: "lb1 2026\n" + regexp.MustCompile("(?m)^").ReplaceAllString(strings.TrimSpace(read(t, sample)), "Jan 11 00:00:00 lb1 nginx: "),
			fields: `, envelope: syslog, key: http_user_agent, log_format: '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'`,
			flags: []string{"--envelope", "syslog", "--key", "http_user_agent", "--log-format",
				`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"`}},
		{name: "csv", text: read(t, "../../docs/reference/testdata/tokens.csv"),
			fields: ", time_column: time, key: user, cost_column: tokens",
			flags:  []string{"--time-column", "time", "--key", "user", "--cost-column", "tokens"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "log"), c.text)
			for _, spec := range everySpec {
				decisions := filepath.Join(dir, "decisions")
				got := start(append([]string{"replay", "--limit", spec, "--decisions", decisions, filepath.Join(dir, "log")}, c.flags...)...)
				if got.status != exitOK {
					t.Fatalf("status %d, %s", got.status, got.err)
				}
				want := read(t, decisions)
				if decided := simulatedDecisions(t, dir, spec, c.fields, want); decided != want {
					t.Errorf("%s: %s", spec, difference(decided, want))
				}
			}
		})
	}
}

// simulatedDecisions are those of a scenario with the trace log, as a replay writes them.
// It begins at the instant of the first.
func simulatedDecisions(t *testing.T, dir, spec, fields, replayed string) string {
	t.Helper()
	type decision struct {
		At    int64 `json:"at_us"`
		Limit int64 `json:"limit"`
	}
	var first, last decision
	lines := strings.Split(strings.TrimSpace(replayed), "\n")
	if err := errors.Join(json.Unmarshal([]byte(lines[0]), &first), json.Unmarshal([]byte(lines[len(lines)-1]), &last)); err != nil {
		t.Fatal(err)
	}
	span := func(micros int64) time.Duration { return time.Duration(micros) * time.Microsecond }
	s, err := scenario.Parse(strings.NewReader(fmt.Sprintf(`name: recorded
start: %s
duration: %s
limits: [{name: limit, spec: "%s"}]
traffic: [{name: log, process: {kind: trace, file: log%s}}]
`, time.UnixMicro(first.At).UTC().Format(time.RFC3339Nano), span(last.At-first.At+1), spec, fields)))
	if err != nil {
		t.Fatal(err)
	}
	var decided strings.Builder
	written := newDecisions(&decided)
	source := &simSource{scenario: s, files: os.DirFS(dir)}
	world := &simWorld{}
	r, err := world.runIn(context.Background(), source, nil, func(e *simresult.Event) error {
		if e.Kind != "decided" {
			return nil
		}
		d := weir.Decision{
			Allowed: e.Allowed, Limit: first.Limit, Remaining: e.Remaining, RetryAfter: span(e.RetryMicros),
			ResetAfter: span(e.ResetMicros), Delay: span(e.DelayMicros),
		}
		if e.RetryMicros == int64(weir.Never/time.Microsecond) {
			d.RetryAfter = weir.Never
		}
		return written.Encode(lineOf(trace.Event{At: e.At, Key: e.Key, Cost: e.Cost}, d))
	})
	if err != nil || r[0].Failure != nil {
		t.Fatalf("%v, %+v", err, r)
	}
	return decided.String()
}

func TestSimRefusesWhatIsWrongWithATrace(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "log", busyTrace(false))
	write(t, "empty", "\n")
	write(t, "bad", "nothing\nof use\n")
	write(t, "huge", `{"at_us":1,"key":"a","cost":1000000000001}`+"\n")
	write(t, "cut", packed(t, busyTrace(false))[:2000])
	if err := os.Mkdir("below", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		process, want string
		args          []string
	}{
		{process: "{kind: trace}", want: "line 4, column 32: traffic[0].process.file is missing: must be a text of 1 to 4096 bytes: trace needs it"},
		{process: "{kind: trace, file: none}", want: "weir: s.yaml: scenario: line 4, column 52: traffic[0].process.file: open none: no such file"},
		{process: "{kind: trace, file: ../log}", want: "file ../log is not allowed: must be the name of a file in the same folder or below it"},
		{process: "{kind: trace, file: below}", want: "is a directory"},
		{process: "{kind: trace, file: log, format: tsv}", want: `traffic[0].process.format: "tsv" is not one of auto, jsonl, combined`},
		{process: "{kind: trace, file: log, log_format: '$remote_addr'}", want: "traffic[0].process.log_format: there is no time"},
		{process: "{kind: trace, file: log, envelope: paper}", want: `traffic[0].process.envelope: "paper" is not one of auto, none, syslog`},
		{process: "{kind: trace, file: log, key: colour}", want: "3000 lines cannot be used; no line can be used as jsonl; line 1: colour is missing"},
		{process: "{kind: trace, file: empty, format: clf, key: colour}", want: `s.yaml: scenario: line 4, column 77: traffic[0].process.key: a clf trace has no "colour": must be host, path`},
		{process: "{kind: trace, file: log, format: jsonl, time_column: t}", want: "traffic[0].process.time_column: jsonl has no columns to choose: must be left out"},
		{process: "{kind: trace, file: log, time_column: t, time_unit: d}", want: `traffic[0].process.time_unit: "d" is not one of s, ms, us, ns`},
		{process: "{kind: trace, file: empty}", want: "s.yaml: scenario: line 4, column 52: traffic[0].process.file empty is not allowed: must be a trace of at least one request\n"},
		{process: "{kind: trace, file: bad, format: jsonl}", want: "of at least one request (2 lines cannot be used; no line can be used as jsonl; line 1: "},
		{process: "{kind: trace, file: huge}", want: "record 1, of 1970-01-01T00:00:00.000001Z: cost 1000000000001 is not allowed"},
		{process: "{kind: trace, file: cut}", want: "trace: read after line "},
		{process: "{kind: trace, file: none}", args: []string{"--seeds", "2"}, want: "seed 0: s.yaml: scenario: line 4, column 52: "},
		{process: "{kind: trace, file: none}", args: []string{"--shrink"}, want: "weir: s.yaml: scenario: line 4, column 52: "},
		{process: "{kind: trace, file: log}", args: []string{"--json", "log"}, want: `--json: "log" is a file that the scenario names: must be another file`},
		{process: "{kind: trace, file: log}", args: []string{"--shrink", "--out", "below/small.yaml"}, want: "must be beside the scenario"},
		{process: "{kind: trace, file: log}", args: []string{"--seeds", "2", "--out", "below/small.yaml"}, want: `which names the file "log": must be beside the scenario`},
	} {
		write(t, "s.yaml", "name: s\nduration: 1m\nlimits: [{name: l, spec: 'gcra:5/1s'}]\ntraffic: [{name: log, process: "+c.process+"}]\n")
		got := start(append([]string{"sim", "s.yaml"}, c.args...)...)
		if got.status == exitOK || !strings.Contains(got.err, c.want) {
			t.Errorf("%s %q: status %d, %swant %s", c.process, c.args, got.status, got.err, c.want)
		}
		if read(t, "log") != busyTrace(false) {
			t.Fatalf("%s %q: the trace was written to", c.process, c.args)
		}
	}
}

// An exploration and a shrinking read the trace again for each run.
func TestSimExploresAndShrinksWithATrace(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "log", busyTrace(false))
	write(t, "s.yaml", `name: s
duration: 1h
limits: [{name: l, spec: "gcra:5/1s"}]
traffic:
  - {name: log, process: {kind: trace, file: log, speed: 2}}
  - {name: other, process: {kind: poisson, rate: 1/1m}}
expect: [{metric: denied, max: 3000}]
`)
	if out := simulated(t, "s.yaml", "--seeds", "3"); !strings.Contains(out, "3 of 3 seeds") {
		t.Error(out)
	}
	write(t, "s.yaml", strings.Replace(read(t, "s.yaml"), "3000", "3", 1))
	got := start("sim", "s.yaml", "--seeds", "3")
	if got.status != exitNo || !strings.Contains(got.out, "saved in s-0.yaml") {
		t.Fatalf("status %d, %s%s", got.status, got.err, got.out)
	}
	if out := simulated(t, "s-0.yaml", "--shrink"); !strings.Contains(out, "s-0.shrunk.yaml") {
		t.Error(out)
	}
	small := read(t, "s-0.shrunk.yaml")
	if !strings.Contains(small, "file: log") || strings.Contains(small, "other") {
		t.Error(small)
	}
	if got := start("sim", "s-0.shrunk.yaml"); got.status != exitNo || !strings.Contains(got.out, "MISSED") {
		t.Errorf("status %d, %s%s", got.status, got.err, got.out)
	}
}

// interrupting is a folder of one file without an end, of which the second read interrupts.
type interrupting struct {
	cancel func()
	reads  int
}

func (f *interrupting) Open(string) (fs.File, error) { return f, nil }
func (f *interrupting) Stat() (fs.FileInfo, error)   { return nil, fs.ErrInvalid }
func (f *interrupting) Close() error                 { return nil }
func (f *interrupting) Read(p []byte) (n int, _ error) {
	if f.reads++; f.reads == 2 {
		f.cancel()
	}
	for n < len(p) {
		n += copy(p[n:], "{\"at\":\"2026-03-03T10:00:00Z\",\"key\":\"a\"}\n")
	}
	return n, nil
}

// An interrupt ends the reading of a trace: nothing is read after it.
func TestSimInterruptedWhileItReadsATrace(t *testing.T) {
	s, err := scenario.Parse(strings.NewReader("name: s\nduration: 1m\nlimits: [{name: l, spec: 'gcra:5/1s'}]\ntraffic: [{name: log, process: {kind: trace, file: log, format: jsonl}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	file := &interrupting{cancel: cancel}
	source := &simSource{scenario: s, files: file}
	if _, err := new(simWorld).runIn(ctx, source, nil, nil); !errors.Is(err, context.Canceled) || file.reads != 2 {
		t.Errorf("error %v after %d reads, want %v after 2", err, file.reads, context.Canceled)
	}
}

// What is left misses what the whole missed: of the same limit, and without the others.
func TestSimShrinksToTheLimitThatMissed(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "s.yaml", `name: s
duration: 1m
limits:
  - {name: first, spec: "gcra:600/1m,burst=20"}
  - {name: second, spec: "gcra:1/1s"}
  - {name: third, spec: "gcra:1000/1s"}
traffic: [{name: t, process: {kind: constant, rate: 12/1s}}]
expect:
  - {limit: first, metric: denied, max: 0}
  - {limit: second, metric: denied, max: 0}
  - {limit: third, metric: denied, max: 0}
`)
	if out := simulated(t, "s.yaml", "--shrink"); !strings.Contains(out, "limit first") {
		t.Error(out)
	}
	if small := read(t, "s.shrunk.yaml"); strings.Contains(small, "second") || strings.Contains(small, "third") {
		t.Error(small)
	}
}

// A file that a run could wait for, for ever, is refused and not opened.
func TestSimRefusesAPipeAsATrace(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, process := range []string{"{kind: trace, file: pipe}", "{kind: counts, file: pipe}"} {
		write(t, "s.yaml", "name: s\nduration: 1m\nlimits: [{name: l, spec: 'gcra:5/1s'}]\ntraffic: [{name: log, process: "+process+"}]\n")
		if got := start("sim", "s.yaml"); got.status != exitUsage || !strings.Contains(got.err, "must be a regular file") {
			t.Errorf("%s: status %d, %s", process, got.status, got.err)
		}
	}
}

// A scenario is not saved over the trace that it names, whatever it would be called.
func TestSimSavesNoScenarioOverItsTrace(t *testing.T) {
	t.Chdir(t.TempDir())
	for file, args := range map[string][]string{"s.shrunk.yaml": {"--shrink"}, "s-0.yaml": {"--seeds", "1"}} {
		log := busyTrace(false)
		write(t, file, log)
		write(t, "s.yaml", "name: s\nduration: 1m\nlimits: [{name: l, spec: 'gcra:1/1h'}]\ntraffic: [{name: log, process: {kind: trace, file: "+file+", format: jsonl}}]\nexpect: [{metric: denied, max: 0}]\n")
		got := start(append([]string{"sim", "s.yaml"}, args...)...)
		if got.status != exitUsage || !strings.Contains(got.err, "is a file that the scenario names") || read(t, file) != log {
			t.Errorf("%s: status %d, %s", file, got.status, got.err)
		}
	}
}
