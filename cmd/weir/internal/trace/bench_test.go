package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// benchTrace is a JSON Lines trace of n events over the given number of keys.
func benchTrace(n, keys int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	at := int64(1_700_000_000_000_000)
	for range n {
		at += rng.Int64N(1000)
		fmt.Fprintf(&b, "{\"at_us\":%d,\"key\":\"user:%d\",\"cost\":%d}\n", at, rng.IntN(keys), 1+rng.IntN(3))
	}
	return b.Bytes()
}

const benchLines = 1 << 16

func perLine(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchLines, "ns/line")
}

func BenchmarkJSONL(b *testing.B) {
	data := benchTrace(benchLines, 1000)
	split := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	for _, d := range []struct {
		name   string
		decode func([]byte, *fields) string
	}{
		{"decoder/own", parserOf(b, "jsonl", "").parse},
		{"decoder/unmarshal", func(l []byte, f *fields) string {
			var e struct {
				At   int64  `json:"at_us"`
				Key  string `json:"key"`
				Cost int64  `json:"cost"`
			}
			if json.Unmarshal(l, &e) != nil {
				return "bad"
			}
			return ""
		}},
		{"decoder/tokens", func(l []byte, f *fields) string {
			d := json.NewDecoder(bytes.NewReader(l))
			d.UseNumber()
			for {
				if _, err := d.Token(); err == io.EOF {
					return ""
				} else if err != nil {
					return "bad"
				}
			}
		}},
	} {
		b.Run(d.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				var f fields
				for _, line := range split {
					if d.decode(line, &f) != "" {
						b.Fatal("bad line")
					}
				}
			}
			perLine(b)
		})
	}
	for _, o := range []struct {
		name string
		opts Options
	}{
		{"reader", Options{Format: "jsonl"}},
		{"reader/sorted", Options{Format: "jsonl", Sort: true}},
		{"reader/spilled", Options{Format: "jsonl", Sort: true, RunEvents: benchLines / 8}},
	} {
		b.Run(o.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if n := drain(b, data, &o.opts); n != benchLines {
					b.Fatal(n, "events")
				}
			}
			perLine(b)
		})
	}
}

func BenchmarkCombined(b *testing.B) {
	var log bytes.Buffer
	for i := range benchLines {
		fmt.Fprintf(&log, `203.0.113.%d - - [10/Oct/2000:13:%02d:%02d -0700] "GET /static/app.js?v=%d HTTP/1.1" 200 2326 "http://www.example.com/start.html" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"`+"\n",
			i%251, i/60%60, i%60, i%7)
	}
	for _, k := range []string{KeyHost, KeyHostPath} {
		b.Run(k, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(log.Len()))
			for b.Loop() {
				if n := drain(b, log.Bytes(), &Options{Format: "combined", Key: k}); n != benchLines {
					b.Fatal(n, "events")
				}
			}
			perLine(b)
		})
	}
}

// BenchmarkFormats reads each format once, with the costliest key, and at last lines that no format can use.
func BenchmarkFormats(b *testing.B) {
	run := func(name, header, line string, opts Options, want int) {
		b.Run(name, func(b *testing.B) {
			data := []byte(header + strings.Repeat(line+"\n", benchLines))
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if n := drain(b, data, &opts); n != want {
					b.Fatal(n, "events")
				}
			}
			perLine(b)
		})
	}
	run("nginx-json", "", nginxLine, Options{Key: KeyHostPath}, benchLines)
	run("caddy", "", caddyLine, Options{Key: KeyHostPath}, benchLines)
	run("alb", "", albLine, Options{Key: KeyHostPath}, benchLines)
	run("cloudfront", cloudFrontNamesLine+"\n", cloudFrontLine, Options{Key: KeyHostPath}, benchLines)
	run("envoy", "", envoyLine, Options{Key: KeyHostPath}, benchLines)
	columns := Options{TimeColumn: "time", Key: "key", CostColumn: "cost"}
	run("csv", rowsHeader, "2023-11-16 18:17:03.9799600,user:1,4808,10", columns, benchLines)
	run("csv/quoted", rowsHeader, `"2023-11-16 18:17:03.9799600","user:1",4808,10`, columns, benchLines)
	run("bad", "", strings.TrimSuffix(combined, `"`), Options{Format: "combined"}, 0)
	run("bad/json", "", `{"at_us":1,"key":"a","cost":-1}`, Options{Format: "jsonl"}, 0)
}

func drain(tb testing.TB, data []byte, opts *Options) (n int) {
	r, err := Open(bytes.NewReader(data), opts)
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := r.Next(); err == io.EOF {
			return n
		} else if err != nil {
			tb.Fatal(err)
		}
		n++
	}
}
