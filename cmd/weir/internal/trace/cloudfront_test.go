package trace

import (
	"strings"
	"testing"
)

const (
	cloudFrontNamesLine = "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query"
	cloudFrontLine      = "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.24\tGET\td111111abcdef8.example.com\t/index.html\t200\t-\tMozilla/5.0%20(X11)\ta=b"
)

func TestCloudFrontLines(t *testing.T) {
	const percent = " holds an unknown escape"
	checkKeys(t, cloudFrontLine, 1_575_493_351_000_000, "cloudfront", map[string]keyCase{
		"host":                {want: "192.0.2.24"},
		"path":                {key: KeyPath, want: "/index.html"},
		"host+path":           {key: KeyHostPath, want: "192.0.2.24 /index.html"},
		"user agent":          {key: KeyUserAgent, want: "Mozilla/5.0 (X11)"},
		"field":               {key: "x-edge-location", want: "LAX1"},
		"ipv6":                {old: "192.0.2.24", new: "2001:db8::24", want: "2001:db8::24"},
		"path decoded once":   {key: KeyPath, old: "/index.html", new: "/a%2520b%7Ec%3Fd", want: "/a%20b~c?d"},
		"agent -":             {key: KeyUserAgent, old: "Mozilla/5.0%20(X11)", new: "-", want: "-"},
		"agent of any bytes":  {key: KeyUserAgent, old: "Mozilla/5.0%20(X11)", new: "%00%fF%22", want: "\x00\xff\""},
		"comment":             {old: cloudFrontLine, new: "#Date: 2019-12-04", reason: isHeader},
		"version":             {old: cloudFrontLine, new: "#Version: 1.0", reason: isHeader},
		"path empty":          {key: KeyPath, old: "/index.html", new: "", reason: "cs-uri-stem is empty"},
		"path broken escape":  {key: KeyPath, old: "/index.html", new: "/100%", reason: "cs-uri-stem" + percent},
		"path half an escape": {key: KeyPath, old: "/index.html", new: "/%4", reason: "cs-uri-stem" + percent},
		"path no escape":      {key: KeyHostPath, old: "/index.html", new: "/%4g", reason: "cs-uri-stem" + percent},
		"agent empty":         {key: KeyUserAgent, old: "Mozilla/5.0%20(X11)", new: "", reason: "cs(User-Agent) is empty"},
		"host empty":          {old: "192.0.2.24", new: "", reason: "c-ip is empty"},
		"host with a space":   {key: KeyHostPath, old: "192.0.2.24", new: "a%20b", reason: "c-ip is neither an address nor a name"},
		"a field less":        {old: "\ta=b", new: "", reason: reasonRowWidth},
		"a field more":        {old: "\ta=b", new: "\ta=b\tc", reason: reasonRowWidth},
		"spaces":              {old: "\t", new: " ", reason: reasonRowWidth},
		"time in words":       {old: "21:02:31", new: "noon", reason: reasonStamp},
		"date missing":        {old: "2019-12-04", new: "-", reason: reasonStamp},
		"too late":            {old: "2019-12-04", new: "2219-12-04", reason: reasonLate},
		"no day":              {old: "2019-12-04", new: "2019-11-31", reason: reasonStamp},
	})
}

func TestCloudFrontFieldsLineSaysWhereTheFieldsAre(t *testing.T) {
	const noTime, noHost = "date time is missing", "c-ip is missing"
	for name, c := range map[string]struct {
		names, line, key, header, reason string
	}{
		"another order":   {"#Fields: c-ip time date", "192.0.2.1\t21:02:31\t2019-12-04", "192.0.2.1", isHeader, ""},
		"no space":        {"#Fields:date time c-ip", "2019-12-04\t21:02:31\t192.0.2.1", "192.0.2.1", isHeader, ""},
		"tabs":            {"#Fields:\tdate\ttime\tc-ip", "2019-12-04\t21:02:31\t192.0.2.1", "192.0.2.1", isHeader, ""},
		"no date":         {"#Fields: time c-ip", "21:02:31\t192.0.2.1", "", isHeader, noTime},
		"no time":         {"#Fields: date c-ip", "2019-12-04\t192.0.2.1", "", isHeader, noTime},
		"no address":      {"#Fields: date time", "2019-12-04\t21:02:31", "", isHeader, noHost},
		"a name twice":    {"#Fields: date time c-ip date", "2019-12-04\t21:02:31\t192.0.2.1\t2019-12-05", "", reasonFieldsTwice, reasonNoFields},
		"another twice":   {"#Fields: date time c-ip x x", "2019-12-04\t21:02:31\t192.0.2.1\t1\t2", "192.0.2.1", isHeader, ""},
		"nothing":         {"#Fields:", "2019-12-04", "", isHeader, reasonNoFields},
		"no such line":    {"#Version: 1.0", cloudFrontLine, "", isHeader, reasonNoFields},
		"in another case": {"#fields: date time c-ip", "2019-12-04\t21:02:31\t192.0.2.1", "", isHeader, reasonNoFields},
	} {
		t.Run(name, func(t *testing.T) {
			var f fields
			parser := parserOf(t, "cloudfront", "")
			parser.cutter.(*columns).width = 0 // as before any #Fields line
			if got := parser.parse([]byte(c.names), &f); got != c.header {
				t.Errorf("header: %q, want %q", got, c.header)
			}
			if got := parser.parse([]byte(c.line), &f); got != c.reason || got == "" && string(f.key) != c.key {
				t.Errorf("line: %q, key %q, want %q, %q", got, f.key, c.reason, c.key)
			}
		})
	}
}

func TestCloudFrontKeyThatTheFieldsLineLacks(t *testing.T) {
	for k, want := range map[string]string{KeyPath: "cs-uri-stem is missing", KeyHostPath: "cs-uri-stem is missing", KeyUserAgent: "cs(User-Agent) is missing"} {
		text := "#Fields: date time c-ip\n2019-12-04\t21:02:31\t192.0.2.1\n"
		_, r := readAll(t, text, &Options{Key: k})
		if _, bad := r.Bad(); len(bad) != 1 || bad[0].Reason != want {
			t.Errorf("%v: %+v", k, bad)
		}
	}
}

// A log of an hour in which nothing happened has two lines, and none of them is bad.
func TestCloudFrontLogWithoutRequests(t *testing.T) {
	text := "#Version: 1.0\n" + cloudFrontNamesLine + "\n"
	for _, text := range []string{text, strings.Repeat(text, 40)} {
		events, r := readAll(t, text, nil)
		if r.Format() != "cloudfront" || len(events) != 0 || r.Counts().Headers != r.Counts().Lines {
			t.Errorf("%s: %+v", r.Format(), r.Counts())
		}
		if m, found := r.Misfit(); found {
			t.Errorf("misfit: %v", m)
		}
	}
}
