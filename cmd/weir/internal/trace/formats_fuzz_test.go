package trace

import (
	"bytes"
	"encoding/json"
	"testing"
)

// checkLine checks what must hold of any line in any access log format: it disturbs no parser, its time does not depend on the key,
// no key is empty, and the key of host and path is made of the other two.
func checkLine(t *testing.T, line []byte, parser func(key string) *parser) (f fields, used bool) {
	if isBlank(line) || bytes.IndexByte(line, '\n') >= 0 {
		return f, false // never given to a parser
	}
	got, reasons := map[string]fields{}, map[string]string{}
	for _, k := range Keys() {
		var one fields
		if reasons[k] = parser(k).parse(line, &one); reasons[k] != "" {
			continue
		}
		if used && one.at != f.at {
			t.Fatalf("%q: at %d by %v and %d by another key", line, one.at, k, f.at)
		}
		f, used, got[k] = one, true, one
		if len(f.key) == 0 || f.cost != 1 || f.at < 0 || f.at > MaxAt {
			t.Fatalf("%q by %v: %d %q %d", line, k, f.at, f.key, f.cost)
		}
	}
	spaced := bytes.IndexByte(got[KeyHost].key, ' ') >= 0
	both := reasons[KeyHost] == "" && reasons[KeyPath] == "" && !spaced
	if both != (reasons[KeyHostPath] == "") {
		t.Fatalf("%q: by host %q, by path %q, by both %q", line, reasons[KeyHost], reasons[KeyPath], reasons[KeyHostPath])
	}
	if pair := string(got[KeyHost].key) + " " + string(got[KeyPath].key); both && pair != string(got[KeyHostPath].key) {
		t.Fatalf("%q: %q is not %q", line, got[KeyHostPath].key, pair)
	}
	return f, used
}

// fuzzed returns parsers for a line of a format.
func fuzzed(t *testing.T, format string) func(string) *parser {
	return func(key string) *parser { return parserOf(t, format, key) }
}

// plainText returns a JSON string or number as text, or "" where it is neither.
func plainText(raw json.RawMessage) []byte {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []byte(s)
	}
	return raw
}

func FuzzNginxLine(f *testing.F) {
	f.Fuzz(func(t *testing.T, line []byte) {
		got, used := checkLine(t, line, fuzzed(t, "nginx-json"))
		if !used {
			return
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		checkStart(t, line, got.at, plainText(fields["msec"]), plainText(fields["request_time"]))
	})
}

func FuzzCaddyLine(f *testing.F) {
	f.Fuzz(func(t *testing.T, line []byte) {
		got, used := checkLine(t, line, fuzzed(t, "caddy"))
		if !used {
			return
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if ts := plainText(fields["ts"]); !looksStamp(ts) {
			checkStart(t, line, got.at, ts, plainText(fields["duration"]))
		}
	})
}

// checkStart compares the start of a request with end less duration as fractions.
func checkStart(t *testing.T, line []byte, at int64, end, took []byte) {
	e, d := rational(end), rational(took)
	if e == nil || d == nil {
		t.Fatalf("%q: %q less %q is accepted", line, end, took)
	}
	if want := floorMicros(e.Sub(e, d)); !want.IsInt64() || want.Int64() != at {
		t.Fatalf("%q: %d, want %v", line, at, want)
	}
}

func FuzzALBLine(f *testing.F) {
	f.Fuzz(func(t *testing.T, line []byte) { checkLine(t, line, fuzzed(t, "alb")) })
}

// FuzzCloudFrontLines gives two lines: the first may change what the second means.
func FuzzCloudFrontLines(f *testing.F) {
	f.Fuzz(func(t *testing.T, names, line []byte) {
		checkLine(t, line, func(key string) *parser {
			p := parserOf(t, "cloudfront", key)
			if !isBlank(names) && bytes.IndexByte(names, '\n') < 0 {
				p.parse(names, &fields{})
			}
			return p
		})
	})
}

func FuzzEnvoyLine(f *testing.F) {
	f.Fuzz(func(t *testing.T, line []byte) {
		if _, used := checkLine(t, line, fuzzed(t, "envoy")); used && bytes.Count(line, []byte(`"`)) != 12 {
			t.Fatalf("%q: accepted with a quote too many", line)
		}
	})
}
