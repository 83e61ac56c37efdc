package trace

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

const jsonLine = `{"at_us":1,"key":"a"}`

func TestFormatIsDetected(t *testing.T) {
	repeat := func(n int, line string) string { return strings.Repeat(line+"\n", n) }
	cut := strings.TrimSuffix(combined, `"`)
	for name, c := range map[string]struct {
		text, want  string
		events, bad int64
	}{
		"jsonl":                              {jsonLine, "jsonl", 1, 0},
		"jsonl behind a mark":                {"\xef\xbb\xbf" + jsonLine, "jsonl", 1, 0},
		"clf":                                {common, "clf", 1, 0},
		"combined":                           {combined, "combined", 1, 0},
		"blank lines first":                  {"\n\r\n \n" + combined, "combined", 1, 0},
		"bad lines first":                    {repeat(5, "# a comment") + jsonLine, "jsonl", 1, 5},
		"very many bad lines first":          {repeat(1000, "# a comment") + combined, "combined", 1, 1000},
		"combined, first cut off in agent":   {cut + "\n" + combined, "combined", 1, 1},
		"combined, first cut off at bytes":   {common + "\n" + repeat(2, combined), "combined", 2, 1},
		"combined, cut off later":            {repeat(100, combined) + common, "combined", 100, 1},
		"combined, half of it cut off":       {repeat(2, common) + repeat(2, combined), "combined", 2, 2},
		"clf, one line with more":            {combined + "\n" + repeat(3, common), "clf", 4, 0},
		"all bad, looks like jsonl":          {`{"at_us":1,"key":"a","cost":-1}`, "jsonl", 0, 1},
		"all bad, broken json":               {" {at_us:1}", "jsonl", 0, 1},
		"all bad, looks like a log":          {with("Oct", "Okt"), "combined", 0, 1},
		"one usable against many that look":  {repeat(5, "{}") + combined, "combined", 1, 5},
		"nginx-json":                         {nginxLine, "nginx-json", 1, 0},
		"caddy":                              {caddyLine, "caddy", 1, 0},
		"caddy, of itself first":             {`{"level":"info","ts":1646861399.9,"msg":"started"}` + "\n" + caddyLine, "caddy", 1, 1},
		"alb":                                {albLine, "alb", 1, 0},
		"cloudfront":                         {usual["cloudfront"], "cloudfront", 1, 0},
		"cloudfront, bad lines":              {cloudFrontNamesLine + "\n2019-12-04\t21:02:31\n", "cloudfront", 0, 1},
		"envoy":                              {envoyLine, "envoy", 1, 0},
		"all bad, looks like nginx":          {repeat(2, strings.Replace(nginxLine, "request_time", "time", 1)), "nginx-json", 0, 2},
		"all bad, looks like caddy":          {strings.Replace(caddyLine, "duration", "time", 1), "caddy", 0, 1},
		"all bad, looks like alb":            {albLine[:100], "alb", 0, 1},
		"all bad, looks like envoy":          {envoyLine[:100], "envoy", 0, 1},
		"mixed, the most win":                {jsonLine + "\n" + repeat(3, envoyLine) + repeat(2, jsonLine) + envoyLine, "envoy", 4, 3},
		"no lines":                           {"", "jsonl", 0, 0},
		"only blank lines":                   {"\n\n \n", "jsonl", 0, 0},
		"only a line that is too long":       {strings.Repeat("x", MaxLine+1), "jsonl", 0, 1},
		"sample longer than the first read":  {repeat(20, `{"at_us":1,"key":"`+strings.Repeat("k", 10000)+`"}`), "jsonl", 20, 0},
		"line longer than the whole sample ": {`{"x":"` + strings.Repeat("x", MaxLine-30) + `","at_us":1,"key":"a"}` + "\n" + jsonLine, "jsonl", 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			events, r := readAll(t, c.text, nil)
			got := r.Counts()
			if r.Format() != c.want || got.Events != c.events || got.Bad != c.bad || int64(len(events)) != c.events {
				t.Errorf("%s with %d events and %d bad lines, want %s with %d and %d", r.Format(), got.Events, got.Bad, c.want, c.events, c.bad)
			}
		})
	}
}

func TestUnknownFormatIsAnErrorThatHelps(t *testing.T) {
	for name, text := range map[string]string{
		"csv":                  "time,key,cost\n1,a,1\n",
		"binary":               "\x00\x01\x02\x03\x04",
		"line that never ends": strings.Repeat("x", 2*MaxLine),
		"bad for a mebibyte":   strings.Repeat("bad line\n", MaxLine/8),
	} {
		var option *OptionError
		if _, err := Open(strings.NewReader(text), nil); err == nil || errors.As(err, &option) || !strings.Contains(err.Error(), "must be named") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A pipe must not be read further than the format needs, and a line is complete when its end was read.
func TestDetectionReadsNoMoreThanItNeeds(t *testing.T) {
	text := strings.NewReader(strings.Repeat(jsonLine+"\n", enough))
	r, err := Open(io.MultiReader(text, stuck{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range enough {
		if _, err := r.Next(); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
	}
}

func TestDetectionOfABrokenInputIsAnError(t *testing.T) {
	for _, text := range []string{"", jsonLine, "# a comment\n" + jsonLine} {
		if _, err := Open(&failing{strings.NewReader(text), errBroken}, nil); !errors.Is(err, errBroken) {
			t.Errorf("Open of %q: %v", text, err)
		}
	}
}

// One usable line is enough to read on: what comes before the error is read as it would be without detection.
func TestInputThatFailsBehindAUsableLineIsDetected(t *testing.T) {
	r, err := Open(&failing{strings.NewReader(jsonLine + "\n" + jsonLine), errBroken}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Errorf("first event: %v", err)
	}
	if _, err := r.Next(); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "after line 1") {
		t.Errorf("then %v", err)
	}
}

// Every line is one of its own format only, so that the order of the table matters for Combined alone.
func TestFormatsDoNotReadEachOther(t *testing.T) {
	for _, own := range detectors() {
		for _, other := range detectors() {
			used := true
			for line := range strings.SplitSeq(usual[own.format.name], "\n") {
				reason := other.parse([]byte(line), &fields{})
				used = used && (reason == "" || reason == isHeader)
			}
			name := own.format.name
			if want := own.format == other.format || name == "combined" && other.format.name == "clf"; used != want {
				t.Errorf("%s read as %s: %v", name, other.format.name, used)
			}
		}
	}
}

func TestOptionsThatDoNotFitAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		opts Options
		want string
	}{
		"format":               {jsonLine, Options{Format: "xml"}, `format: "xml" is not one of auto, jsonl, combined, clf`},
		"format in upper case": {jsonLine, Options{Format: "JSONL"}, `format: "JSONL" is not one of`},
		"clf by user agent":    {common, Options{Key: KeyUserAgent}, `key: a clf trace has no "user-agent": must be host, path, host+path, or a field: host, ident`},
		"clf by what":          {common, Options{Key: "what"}, `key: a clf trace has no "what": must be host, path, host+path, or a field: host, ident, user, time`},
		"negative run":         {jsonLine, Options{RunEvents: -1}, "run events: -1"},
		"huge run":             {jsonLine, Options{RunEvents: maxRun + 1}, "run events: 1073741825"},
	} {
		var option *OptionError
		if _, err := Open(strings.NewReader(c.text), &c.opts); !errors.As(err, &option) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// An access log that was just rotated is no reason to fail.
func TestEmptyTraceFitsEveryKey(t *testing.T) {
	for _, k := range []string{"", KeyHost, KeyPath, KeyHostPath, KeyUserAgent} {
		if events, r := readAll(t, "\n", &Options{Key: k}); len(events) != 0 || r.Counts().Lines != 1 {
			t.Errorf("%v: %d events, %+v", k, len(events), r.Counts())
		}
	}
}

func TestNamedFormatsAreRead(t *testing.T) {
	if got := Formats(); !slices.Equal(got, []string{"auto", "jsonl", "combined", "clf", "nginx-json", "caddy", "alb", "cloudfront", "envoy", "istio-json", "istio", "elb",
		"cloudfront-realtime", "w3c", "haproxy", "traefik", "csv"}) {
		t.Errorf("Formats() = %q", got)
	}
	for format, text := range map[string]string{
		"jsonl": jsonLine, "combined": combined, "clf": combined, "nginx-json": nginxLine, "caddy": caddyLine, "alb": albLine,
		"cloudfront": usual["cloudfront"], "envoy": envoyLine, "auto": common, "": common,
		"istio-json": istioJSONLine, "istio": istioLine, "elb": elbLine, "cloudfront-realtime": realTimeLine, "w3c": usual["w3c"],
		"haproxy": haproxyLine, "traefik": traefikLine,
	} {
		if events, _ := readAll(t, text, &Options{Format: format}); len(events) != 1 {
			t.Errorf("%q: %d events", format, len(events))
		}
	}
}
