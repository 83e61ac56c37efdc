package trace

import (
	"bytes"
	"encoding/json"
	"testing"
)

// checkLine checks what must hold of any line in any access log format: it disturbs no parser, its time does not depend on the key,
// no key is empty, and the key of host and path is made of the other two.
func checkLine(t *testing.T, line []byte, parser func(k Key) parser) (f fields, used bool) {
	if isBlank(line) || bytes.IndexByte(line, '\n') >= 0 {
		return f, false // never given to a parser
	}
	var got [KeyUserAgent + 1]fields
	var reasons [KeyUserAgent + 1]string
	for k := KeyHost; k <= KeyUserAgent; k++ {
		reasons[k] = parser(k).parse(line, &got[k])
		if reasons[k] != "" {
			continue
		}
		f, used = got[k], true
		if len(f.key) == 0 || f.cost != 1 || f.at < 0 || f.at > MaxAt {
			t.Fatalf("%q by %v: %d %q %d", line, k, f.at, f.key, f.cost)
		}
	}
	for k := KeyHost; k <= KeyUserAgent; k++ {
		if reasons[k] == "" && got[k].at != f.at {
			t.Fatalf("%q: at %d by %v and %d by another key", line, got[k].at, k, f.at)
		}
	}
	spaced := bytes.IndexByte(got[KeyHost].key, ' ') >= 0
	both := reasons[KeyHost] == "" && reasons[KeyPath] == "" && !spaced
	if both != (reasons[KeyHostPath] == "") {
		t.Fatalf("%q: by host %q, by path %q, by both %q", line, reasons[KeyHost], reasons[KeyPath], reasons[KeyHostPath])
	}
	if pair := append(append(bytes.Clone(got[KeyHost].key), ' '), got[KeyPath].key...); both && !bytes.Equal(pair, got[KeyHostPath].key) {
		t.Fatalf("%q: %q is not %q", line, got[KeyHostPath].key, pair)
	}
	return f, used
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
		got, used := checkLine(t, line, func(k Key) parser { return newNginx(k) })
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
		got, used := checkLine(t, line, func(k Key) parser { return newCaddy(k) })
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
	if want := wholeMicros(e.Sub(e, d)); !want.IsInt64() || want.Int64() != at {
		t.Fatalf("%q: %d, want %v", line, at, want)
	}
}

func FuzzALBLine(f *testing.F) {
	f.Fuzz(func(t *testing.T, line []byte) {
		checkLine(t, line, func(k Key) parser { return &albLog{key: k} })
		var host fields
		if (&albLog{}).parse(line, &host) != "" {
			return
		}
		if !bytes.Contains(line, append(append([]byte{}, host.key...), ':')) && !bytes.Contains(line, append(append([]byte{}, host.key...), ']', ':')) {
			t.Fatalf("%q: %q is not in it before a port", line, host.key)
		}
	})
}

// FuzzCloudFrontLines gives two lines: the first may change what the second means.
func FuzzCloudFrontLines(f *testing.F) {
	f.Fuzz(func(t *testing.T, names, line []byte) {
		checkLine(t, line, func(k Key) parser {
			c := &cloudFrontLog{key: k}
			if !isBlank(names) && bytes.IndexByte(names, '\n') < 0 {
				c.parse(names, &fields{})
			}
			return c
		})
	})
}

func FuzzEnvoyLine(f *testing.F) {
	f.Fuzz(func(t *testing.T, line []byte) {
		if _, used := checkLine(t, line, func(k Key) parser { return &envoyLog{key: k} }); used && bytes.Count(line, []byte(`"`)) != 12 {
			t.Fatalf("%q: accepted with a quote too many", line)
		}
	})
}
