package trace

import (
	"strings"
	"testing"
)

const (
	istioJSONLine = `{"authority":"httpbin:8000","bytes_received":0,"bytes_sent":135,"downstream_local_address":"10.44.1.27:80","downstream_remote_address":"10.44.1.23:37652","duration":3,"method":"GET","path":"/status/418?a","protocol":"HTTP/1.1","request_id":"84961386","response_code":418,"response_flags":"-","start_time":"2026-01-01T00:00:00.409Z","user_agent":"curl/7.73.0","x_forwarded_for":"198.51.100.66,192.0.2.7"}`
	istioLine     = `[2026-01-01T00:00:00.409Z] "GET /status/418?a HTTP/1.1" 418 - via_upstream - "-" 0 135 3 1 "198.51.100.66,192.0.2.7" "curl/7.73.0" "84961386" "httpbin:8000" "127.0.0.1:80" inbound|8000|| 127.0.0.1:41854 10.44.1.27:80 10.44.1.23:37652 outbound_.8000_._.httpbin default`
	elbLine       = `2026-01-01T00:00:00.409123Z my-loadbalancer 192.0.2.7:2817 10.0.0.1:80 0.000086 0.001048 0.001337 200 200 0 57 "GET https://www.example.com:443/a?b HTTP/1.1" "curl/7.38.0" DHE-RSA-AES128-SHA TLSv1.2`
	w3cNamesLine  = "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status time-taken"
	w3cLine       = "2026-01-01 00:00:01 10.0.0.1 GET /a%20b x=y 443 - 192.0.2.7 Mozilla/5.0+(Windows) - 200 15"
	haproxyLine   = `192.0.2.7:33317 [01/Jan/2026:00:00:00.655] http-in~ static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu|a b} {} "GET /index.html?a#22 HTTP/1.1"`
	traefikLine   = `{"ClientAddr":"192.0.2.7:1234","ClientHost":"192.0.2.7","ClientUsername":"-","DownstreamStatus":200,"Duration":46519,"RequestAddr":"h","RequestHost":"h","RequestMethod":"GET","RequestPath":"/a?b","StartLocal":"2026-01-01T01:00:00.123456789+01:00","StartUTC":"2026-01-01T00:00:00.123456789Z","level":"info","msg":"","request_User-Agent":"curl/8","time":"2026-01-01T00:00:00Z"}`
)

// realTimeLine has a value for each field.
var realTimeLine = func() string {
	values := map[string]string{
		"timestamp": "1767225600.509", "time-taken": "0.100", "c-ip": "192.0.2.7", "cs-uri-stem": "/a%2520b", "cs-user-agent": "curl/8%20x",
	}
	var line []string
	for _, name := range realTimeFields {
		value, ok := values[name]
		if !ok {
			value = "-"
		}
		line = append(line, value)
	}
	return strings.Join(line, "\t")
}()

const second2026 = 1_767_225_600_000_000

func TestIstioLines(t *testing.T) {
	const xff = "198.51.100.66,192.0.2.7"
	checkKeys(t, istioJSONLine, second2026+409_000, "istio-json", map[string]keyCase{
		"last address":       {want: "192.0.2.7"},
		"path":               {key: KeyPath, want: "/status/418"},
		"user agent":         {key: KeyUserAgent, want: "curl/7.73.0"},
		"field":              {key: "authority", want: "httpbin:8000"},
		"no x-forwarded-for": {old: `"` + xff + `"`, new: "null", want: "10.44.1.23"},
		"xff -":              {old: xff, new: "-", want: "10.44.1.23"},
		"ipv6":               {old: xff, new: "[2001:db8::7]:1", want: "2001:db8::7"},
		"a TCP connection":   {old: `"method":"GET"`, new: `"method":null`, reason: isHeader},
		"last empty":         {old: xff, new: "192.0.2.7,", reason: "the last address of x-forwarded-for is empty"},
		"no time":            {old: `"start_time"`, new: `"time"`, reason: "start_time is missing"},
	})
	checkKeys(t, istioLine, second2026+409_000, "istio", map[string]keyCase{
		"last address":       {want: "192.0.2.7"},
		"path":               {key: KeyPath, want: "/status/418"},
		"user agent":         {key: KeyUserAgent, want: "curl/7.73.0"},
		"field":              {key: "upstream_cluster", want: "inbound|8000||"},
		"no x-forwarded-for": {old: xff, new: "-", want: "10.44.1.23"},
		"quote in agent":     {old: "curl/7.73.0", new: `c" "d`, reason: "upstream_cluster is missing, or is not one word"},
		"cut off":            {old: " default", new: "", reason: "route_name is missing, or is not one word"},
	})
}

func TestClassicELBLines(t *testing.T) {
	checkKeys(t, elbLine, second2026+409_123, "elb", map[string]keyCase{
		"host":        {want: "192.0.2.7"},
		"path":        {key: KeyPath, want: "/a"},
		"user agent":  {key: KeyUserAgent, want: "curl/7.38.0"},
		"no backend":  {old: "10.0.0.1:80 0.000086 0.001048 0.001337", new: "- -1 -1 -1", want: "192.0.2.7"},
		"TCP":         {key: KeyPath, old: "GET https://www.example.com:443/a?b HTTP/1.1", new: "- - - ", reason: reasonNoPath},
		"ipv6":        {old: "192.0.2.7:2817", new: "2001:db8::7:2817", want: "2001:db8::7"},
		"no port":     {old: "192.0.2.7:2817", new: "192.0.2.7", reason: reasonPort},
		"a field off": {old: " 0 57", new: " 57", reason: "sent_bytes is missing, or is not one word"},
	})
}

func TestCloudFrontRealTimeLines(t *testing.T) {
	checkKeys(t, realTimeLine, second2026+409_000, "cloudfront-realtime", map[string]keyCase{
		"host":       {want: "192.0.2.7"},
		"path":       {key: KeyPath, want: "/a%20b"},
		"user agent": {key: KeyUserAgent, want: "curl/8 x"},
		"field":      {key: "c-country", want: "-"},
		"a field":    {old: "0.100", new: "0.100\t-", reason: reasonRowWidth},
		"no time":    {old: "1767225600.509", new: "-", reason: "timestamp is not a decimal number of seconds"},
	})
}

func TestW3CLines(t *testing.T) {
	checkKeys(t, w3cLine, second2026+1_000_000, "w3c", map[string]keyCase{
		"host":       {want: "192.0.2.7"},
		"path":       {key: KeyPath, want: "/a%20b"},
		"user agent": {key: KeyUserAgent, want: "Mozilla/5.0+(Windows)"},
		"field":      {key: "cs-method", want: "GET"},
		"header":     {old: w3cLine, new: "#Date: 2026-01-01 00:00:00", reason: isHeader},
		"a field":    {old: " 443", new: "", reason: reasonRowWidth},
	})
	wantRead(t, "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: 2026-01-01 00:00:00\n"+w3cNamesLine+"\r\n"+w3cLine+"\r\n", nil,
		"1767225601000000 192.0.2.7 1\nw3c: 1 events, 0 bad, 4 no requests")
}

func TestHAProxyLines(t *testing.T) {
	checkKeys(t, haproxyLine, second2026+655_000, "haproxy", map[string]keyCase{
		"host":           {want: "192.0.2.7"},
		"path":           {key: KeyPath, want: "/index.html"},
		"field":          {key: "backend", want: "static/srv1"},
		"path decoded":   {key: KeyPath, old: "/index.html", new: "/a#22#23", want: `/a"#`},
		"unknown escape": {key: KeyPath, old: "/index.html", new: "/a#2x", reason: "request holds an unknown escape"},
		"no captures":    {old: "{1wt.eu|a b} {} ", new: "", want: "192.0.2.7"},
		"bad request":    {old: "GET /index.html?a#22 HTTP/1.1", new: "<BADREQ>", want: "192.0.2.7"},
		"status -1":      {old: " 200 ", new: " -1 ", want: "192.0.2.7"},
		"httpslog":       {old: `1.1"`, new: `1.1" 0/0000000000000000/0/0/0 1wt.eu/TLSv1.3/TLS_AES_256_GCM_SHA384`, want: "192.0.2.7"},
		"ipv6":           {old: "192.0.2.7:", new: "2001:db8::7:", want: "2001:db8::7"},
		"no day":         {old: "01/Jan", new: "31/Feb", reason: reasonLocal},
		"of TCP":         {old: haproxyLine, new: `192.0.2.7:33313 [01/Jan/2026:00:00:00.443] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0`, reason: "termination_state is missing, or is not one word"},
	})
	wantRead(t, "Feb  6 12:14:14 localhost haproxy[14389]: "+haproxyLine+"\n", nil, "1767225600655000 192.0.2.7 1\nhaproxy: 1 events, 0 bad, 0 no requests")
}

func TestTraefikLines(t *testing.T) {
	checkKeys(t, traefikLine, second2026+123_456, "traefik", map[string]keyCase{
		"host":       {want: "192.0.2.7"},
		"path":       {key: KeyPath, want: "/a"},
		"user agent": {key: KeyUserAgent, want: "curl/8"},
		"of itself":  {old: traefikLine, new: `{"level":"info","msg":"Starting provider","time":"2026-01-01T00:00:00Z"}`, reason: "StartUTC is missing"},
	})
	wantRead(t, `192.0.2.7 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "curl/8" 7 "s@file" "http://10.0.0.1:80" 0ms`, nil,
		"1767225600000000 192.0.2.7 1\ncombined: 1 events, 0 bad, 0 no requests")
}

// envoyString is the default format string of Envoy.
const (
	envoyString = `[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% ` +
		`%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" ` +
		`"%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"\n`
	envoyDefault = `[2026-01-01T00:00:00.409Z] "GET /api/v1?q HTTP/1.1" 200 - 0 5 3 1 "192.0.2.1, 198.51.100.9" "curl/8" "id" "a.example" "10.0.0.1:80"`
)

func TestLogFormatOfNginxAndApacheAndEnvoy(t *testing.T) {
	combinedNginx := "'$remote_addr - $remote_user [$time_local] \"$request\" '\n    '$status $body_bytes_sent \"$http_referer\" \"$http_user_agent\"'"
	combinedApache := `%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"`
	for name, c := range map[string]struct {
		format, key, line, want string
	}{
		"nginx combined":       {combinedNginx, "", combined, "971211336000000 203.0.113.7 1\n"},
		"nginx, agent":         {combinedNginx, KeyUserAgent, combined, "971211336000000 Mozilla/4.08 [en] (Win98; I ;Nav) 1\n"},
		"nginx, path":          {combinedNginx, KeyPath, combined, "971211336000000 /apache_pb.gif 1\n"},
		"nginx, user":          {combinedNginx, "remote_user", combined, "971211336000000 frank 1\n"},
		"nginx, user, spaces":  {combinedNginx, "remote_user", with("frank", "frank van Berg"), "971211336000000 frank van Berg 1\n"},
		"nginx, forged":        {combinedNginx, "", with("frank", `x [01/Jan/2020:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "u"`), "line 1: " + reasonExtra + "\n"},
		"nginx, forged date":   {combinedNginx, "", with("frank", `x [01/Jan/2020:00:00:00 +0000] "`), "line 1: " + reasonStatus + "\n"},
		"nginx, more":          {combinedNginx, "", combined + " x", "line 1: " + reasonExtra + "\n"},
		"nginx, msec":          {`$msec $request_time $remote_addr "$http_x_api_key"`, "http_x_api_key", `1767225600.123 0.023 192.0.2.7 "k\x22 1"`, "1767225600100000 k\" 1 1\n"},
		"nginx, iso":           {`$time_iso8601|$remote_addr|$request_uri`, KeyPath, "2026-01-01T01:00:00+01:00|192.0.2.7|/a?b", "1767225600000000 /a 1\n"},
		"nginx, tabs":          {`$time_iso8601\t$remote_addr`, "", "2026-01-01T01:00:00+01:00\t192.0.2.7", "1767225600000000 192.0.2.7 1\n"},
		"nginx, JSON":          {`{"t":"$time_iso8601","ip":"$remote_addr"}`, "", `{"t":"2026-01-01T00:00:00Z","ip":"192.0.2.7"}`, "1767225600000000 192.0.2.7 1\n"},
		"nginx, bare date":     {`$remote_addr $time_local "$request"`, "", `192.0.2.7 01/Jan/2026:00:00:00 +0000 "GET / HTTP/1.1"`, "1767225600000000 192.0.2.7 1\n"},
		"nginx, no address":    {`[$time_local] $http_x_api_key`, "http_x_api_key", `[01/Jan/2026:00:00:00 +0000] k`, "1767225600000000 k 1\n"},
		"nginx, braces":        {`${time_iso8601}x$remote_addr`, "", "2026-01-01T00:00:00Zx192.0.2.7", "1767225600000000 192.0.2.7 1\n"},
		"nginx, other line":    {`$time_iso8601 $remote_addr`, "", "# rotated", "line 1: the time is not yyyy-mm-ddThh:mm:ss, with a fraction and a zone or without, or does not exist\n"},
		"apache combined":      {combinedApache, "", combined, "971211336000000 203.0.113.7 1\n"},
		"apache, agent":        {combinedApache, KeyUserAgent, combined, "971211336000000 Mozilla/4.08 [en] (Win98; I ;Nav) 1\n"},
		"apache, virtual host": {"%v:%p " + combinedApache, "server", "www.example.com:80 " + combined, "971211336000000 www.example.com 1\n"},
		"apache, behind vhost": {"%v:%p " + combinedApache, "", "www.example.com:80 " + combined, "971211336000000 203.0.113.7 1\n"},
		"apache, header":       {`%a %t "%!200,304{X-Api-Key}i"`, "X-Api-Key", `192.0.2.7 [01/Jan/2026:00:00:00 +0000] "k 1"`, "1767225600000000 k 1 1\n"},
		"apache, usec":         {`%{usec}t %h %U`, "uri", "1767225600000001 192.0.2.7 /a", "1767225600000001 /a 1\n"},
		"apache, strftime":     {`%{%Y-%m-%dT%H:%M:%S%z}t %h`, "", "2026-01-01T00:00:00+0000 192.0.2.7", "1767225600000000 192.0.2.7 1\n"},
		"envoy, default":       {envoyString, "", envoyDefault, "1767225600409000 198.51.100.9 1\n"},
		"envoy, path":          {envoyString, KeyPath, envoyDefault, "1767225600409000 /api/v1 1\n"},
		"envoy, agent":         {envoyString, KeyUserAgent, envoyDefault, "1767225600409000 curl/8 1\n"},
		"envoy, forged":        {envoyString, "", strings.Replace(envoyDefault, "curl/8", `a" "b`, 1), "line 1: " + reasonExtra + "\n"},
		"envoy, header":        {`%START_TIME(%s.%3f)% "%REQ(X-API-KEY):64%" %DOWNSTREAM_REMOTE_ADDRESS%`, "x-api-key", `1767225600.123 "k\1" 192.0.2.7:5`, "1767225600123000 k\\1 1\n"},
		"envoy, peer":          {`%START_TIME(%s)% %REQ(X-FORWARDED-FOR)% %DOWNSTREAM_REMOTE_ADDRESS%`, "", `1767225600 - [2001:db8::7]:5`, "1767225600000000 2001:db8::7 1\n"},
		"envoy, metadata":      {`%START_TIME% %DYNAMIC_METADATA(a:b)% %RESP(X-Q)% %PROTOCOL%`, "dynamic_metadata.a:b", `2026-01-01T00:00:00.000Z k - HTTP/2`, "1767225600000000 k 1\n"},
		"envoy, path alone":    {`%START_TIME% %REQ(:METHOD)% %REQ(:PATH)% %DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%`, "host+path", `2026-01-01T00:00:00.000Z GET /a?b 192.0.2.7`, "1767225600000000 192.0.2.7 /a 1\n"},
		"apache, percent":      {`%t 100%% %h`, "", "[01/Jan/2026:00:00:00 +0000] 100% 192.0.2.7", "1767225600000000 192.0.2.7 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(t, c.line, &Options{LogFormat: c.format, Key: c.key})
			if got, _, _ := strings.Cut(got, "log-format: "); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
	for format, want := range map[string]string{
		"$remote_addr":              "log format: there is no time: must have one of $msec",
		"combined":                  "log format: there is no time",
		"$time_iso8601$remote_addr": "log format: nothing stands between time_iso8601 and remote_addr",
		"$time_iso8601 $x":          "key: the log format has no $remote_addr, %h, %a or %REQ(X-FORWARDED-FOR)%: must name a field: time_iso8601, x",
		"%t %h %y":                  "log format: %y is not known",
		"%{%s}t %h":                 "log format: %{%s}t is not known",
		"%t %h %{a b}i":             "log format: %{a b}i is not known",
		"%START_TIME(%c)% %REQ(X-FORWARDED-FOR)%": "log format: %START_TIME(%c)% is not known",
		"%REQ(X-FORWARDED-FOR)% %PROTOCOL%":       "log format: there is no time",
		"%START_TIME% %REQ(X-API-KEY)%":           "key: the log format has no $remote_addr, %h, %a or %REQ(X-FORWARDED-FOR)%: must name a field: start_time, x-api-key",
		"%t%h":                                    "",
		"$msec $request_time $remote_addr":        "",
	} {
		_, err := Open(strings.NewReader(""), &Options{LogFormat: format})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), "trace: "+want) {
			t.Errorf("%s: %v, want %s", format, err, want)
		}
	}
	if _, err := Open(strings.NewReader(""), &Options{LogFormat: "$msec $remote_addr", Format: "clf"}); err == nil || !strings.Contains(err.Error(), "log format: must be left out with the format clf") {
		t.Errorf("%v", err)
	}
	if _, err := Open(strings.NewReader(""), &Options{LogFormat: "$msec $remote_addr", Key: "path"}); err == nil || !strings.Contains(err.Error(), `key: a log-format trace has no "path"`) {
		t.Errorf("%v", err)
	}
}
