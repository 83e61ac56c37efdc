package main

import (
	"fmt"
	"strings"
	"testing"
)

// B65: the times 10.0, 9.2, 9.9, 10.0, 8.7 under 1 per second, in tenths of the
// rate since a log has whole seconds. The first has another time zone, and one
// line no time.
const disorderedLog = `h - - [01/Jan/2026:02:01:40 +0200] "GET /1 HTTP/1.1" 200 1
h - - [01/Jan/2026:00:01:32 +0000] "GET /2 HTTP/1.1" 200 1
h - - [yesterday] "GET / HTTP/1.1" 200 1
h - - [01/Jan/2026:00:01:39 +0000] "GET /3 HTTP/1.1" 200 1
h - - [01/Jan/2026:00:01:40 +0000] "GET /4 HTTP/1.1" 200 1
h - - [31/Dec/2025:19:01:27 -0500] "GET /5 HTTP/1.1" 200 1
`

const disorderedLogDecided = `{"at_us":1767225687000000,"key":"h","cost":1,"allowed":true,"limit":1,"remaining":0,"retry_after_us":0,"reset_after_us":10000000,"delay_us":0}
{"at_us":1767225692000000,"key":"h","cost":1,"allowed":false,"limit":1,"remaining":0,"retry_after_us":5000000,"reset_after_us":5000000,"delay_us":0}
{"at_us":1767225699000000,"key":"h","cost":1,"allowed":true,"limit":1,"remaining":0,"retry_after_us":0,"reset_after_us":10000000,"delay_us":0}
{"at_us":1767225700000000,"key":"h","cost":1,"allowed":false,"limit":1,"remaining":0,"retry_after_us":9000000,"reset_after_us":9000000,"delay_us":0}
{"at_us":1767225700000000,"key":"h","cost":1,"allowed":false,"limit":1,"remaining":0,"retry_after_us":9000000,"reset_after_us":9000000,"delay_us":0}
`

func TestAccessLogIsSortedByTime(t *testing.T) {
	args := []string{"replay", "--limit", "gcra:1/10s", "--decisions", "-", "-"}
	got := startWith(disorderedLog, args...)
	if got.status != exitOK || got.out != disorderedLogDecided {
		t.Errorf("status %d, %s", got.status, difference(got.out, disorderedLogDecided))
	}
	for _, want := range []string{
		"trace     - (clf)\n",
		"events    5 requests in 6 lines\n",
		"bad       1 line\n",
		"disorder  2 events earlier than the one before, sorted by time\n",
		"span      2026-01-01 00:01:27 UTC to 2026-01-01 00:01:40 UTC (13 s)\n",
		"denied    3 (60.0 %)\n",
		"   3  there is no [dd/Mon/yyyy:hh:mm:ss +hhmm] before a quoted request  h - - [yesterday]",
	} {
		if !strings.Contains(got.err, want) {
			t.Errorf("the report does not say %q:\n%s", want, got.err)
		}
	}
	if again := startWith(disorderedLog, args...); again != got {
		t.Error("the second replay gave other bytes")
	}
}

func TestLinesOfOneTimeKeepTheOrderOfTheFile(t *testing.T) {
	log := ""
	want := ""
	for _, second := range []int{2, 1} { // of the file
		for _, host := range []string{"c", "a", "b", "c", "d"} {
			log += fmt.Sprintf("%s - - [01/Jan/2026:00:00:%02d +0000] \"-\" 200 1\n", host, second)
		}
	}
	for range 2 {
		want += "c a b c d "
	}
	if got := keysOf(replayed(t, log, "--limit", "gcra:1/1s", "--decisions", "-")); got != want {
		t.Errorf("decided in the order %s, want %s", got, want)
	}
}

const disorderedJSON = `{"at_us":10000000,"key":"c"}
{"at_us":9200000,"key":"c"}
{"at_us":9900000,"key":"c"}
{"at_us":10000000,"key":"c"}
{"at_us":8700000,"key":"c"}
`

func TestJSONLinesKeepTheOrderOfTheFile(t *testing.T) {
	got := startWith(disorderedJSON, "replay", "--limit", "gcra:1/1s", "--decisions", "-", "-")
	// The clock went back: whoever had its unit at 10.0 waits until 11.0.
	want := `{"at_us":10000000,"key":"c","cost":1,"allowed":true,"limit":1,"remaining":0,"retry_after_us":0,"reset_after_us":1000000,"delay_us":0}
{"at_us":9200000,"key":"c","cost":1,"allowed":false,"limit":1,"remaining":0,"retry_after_us":1800000,"reset_after_us":1800000,"delay_us":0}
{"at_us":9900000,"key":"c","cost":1,"allowed":false,"limit":1,"remaining":0,"retry_after_us":1100000,"reset_after_us":1100000,"delay_us":0}
{"at_us":10000000,"key":"c","cost":1,"allowed":false,"limit":1,"remaining":0,"retry_after_us":1000000,"reset_after_us":1000000,"delay_us":0}
{"at_us":8700000,"key":"c","cost":1,"allowed":false,"limit":1,"remaining":0,"retry_after_us":2300000,"reset_after_us":2300000,"delay_us":0}
`
	if got.out != want {
		t.Error(difference(got.out, want))
	}
	if !strings.Contains(got.err, "disorder  2 events earlier than the one before, replayed as they stand\n") {
		t.Error(got.err)
	}
}

func TestJSONLinesAreSortedWhereAskedFor(t *testing.T) {
	got := startWith(disorderedJSON, "replay", "--limit", "gcra:1/1s", "--sort", "--decisions", "-", "-")
	want := `{"at_us":8700000,"key":"c","cost":1,"allowed":true,"limit":1,"remaining":0,"retry_after_us":0,"reset_after_us":1000000,"delay_us":0}
{"at_us":9200000,"key":"c","cost":1,"allowed":false,"limit":1,"remaining":0,"retry_after_us":500000,"reset_after_us":500000,"delay_us":0}
{"at_us":9900000,"key":"c","cost":1,"allowed":true,"limit":1,"remaining":0,"retry_after_us":0,"reset_after_us":1000000,"delay_us":0}
{"at_us":10000000,"key":"c","cost":1,"allowed":false,"limit":1,"remaining":0,"retry_after_us":900000,"reset_after_us":900000,"delay_us":0}
{"at_us":10000000,"key":"c","cost":1,"allowed":false,"limit":1,"remaining":0,"retry_after_us":900000,"reset_after_us":900000,"delay_us":0}
`
	if got.out != want {
		t.Error(difference(got.out, want))
	}
	if !strings.Contains(got.err, "disorder  2 events earlier than the one before, sorted by time\n") {
		t.Error(got.err)
	}
}

// keysOf returns the keys of decision lines, a space behind each.
func keysOf(decisions string) string {
	var keys strings.Builder
	for line := range strings.Lines(decisions) {
		_, after, _ := strings.Cut(line, `"key":"`)
		key, _, _ := strings.Cut(after, `"`)
		keys.WriteString(key + " ")
	}
	return keys.String()
}
