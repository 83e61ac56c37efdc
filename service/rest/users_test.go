package rest

import (
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

func jsonNames(of any) (names []string) {
	t := reflect.TypeOf(of)
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// TestATierAndAnOverrideCountAtOnce: and the limits of the user say where they come from.
func TestATierAndAnOverrideCountAtOnce(t *testing.T) {
	s := newServer(t, setup{})
	const user = "alice/ü ?#%"
	at := "/api/v1/users/" + url.PathEscape(user)
	check := strings.Replace(me, "me", user, 1)
	s.call("check-a", "POST", "/api/v1/check", check).is(200)
	a := s.call("read-a", "GET", at+"/limits", "").is(200)
	want := `{"tier":"free","limits":[{"rule_id":"api","algorithm":"gcra","limit":3,"window_seconds":3600,"source":"tier","remaining":2,"reset_at":1795954800},` +
		`{"rule_id":"login","algorithm":"sliding-log","limit":2,"window_seconds":900,"source":"rule"},` +
		`{"rule_id":"both","name":"day","algorithm":"fixed-window","limit":50,"window_seconds":86400,"source":"rule"},` +
		`{"rule_id":"both","name":"minute","algorithm":"gcra","limit":5,"window_seconds":60,"source":"rule"},` +
		`{"rule_id":"old","algorithm":"gcra","limit":1,"window_seconds":3600,"source":"rule"}]}`
	if string(a.body) != want {
		t.Errorf("\n got %s\nwant %s", a.body, want)
	}
	a = s.call("write-a", "PUT", at+"/tier", `{"tier":"paid","custom_limits":{"login":0,"both/day":"unlimited"}}`).is(200)
	if string(a.body) != `{"tier":"paid","custom_limits":{"both/day":"unlimited","login":"0"}}` {
		t.Errorf("%s", a.body)
	}
	if a = s.call("check-a", "POST", "/api/v1/check", check).is(200); a.field("limit") != 100.0 {
		t.Errorf("the tier does not count: %s", a.body)
	}
	a = s.call("read-a", "GET", at+"/limits", "").is(200)
	if a.field("tier") != "paid" || a.field("limits", 1, "source") != "custom" || a.field("limits", 1, "algorithm") != "block" || a.field("limits", 2, "algorithm") != "unlimited" {
		t.Errorf("%s", a.body)
	}
	made := s.call("write-a", "POST", at+"/override", `{"rule_id":"api","limit":"gcra:500/1h","expires_at":"2026-12-01T12:00:00+01:00","reason":"migration"}`).is(201)
	id := made.field("id").(string)
	if made.header.Get("Location") != at+"/override/"+id || made.field("expires_at") != "2026-12-01T11:00:00Z" || made.field("created_at") != "2026-11-29T12:00:00Z" {
		t.Errorf("%s %v", made.body, made.header)
	}
	if a = s.call("check-a", "POST", "/api/v1/check", check).is(200); a.field("limit") != 500.0 {
		t.Errorf("the override does not count: %s", a.body)
	}
	a = s.call("read-a", "GET", at+"/limits", "").is(200)
	if a.field("limits", 0, "source") != "override" || a.field("limits", 0, "override_id") != id || a.field("limits", 0, "expires_at") != "2026-12-01T11:00:00Z" {
		t.Errorf("%s", a.body)
	}
	s.call("write-a", "DELETE", at+"/override/no", "").is(404).has("not-found")
	s.call("write-b", "DELETE", at+"/override/"+id, "").is(404).has("not-found")
	s.call("write-a", "DELETE", at+"/override/"+id, "").is(204)
	s.call("write-a", "DELETE", at+"/override/"+id, "").is(404)
	s.call("write-a", "PUT", at+"/tier", `{"tier":""}`).is(200)
	if a = s.call("check-a", "POST", "/api/v1/check", check); a.field("limit") != 3.0 {
		t.Errorf("what was taken away counts: %s", a.body)
	}
}

// TestTheWindowIsThatOfTheLimit: 10 units of a bucket of 60 a minute come back in 10 s, as
// the header RateLimit-Policy says, too.
func TestTheWindowIsThatOfTheLimit(t *testing.T) {
	for spec, want := range map[string][2]float64{
		"gcra:60/1m,burst=10": {10, 10}, "token-bucket:10/1s,burst=25": {25, 2.5}, "leaky-bucket:1/1m": {1, 60},
		"fixed-window:7/1h": {7, 3600}, "sliding-log:5/15m": {5, 900}, "sliding-counter:5/500ms": {5, 0.5},
	} {
		s := newServer(t, setup{policy: "version: 1\nrules: [{id: r, key: [user], limit: \"" + spec + "\"}]\n"})
		a := s.call("read-a", "GET", "/api/v1/users/me/limits", "").is(200)
		if a.field("limits", 0, "limit") != want[0] || a.field("limits", 0, "window_seconds") != want[1] {
			t.Errorf("%s: %s, want %v", spec, a.body, want)
		}
	}
}

// TestAnOverrideEnds by itself.
func TestAnOverrideEnds(t *testing.T) {
	s := newServer(t, setup{})
	s.call("write-a", "POST", "/api/v1/users/me/override", `{"rule_id":"api","limit":0,"expires_at":"2026-11-29T13:00:00Z","reason":"abuse"}`).is(201)
	if a := s.call("check-a", "POST", "/api/v1/check", me).is(429); a.header.Get("Retry-After") != "3600" || a.field("retry_after") != 3600.0 {
		t.Errorf("%s %v", a.body, a.header)
	}
	s.clock.Add(time.Hour)
	s.call("check-a", "POST", "/api/v1/check", me).is(200)
}

func TestWrongTiersAndOverrides(t *testing.T) {
	s := newServer(t, setup{})
	long := strings.Repeat("r", 1025)
	for name, c := range map[string]struct {
		method, target, body string
		status               int
		anchor               string
		pointers             []string
	}{
		"tier/unknown":          {"PUT", "tier", `{"tier":"gold"}`, 422, "invalid", []string{"/tier"}},
		"tier/missing":          {"PUT", "tier", `{}`, 422, "invalid", []string{"/tier"}},
		"tier/field":            {"PUT", "tier", `{"tier":"paid","limits":{}}`, 400, "malformed", []string{"/limits"}},
		"tier/twice":            {"PUT", "tier", `{"tier":"paid","custom_limits":{"api":0,"api":"unlimited"}}`, 400, "malformed", []string{"/custom_limits/api"}},
		"tier/limits":           {"PUT", "tier", `{"tier":"paid","custom_limits":{"api":"gcra","no":"gcra:1/1s","login":1}}`, 422, "invalid", []string{"/custom_limits"}},
		"tier/specs":            {"PUT", "tier", `{"tier":"paid","custom_limits":{"api":"gcra:1","no":"gcra:1/1s"}}`, 422, "invalid", []string{"/custom_limits/api", "/custom_limits/no"}},
		"tier/algorithm":        {"PUT", "tier", `{"tier":"free","custom_limits":{"api":"sliding-log:1/1s"}}`, 422, "invalid", []string{"/custom_limits/api"}},
		"override/nothing":      {"POST", "override", `{}`, 422, "invalid", []string{"/rule_id", "/limit", "/expires_at", "/reason"}},
		"override/rule":         {"POST", "override", `{"rule_id":"no","limit":"gcra:1/1s","expires_at":"2026-12-01T00:00:00Z","reason":"r"}`, 404, "not-found", []string{"/rule_id"}},
		"override/spec":         {"POST", "override", `{"rule_id":"api","limit":"gcra:1","expires_at":"2026-12-01T00:00:00Z","reason":"r"}`, 422, "invalid", []string{"/limit"}},
		"override/name":         {"POST", "override", `{"rule_id":"both","name":"hour","limit":"gcra:1/1s","expires_at":"2026-12-01T00:00:00Z","reason":"r"}`, 422, "invalid", []string{"/name"}},
		"override/several":      {"POST", "override", `{"rule_id":"both","limit":"gcra:1/1s","expires_at":"2026-12-01T00:00:00Z","reason":"r"}`, 422, "invalid", []string{"/name"}},
		"override/past":         {"POST", "override", `{"rule_id":"api","limit":"gcra:1/1s","expires_at":"2026-11-29T12:00:00Z","reason":"r"}`, 422, "invalid", []string{"/expires_at"}},
		"override/91 days":      {"POST", "override", `{"rule_id":"api","limit":"gcra:1/1s","expires_at":"2027-02-27T12:00:01Z","reason":"r"}`, 422, "invalid", []string{"/expires_at"}},
		"override/no zone":      {"POST", "override", `{"rule_id":"api","limit":"gcra:1/1s","expires_at":"2026-12-01T00:00:00","reason":"r"}`, 422, "invalid", []string{"/expires_at"}},
		"override/empty reason": {"POST", "override", `{"rule_id":"api","limit":"gcra:1/1s","expires_at":"2026-12-01T00:00:00Z","reason":""}`, 422, "invalid", []string{"/reason"}},
		"override/long reason":  {"POST", "override", `{"rule_id":"api","limit":"gcra:1/1s","expires_at":"2026-12-01T00:00:00Z","reason":"` + long + `"}`, 422, "invalid", []string{"/reason"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.call("write-a", c.method, "/api/v1/users/me/"+c.target, c.body)
			a.t = t
			a.is(c.status).has(c.anchor, c.pointers...)
		})
	}
	s.call("read-a", "GET", "/api/v1/users/"+strings.Repeat("u", 1025)+"/limits", "").is(422).has("invalid", "id")
	s.call("read-a", "GET", "/api/v1/users//limits", "").is(422).has("invalid", "id")
	s.call("read-a", "GET", "/api/v1/users/%ff/limits", "").is(422).has("invalid", "id")
	s.call("read-a", "GET", "/api/v1/users/me/limits?x=1", "").is(400).has("malformed", "x")
	s.call("write-a", "POST", "/api/v1/users/me/override", `{"rule_id":"api","limit":"gcra:1/1s","expires_at":"2027-02-27T12:00:00Z","reason":"r"}`).is(201)
	for range 99 {
		s.call("write-a", "POST", "/api/v1/users/me/override", `{"rule_id":"both","limit":0,"expires_at":"2026-12-01T00:00:00Z","reason":"r"}`).is(201)
	}
	s.call("write-a", "POST", "/api/v1/users/me/override", `{"rule_id":"api","limit":0,"expires_at":"2026-12-01T00:00:00Z","reason":"r"}`).is(409).has("conflict")
}
