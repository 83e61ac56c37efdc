package trace

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/race"
)

func TestEventsKeepTheOrderOfAJSONLinesFile(t *testing.T) {
	text := `{"at_us":30,"key":"a","cost":2}
{"at_us":10,"key":"b"}
{"at_us":20,"key":"a","cost":0}
`
	got, r := readAll(t, text, nil)
	want := []Event{{At: 30, Key: "a", Cost: 2}, {At: 10, Key: "b", Cost: 1, KeyIndex: 1}, {At: 20, Key: "a"}}
	if !slices.Equal(got, want) {
		t.Errorf("events\n got %v\nwant %v", got, want)
	}
	if want := (Counts{Lines: 3, Events: 3, Keys: 2, OutOfOrder: 1}); r.Counts() != want {
		t.Errorf("counts\n got %+v\nwant %+v", r.Counts(), want)
	}
	if r.Format() != "jsonl" || r.Sorted() {
		t.Errorf("format %q sorted %v, want jsonl in file order", r.Format(), r.Sorted())
	}
}

// Log lines are written when a request ends. Replayed in the order of the file they would give a decision that depends on it.
func TestLogLinesOutOfTimeOrderAreSortedStably(t *testing.T) {
	text := `{"at_us":10000000,"key":"first"}
{"at_us":9200000,"key":"c"}
{"at_us":"soon","key":"c"}
{"at_us":9900000,"key":"c"}
{"at_us":10000000,"key":"second"}
{"at_us":8700000,"key":"c"}
`
	got, r := readAll(t, text, &Options{Sort: true})
	var order []string
	for _, e := range got {
		order = append(order, fmt.Sprintf("%d.%d %s", e.At/1e6, e.At/1e5%10, e.Key))
	}
	want := []string{"8.7 c", "9.2 c", "9.9 c", "10.0 first", "10.0 second"}
	if !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	if want := (Counts{Lines: 6, Events: 5, Bad: 1, Keys: 3, OutOfOrder: 2}); r.Counts() != want {
		t.Errorf("counts\n got %+v\nwant %+v", r.Counts(), want)
	}
}

func TestAccessLogIsSortedAcrossTimeZones(t *testing.T) {
	text := `10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1
10.0.0.2 - - [10/Oct/2000:22:55:35 +0200] "GET / HTTP/1.1" 200 1
10.0.0.3 - - [yesterday] "GET / HTTP/1.1" 200 1
10.0.0.4 - - [10/Oct/2000:20:55:36 +0000] "GET / HTTP/1.1" 200 1
`
	got, r := readAll(t, text, nil)
	if keys := keysOf(got); keys != "10.0.0.2 10.0.0.1 10.0.0.4" {
		t.Errorf("order %q", keys)
	}
	if want := (Counts{Lines: 4, Events: 3, Bad: 1, Keys: 3, OutOfOrder: 1}); r.Counts() != want {
		t.Errorf("counts\n got %+v\nwant %+v", r.Counts(), want)
	}
	if got[1].At != 971_211_336_000_000 {
		t.Errorf("13:55:36 -0700 is %d µs", got[1].At)
	}
}

func TestBadLinesAreCountedAndTheFirstAreShown(t *testing.T) {
	var text strings.Builder
	text.WriteString("\n{\"at_us\":1,\"key\":\"a\"}\n")
	for i := range 25 {
		fmt.Fprintf(&text, "{\"at_us\":1,\"key\":%d}\n", i)
	}
	text.WriteString("{\"at_us\":2,\"key\":\"a\"}\n")
	got, r := readAll(t, text.String(), nil)
	if len(got) != 2 {
		t.Errorf("%d events, want 2", len(got))
	}
	count, first := r.Bad()
	if count != 25 || len(first) != MaxBadShown {
		t.Fatalf("%d bad lines and %d shown, want 25 and %d", count, len(first), MaxBadShown)
	}
	for i, b := range first {
		want := BadLine{Number: int64(3 + i), Text: fmt.Sprintf(`{"at_us":1,"key":%d}`, i), Reason: "key is not a string"}
		if b != want {
			t.Errorf("bad line %d\n got %+v\nwant %+v", i, b, want)
		}
	}
	if want := (Counts{Lines: 28, Events: 2, Bad: 25, Skipped: 1, Keys: 1}); r.Counts() != want {
		t.Errorf("counts\n got %+v\nwant %+v", r.Counts(), want)
	}
}

// A bad line between two events must neither hide that they are out of order nor look like a step back itself.
func TestOutOfOrderLeavesUnusableLinesAside(t *testing.T) {
	text := "{\"at_us\":5,\"key\":\"a\"}\n{\"at_us\":1,\"key\":\"\"}\n\n{\"at_us\":5,\"key\":\"a\"}\n{\"at_us\":-1,\"key\":\"a\"}\n{\"at_us\":4,\"key\":\"a\"}\n"
	if _, r := readAll(t, text, nil); r.Counts().OutOfOrder != 1 {
		t.Errorf("out of order %d, want 1", r.Counts().OutOfOrder)
	}
}

func TestKeysAreKeptApartWhateverTheyHold(t *testing.T) {
	text := `{"at_us":1,"key":"a"}
{"at_us":1,"key":"a "}
{"at_us":1,"key":"A"}
{"at_us":1,"key":"a\u0000"}
{"at_us":1,"key":"ä"}
{"at_us":1,"key":"a\u0308"}
{"at_us":1,"key":"\ufffd"}
{"at_us":1,"key":"\u00e4"}
{"at_us":1,"key":"�"}
`
	got, r := readAll(t, text, nil)
	if n := r.Counts().Keys; n != 7 {
		t.Errorf("%d keys, want 7", n)
	}
	if got[4].KeyIndex != got[7].KeyIndex || got[6].KeyIndex != got[8].KeyIndex {
		t.Error("a key and its escaped form are two keys")
	}
}

func TestNextKeepsReturningTheEnd(t *testing.T) {
	_, r := readAll(t, `{"at_us":1,"key":"a"}`, nil)
	for range 2 {
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("Next after the end: %v", err)
		}
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("Next after the end and Close: %v", err)
	}
}

func TestNextAfterCloseIsAnError(t *testing.T) {
	for _, sorted := range []bool{false, true} {
		r, err := Open(strings.NewReader(`{"at_us":1,"key":"a"}`), &Options{Sort: sorted})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Errorf("Close twice: %v", err)
		}
		if _, err := r.Next(); !errors.Is(err, errClosed) {
			t.Errorf("sorted %v: Next after Close: %v", sorted, err)
		}
	}
}

// An address or a name of a client is read anew in each line, which takes a few allocations; all else allocates for new keys only.
func TestReadingAllocatesForNewKeysOnly(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		opts Options
	}{
		"jsonl":            {`{"at_us":1700000000000000,"key":"user:1","cost":1,"note":"x","n":-1.5e3,"ok":true}`, Options{}},
		"combined/path":    {`h - - [10/Oct/2000:13:55:36 -0700] "GET /a?b HTTP/1.1" 200 1 "-" "agent\"s"`, Options{Key: KeyPath}},
		"nginx-json":       {nginxLine, Options{Key: KeyHostPath}},
		"caddy":            {caddyLine, Options{Key: KeyHostPath}},
		"alb":              {albLine, Options{Key: KeyHostPath}},
		"envoy":            {envoyLine, Options{Key: KeyHostPath}},
		"combined/address": {`h - - [10/Oct/2000:13:55:36 -0700] "GET /a?b HTTP/1.1" 200 1 "-" "-"`, Options{Key: KeyHostPath}},
	} {
		t.Run(name, func(t *testing.T) {
			if race.Enabled && (name == "jsonl" || name == "nginx-json" || name == "caddy") {
				t.Skip("the race detector empties the pool of encoding/json, which then allocates")
			}
			read := func(lines int) float64 {
				text := strings.Repeat(c.line+"\n", lines)
				return testing.AllocsPerRun(3, func() {
					r, err := Open(strings.NewReader(text), &c.opts)
					if err != nil {
						t.Fatal(err)
					}
					for err == nil {
						_, err = r.Next()
					}
				})
			}
			// The run of the sort grows by doubling, and the runtime allocates a little by
			// itself, more so under the race detector. One allocation a line would be 4,900.
			allowed := 0.1
			if c.opts.Key == KeyHostPath {
				allowed = 3.1
			}
			if few, many := read(100), read(5000); many-few > 4900*allowed {
				t.Errorf("%v allocations for 100 lines, %v for 5000", few, many)
			}
		})
	}
}
