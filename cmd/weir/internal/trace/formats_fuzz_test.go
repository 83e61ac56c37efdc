package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"strings"
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
	if reasons[KeyHost] == "" {
		checkHost(t, line, got[KeyHost].key)
	}
	both := reasons[KeyHost] == "" && reasons[KeyPath] == ""
	if both != (reasons[KeyHostPath] == "") {
		t.Fatalf("%q: by host %q, by path %q, by both %q", line, reasons[KeyHost], reasons[KeyPath], reasons[KeyHostPath])
	}
	if pair := string(got[KeyHost].key) + " " + string(got[KeyPath].key); both && pair != string(got[KeyHostPath].key) {
		t.Fatalf("%q: %q is not %q", line, got[KeyHostPath].key, pair)
	}
	return f, used
}

// checkHost checks that a host is an address or a name: without control bytes, a list, a space or a port.
func checkHost(t *testing.T, line, host []byte) {
	t.Helper()
	_, err := netip.ParseAddr(string(host))
	for _, c := range host {
		if c < ' ' || c == 0x7f || c == ',' || c == ' ' || c == '"' || c == ':' && err != nil && string(host) != "unix:" {
			t.Fatalf("%q: host %q", line, host)
		}
	}
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

// FuzzLineOfEveryFormat gives any line to the formats that have no target of their own.
func FuzzLineOfEveryFormat(f *testing.F) {
	for i, p := range detectors() {
		for line := range strings.SplitSeq(usual[p.format.name], "\n") {
			f.Add(i, []byte(line))
		}
	}
	f.Fuzz(func(t *testing.T, number int, line []byte) {
		all := detectors()
		p := all[uint(number)%uint(len(all))]
		if p.format.agent == "" || len(p.format.targets) == 0 || p.format.hosts == nil { // no access log, or not every key
			if !isBlank(line) && bytes.IndexByte(line, '\n') < 0 {
				var got fields
				if p.parse(line, &got) == "" && p.format.hosts != nil {
					checkHost(t, line, got.key)
				}
			}
			return
		}
		checkLine(t, line, fuzzed(t, p.format.name))
	})
}

// FuzzLogFormat reads any line by any template.
func FuzzLogFormat(f *testing.F) {
	f.Add(`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"`, combined)
	f.Add(`%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"`, combined)
	f.Add(`$msec|$remote_addr`, "1.5|192.0.2.1")
	f.Add(`$user[$time_local]$remote_addr`, "")
	f.Add(envoyString, envoyDefault)
	f.Fuzz(func(t *testing.T, template, line string) {
		if template == "" {
			return // which asks for none
		}
		r, err := Open(strings.NewReader(line), &Options{LogFormat: template, Key: KeyHost})
		if option := (*OptionError)(nil); errors.As(err, &option) || err != nil && strings.Contains(err.Error(), "the input is") {
			return
		}
		for err == nil {
			var e Event
			if e, err = r.Next(); err == nil {
				checkHost(t, []byte(line), []byte(e.Key))
			}
		}
		if err != io.EOF {
			t.Fatalf("%q by %q: %v", line, template, err)
		}
	})
}

// FuzzTrace reads any input with everything told by its first lines.
func FuzzTrace(f *testing.F) {
	for _, text := range usual {
		f.Add([]byte(text))
		f.Add([]byte("Jan 11 00:00:00 lb1 nginx[7]: " + text))
		f.Add([]byte("2026-01-01T00:00:00.1Z stdout F " + text))
		f.Add([]byte(`{"log":"` + strings.NewReplacer(`"`, `\"`, "\t", `\t`, `\`, `\\`).Replace(text) + `\n","stream":"stdout","time":"x"}`))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Open(bytes.NewReader(text), nil)
		if err != nil {
			return
		}
		for {
			e, err := r.Next()
			if err != nil {
				break
			}
			if e.Key == "" || e.At < 0 || e.At > MaxAt || e.Cost < 0 {
				t.Fatalf("%q: %+v", text, e)
			}
			if r.Format() != "jsonl" {
				checkHost(t, text, []byte(e.Key))
			}
		}
		if c := r.Counts(); c.Lines != c.Events+c.Bad+c.Skipped+c.Headers {
			t.Fatalf("%q: %+v", text, c)
		}
	})
}

// FuzzFields reads any input for any fields, as attributes of policies are read.
func FuzzFields(f *testing.F) {
	for _, text := range usual {
		f.Add([]byte(text), "method path host user-agent user", "")
	}
	f.Add([]byte("time,user,org\n1.5,ada,acme\n"), "method path host user org user time", "time")
	f.Fuzz(func(t *testing.T, text []byte, names, column string) {
		wanted := strings.Split(names, " ")
		r, err := Open(bytes.NewReader(text), &Options{Fields: wanted, TimeColumn: column})
		if err != nil {
			return
		}
		for {
			e, err := r.Next()
			if err != nil {
				break
			}
			got := SplitFields(e.Key)
			if len(got) != len(wanted) {
				t.Fatalf("%q: %q are the fields %q", text, got, wanted)
			}
			for i, name := range wanted {
				if _, has := r.parser.cutter.(*csvRows); name == KeyHost && !has && r.parser.format.hosts != nil && got[i] != "" {
					checkHost(t, text, []byte(got[i]))
				}
			}
		}
	})
}
