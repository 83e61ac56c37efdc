package trace

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// read returns what is read of a trace: a line "at key cost" for each event, then one for each bad line, then what was counted.
func read(t *testing.T, text string, opts *Options) string {
	t.Helper()
	events, r := readAll(t, text, opts)
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%d %s %d\n", e.At, e.Key, e.Cost)
	}
	_, bad := r.Bad()
	for _, line := range bad {
		fmt.Fprintf(&b, "line %d: %s\n", line.Number, line.Reason)
	}
	c := r.Counts()
	fmt.Fprintf(&b, "%s: %d events, %d bad, %d no requests", r.Format(), c.Events, c.Bad, c.Headers)
	return b.String()
}

func wantRead(t *testing.T, text string, opts *Options, want string) {
	t.Helper()
	if got := read(t, text, opts); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

const caddyRequest = `"request":{"remote_ip":"192.0.2.7","client_ip":"192.0.2.7","method":"GET","uri":"/a"}`

// B98: a request that failed is three lines, and one request.
func TestCaddyLinesOfOtherLoggersAreNoRequests(t *testing.T) {
	proxy := `{"level":"debug","ts":1767225600.102,"logger":"http.handlers.reverse_proxy","msg":"upstream roundtrip","duration":0.001,` + caddyRequest + `}`
	failed := `{"level":"error","ts":1767225600.103,"logger":"http.log.error.log0","msg":"dial tcp","duration":0.002,"status":502,"err_id":"x",` + caddyRequest + `}`
	access := `{"level":"info","ts":1767225600.103,"logger":"http.log.access.log0","msg":"handled request","duration":0.0021,` + caddyRequest + `}`
	wantRead(t, strings.Join([]string{proxy, failed, access}, "\n"), nil, "1767225600100900 192.0.2.7 1\ncaddy: 1 events, 0 bad, 2 no requests")
	for logger, used := range map[string]bool{"http.log.access": true, "http.log.access.x.y": true, "http.log.accesses": false, "http": false, "": false} {
		_, r := readAll(t, strings.Replace(access, "http.log.access.log0", logger, 1), &Options{Format: "caddy"})
		if c := r.Counts(); c.Events == 1 != used || c.Bad != 0 {
			t.Errorf("%q: %+v", logger, c)
		}
	}
	var both strings.Builder
	for i := range 12 {
		at := fmt.Sprintf("%.1f", 1767225600+6.5*float64(i))
		both.WriteString(strings.Replace(failed, "1767225600.103", at, 1) + "\n" + strings.Replace(access, "1767225600.103", at, 1) + "\n")
	}
	if _, r := readAll(t, both.String(), nil); r.Counts().Events != 12 || r.Counts().Headers != 12 {
		t.Errorf("%+v", r.Counts())
	}
}

// Something stands before the host: B99. It is told where it is on every line, and then passed over.
func TestWhatALogDaemonWritesIsPassedOver(t *testing.T) {
	line := func(second int) string {
		return fmt.Sprintf(`192.0.2.7 - - [01/Jan/2026:00:00:%02d +0000] "GET /a HTTP/1.1" 200 2 "-" "c"`, second)
	}
	const first, events = 1767225600000000, "1767225600000000 192.0.2.7 1\n1767225601000000 192.0.2.7 1\n"
	for name, c := range map[string]struct{ envelope, prefix, end string }{
		"syslog":              {"syslog", "Jan 11 00:00:00 lb1 nginx: ", ""},
		"syslog, priority":    {"syslog", "<190>Jan  1 00:00:00 lb1 nginx[77]: ", ""},
		"rsyslog":             {"syslog", "2026-01-01T00:00:00.1+00:00 lb1 haproxy[22009]: ", ""},
		"rfc 5424":            {"syslog", "<190>1 2026-01-01T00:00:00Z lb1 nginx 77 - - ", ""},
		"rfc 5424, with data": {"syslog", `<190>1 2026-01-01T00:00:00Z lb1 nginx - x [a@1 b="c \"]"][d] ` + "\ufeff", ""},
		"cri":                 {"cri", "2026-01-01T00:00:00.123456789Z stdout F ", ""},
		"docker logs -t":      {"timestamp", "2026-01-01T00:00:00.123456789Z ", ""},
		"docker compose":      {"compose", "web-1  | ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := c.prefix + line(0) + c.end + "\n\n" + c.prefix + line(1) + c.end + "\n"
			wantRead(t, text, nil, events+"combined: 2 events, 0 bad, 0 no requests")
			wantRead(t, text, &Options{Format: "combined", Envelope: c.envelope}, events+"combined: 2 events, 0 bad, 0 no requests")
			if _, r := readAll(t, text, &Options{Format: "combined"}); r.Envelope() != c.envelope || r.Counts().Events != 2 {
				t.Errorf("envelope %q, %+v", r.Envelope(), r.Counts())
			}
			// Never a word of it as a key.
			if events, r := readAll(t, text, &Options{Format: "combined", Envelope: "none"}); len(events) != 0 || r.Counts().Bad != 2 {
				t.Errorf("without: %v", events)
			}
			wantRead(t, text+line(2)+"\n"+c.prefix+line(3), &Options{Envelope: c.envelope}, events+"1767225603000000 192.0.2.7 1\nline 4: "+reasonEnvelope+"\ncombined: 3 events, 1 bad, 0 no requests")
		})
	}
	// Lines of two kinds: those that need nothing are used, and the others are bad.
	mixed := line(0) + "\nJan 11 00:00:00 lb1 nginx: " + line(1) + "\n"
	wantRead(t, mixed, nil, "1767225600000000 192.0.2.7 1\nline 2: "+reasonVirtual+"\ncombined: 1 events, 1 bad, 0 no requests")
	if _, r := readAll(t, mixed, nil); first != 1767225600000000 || r.Envelope() != "" {
		t.Errorf("envelope %q", r.Envelope())
	}
}

func TestLinesOfDockerAreUnpacked(t *testing.T) {
	text := `{"log":"{\"msec\":1767225600.1,\"request_time\":0.1,\"remote_addr\":\"192.0.2.7\"}\n","stream":"stdout","time":"2026-01-01T00:00:00.1Z"}
{"log":"\n","stream":"stdout","time":"2026-01-01T00:00:00.1Z"}
{"log":"starting\n","stream":"stderr","time":"2026-01-01T00:00:00.1Z"}
{"stream":"stderr"}
`
	wantRead(t, text, nil, "1767225600000000 192.0.2.7 1\nline 3: not JSON\nline 4: "+reasonEnvelope+"\nnginx-json: 1 events, 2 bad, 0 no requests")
}

// B99, in the words of the report: three kinds of prefix, two of them with a new word in each line.
func TestNoWordBeforeTheHostIsEverAKey(t *testing.T) {
	for _, prefix := range []string{"Jan 11 00:00:00 lb1 nginx: ", "2026-01-01T00:00:00.1+00:00 lb1 haproxy[22009]: ", "2026-01-01T00:00:00.123456789Z stdout F ", "www.example.com ", "a b c "} {
		for _, user := range []string{"- -", "- frank", "- frank van Berg", "ident frank"} {
			text := prefix + "192.0.2.7 " + user + ` [11/Jan/2026:00:00:00 +0000] "GET /a HTTP/1.1" 200 2 "-" "c"` + "\n"
			for _, envelope := range []string{"auto", "none"} {
				events, _ := readAll(t, text, &Options{Format: "combined", Envelope: envelope})
				for _, e := range events {
					if e.Key != "192.0.2.7" {
						t.Errorf("%s: key %q of %s", envelope, e.Key, text)
					}
				}
			}
		}
	}
}

// B101: NUL bytes before the host, and archives.
func TestControlBytesAreNoHost(t *testing.T) {
	line := `192.0.2.7 - - [01/Jan/2026:00:00:00 +0000] "GET /a HTTP/1.1" 200 2 "-" "c"` + "\n"
	nul := strings.Repeat("\x00", 8)
	wantRead(t, line+nul+line+nul+nul+line+line, nil, "1767225600000000 192.0.2.7 1\n1767225600000000 192.0.2.7 1\n"+
		"line 2: host holds control bytes\nline 3: host holds control bytes\ncombined: 2 events, 2 bad, 0 no requests")
	wantRead(t, line+"\ufeff"+line, nil, "1767225600000000 192.0.2.7 1\nline 2: host is neither an address nor a name\ncombined: 1 events, 1 bad, 0 no requests")
	tar := "access.log" + strings.Repeat("\x00", 247) + "ustar\x00" + strings.Repeat("\x00", 249) + line
	for name, c := range map[string]struct{ raw, want string }{
		"tar":       {tar, "a tar archive"},
		"tar.gz":    {pack(t, tar), "a tar archive"},
		"zip":       {"PK\x03\x04" + line, "a zip archive"},
		"zstd":      {"\x28\xb5\x2f\xfd" + line, "compressed with zstd"},
		"bzip2":     {"BZh9" + line, "compressed with bzip2"},
		"xz":        {"\xfd7zXZ\x00" + line, "compressed with xz"},
		"utf-16 le": {"\xff\xfe1\x009\x00", "UTF-16"},
		"utf-16 be": {"\xfe\xff\x001\x009", "UTF-16"},
	} {
		if _, err := Open(strings.NewReader(c.raw), &Options{Format: "combined"}); err == nil || !strings.Contains(err.Error(), "the input is "+c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A client is one key however a server or a proxy wrote it, and nothing else is a client.
func TestHosts(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "192.0.2.7:8080": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "[::ffff:192.0.2.7]:80": "192.0.2.7",
		"2001:db8::7": "2001:db8::7", "[2001:db8::7]": "2001:db8::7", "[2001:db8::7]:443": "2001:db8::7", "2001:DB8:0:0:0:0:0:7": "2001:db8::7",
		"2001:db8::7%eth0": "2001:db8::7%eth0", "[fe80::1%eth0]:1": "fe80::1%eth0",
		"Host.Example": "host.example", "host.example.": "host.example", "host.example:80": "host.example", "a_b-c.9": "a_b-c.9", "-": "-", "unix:": "unix:",
	} {
		if got, fault := hostOf(text); string(got) != want || fault != "" {
			t.Errorf("%q: %q, %q, want %q", text, got, fault, want)
		}
	}
	for _, text := range []string{
		"192.0.2.7, 198.51.100.8", "192.0.2.7,198.51.100.8", "a\x00b", "\x00", "\ufeff192.0.2.7", "192.0.2.7\u0085", "\x7f", "a b", "a/b", "a:b", "a:", ":80",
		"192.0.2.007", "192.0.2", "1", ".", "1.2.3.4.5", "[::1", "[a]", "fe80::1%a,b", "fe80::1%\n", "2026-01-01T00:00:00Z", "00:00:00", `"a"`, "{", "ä",
	} {
		if got, fault := hostOf(text); fault == "" {
			t.Errorf("%q is the key %q", text, got)
		}
	}
}

// B103: durations in another unit, which no line tells.
func TestDurationThatCannotBeTrueIsABadLine(t *testing.T) {
	line := func(ts, duration string) string {
		return `{"ts":` + ts + `,"logger":"http.log.access","msg":"handled request","duration":` + duration + `,` + caddyRequest + "}\n"
	}
	const long = "duration is longer than a day: it must be in seconds\n"
	wantRead(t, line("1767225600.1", "31647866")+line("1767225601.1", "177845")+line("1767225602.1", "4200834"), nil,
		"line 1: "+long+"line 2: "+long+"line 3: "+long+"caddy: 0 events, 3 bad, 0 no requests")
	wantRead(t, line("1767225600", "86400"), nil, "1767139200000000 192.0.2.7 1\ncaddy: 1 events, 0 bad, 0 no requests")
	wantRead(t, strings.Replace(nginxLine, `"0.124"`, "124000", 1), nil, "line 1: request_time is longer than a day: it must be in seconds\nnginx-json: 0 events, 1 bad, 0 no requests")
}

// B105: a server that does not escape lets a client write what looks like the rest of a line.
func TestForgedFieldsAreABadLine(t *testing.T) {
	for name, c := range map[string]struct{ line, reason string }{
		"date in the user":       {`192.0.2.7 - x [01/Jan/2020:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "u" [01/Jan/2026:00:00:03 +0000] "GET /secret HTTP/1.1" 401 17 "-" "-" 7 "s@file" "-" 0ms`, reasonSecond},
		"quotes in the agent":    {`192.0.2.7 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "foo " bar" 7 "s@file" "-" 0ms`, reasonExtra},
		"request in the agent":   {`192.0.2.7 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "u" "GET /secret HTTP/1.1" 401 17`, reasonSecond},
		"date in the agent":      {`192.0.2.7 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "u" [01/Jan/2020:00:00:00 +0000] "x"`, reasonSecond},
		"quote in the user":      {`192.0.2.7 - a"b [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "u"`, reasonUserQuote},
		"address in the user":    {`192.0.2.9 - 192.0.2.7 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "u"`, reasonVirtual},
		"list before the fields": {`192.0.2.9, 192.0.2.7 - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "u"`, "host is a list, not one address"},
	} {
		wantRead(t, c.line, &Options{Format: "combined"}, "line 1: "+c.reason+"\ncombined: 0 events, 1 bad, 0 no requests")
		if t.Failed() {
			t.Fatal(name)
		}
	}
	wantRead(t, `192.0.2.7 - "" [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "say \"[01/Jan/2020:00:00:00 +0000] \"GET / HTTP/1.1\"" 7 "s@file" "-" 0ms`, nil,
		"1767225600000000 192.0.2.7 1\ncombined: 1 events, 0 bad, 0 no requests")
}

// B108: HAProxy's httplog clf.
func TestHAProxyInCommonLogFormat(t *testing.T) {
	const rest = ` "" "" 25792 302 "frontend" "backend" "server" 10 0 5 20 35 ---- 1 1 0 0 0 0 0 ""`
	text := `192.0.2.7 - - [01/Jan/2026:00:00:00 +0000] "GET /?a b HTTP/1.1" 200 5` + rest + `
192.0.2.7 - - [01/Jan/2026:00:00:01 +0000] "<BADREQ>" 400 5` + rest + `
192.0.2.7 - - [01/Jan/2026:00:00:02 +0000] "GET / HTTP/1.1" -1 0` + rest + "\n"
	wantRead(t, text, nil, "1767225600000000 192.0.2.7 1\n1767225601000000 192.0.2.7 1\nline 3: "+reasonStatus+"\ncombined: 2 events, 1 bad, 0 no requests")
}

// B109: Envoy escapes nothing.
func TestQuotesOfAClientInAnEnvoyLog(t *testing.T) {
	line := func(xff, agent string) string {
		return `[2026-01-01T00:00:00.000Z] "GET / HTTP/1.1" 0 UF,URX 0 0 0 - "` + xff + `" "` + agent + `" "-" "-" "-"` + "\n"
	}
	text := line("192.0.2.7", "a") + line("192.0.2.7", `A" "B" "C" "D`) + line("192.0.2.7", `{"a":1}`) + line("-", "a") + line("2001:db8::7%eth0", "a")
	wantRead(t, text, nil, `1767225600000000 192.0.2.7 1
1767225600000000 - 1
1767225600000000 2001:db8::7%eth0 1
line 2: what follows the last field is neither words nor closed quotes
line 3: request_id is not in quotes, or has no closing quote
envoy: 3 events, 2 bad, 0 no requests`)
}

// B110: ALB with quoted targets, more fields, a space in the URI, IPv6.
func TestALBLinesOfOtherYears(t *testing.T) {
	line := func(client, target, request, agent, more string) string {
		return `https 2026-01-01T00:00:01.000000Z app/lb/1 ` + client + ` ` + target + ` 0.1 0.1 0.1 200 200 1 1 "` + request + `" "` + agent +
			`" - - arn:x "Root=1" "-" "-" 0 2026-01-01T00:00:00.000000Z` + more + "\n"
	}
	text := line("192.0.2.7:40684", `"10.229.5.47:80"`, "GET http://a.example:80/a HTTP/1.1", "c", ` "forward" "-" "-"`) +
		line("192.0.2.7:40684", "-", "GET http://a.example:80/a b HTTP/1.1", "c", ` "-" "-" "-" "-" "-" "Acceptable" "SpaceInUri" TID_aaaa`) +
		line("2001:db8::7:40684", "-", "GET http://a.example:80/a HTTP/1.1", `curl \x22x\x22\x5C`, " 1 2 3 4 5 6") +
		line("192.0.2.9:1", "-", "- http://a.example:80- -", "c", "")
	wantKeys := func(key, want string, bad int64) {
		t.Helper()
		events, r := readAll(t, text, &Options{Key: key})
		if keysOf(events) != want || r.Counts().Bad != bad {
			t.Errorf("by %s: %q, %+v", key, keysOf(events), r.Counts())
		}
	}
	wantKeys(KeyHost, "192.0.2.7 192.0.2.7 2001:db8::7 192.0.2.9", 0)
	wantKeys(KeyPath, "/a /a", 2)
	wantKeys(KeyUserAgent, `c c curl "x"\ c`, 0)
}

// B112: CloudFront files joined, the second with more fields.
func TestCloudFrontHeaderAgain(t *testing.T) {
	first := "#Version: 1.0\n#Fields: date time c-ip cs(User-Agent)\n2026-01-01\t00:00:00\t192.0.2.7\tMozilla/5.0%2520(compatible;%2520bot)\n"
	second := "#Version: 1.0\r\n#Fields: date time c-ip cs(User-Agent) x y\r\n2026-01-01\t00:00:01\t192.0.2.7\ta\t1\t2\r\n"
	wantRead(t, first+second+"2026-01-01\t00:00:02\t192.0.2.7\ta\n", &Options{Key: KeyUserAgent},
		"1767225600000000 Mozilla/5.0%20(compatible;%20bot) 1\n1767225601000000 a 1\nline 7: the number of fields is not that of the header\ncloudfront: 2 events, 1 bad, 4 no requests")
}

// B113: numbers in quotes, and escapes that are no JSON.
func TestNginxNumbersInQuotes(t *testing.T) {
	text := `{"msec":"1767225600.123","request_time":"0.023","remote_addr":"192.0.2.7","http_user_agent":"\"\u0001"}
{"msec":1767225601.000,"request_time":0.000,"remote_addr":"192.0.2.7"}
{"msec":"1767225600.123","request_time":"0.023","remote_addr":"192.0.2.7","http_user_agent":"\x22"}
{"msec":1767225602.999,"request_time":3600.000,"remote_addr":"192.0.2.7"}
`
	wantRead(t, text, nil, "1767222002999000 192.0.2.7 1\n1767225600100000 192.0.2.7 1\n1767225601000000 192.0.2.7 1\nline 3: not JSON\nnginx-json: 3 events, 1 bad, 0 no requests")
}

// B114: times of Caddy as text.
func TestTimesOfCaddyAsText(t *testing.T) {
	line := func(ts string) string {
		return `{"ts":` + ts + `,"logger":"http.log.access","duration":0.5,` + caddyRequest + "}\n"
	}
	text := line(`"2026-01-01T08:00:44.435+0800"`) + line(`"ios8605"`) + line(`"2026/01/01 00:00:45.435"`) + line("1767225646435.123")
	wantRead(t, text, nil, "1767225643935000 192.0.2.7 1\nline 2: ts is not a decimal number of seconds\nline 3: ts is not a decimal number of seconds\n"+
		"line 4: the time is after the last usable instant\ncaddy: 1 events, 3 bad, 0 no requests")
}

// B116: the hour that comes twice.
func TestZoneOfEachLineCounts(t *testing.T) {
	line := func(date string) string { return `192.0.2.7 - - [` + date + `] "GET / HTTP/1.1" 200 5 "-" "u"` + "\n" }
	wantRead(t, line("25/Oct/2026:02:59:59 +0200")+line("25/Oct/2026:02:00:00 +0100")+line("25/Oct/2026:06:45:01 +0545")+line("24/Oct/2026:13:00:02 -1200"), nil,
		"1792889999000000 192.0.2.7 1\n1792890000000000 192.0.2.7 1\n1792890001000000 192.0.2.7 1\n1792890002000000 192.0.2.7 1\ncombined: 4 events, 0 bad, 0 no requests")
}

// B133: the times of a trace of an LLM service are relative, several requests share one, some cost 0.
func TestRelativeTimesInWholeSeconds(t *testing.T) {
	text := "Timestamp,Model,Request tokens,Response tokens,Total tokens\n5,ChatGPT,1,1,556\n5,ChatGPT,1,1,378\n5,ChatGPT,1,1,896\n5,ChatGPT,1,1,708\n5,ChatGPT,0,0,0\n6,ChatGPT,1,1,1360.0\n"
	wantRead(t, text, &Options{TimeColumn: "Timestamp", Key: "Model", CostColumn: "Total tokens"},
		"5000000 ChatGPT 556\n5000000 ChatGPT 378\n5000000 ChatGPT 896\n5000000 ChatGPT 708\n5000000 ChatGPT 0\nline 7: cost is not written as a whole number\ncsv: 5 events, 1 bad, 1 no requests")
}

// Several inputs are one trace, sorted by time. What one said about its lines does not count in the next.
func TestSeveralInputs(t *testing.T) {
	input := func(name, text string) Input {
		return Input{name, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
	}
	all := func(opts *Options, inputs ...Input) string {
		t.Helper()
		r, err := OpenAll(inputs, opts)
		if err != nil {
			return err.Error()
		}
		var b strings.Builder
		for {
			e, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return b.String() + err.Error()
			}
			b.WriteString(e.Key + " ")
		}
		_, bad := r.Bad()
		for _, line := range bad {
			fmt.Fprintf(&b, "%s:%d: %s ", line.Input, line.Number, line.Reason)
		}
		fmt.Fprintf(&b, "%d lines", r.Counts().Lines)
		return b.String()
	}
	event := func(at int, key string) string { return fmt.Sprintf(`{"at_us":%d,"key":"%s"}`, at, key) }
	const time = "time"
	for name, c := range map[string]struct {
		got, want string
	}{
		"merged":         {all(nil, input("a", event(3, "c")+"\n"+event(5, "e")), input("b", event(1, "a")+"\n"+event(3, "d"))), "a c d e 4 lines"},
		"packed":         {all(nil, input("a", event(2, "b")), input("b", pack(t, event(1, "a")))), "a b 2 lines"},
		"marks":          {all(nil, input("a", "\ufeff"+event(1, "a")), input("b", "\ufeff"+event(2, "b"))), "a b 2 lines"},
		"blank first":    {all(nil, input("a", "\n\n"), input("b", ""), input("c", event(1, "a"))), "a 3 lines"},
		"all blank":      {all(nil, input("a", "\n"), input("b", "")), "1 lines"},
		"numbers":        {all(nil, input("a", event(1, "a")+"\nx"), input("b", "\ny\n"+event(2, "b"))), "a b a:2: not JSON b:2: not JSON 5 lines"},
		"csv headers":    {all(&Options{TimeColumn: time, Key: "k"}, input("a", "time,k\n1,a\n"), input("b", "k,x,time\nb,,2\n")), "a b 4 lines"},
		"csv, no column": {all(&Options{TimeColumn: time, Key: "k"}, input("a", "time,k\n1,a\n"), input("b", "time\n2\n")), `b: trace: key: the header has no "k": it has "time"`},
		"no #Fields":     {all(nil, input("a", usual["cloudfront"]), input("b", cloudFrontLine)), "192.0.2.24 b:1: there is no usable #Fields line before 3 lines"},
		"not there":      {all(nil, input("a", event(1, "a")), Input{"b", func() (io.ReadCloser, error) { return nil, errBroken }}), errBroken.Error()},
		"an archive":     {all(nil, input("a", event(1, "a")), input("b", "PK\x03\x04")), "b: trace: the input is a zip archive: must be text, or text compressed with gzip"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s\nwant %s", name, c.got, c.want)
		}
	}
}
