package trace

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

const (
	common   = `203.0.113.7 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326`
	combined = common + ` "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"`
)

// with returns the combined line with one part replaced.
func with(old, new string) string { return strings.Replace(combined, old, new, 1) }

func TestLogLineFields(t *testing.T) {
	for name, c := range map[string]struct {
		line              string
		host, ident, user string
		request           string
		status, bytes     string
	}{
		"example":            {combined, "203.0.113.7", "-", "frank", "GET /apache_pb.gif HTTP/1.0", "200", "2326"},
		"no bytes":           {with(" 2326", " -"), "203.0.113.7", "-", "frank", "GET /apache_pb.gif HTTP/1.0", "200", "-"},
		"no status":          {with(" 200", " -"), "203.0.113.7", "-", "frank", "GET /apache_pb.gif HTTP/1.0", "-", "2326"},
		"huge bytes":         {with("2326", "99999999999999999999999"), "203.0.113.7", "-", "frank", "GET /apache_pb.gif HTTP/1.0", "200", "99999999999999999999999"},
		"ipv6 host":          {with("203.0.113.7", "2001:db8::7"), "2001:db8::7", "-", "frank", "GET /apache_pb.gif HTTP/1.0", "200", "2326"},
		"host in brackets":   {with("203.0.113.7", "[::1]"), "[::1]", "-", "frank", "GET /apache_pb.gif HTTP/1.0", "200", "2326"},
		"host is a socket":   {with("203.0.113.7", "unix:"), "unix:", "-", "frank", "GET /apache_pb.gif HTTP/1.0", "200", "2326"},
		"ident":              {with("- frank", "fred frank"), "203.0.113.7", "fred", "frank", "GET /apache_pb.gif HTTP/1.0", "200", "2326"},
		"user with spaces":   {with("frank", "frank  van der Berg"), "203.0.113.7", "-", "frank  van der Berg", "GET /apache_pb.gif HTTP/1.0", "200", "2326"},
		"user with brackets": {with("frank", "a [b] c"), "203.0.113.7", "-", "a [b] c", "GET /apache_pb.gif HTTP/1.0", "200", "2326"},
		"user with a date":   {with("frank", `x [10/Oct/1999:13:55:36 -0700] \"GET`), "203.0.113.7", "-", `x [10/Oct/1999:13:55:36 -0700] \"GET`, "GET /apache_pb.gif HTTP/1.0", "200", "2326"},
		"user in quotes":     {with("frank", `""`), "203.0.113.7", "-", `""`, "GET /apache_pb.gif HTTP/1.0", "200", "2326"},
		"request with quote": {with("/apache", `/\"a\\`), "203.0.113.7", "-", "frank", `GET /\"a\\_pb.gif HTTP/1.0`, "200", "2326"},
		"request like date":  {with("/apache_pb.gif", `/ [10/Oct/1999:13:55:36 -0700] \"x`), "203.0.113.7", "-", "frank", `GET / [10/Oct/1999:13:55:36 -0700] \"x HTTP/1.0`, "200", "2326"},
		"request empty":      {with("GET /apache_pb.gif HTTP/1.0", ""), "203.0.113.7", "-", "frank", "", "200", "2326"},
		"request -":          {with("GET /apache_pb.gif HTTP/1.0", "-"), "203.0.113.7", "-", "frank", "-", "200", "2326"},
		"request garbage":    {with("GET /apache_pb.gif HTTP/1.0", `\x16\x03\x01`), "203.0.113.7", "-", "frank", `\x16\x03\x01`, "200", "2326"},
		"backslash at end":   {with("HTTP/1.0", `\\`), "203.0.113.7", "-", "frank", `GET /apache_pb.gif \\`, "200", "2326"},
		"raw bytes":          {with("/apache", "/\xff\x00"), "203.0.113.7", "-", "frank", "GET /\xff\x00_pb.gif HTTP/1.0", "200", "2326"},
		"more fields":        {combined + ` "1.2.3.4, 5.6.7.8" 0.123 -`, "203.0.113.7", "-", "frank", "GET /apache_pb.gif HTTP/1.0", "200", "2326"},
		"space at the end":   {combined + " ", "203.0.113.7", "-", "frank", "GET /apache_pb.gif HTTP/1.0", "200", "2326"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, combined := range []bool{true, false} {
				template := clfTemplate
				if combined {
					template = combinedTemplate
				}
				l := newLayout(template, layoutOptions{backslash: true, more: true})
				if err := l.want([]string{"host", "ident", "user", "request", "status", "bytes", "time"}); err != nil {
					t.Fatal(err)
				}
				values := make([][]byte, 7)
				if reason := l.cut([]byte(c.line), values); reason != "" {
					t.Fatalf("combined %v: refused: %s", combined, reason)
				}
				got := string(bytes.Join(values[:6], []byte("|")))
				at, _ := date(values[6])
				want := fmt.Sprintf("%s|%s|%s|%s|%s|%s", c.host, c.ident, c.user, c.request, c.status, c.bytes)
				if got != want || at.micros != 971_211_336_000_000 {
					t.Errorf("combined %v: at %d\n got %s\nwant %s", combined, at.micros, got, want)
				}
			}
		})
	}
}

func TestUnusableLogLines(t *testing.T) {
	for name, c := range map[string]struct{ line, reason string }{
		"words":                {"hello", "ident is missing, or is not one word"},
		"no host":              {" " + combined, "host is missing, or is not one word"},
		"no date":              {with("[10/Oct/2000:13:55:36 -0700] ", ""), reasonNoDate},
		"no brackets":          {with("[10/Oct/2000:13:55:36 -0700]", "10/Oct/2000:13:55:36 -0700"), "there is no [dd/Mon/yyyy:hh:mm:ss +hhmm] before a quoted request"},
		"date in words":        {with("10/Oct/2000:13:55:36 -0700", "yesterday"), "there is no [dd/Mon/yyyy:hh:mm:ss +hhmm] before a quoted request"},
		"date without zone":    {with(" -0700]", "]"), "there is no [dd/Mon/yyyy:hh:mm:ss +hhmm] before a quoted request"},
		"day of one digit":     {with("10/Oct", "1/Oct"), "there is no [dd/Mon/yyyy:hh:mm:ss +hhmm] before a quoted request"},
		"date of right length": {with("10/Oct/2000:13:55:36 -0700", "2000-10-10T13:55:36 -07:00"), reasonDate},
		"month in lower case":  {with("Oct", "oct"), reasonDate},
		"month in upper case":  {with("Oct", "OCT"), reasonDate},
		"month unknown":        {with("Oct", "Okt"), reasonDate},
		"day too large":        {with("10/Oct", "32/Oct"), reasonDate},
		"zone too far":         {with("-0700", "-2500"), "the date is not dd/Mon/yyyy:hh:mm:ss +hhmm, or does not exist"},
		"user missing":         {with("- frank", "frank"), "there is no [dd/Mon/yyyy:hh:mm:ss +hhmm] before a quoted request"},
		"ident and user":       {with(" - frank", ""), "there is no [dd/Mon/yyyy:hh:mm:ss +hhmm] before a quoted request"},
		"two spaces for ident": {with("- frank", " frank"), "ident is missing, or is not one word"},
		"virtual host first":   {"www.example.com:80 " + with("frank", "-"), reasonVirtual},
		"virtual host, user":   {"www.example.com:80 " + combined, reasonVirtual},
		"request not quoted":   {with(`"GET /apache_pb.gif HTTP/1.0"`, "-"), "there is no [dd/Mon/yyyy:hh:mm:ss +hhmm] before a quoted request"},
		"request not closed":   {with(` HTTP/1.0" 200 2326 "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"`, ""), "request is not in quotes, or has no closing quote"},
		"quote escaped":        {with(` HTTP/1.0" 200 2326 "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"`, `\"`), "request is not in quotes, or has no closing quote"},
		"quote inside":         {with("/apache", `/"apache`), reasonStatus},
		"no status":            {with(" 200 2326", ""), reasonStatus},
		"status of two":        {with(" 200", " 20"), reasonStatus},
		"status of letters":    {with(" 200", " 2OO"), reasonStatus},
		"no bytes":             {with(" 2326", ""), reasonBytes},
		"bytes negative":       {with(" 2326", " -1"), reasonBytes},
		"bytes of letters":     {with(" 2326", " 23k"), reasonBytes},
		"cut off in the host":  {combined[:5], "ident is missing, or is not one word"},
		"cut off in the date":  {combined[:30], "there is no [dd/Mon/yyyy:hh:mm:ss +hhmm] before a quoted request"},
		"cut off at request":   {combined[:strings.Index(combined, "GET")], "request is not in quotes, or has no closing quote"},
		"cut off at status":    {combined[:strings.Index(combined, " 200")], reasonStatus},
		"only common":          {common, "referer is not in quotes, or has no closing quote"},
		"common and a space":   {common + " ", "referer is not in quotes, or has no closing quote"},
		"referer not quoted":   {common + ` - "-"`, reasonBytes},
		"referer not closed":   {common + ` "http://`, "referer is not in quotes, or has no closing quote"},
		"agent missing":        {common + ` "-"`, "user_agent is not in quotes, or has no closing quote"},
		"agent not quoted":     {common + ` "-" -`, "user_agent is not in quotes, or has no closing quote"},
		"agent not closed":     {strings.TrimSuffix(combined, `"`), "user_agent is not in quotes, or has no closing quote"},
		"agent quote escaped":  {strings.TrimSuffix(combined, `"`) + `\"`, "user_agent is not in quotes, or has no closing quote"},
		"quote in agent":       {with("Mozilla", `"Mozilla"`), reasonExtra},
		"more not closed":      {combined + ` "1.2.3.4`, reasonExtra},
		"more with a quote":    {combined + ` 1"2`, reasonExtra},
		"more without space":   {combined + `x`, reasonExtra},
	} {
		t.Run(name, func(t *testing.T) {
			var f fields
			if reason := parserOf(t, "combined", "").parse([]byte(c.line), &f); reason != c.reason {
				t.Errorf("reason %q, want %q", reason, c.reason)
			}
		})
	}
}

// Read as clf, a combined line gives its Common fields; but what follows them must be whole.
func TestCommonFormatAllowsMoreFieldsThatAreWhole(t *testing.T) {
	for _, c := range []struct{ line, reason string }{
		{common, ""},
		{common + " ", ""},
		{combined, ""},
		{common + ` "-"`, ""},
		{common + ` "-" 0.1`, ""},
		{common + ` "-`, reasonExtra},
		{strings.TrimSuffix(combined, `"`), reasonExtra},
		{strings.TrimSuffix(combined, `"`) + `\"`, reasonExtra},
		{common + `"-"`, reasonBytes},
	} {
		var f fields
		if reason := parserOf(t, "clf", "").parse([]byte(c.line), &f); reason != c.reason {
			t.Errorf("%s\n got %q\nwant %q", c.line, reason, c.reason)
		}
	}
}

// A line that was cut off anywhere is no good combined line, whatever the key.
func TestCombinedLineCutOffAnywhereIsBad(t *testing.T) {
	var f fields
	for n := range len(combined) {
		if reason := parserOf(t, "combined", "").parse([]byte(combined[:n]), &f); reason == "" {
			t.Errorf("accepted: %s", combined[:n])
		}
	}
}

func TestKeyOfALogLine(t *testing.T) {
	for name, c := range map[string]struct {
		key          string
		line         string
		want, reason string
	}{
		"default is host":         {"", combined, "203.0.113.7", ""},
		"host":                    {KeyHost, combined, "203.0.113.7", ""},
		"host needs no request":   {KeyHost, with("GET /apache_pb.gif HTTP/1.0", "-"), "203.0.113.7", ""},
		"host -":                  {KeyHost, with("203.0.113.7", "-"), "-", ""},
		"host needs no escapes":   {KeyHost, with("/apache", `/\q`), "203.0.113.7", ""},
		"path":                    {KeyPath, combined, "/apache_pb.gif", ""},
		"path without query":      {KeyPath, with("/apache_pb.gif", "/a?b=c?d"), "/a", ""},
		"path is not folded":      {KeyPath, with("/apache_pb.gif", "//a/%61/../"), "//a/%61/../", ""},
		"path of a proxy":         {KeyPath, with("/apache_pb.gif", "http://h/a?b"), "http://h/a", ""},
		"path of OPTIONS":         {KeyPath, with("GET /apache_pb.gif", "OPTIONS *"), "*", ""},
		"path decoded":            {KeyPath, with("/apache_pb.gif", `/\"\\\xe4\x00\t`), "/\"\\\xe4\x00\t", ""},
		"path raw bytes":          {KeyPath, with("/apache_pb.gif", "/\xe4"), "/\xe4", ""},
		"path of another version": {KeyPath, with("HTTP/1.0", "HTTP/2.0"), "/apache_pb.gif", ""},
		"path of -":               {KeyPath, with("GET /apache_pb.gif HTTP/1.0", "-"), "", reasonNoPath},
		"path of nothing":         {KeyPath, with("GET /apache_pb.gif HTTP/1.0", ""), "", "request is empty"},
		"path of a handshake":     {KeyPath, with("GET /apache_pb.gif HTTP/1.0", `\x16\x03\x01 \x01 \x02`), "", reasonNoPath},
		"path without protocol":   {KeyPath, with(" HTTP/1.0", ""), "", reasonNoPath},
		"path with a space":       {KeyPath, with("/apache_pb.gif", "/a b"), "", reasonNoPath},
		"path with coded space":   {KeyPath, with("/apache_pb.gif", `/a\x20b`), "", reasonNoPath},
		"path absent":             {KeyPath, with("/apache_pb.gif ", " "), "", reasonNoPath},
		"method absent":           {KeyPath, with("GET /", " /"), "", reasonNoPath},
		"protocol unknown":        {KeyPath, with("HTTP/1.0", "SIP/2.0"), "", reasonNoPath},
		"space behind protocol":   {KeyPath, with("HTTP/1.0", "HTTP/1.0 "), "", reasonNoPath},
		"path is only a query":    {KeyPath, with("/apache_pb.gif", "?a"), "", reasonPathNone},
		"path unknown escape":     {KeyPath, with("/apache", `/\q`), "", "request holds an unknown escape"},
		"host+path":               {KeyHostPath, with("gif", "gif?x"), "203.0.113.7 /apache_pb.gif", ""},
		"host+path of -":          {KeyHostPath, with("GET /apache_pb.gif HTTP/1.0", "-"), "", reasonNoPath},
		"user agent":              {KeyUserAgent, combined, "Mozilla/4.08 [en] (Win98; I ;Nav)", ""},
		"user agent decoded":      {KeyUserAgent, with("Mozilla/4.08", `\"M\"\\ \xff`), "\"M\"\\ \xff [en] (Win98; I ;Nav)", ""},
		"user agent -":            {KeyUserAgent, with("Mozilla/4.08 [en] (Win98; I ;Nav)", "-"), "-", ""},
		"user agent empty":        {KeyUserAgent, with("Mozilla/4.08 [en] (Win98; I ;Nav)", ""), "", "user_agent is empty"},
		"user agent escape":       {KeyUserAgent, with("Mozilla", `C:\Mozilla`), "", "user_agent holds an unknown escape"},
	} {
		t.Run(name, func(t *testing.T) {
			var f fields
			reason := parserOf(t, "combined", c.key).parse([]byte(c.line), &f)
			if reason != c.reason {
				t.Fatalf("reason %q, want %q", reason, c.reason)
			}
			if reason == "" && (string(f.key) != c.want || f.cost != 1) {
				t.Errorf("key %q cost %d, want %q and 1", f.key, f.cost, c.want)
			}
		})
	}
}

// Whatever separates host and path, a pair must not give the key of another pair.
func TestHostPathKeysDoNotCollide(t *testing.T) {
	hosts := []string{"a", "b", "a.b", "a-b", "a_", "-", "192.0.2.1", "2001:db8::1", "unix:"}
	paths := []string{"/", "/b", "b", "//b", "/b/", "+/b", "|b", "80", "%20/b", "/b%20c", ",b", `/\"`}
	seen := map[string]string{}
	for _, h := range hosts {
		for _, p := range paths {
			var f fields
			line := fmt.Sprintf(`%s - - [10/Oct/2000:13:55:36 -0700] "GET %s HTTP/1.1" 200 1`, h, p)
			if reason := parserOf(t, "clf", KeyHostPath).parse([]byte(line), &f); reason != "" {
				t.Fatalf("%s: %s", line, reason)
			}
			pair := fmt.Sprintf("%q %q", h, p)
			if other, ok := seen[string(f.key)]; ok {
				t.Errorf("%s and %s give one key %q", pair, other, f.key)
			}
			seen[string(f.key)] = pair
			host, _, _ := bytes.Cut(f.key, []byte(" "))
			if string(host) != h {
				t.Errorf("key %q does not give back its host %q", f.key, h)
			}
		}
	}
}

func TestUnescape(t *testing.T) {
	for _, c := range []struct {
		field, want string
		ok          bool
	}{
		{``, "", true},
		{`plain`, "plain", true},
		{`\"\\\b\n\r\t\v\f`, "\"\\\b\n\r\t\v\f", true},
		{`a\x00\xfF\x2bz`, "a\x00\xff+z", true},
		{`\\x41`, `\x41`, true},
		{`\q`, "", false},
		{`\a`, "", false},
		{`\`, "", false},
		{`a\x4`, "", false},
		{`a\x`, "", false},
		{`\xg0`, "", false},
		{`\x0g`, "", false},
		{`\X41`, "", false},
	} {
		got, ok := unescape([]byte(c.field))
		if ok != c.ok || ok && string(got) != c.want {
			t.Errorf("unescape(%s) = %q, %v, want %q, %v", c.field, got, ok, c.want, c.ok)
		}
	}
}
