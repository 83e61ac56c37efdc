package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

const oneEvent = `{"at_us":1000000,"key":"a"}` + "\n"

func TestWrongUsageIsRefusedAndDoesNothing(t *testing.T) {
	dir := t.TempDir()
	trace, decisions, summary := filepath.Join(dir, "t.jsonl"), filepath.Join(dir, "d"), filepath.Join(dir, "j")
	write(t, trace, oneEvent)
	log := filepath.Join(dir, "access.log")
	write(t, log, `h - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 1`+"\n")
	outputs := []string{"--decisions", decisions, "--json", summary}

	for name, c := range map[string]struct {
		args []string
		want []string // what the error names: the flag, the value, what is allowed
	}{
		"no command":      {nil, []string{`"replay"`}},
		"other command":   {[]string{"reply"}, []string{"reply"}},
		"no trace":        {[]string{"replay", "--limit", "gcra:1/1s"}, []string{"<trace>"}},
		"trace twice":     {[]string{"replay", "--limit", "gcra:1/1s", trace, dir + "/../" + filepath.Base(dir) + "/t.jsonl"}, []string{"is the same file as"}},
		"no file like it": {[]string{"replay", "--limit", "gcra:1/1s", filepath.Join(dir, "no*.log")}, []string{"no file is like", "no*.log"}},
		"no limit":        {[]string{"replay", trace}, []string{"--limit=SPEC"}},
		"limit no spec":   {[]string{"replay", "--limit", "10", trace}, []string{"--limit", `"10"`, "NAME:LIMIT/PERIOD"}},
		"limit unknown":   {[]string{"replay", "--limit", "x:1/1s", trace}, []string{"--limit", `"x"`, "gcra", "sliding-counter"}},
		"limit 0":         {[]string{"replay", "--limit", "gcra:0/1s", trace}, []string{"--limit", "limit 0", "1 to 1000000000000"}},
		"limit too large": {[]string{"replay", "--limit", "gcra:1000000000001/1s", trace}, []string{"--limit", "1000000000001", "1 to 1000000000000"}},
		"period too fine": {[]string{"replay", "--limit", "gcra:1/1.5us", trace}, []string{"--limit", "1.5µs", "whole microseconds"}},
		"burst of window": {[]string{"replay", "--limit", "sliding-log:1/1s,burst=2", trace}, []string{"--limit", "burst=2", "absent"}},
		"store unknown":   {[]string{"replay", "--store", "http://h", "--limit", "gcra:1/1s", trace}, []string{"--store", `"http://h"`, "memory://", "redis://", "valkeys://"}},
		"prefix unused":   {[]string{"replay", "--prefix", "p:", "--limit", "gcra:1/1s", trace}, []string{"--prefix", `"p:"`, "must be left out with memory://"}},
		"format unknown":  {[]string{"replay", "--format", "xml", "--limit", "gcra:1/1s", trace}, []string{"--format", `"xml"`, `"auto","jsonl","combined","clf"`}},
		"key unknown":     {[]string{"replay", "--key", "ip", "--limit", "gcra:1/1s", log}, []string{"--key", `"ip"`, "host, path, host+path, or a field: host, ident"}},
		"key of clf":      {[]string{"replay", "--key", "user-agent", "--limit", "gcra:1/1s", log}, []string{"--key", `"user-agent"`, "host, path, host+path"}},
		"flag unknown":    {[]string{"replay", "--sorted", "--limit", "gcra:1/1s", trace}, []string{"--sorted", `"--sort"`}},
		"both the same":   {[]string{"replay", "--decisions", decisions, "--json", decisions, "--limit", "gcra:1/1s", trace}, []string{"--decisions", "--json", decisions, "two places"}},
		"both stdout":     {[]string{"replay", "--decisions", "-", "--json", "-", "--limit", "gcra:1/1s", trace}, []string{"--decisions", "--json", `"-"`, "two places"}},
	} {
		args := c.args
		if len(args) > 2 && !strings.HasPrefix(name, "both") {
			args = append(args, outputs...)
		}
		got := start(args...)
		if got.status != exitUsage || got.out != "" {
			t.Errorf("%s: status %d, output %q", name, got.status, got.out)
		}
		for _, want := range append(c.want, "weir: ", "Try 'weir --help'") {
			if !strings.Contains(got.err, want) {
				t.Errorf("%s: the error does not say %q:\n%s", name, want, got.err)
			}
		}
		for _, output := range []string{decisions, summary} {
			if _, err := os.Stat(output); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("%s: an output was created", name)
			}
		}
	}
}

func TestTheTraceIsNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	trace, other := filepath.Join(dir, "t.jsonl"), filepath.Join(dir, "other")
	write(t, trace, oneEvent)
	if err := os.Link(trace, other); err != nil {
		t.Fatal(err)
	}
	input, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	for _, flag := range []string{"--decisions", "--json"} {
		for _, from := range []string{trace, "-"} {
			var out, errs strings.Builder
			status := run(context.Background(), []string{"replay", "--limit", "gcra:1/1s", flag, other, from}, input, &out, &errs)
			if status != exitUsage || !strings.Contains(errs.String(), flag+`: "`+other+`" is the trace itself: must be another file`) {
				t.Errorf("%s from %s: status %d, %s", flag, from, status, errs.String())
			}
		}
	}
	if read(t, trace) != oneEvent {
		t.Error("the trace was overwritten")
	}
}

func TestFilesThatCannotBeUsedFailWithTheirName(t *testing.T) {
	dir := t.TempDir()
	trace := filepath.Join(dir, "t.jsonl")
	write(t, trace, oneEvent)
	text := filepath.Join(dir, "text")
	write(t, text, "no log\n")
	nowhere := filepath.Join(dir, "no", "where")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no such trace":       {[]string{nowhere}, nowhere + ": no such file"},
		"a directory":         {[]string{dir}, dir + `" is a directory: must be files`},
		"no format":           {[]string{text}, text + ": trace: format: cannot be told"},
		"decisions nowhere":   {[]string{"--decisions", nowhere, trace}, "--decisions: open " + nowhere},
		"json nowhere":        {[]string{"--json", nowhere, trace}, "--json: open " + nowhere},
		"decisions directory": {[]string{"--decisions", dir, trace}, "--decisions: open " + dir},
	} {
		got := start(append([]string{"replay", "--limit", "gcra:1/1s"}, c.args...)...)
		want := exitFailed
		if c.args[0][0] != '-' { // about the trace
			want = exitUsage
		}
		if got.status != want || got.out != "" || !strings.Contains(got.err, "weir: ") || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: status %d, output %q, error %q, want %q", name, got.status, got.out, got.err, c.want)
		}
	}
	output := filepath.Join(dir, "decisions")
	if start("replay", "--limit", "gcra:1/1s", "--decisions", output, nowhere); exists(output) {
		t.Error("an output was created for a trace that does not exist")
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func TestFullDiskFailsTheReplay(t *testing.T) {
	if !exists("/dev/full") {
		t.Skip("no /dev/full on this system")
	}
	for _, flag := range []string{"--decisions", "--json"} {
		got := startWith(oneEvent, "replay", "--limit", "gcra:1/1s", flag, "/dev/full", "-")
		if got.status != exitFailed || got.out != "" || !strings.Contains(got.err, "weir: "+flag+": write /dev/full: no space left") {
			t.Errorf("%s: status %d, output %q, error %q", flag, got.status, got.out, got.err)
		}
	}
}

// Whoever reads the output may have gone: that is an error, not silence.
func TestClosedOutputFailsTheReplay(t *testing.T) {
	many := strings.Repeat(oneEvent, 10_000) // more than any buffer
	for name, c := range map[string]struct {
		input string
		args  []string
		want  string
	}{
		"report":         {oneEvent, nil, "report: "},
		"json":           {oneEvent, []string{"--json", "-"}, "--json: "},
		"decisions":      {oneEvent, []string{"--decisions", "-"}, "--decisions: "},
		"many decisions": {many, []string{"--decisions", "-"}, "--decisions: "},
	} {
		var errs strings.Builder
		args := append([]string{"replay", "--limit", "gcra:1/1s", "-"}, c.args...)
		status := run(context.Background(), args, strings.NewReader(c.input), broken{syscall.EPIPE}, &errs)
		if want := "weir: " + c.want + "broken pipe\n"; status != exitFailed || errs.String() != want {
			t.Errorf("%s: status %d, error %q, want %q", name, status, errs.String(), want)
		}
	}
}

func TestClosedErrorOutputFailsTheReplayWhoseReportGoesThere(t *testing.T) {
	var out strings.Builder
	args := []string{"replay", "--limit", "gcra:1/1s", "--decisions", "-", "-"}
	if status := run(context.Background(), args, strings.NewReader(oneEvent), &out, broken{syscall.EPIPE}); status != exitFailed {
		t.Errorf("status %d", status)
	}
}

func TestInterruptEndsTheReplay(t *testing.T) {
	wantInterrupted := func(status int, out, errs string) {
		t.Helper()
		if status != exitInterrupted || out != "" || errs != "weir: interrupted\n" {
			t.Errorf("status %d, output %q, error %q", status, out, errs)
		}
	}
	for name, args := range map[string][]string{
		"before the start":        {"replay", "--limit", "gcra:1/1s", "-"},
		"while it waits for more": {"replay", "--limit", "gcra:1/1s", "--format", "jsonl", "-"},
		"while it sorts":          {"replay", "--limit", "gcra:1/1s", "--format", "jsonl", "--sort", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if name == "before the start" {
				cancel()
			}
			var out, errs strings.Builder
			status := run(ctx, args, newStuck(t, strings.Repeat(oneEvent, 2000), cancel), &out, &errs)
			wantInterrupted(status, out.String(), errs.String())
		})
	}
}

// A failure must not wait for an input that gives nothing. The output fails at
// its first 64 KiB, when about 500 events are decided and the others were read.
func TestFailureDoesNotWaitForTheInput(t *testing.T) {
	var errs strings.Builder
	input := newStuck(t, strings.Repeat(oneEvent, 1000), func() {})
	args := []string{"replay", "--limit", "gcra:1/1s", "--format", "jsonl", "--decisions", "-", "-"}
	status := run(context.Background(), args, input, broken{syscall.EPIPE}, &errs)
	if status != exitFailed || !strings.Contains(errs.String(), "broken pipe") {
		t.Errorf("status %d, %s", status, errs.String())
	}
}

func TestBrokenInputFailsTheReplay(t *testing.T) {
	var out, errs strings.Builder
	input := &failing{strings.NewReader(strings.Repeat(oneEvent, 3)), syscall.EIO}
	status := run(context.Background(), []string{"replay", "--limit", "gcra:1/1s", "--format", "jsonl", "-"}, input, &out, &errs)
	if want := "weir: standard input: trace: read after line 3: input/output error\n"; status != exitFailed || out.String() != "" || errs.String() != want {
		t.Errorf("status %d, output %q, error %q, want %q", status, out.String(), errs.String(), want)
	}
}

// failing is an input that fails behind its text.
type failing struct {
	text *strings.Reader
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	if n, _ := f.text.Read(p); n > 0 {
		return n, nil
	}
	return 0, f.err
}

func TestHelpNamesEveryFlagAndTheStatuses(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}} {
		if got := start(args...); got.status != exitOK || got.err != "" || !strings.Contains(got.out, "replay") {
			t.Errorf("%q: status %d, %s%s", args, got.status, got.out, got.err)
		}
	}
	got := start("replay", "--help")
	for _, want := range []string{
		"<trace>", "--limit=SPEC", "--store=URL", "memory://", "unix://[[USER]:PASSWORD@]/PATH[?db=DB]", "valkey-unix://", "--prefix=TEXT", "--format=FORMAT", "auto, jsonl, combined, clf", "--key=FIELD",
		"host+path, user-agent", "--sort", "--decisions=FILE", "--json=FILE", "gcra:L/P[,burst=N]", "leaky-bucket:L/P[,capacity=N]",
		`{"at_us":1700000000000000,"key":"user:1","cost":1}`, "0 done, 2 wrong usage or a trace that cannot be used",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the help does not say %q:\n%s", want, got.out)
		}
	}
	if got.status != exitOK || got.err != "" {
		t.Errorf("status %d, error %q", got.status, got.err)
	}
}

func TestVersionIsOneLine(t *testing.T) {
	for _, args := range [][]string{{"--version"}, {"-V"}, {"replay", "--version"}} {
		if got := start(args...); got.status != exitOK || got.err != "" || !regexp.MustCompile(`^weir \S.*\n$`).MatchString(got.out) {
			t.Errorf("%q: status %d, %q, %s", args, got.status, got.out, got.err)
		}
	}
}

func TestOneFileForTwoOutputsIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "there", "kept")
	if err := os.Link("there", "linked"); err != nil {
		t.Fatal(err)
	}
	for _, names := range [][2]string{{"out", "out"}, {"out", "./out"}, {"there", "linked"}, {"-", "-"}} {
		got := startWith(oneEvent, "replay", "--limit", "gcra:1/1s", "--decisions", names[0], "--json", names[1], "-")
		if got.status != exitUsage || exists("out") || read(t, "there") != "kept" {
			t.Errorf("%q: status %d, %s", names, got.status, got.err)
		}
	}
}

func TestVerboseShowsAllOfAReport(t *testing.T) {
	for _, args := range [][]string{
		{"sim", "testdata/sim-small.yaml"},
		{"replay", "--limit", "gcra:10/1m", "testdata/recorded.jsonl"},
		{"compare", "--limit", "gcra:10/1m", "--limit", "gcra:20/1m", "testdata/recorded.jsonl"},
	} {
		plain, short, long := start(args...), start(append(args, "-v")...), start(append(args, "--verbose")...)
		if short != long || plain.status != exitOK || long.status != exitOK {
			t.Errorf("%q: -v and --verbose differ, or failed: %+v %+v", args, short, long)
		}
		if strings.Contains(long.out, "--verbose") || !strings.Contains(plain.out, "\n--verbose also shows: ") || len(long.out) <= len(plain.out)-40 {
			t.Errorf("%q: plain\n%sverbose\n%s", args, plain.out, long.out)
		}
	}
	page := "page.html"
	t.Chdir(t.TempDir())
	write(t, "log", oneEvent)
	if got := start("replay", "--limit", "gcra:10/1m", "-v", "--html", page, "log"); got.status != exitOK || strings.Contains(read(t, page), "--verbose") {
		t.Errorf("status %d, or the page says --verbose, of which it is the same", got.status)
	}
	if got := start("sim", "--list", "-v"); got.status != exitUsage || !strings.Contains(got.err, "--verbose does not go with --list") {
		t.Errorf("%+v", got)
	}
}
