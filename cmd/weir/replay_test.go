package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/cmd/weir/internal/report"
)

func TestSampleLogGivesTheGoldenReport(t *testing.T) {
	got := start("replay", "--limit", "gcra:30/1m", sample)
	if got.status != exitOK || got.err != "" {
		t.Fatalf("status %d, %s", got.status, got.err)
	}
	wantGolden(t, "sample.golden", got.out)
}

func TestTheSameReplayGivesTheSameBytes(t *testing.T) {
	var first [3]string
	for round := range 2 {
		decisions, summary := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "j")
		got := start("replay", "--limit", "sliding-counter:20/1m", "--key", "host+path", "--decisions", decisions, "--json", summary, sample)
		all := [3]string{got.out, read(t, decisions), read(t, summary)}
		if round == 0 {
			first = all
		} else if all != first {
			t.Error("the second replay gave other bytes")
		}
	}
}

const twoKeys = `{"at_us":1000000,"key":"a"}
{"at_us":1000000,"key":"b","cost":3}

{"at_us":1500000,"key":"a","cost":-1}
{"at_us":1500000,"key":"a"}
{"at_us":2000000,"key":"a","cost":0}
`

const twoKeysDecided = `{"at_us":1000000,"key":"a","cost":1,"allowed":true,"limit":1,"remaining":0,"retry_after_us":0,"reset_after_us":1000000,"delay_us":0}
{"at_us":1000000,"key":"b","cost":3,"allowed":false,"limit":1,"remaining":1,"retry_after_us":-1,"reset_after_us":0,"delay_us":0}
{"at_us":1500000,"key":"a","cost":1,"allowed":false,"limit":1,"remaining":0,"retry_after_us":500000,"reset_after_us":500000,"delay_us":0}
{"at_us":2000000,"key":"a","cost":0,"allowed":true,"limit":1,"remaining":1,"retry_after_us":0,"reset_after_us":0,"delay_us":0}
`

const twoKeysReport = `gcra:1/1s denies 2 of 4 requests (50.0 %), from 2 of 2 keys. The most are from a: 1 of its 3.

trace     - (jsonl)
limit     gcra:1/1s for each key, on memory://
events    4 requests in 6 lines
empty     1 line
bad       1 line
span      1970-01-01 00:00:01 UTC to 1970-01-01 00:00:02 UTC (1 s)
keys      2, of which 2 denied at least once
admitted  2 (50.0 %)
denied    2 (50.0 %)
units     5 offered, 1 admitted (20.0 %)

Most denied
denied  of   share  key
     1   3  33.3 %  a
     1   1   100 %  b

Timeline, 100 ms a row, UTC
time                        offered  admitted  denied  # admitted, - denied
1970-01-01 00:00:01.000000        2         1       1  #########################-------------------------
1970-01-01 00:00:01.100000        0         0       0
1970-01-01 00:00:01.200000        0         0       0
1970-01-01 00:00:01.300000        0         0       0
1970-01-01 00:00:01.400000        0         0       0
1970-01-01 00:00:01.500000        1         0       1  -------------------------
1970-01-01 00:00:01.600000        0         0       0
1970-01-01 00:00:01.700000        0         0       0
1970-01-01 00:00:01.800000        0         0       0
1970-01-01 00:00:01.900000        0         0       0
1970-01-01 00:00:02.000000        1         1       0  #########################

Bad lines
line  why               what it begins with
   4  cost is negative  {"at_us":1500000,"key":"a","cost":-1}

--verbose also shows: 2 rows of zeros.
`

func TestReportGoesToStandardOutput(t *testing.T) {
	if got := startWith(twoKeys, "replay", "--limit", "gcra:1/1s", "-"); got != (result{exitOK, twoKeysReport, ""}) {
		t.Errorf("status %d, error %q, %s", got.status, got.err, difference(got.out, twoKeysReport))
	}
}

func TestDecisionsOnStandardOutputAreAlone(t *testing.T) {
	got := startWith(twoKeys, "replay", "--limit", "gcra:1/1s", "--decisions", "-", "-")
	if got != (result{exitOK, twoKeysDecided, twoKeysReport}) {
		t.Errorf("status %d\noutput: %s\nerror output: %s", got.status, difference(got.out, twoKeysDecided), difference(got.err, twoKeysReport))
	}
}

func TestDecisionsInAFileLeaveTheReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "decisions")
	write(t, file, strings.Repeat("something longer than what replaces it\n", 100))
	if got := replayed(t, twoKeys, "--limit", "gcra:1/1s", "--decisions", file); got != twoKeysReport {
		t.Error(difference(got, twoKeysReport))
	}
	if got := read(t, file); got != twoKeysDecided {
		t.Error(difference(got, twoKeysDecided))
	}
}

func TestJSONReportOnStandardOutputIsAlone(t *testing.T) {
	got := startWith(twoKeys, "replay", "--limit", "gcra:1/1s", "--json", "-", "-")
	if got.status != exitOK || got.err != "" {
		t.Fatalf("status %d, %s", got.status, got.err)
	}
	wantGolden(t, "report.json.golden", got.out)
	d := json.NewDecoder(strings.NewReader(got.out))
	d.DisallowUnknownFields()
	if err := d.Decode(&report.Replay{}); err != nil {
		t.Error(err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Errorf("something follows the object: %v", err)
	}
}

func TestJSONReportInAFileLeavesTheText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report")
	if got := replayed(t, twoKeys, "--limit", "gcra:1/1s", "--json", file); got != twoKeysReport {
		t.Error(difference(got, twoKeysReport))
	}
	if got, want := read(t, file), replayed(t, twoKeys, "--limit", "gcra:1/1s", "--json", "-"); got != want {
		t.Error(difference(got, want))
	}
}

func TestBothOutputsGoWhereTheyAreSent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	got := startWith(twoKeys, "replay", "--limit", "gcra:1/1s", "--decisions", "-", "--json", file, "-")
	if got != (result{exitOK, twoKeysDecided, twoKeysReport}) || !strings.HasPrefix(read(t, file), "{\n") {
		t.Errorf("decisions -: %+v", got)
	}
	got = startWith(twoKeys, "replay", "--limit", "gcra:1/1s", "--decisions", file, "--json", "-", "-")
	if got.status != exitOK || got.err != "" || !json.Valid([]byte(got.out)) || read(t, file) != twoKeysDecided {
		t.Errorf("json -: %+v", got)
	}
}

func TestEmptyTraceIsReported(t *testing.T) {
	for _, input := range []string{"", "\n \n"} {
		for _, args := range [][]string{{}, {"--key", "path"}, {"--format", "clf"}, {"--sort"}} {
			got := replayed(t, input, append([]string{"--limit", "gcra:1/1s"}, args...)...)
			if !strings.Contains(got, "events    0 requests in ") || strings.Contains(got, "denied") || strings.Contains(got, "span") {
				t.Errorf("%q, %q:\n%s", input, args, got)
			}
		}
		if got := replayed(t, input, "--limit", "gcra:1/1s", "--decisions", "-"); got != "" {
			t.Errorf("%q: decisions %q", input, got)
		}
		got := replayed(t, input, "--limit", "gcra:1/1s", "--json", "-")
		for _, empty := range []string{`"most_denied": []`, `"timeline": []`, `"bad_lines": []`, `"events": 0`} {
			if !strings.Contains(got, empty) {
				t.Errorf("%q: the report has no %s:\n%s", input, empty, got)
			}
		}
	}
}

func TestTraceOfBadLinesOnlyIsReported(t *testing.T) {
	result := startWith(`{"at_us":1,"key":""}`+"\n{}\n", "replay", "-", "--limit", "gcra:1/1s")
	if result.status != exitUsage || result.err != "weir: standard input: no line can be used as jsonl; line 1: key is empty\n" {
		t.Errorf("status %d, %s", result.status, result.err)
	}
	got := result.out
	want := `Warning: no line can be used as jsonl; line 1: key is empty.

trace     - (jsonl)
limit     gcra:1/1s for each key, on memory://
events    0 requests in 2 lines
bad       2 lines

Bad lines
line  why               what it begins with
   1  key is empty      {"at_us":1,"key":""}
   2  at_us is missing  {}

--verbose also shows: 3 rows of zeros.
`
	if got != want {
		t.Error(difference(got, want))
	}
}

func TestBadLinesAreCountedAndTheFirstTenShown(t *testing.T) {
	input := strings.Repeat(oneEvent+`{"at_us":1000000,"key":"a","cost":-5}`+"\n", 1200)
	got := replayed(t, input, "--limit", "gcra:1/1s")
	if !strings.Contains(got, "bad       1,200 lines\n") || !strings.Contains(got, "events    1,200 requests in 2,400 lines\n") {
		t.Error(got)
	}
	want := "\nThe first 10 of 1,200 bad lines\nline  why               what it begins with\n"
	for _, line := range []string{"2", "4", "6", "8", "10", "12", "14", "16", "18", "20"} {
		want += fmt.Sprintf("%4s  cost is negative  {\"at_us\":1000000,\"key\":\"a\",\"cost\":-5}\n", line)
	}
	want += "\n--verbose also shows: 3 rows of zeros.\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("the report does not end with%s\n%s", want, got)
	}
	decisions := replayed(t, input, "--limit", "gcra:1/1s", "--decisions", "-")
	if n := strings.Count(decisions, "\n"); n != 1200 {
		t.Errorf("%d decisions", n)
	}
}

// A negative cost is refused, and nothing comes back for it: B17.
func TestNegativeCostGivesNothingBack(t *testing.T) {
	for _, spec := range []string{"gcra:5/1h", "token-bucket:5/1h", "leaky-bucket:5/1h", "fixed-window:5/1h", "sliding-log:5/1h", "sliding-counter:5/1h"} {
		input := `{"at_us":7200000000,"key":"k","cost":5}
{"at_us":7200000000,"key":"k","cost":-3}
{"at_us":7200000000,"key":"k","cost":1}
{"at_us":7200000000,"key":"k","cost":0}
`
		var allowed []bool
		for line := range strings.Lines(replayed(t, input, "--limit", spec, "--decisions", "-")) {
			allowed = append(allowed, strings.Contains(line, `"allowed":true`))
		}
		if !slices.Equal(allowed, []bool{true, false, true}) {
			t.Errorf("%s: allowed %v", spec, allowed)
		}
	}
}

func TestAccessLogsAreKeyedByTheFieldAskedFor(t *testing.T) {
	log := `h1 - - [01/Jan/2026:00:00:00 +0000] "GET /a?q=1 HTTP/1.1" 200 1 "-" "one"
h1 - - [01/Jan/2026:00:00:00 +0000] "GET /b HTTP/1.1" 200 1 "-" "one"
h2 - - [01/Jan/2026:00:00:00 +0000] "GET /a HTTP/1.1" 200 1 "-" "one"
`
	for flag, want := range map[string][]string{
		"":           {"h1", "h2"},
		"host":       {"h1", "h2"},
		"path":       {"/a", "/b"},
		"host+path":  {"h1 /a", "h1 /b", "h2 /a"},
		"user-agent": {"one"},
	} {
		args := []string{"--limit", "gcra:1/1h", "--decisions", "-"}
		if flag != "" {
			args = append(args, "--key", flag)
		}
		got := startWith(log, append([]string{"replay", "-"}, args...)...)
		var admitted []string
		for line := range strings.Lines(got.out) {
			var d struct {
				Key     string
				Allowed bool
			}
			if err := json.Unmarshal([]byte(line), &d); err != nil {
				t.Fatal(err)
			}
			if d.Allowed {
				admitted = append(admitted, d.Key)
			}
		}
		name := flag
		if name == "" {
			name = "host"
		}
		if !slices.Equal(admitted, want) || !strings.Contains(got.err, "limit     gcra:1/1h for each "+name+", on memory://\n") {
			t.Errorf("--key %q: admitted %q, want %q\n%s", flag, admitted, want, got.err)
		}
	}
}

func TestLogFormatOfOnesOwnIsReplayed(t *testing.T) {
	log := "1767225600.123 0.023 192.0.2.7 \"one\"\n1767225600.200 0.023 192.0.2.8 \"one\"\n"
	got := replayed(t, log, "--limit", "gcra:1/1m", "--key", "http_x_api_key", "--log-format", `$msec $request_time $remote_addr "$http_x_api_key"`)
	if !strings.Contains(got, "(log-format)\nlimit     gcra:1/1m for each http_x_api_key,") || !strings.Contains(got, "denied    1 (50.0 %)") {
		t.Error(got)
	}
}

// TestReplayShowsTheWaitsOfALeakyBucket: twenty at one time start a tenth of a second apart,
// and the last waits for 1.9 s. A limit that makes nobody wait shows none.
func TestReplayShowsTheWaitsOfALeakyBucket(t *testing.T) {
	burst := strings.Repeat(`{"at_us":1000000,"key":"a"}`+"\n", 20)
	if out := replayed(t, burst, "--limit", "leaky-bucket:10/1s,capacity=20"); !strings.Contains(out, "\nwait      901 ms for half of the admitted at most, 1.9 s for 99 %, 1.9 s for all\n") {
		t.Errorf("no waits in\n%s", out)
	}
	if out := replayed(t, burst, "--limit", "gcra:10/1s"); strings.Contains(out, "\nwait ") {
		t.Errorf("waits in\n%s", out)
	}
	got := startWith(burst, "compare", "--limit", "leaky-bucket:10/1s,capacity=20", "--limit", "gcra:10/1s", "-")
	for _, want := range []string{"wait of half", "        901 ms         1.9 s\n", "          none          none\n"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s", want, got.out)
		}
	}
}

// TestReplayOfAQueueIsTheQueueOfTheory: Poisson requests at nine tenths of what a leaky
// bucket lets out are M/D/1, where 1 in 100 waits longer than 2.19 s, and the mean is 450 ms.
func TestReplayOfAQueueIsTheQueueOfTheory(t *testing.T) {
	var b strings.Builder
	r, at := rand.New(rand.NewPCG(1, 9)), 0.0
	for range 100_000 {
		at += r.ExpFloat64() / 9 * 1e6
		fmt.Fprintf(&b, `{"at_us":%d,"key":"a"}`+"\n", int64(at))
	}
	var got report.Replay
	if err := json.Unmarshal([]byte(replayed(t, b.String(), "--limit", "leaky-bucket:10/1s,capacity=1000000", "--json", "-")), &got); err != nil {
		t.Fatal(err)
	}
	w := got.Wait
	if w == nil || math.Abs(float64(w.P99Micros)-2_190_000) > 200_000 || math.Abs(float64(w.MeanMicros)-450_000) > 25_000 {
		t.Errorf("%+v", w)
	}
}
