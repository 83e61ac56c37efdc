package trace

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// readAll opens a trace and reads it to its end.
func readAll(t *testing.T, text string, opts *Options) ([]Event, *Reader) {
	t.Helper()
	r, err := Open(strings.NewReader(text), opts)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return drainReader(t, r), r
}

func drainReader(t *testing.T, r *Reader) (events []Event) {
	t.Helper()
	for {
		e, err := r.Next()
		if err == io.EOF {
			return events
		}
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		events = append(events, e)
	}
}

// keysOf joins the keys of events, for comparisons that read well.
func keysOf(events []Event) string {
	var keys []string
	for _, e := range events {
		keys = append(keys, e.Key)
	}
	return strings.Join(keys, " ")
}

// failing is an input that fails with err after its text.
type failing struct {
	text io.Reader
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.text.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

var errBroken = errors.New("the disk is broken")

// usual is a trace of one line for every format.
var usual = map[string]string{
	"jsonl":      jsonLine,
	"combined":   combined,
	"clf":        common,
	"nginx-json": nginxLine,
	"caddy":      caddyLine,
	"alb":        albLine,
	"cloudfront": cloudFrontNamesLine + "\n" + cloudFrontLine,
	"envoy":      envoyLine,

	"istio-json":          istioJSONLine,
	"istio":               istioLine,
	"elb":                 elbLine,
	"cloudfront-realtime": realTimeLine,
	"w3c":                 w3cNamesLine + "\n" + w3cLine,
	"haproxy":             haproxyLine,
	"traefik":             traefikLine,
	"csv":                 "time\n2023-11-16T18:17:03Z",
}

// parserOf returns the parser of a format for a key. One with headers has seen a #Fields line.
func parserOf(t testing.TB, name, key string) *parser {
	t.Helper()
	for i := range formats {
		if formats[i].name != name {
			continue
		}
		p, err := newParser(&formats[i], &Options{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		switch name {
		case "cloudfront":
			p.parse([]byte(cloudFrontNamesLine), &fields{})
		case "w3c":
			p.parse([]byte(w3cNamesLine), &fields{})
		}
		return p
	}
	t.Fatalf("no format %q", name)
	return nil
}
