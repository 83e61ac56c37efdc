package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMisfit(t *testing.T) {
	repeat := func(n int, line string) string { return strings.Repeat(line+"\n", n) }
	const badJSON = `{"at_us":1,"key":"a","cost":-1}`
	for name, c := range map[string]struct {
		text string
		opts Options
		want string // "" for none
	}{
		"all good":                {repeat(3, jsonLine), Options{}, ""},
		"nothing":                 {"\n", Options{Format: "clf"}, ""},
		"some bad":                {repeat(3, jsonLine) + repeat(3, badJSON), Options{}, ""},
		"most bad":                {repeat(3, jsonLine) + repeat(4, badJSON), Options{}, "4 of 7 lines cannot be used as jsonl; line 4: cost is negative"},
		"all bad, detected":       {repeat(4, badJSON), Options{}, "no line can be used as jsonl; line 1: cost is negative"},
		"all bad, named":          {repeat(2, "hello"), Options{Format: "clf"}, "no line can be used as clf; line 1: " + "ident is missing, or is not one word"},
		"another format":          {"\n" + repeat(3, jsonLine), Options{Format: "combined"}, "no line can be used as combined; 3 can be used as jsonl, the first is line 2"},
		"nginx is no combined":    {combined, Options{Format: "nginx-json"}, "no line can be used as nginx-json; 1 can be used as combined, the first is line 1"},
		"clf is no combined":      {common, Options{Format: "combined"}, "no line can be used as combined; 1 can be used as clf, the first is line 1"},
		"combined is clf":         {combined, Options{Format: "clf"}, ""},
		"switch midway":           {repeat(100, jsonLine) + repeat(3, combined), Options{}, "3 of 103 lines cannot be used as jsonl; 3 can be used as combined, the first is line 101"},
		"switch back":             {repeat(40, envoyLine) + albLine + "\n" + repeat(40, envoyLine), Options{}, "1 of 81 lines cannot be used as envoy; 1 can be used as alb, the first is line 41"},
		"switch to cloudfront":    {repeat(3, nginxLine) + usual["cloudfront"], Options{}, "2 of 5 lines cannot be used as nginx-json; 1 can be used as cloudfront, the first is line 5"},
		"csv goes on as caddy":    {usual["csv"] + "\n" + repeat(2, caddyLine), Options{TimeColumn: "time"}, "2 of 3 lines cannot be used as csv; 2 can be used as caddy, the first is line 3"},
		"bad lines before":        {repeat(2, "x") + jsonLine + "\n" + combined, Options{}, "3 of 4 lines cannot be used as jsonl; 1 can be used as combined, the first is line 4"},
		"the most wins":           {jsonLine + "\n" + envoyLine + "\n" + repeat(2, albLine), Options{Format: "jsonl"}, "3 of 4 lines cannot be used as jsonl; 2 can be used as alb, the first is line 3"},
		"only its key is missing": {combined + "\n" + with("GET /apache_pb.gif HTTP/1.0", "-"), Options{Key: KeyPath}, ""},
		"its key, read as clf":    {common + "\n" + with("GET /apache_pb.gif HTTP/1.0", "-"), Options{Format: "clf", Key: KeyPath}, ""},
		"no line has the key":     {with("GET /apache_pb.gif HTTP/1.0", "-"), Options{Key: KeyPath}, "no line can be used as combined; line 1: " + reasonNoPath},
		"too long a line":         {jsonLine + "\n" + combined + strings.Repeat(" x", MaxLine), Options{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := readAll(t, c.text, &c.opts)
			m, found := r.Misfit()
			if found != (c.want != "") || found && m.String() != c.want {
				t.Errorf("found %v: %s\nwant %q", found, m, c.want)
			}
			if n := r.Counts(); found && (m.Format != r.Format() || m.Events != n.Events || m.Bad != n.Bad) {
				t.Errorf("%+v does not agree with %+v", m, n)
			}
		})
	}
}

func TestMisfitSaysWhatMayReadTheTrace(t *testing.T) {
	csv := Options{TimeColumn: "time"}
	for name, c := range map[string]struct {
		text          string
		opts          Options
		option, value string
	}{
		"another format":   {jsonLine, Options{Format: "combined"}, "format", "jsonl"},
		"milliseconds":     {"time\n1700158623000\n", csv, "time unit", "ms"},
		"microseconds":     {"time\n1700158623000000\n", csv, "time unit", "us"},
		"nanoseconds":      {"time\n1700158623000000000\n", Options{TimeColumn: "time", TimeUnit: "ms"}, "time unit", "ns"},
		"no time at all":   {"time\nnoon\n", csv, "", ""},
		"a log of its own": {"192.0.2.1|x\n", Options{Format: "combined"}, "log format", ""},
		"a wrong template": {"192.0.2.1|x\n", Options{LogFormat: "$msec $remote_addr"}, "", ""},
	} {
		_, r := readAll(t, c.text, &c.opts)
		if m, found := r.Misfit(); !found || m.Option != c.option || m.Value != c.value {
			t.Errorf("%s: %v, %q %q, want %q %q", name, found, m.Option, m.Value, c.option, c.value)
		}
	}
}

func TestTimesFarApartAreAWarning(t *testing.T) {
	line := func(year int) string {
		return fmt.Sprintf(`192.0.2.7 - - [01/Jan/%d:00:00:00 +0000] "GET / HTTP/1.1" 200 5`, year) + "\n"
	}
	for text, want := range map[string][]string{
		line(2026) + line(2025) + line(2026):                     nil,
		line(2026) + line(2062) + line(2020):                     {"the times span 15341 days, from line 3 to line 2: are they right?"},
		"x\n" + line(1971) + line(2026):                          {"the times span 20089 days, from line 2 to line 3: are they right?"},
		"x\ny\n" + line(2026):                                    {"2 of 3 lines cannot be used as clf; line 1: ident is missing, or is not one word"},
		jsonLine + "\n" + `{"at_us":7000000000000000,"key":"a"}`: nil,
	} {
		if _, r := readAll(t, text, nil); !slices.Equal(r.Warnings(), want) {
			t.Errorf("%q: %q", text, r.Warnings())
		}
	}
}

func TestMisfitNamesNoFormatThatIsNeverDetected(t *testing.T) {
	_, r := readAll(t, jsonLine+"\ntime,key\n1,a\n1,a\n1,a\n", nil)
	if m, found := r.Misfit(); !found || m.Other != "" || m.Events != 1 || m.Bad != 4 || m.First.Number != 2 || m.First.Text != "time,key" {
		t.Errorf("%+v", m)
	}
}
