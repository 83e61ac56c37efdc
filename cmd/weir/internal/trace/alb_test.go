package trace

import (
	"strings"
	"testing"
)

const albLine = `http 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.0.2.1:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET http://www.example.com:80/a?q=1 HTTP/1.1" "curl/7.46.0" - - arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337262-36d228ad5d99923122bbe354" "-" "-" 0 2018-07-02T22:22:48.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`

func TestALBLines(t *testing.T) {
	const url = "http://www.example.com:80/a?q=1"
	checkKeys(t, albLine, 1_530_570_168_364_000, "alb", map[string]keyCase{
		"host":                    {want: "192.0.2.1"},
		"path":                    {key: KeyPath, want: "/a"},
		"host+path":               {key: KeyHostPath, want: "192.0.2.1 /a"},
		"user agent":              {key: KeyUserAgent, want: "curl/7.46.0"},
		"time is not used":        {old: "2018-07-02T22:23:00.186641Z", new: "-", want: "192.0.2.1"},
		"ipv6":                    {old: "192.0.2.1", new: "2001:db8:0:1:2:3:4:5", want: "2001:db8:0:1:2:3:4:5"},
		"ipv6, short":             {old: "192.0.2.1", new: "2001:db8::", want: "2001:db8::"},
		"ipv6 in brackets":        {old: "192.0.2.1", new: "[2001:db8::1]", want: "2001:db8::1"},
		"more fields":             {old: `"200" "-" "-"`, new: `"200" "-" "-" TID_1234 "a b"`, want: "192.0.2.1"},
		"no more fields":          {old: ` "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`, new: ``, want: "192.0.2.1"},
		"no target":               {old: `10.0.0.1:80 0.000 0.001 0.000 200 200`, new: `- -1 -1 -1 502 -`, want: "192.0.2.1"},
		"request of nothing":      {old: `GET ` + url + ` HTTP/1.1`, new: "- http://x:80- -", want: "192.0.2.1"},
		"path with a query first": {key: KeyPath, old: url, new: "https://h:443/a/b?u=http://x/y", want: "/a/b"},
		"path of an ipv6 host":    {key: KeyPath, old: url, new: "http://[2001:db8::1]:443/", want: "/"},
		"path without a host":     {key: KeyPath, old: url, new: "/a", want: "/a"},
		"path decoded":            {key: KeyPath, old: "/a?", new: `/\x22\xe4?`, want: "/\"\xe4"},
		"path not folded":         {key: KeyPath, old: "/a?", new: `//a/%61/..?`, want: "//a/%61/.."},
		"path absent":             {key: KeyPath, old: "/a?q=1", new: ``, reason: reasonPathNone},
		"path only a query":       {key: KeyPath, old: "/a?q=1", new: `?q=/`, reason: reasonPathNone},
		"path with a space":       {key: KeyPath, old: "/a?q=1", new: `/a b`, reason: reasonNoPath},
		"path unknown escape":     {key: KeyPath, old: "/a?", new: `/\q?`, reason: "request holds an unknown escape"},
		"agent decoded":           {key: KeyUserAgent, old: "curl/7.46.0", new: `say \x22hi\x22`, want: `say "hi"`},
		"agent -":                 {key: KeyUserAgent, old: "curl/7.46.0", new: "-", want: "-"},
		"agent empty":             {key: KeyUserAgent, old: "curl/7.46.0", new: "", reason: "user_agent is empty"},
		"agent unknown escape":    {key: KeyUserAgent, old: "curl/7.46.0", new: `C:\q`, reason: "user_agent holds an unknown escape"},
		"quote in agent":          {old: "curl/7.46.0", new: `a "b" c`, reason: "ssl_cipher is missing, or is not one word"},
		"words in quotes in it":   {old: "curl/7.46.0", new: `a" "b`, reason: "target_group_arn is missing, or is not one word"},
		"two spaces":              {old: " 34 ", new: "  34 ", reason: "received_bytes is missing, or is not one word"},
		"no port":                 {old: "192.0.2.1:2817", new: "192.0.2.1", reason: reasonPort},
		"port empty":              {old: "192.0.2.1:2817", new: "192.0.2.1:", reason: reasonPort},
		"client -":                {old: "192.0.2.1:2817", new: "-", reason: reasonPort},
		"address empty":           {old: "192.0.2.1:2817", new: ":2817", reason: reasonPort},
		"brackets empty":          {old: "192.0.2.1", new: "[]", reason: reasonPort},
		"bracket open":            {old: "192.0.2.1", new: "[2001:db8::1", reason: reasonPort},
		"created in words":        {old: "2018-07-02T22:22:48.364000Z", new: "-", reason: reasonStamp},
		"created no day":          {old: "2018-07-02T22:22:48.364000Z", new: "2018-02-30T22:22:48.364000Z", reason: reasonStamp},
		"created too late":        {old: "2018-07-02T22:22:48.364000Z", new: "2218-07-02T22:22:48.364000Z", reason: reasonLate},
		"before 2018":             {old: ` 2018-07-02T22:22:48.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`, new: ``, reason: "request_creation_time is missing, or is not one word"},
		"last field not closed":   {old: `"200" "-" "-"`, new: `"200" "-" "-`, reason: reasonExtra},
		"classic":                 {old: "http 2018", new: "2018", reason: "user_agent is not in quotes, or has no closing quote"},
		"words":                   {old: albLine, new: "hello", reason: "time is missing, or is not one word"},
		"only spaces follow":      {old: albLine, new: "hello ", reason: "time is missing, or is not one word"},
	})
}

// A line that was cut off before the end of request_creation_time is bad, whatever its key.
func TestALBLineCutOffIsBad(t *testing.T) {
	end := strings.Index(albLine, "48.364000Z") + len("48")
	var f fields
	for n := range end {
		if reason := parserOf(t, "alb", "").parse([]byte(albLine[:n]), &f); reason == "" {
			t.Errorf("accepted: %s", albLine[:n])
		}
	}
}
