package trace

import (
	"strings"
	"testing"
)

const envoyLine = `[2016-04-15T20:17:00.310Z] "POST /api/v1/locations?q=1 HTTP/2" 204 - 154 0 226 100 "203.0.113.9, 192.0.2.35" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" "tcp://10.0.2.1:80"`

func TestEnvoyLines(t *testing.T) {
	const xff = "203.0.113.9, 192.0.2.35"
	checkKeys(t, envoyLine, 1_460_751_420_310_000, "envoy", map[string]keyCase{
		"last address":          {want: "192.0.2.35"},
		"one address":           {old: xff, new: "192.0.2.35", want: "192.0.2.35"},
		"no spaces":             {old: xff, new: "203.0.113.9,192.0.2.35", want: "192.0.2.35"},
		"more spaces":           {old: xff, new: "203.0.113.9 ,  192.0.2.35 ", want: "192.0.2.35"},
		"ipv6":                  {old: xff, new: "2001:db8::1", want: "2001:db8::1"},
		"no x-forwarded-for":    {old: xff, new: "-", want: "-"},
		"path":                  {key: KeyPath, want: "/api/v1/locations"},
		"host+path":             {key: KeyHostPath, want: "192.0.2.35 /api/v1/locations"},
		"user agent":            {key: KeyUserAgent, want: "nsq2http"},
		"finer time":            {old: ".310Z", new: ".310999999Z", at: 1_460_751_420_310_999, want: "192.0.2.35"},
		"flags":                 {old: "204 -", new: "0 DC,UAEX", want: "192.0.2.35"},
		"no upstream":           {old: `100 `, new: "- ", want: "192.0.2.35"},
		"space at the end":      {old: `:80"`, new: `:80" `, want: "192.0.2.35"},
		"backslash stays":       {key: KeyUserAgent, old: "nsq2http", new: `C:\x22\`, want: `C:\x22\`},
		"path backslash stays":  {key: KeyPath, old: "/api/v1", new: `/\q`, want: `/\q/locations`},
		"path -":                {key: KeyPath, old: "POST /api/v1/locations?q=1", new: "- -", reason: reasonNoPath},
		"host needs no path":    {old: "POST /api/v1/locations?q=1", new: "- -", want: "192.0.2.35"},
		"path of no protocol":   {key: KeyPath, old: "HTTP/2", new: "-", reason: reasonNoPath},
		"agent empty":           {key: KeyUserAgent, old: "nsq2http", new: "", reason: "user_agent is empty"},
		"xff empty":             {old: xff, new: "", reason: "x_forwarded_for is empty"},
		"last address empty":    {old: xff, new: "192.0.2.35, ", reason: "the last address of x-forwarded-for is empty"},
		"address with a space":  {key: KeyHostPath, old: xff, new: "a b", reason: "x_forwarded_for is neither an address nor a name"},
		"xff only for its keys": {key: KeyPath, old: xff, new: "", want: "/api/v1/locations"},
		"no brackets":           {old: "[2016-04-15T20:17:00.310Z]", new: "2016-04-15T20:17:00.310Z", reason: "start_time is missing"},
		"bracket first":         {old: envoyLine, new: "]", reason: "start_time is missing"},
		"bracket open":          {old: envoyLine, new: "[2016-04-15T20:17:00.310Z", reason: "request is not in quotes, or has no closing quote"},
		"another date":          {old: "2016-04-15T20:17:00.310Z", new: "15/Apr/2016:20:17:00 +0000", reason: "the time is not yyyy-mm-ddThh:mm:ss, with a fraction and a zone or without, or does not exist"},
		"no day":                {old: "2016-04-15", new: "2016-04-31", reason: reasonStamp},
		"too late":              {old: "2016-04-15", new: "2216-04-15", reason: reasonLate},
		"request not quoted":    {old: `"POST /api/v1/locations?q=1 HTTP/2"`, new: "-", reason: "request is not in quotes, or has no closing quote"},
		"quote in the request":  {old: `/api`, new: `/"api`, reason: reasonCode},
		"status in words":       {old: "204", new: "OK", reason: "response_code is not written in digits"},
		"a word less":           {old: " 226", new: "", reason: "upstream_service_time is missing, or is not one word"},
		"a word more":           {old: " 226", new: " 226 226", reason: "upstream_service_time is missing, or is not one word"},
		"of Istio":              {old: "204 - 154", new: `204 - via_upstream - "-" 154`, reason: "duration is missing, or is not one word"},
		"quote in agent":        {old: "nsq2http", new: `a "b" c`, reason: "request_id is not in quotes, or has no closing quote"},
		"fields in agent":       {old: "nsq2http", new: `a" "b`, reason: "what follows the last field is neither words nor closed quotes"},
		"a field less":          {old: ` "locations"`, new: "", reason: "upstream_host is not in quotes, or has no closing quote"},
		"something behind":      {old: `:80"`, new: `:80" x`, reason: "what follows the last field is neither words nor closed quotes"},
	})
}

func TestEnvoyLineCutOffAnywhereIsBad(t *testing.T) {
	var f fields
	for n := range len(envoyLine) {
		if reason := parserOf(t, "envoy", "").parse([]byte(envoyLine[:n]), &f); reason == "" {
			t.Errorf("accepted: %s", envoyLine[:n])
		}
	}
}

// Nothing that a client sends gives it the place of another one, even where it holds what a whole line would.
func TestEnvoyClientCannotShiftTheFields(t *testing.T) {
	forged := ` HTTP/2" 200 - 0 0 0 0 "198.51.100.66" "x" "x" "x" "x"`
	for _, line := range []string{
		strings.Replace(envoyLine, "q=1", "q=1"+forged, 1),
		strings.Replace(envoyLine, "nsq2http", `x" "x" "x" "x"`, 1),
		strings.Replace(envoyLine, "203.0.113.9", `198.51.100.66" "x`, 1),
	} {
		var f fields
		if reason := parserOf(t, "envoy", "").parse([]byte(line), &f); reason == "" {
			t.Errorf("key %q: %s", f.key, line)
		}
	}
}
