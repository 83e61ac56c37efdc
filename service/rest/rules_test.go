package rest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/policy"
)

// TestRulesAreMadeReadReplacedAndDeleted by somebody who knows their ETag.
func TestRulesAreMadeReadReplacedAndDeleted(t *testing.T) {
	s := newServer(t, setup{})
	const rule = `{"id":"search","name":"Suche ü","key":["user"],"match":{"endpoints":["GET /search"],"attributes":{"org":"!acme"}},"limit":"gcra:30/1m","created_at":"2000-01-01T00:00:00Z"}`
	made := s.call("write-a", "POST", "/api/v1/rules", rule).is(201)
	want := `{"id":"search","match":{"endpoints":["GET /search"],"attributes":{"org":["!acme"]}},"key":["user"],"limit":{"spec":"gcra:30/1m"},"name":"Suche ü","created_at":"2026-11-29T12:00:00Z","updated_at":"2026-11-29T12:00:00Z"}`
	if string(made.body) != want || made.header.Get("Location") != "/api/v1/rules/search" {
		t.Errorf("\n got %s\nwant %s\n%v", made.body, want, made.header)
	}
	got := s.call("read-a", "GET", "/api/v1/rules/search", "").is(200)
	if string(got.body) != want || got.header.Get("ETag") != made.header.Get("ETag") {
		t.Errorf("%s %v", got.body, got.header)
	}
	s.clock.Add(time.Hour)
	const changed = `{"id":"search","key":["user"],"limits":{"a":"gcra:1/1s","b":{"tier":"api"}},"mode":"shadow","on_failure":"open"}`
	old := made.header.Get("ETag")
	s.call("write-a", "PUT", "/api/v1/rules/search", changed).is(428).has("condition-required", "If-Match")
	s.call("write-a", "PUT", "/api/v1/rules/search", changed, "If-Match", `"other"`).is(412).has("changed", "If-Match")
	s.call("write-a", "PUT", "/api/v1/rules/search", changed, "If-Match", "W/"+old).is(412).has("changed", "If-Match")
	replaced := s.call("write-a", "PUT", "/api/v1/rules/search", changed, "If-Match", `"x", `+old).is(200)
	if replaced.field("created_at") != "2026-11-29T12:00:00Z" || replaced.field("updated_at") != "2026-11-29T13:00:00Z" || replaced.field("name") != nil || replaced.header.Get("ETag") == old {
		t.Errorf("%s %v", replaced.body, replaced.header)
	}
	s.call("write-a", "PUT", "/api/v1/rules/search", changed, "If-Match", old).is(412)
	s.call("write-a", "DELETE", "/api/v1/rules/search", "").is(428)
	s.call("write-a", "DELETE", "/api/v1/rules/search", "", "If-Match", old).is(412)
	if a := s.call("write-a", "DELETE", "/api/v1/rules/search", "", "If-Match", "*").is(204); len(a.body) != 0 {
		t.Errorf("%s", a.body)
	}
	s.call("write-a", "DELETE", "/api/v1/rules/search", "", "If-Match", "*").is(404).has("not-found")
	s.call("write-a", "PUT", "/api/v1/rules/search", changed, "If-Match", "*").is(404).has("not-found")
	s.call("read-a", "GET", "/api/v1/rules/search", "").is(404).has("not-found")
	s.call("read-b", "GET", "/api/v1/rules/api", "").is(200) // another tenant has its own
}

// TestWrongRules: nothing is written, and each error has its place in what was sent.
func TestWrongRules(t *testing.T) {
	s := newServer(t, setup{})
	_, version, err := s.tenants["a"].Rules.List(context.Background())
	s.must(err)
	for name, c := range map[string]struct {
		body     string
		status   int
		anchor   string
		pointers []string
	}{
		"no object":     {`1`, 400, "malformed", nil},
		"unknown field": {`{"id":"n","limit":"gcra:1/1s","burst":1}`, 400, "malformed", []string{"/burst"}},
		"below":         {`{"id":"n","limit":"gcra:1/1s","match":{"paths":[]}}`, 400, "malformed", []string{"/match/paths"}},
		"twice below":   {`{"id":"n","limit":"gcra:1/1s","match":{"endpoints":["/a"],"endpoints":["/b"]}}`, 400, "malformed", []string{"/match/endpoints"}},
		"no id":         {`{"limit":"gcra:1/1s"}`, 422, "invalid", []string{"/id"}},
		"no text":       {`{"id":1,"limit":"gcra:1/1s"}`, 422, "invalid", []string{"/id"}},
		"id":            {`{"id":"a b","limit":"gcra:1/1s"}`, 422, "invalid", []string{"/id"}},
		"name":          {`{"id":"n","limit":"gcra:1/1s","name":"` + strings.Repeat("ü", 201) + `"}`, 422, "invalid", []string{"/name"}},
		"several":       {`{"id":"n","limit":"gcra:0/1s","key":["user","nobody"],"mode":"on","endpoints_":1}`, 400, "malformed", []string{"/limit", "/key/1", "/mode", "/endpoints_"}},
		"values":        {`{"id":"n","endpoints":{"POST /a/b":"gcra:1/1s","x":"gcra:1"},"warn_at":101}`, 422, "invalid", []string{"/endpoints/x", "/warn_at"}},
		"escaped":       {`{"id":"n","endpoints":{"POST /a/b":"gcra:1"}}`, 422, "invalid", []string{"/endpoints/POST ~1a~1b"}},
		"taken":         {`{"id":"api","limit":"gcra:1/1s"}`, 409, "conflict", []string{"/id"}},
		"too large":     {`{"id":"` + strings.Repeat("n", MaxBody) + `"}`, 413, "too-large", nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.call("write-a", "POST", "/api/v1/rules", c.body)
			a.t = t
			a.is(c.status).has(c.anchor, c.pointers...)
		})
	}
	const body = `{"id":"api","limit":"gcra:1/1s"}`
	s.call("write-a", "PUT", "/api/v1/rules/login", body, "If-Match", "*").is(422).has("invalid", "/id")
	s.call("write-a", "POST", "/api/v1/rules", body, "Content-Type", "application/x-www-form-urlencoded").is(415).has("media-type")
	s.call("write-a", "DELETE", "/api/v1/rules/old", "", "If-Match", "*").is(409).has("conflict") // another rule replaces it
	if _, now, err := s.tenants["a"].Rules.List(context.Background()); err != nil || now != version {
		t.Errorf("the policy has changed: %v", err)
	}
}

// TestRulesComeInPages: also where rules come and go in between.
func TestRulesComeInPages(t *testing.T) {
	text := "version: 1\nrules:\n"
	for i := range 25 {
		text += fmt.Sprintf("- {id: r%02d, limit: \"gcra:1/1s\"}\n", i)
	}
	s := newServer(t, setup{policy: text})
	type page struct {
		Rules []struct {
			ID string
		}
		NextCursor    string `json:"next_cursor"`
		PolicyVersion string `json:"policy_version"`
	}
	all := func(limit int, between func(read int)) (ids string) {
		next := ""
		for n := 0; ; n++ {
			var p page
			s.call("read-a", "GET", fmt.Sprintf("/api/v1/rules?limit=%d&cursor=%s", limit, next), "").is(200).read(&p)
			for _, r := range p.Rules {
				ids += r.ID + " "
			}
			if next = p.NextCursor; next == "" || n > 100 || p.PolicyVersion == "" {
				return ids
			}
			between(n)
		}
	}
	want := all(200, nil)
	for _, limit := range []int{1, 7, 25} {
		if got := all(limit, func(int) {}); got != want {
			t.Errorf("pages of %d: %s", limit, got)
		}
	}
	got := all(10, func(n int) {
		if n == 0 { // the last one of the page before
			s.call("write-a", "DELETE", "/api/v1/rules/r09", "", "If-Match", "*").is(204)
		}
	})
	if got != want {
		t.Errorf("a rule that goes in between: %s", got)
	}
	for query, status := range map[string]int{"limit=0": 422, "limit=201": 422, "limit=x": 422, "cursor=x": 422, "cursor=%21": 422, "x=1": 400, "limit=1&limit=2": 400} {
		if a := s.call("read-a", "GET", "/api/v1/rules?"+query, ""); a.status != status {
			t.Errorf("%s: %d, want %d", query, a.status, status)
		}
	}
}

// TestRulesOfAFileAreReadOnly: 409 says where they are changed.
func TestRulesOfAFileAreReadOnly(t *testing.T) {
	s := newServer(t, setup{file: true})
	a := s.call("read-a", "GET", "/api/v1/rules", "").is(200)
	if len(a.field("rules").([]any)) != 4 || a.field("rules", 0, "created_at") != nil {
		t.Errorf("%s", a.body)
	}
	s.call("read-a", "GET", "/api/v1/rules/api", "").is(200)
	for _, a := range []*answer{
		s.call("write-a", "POST", "/api/v1/rules", `{"id":"n","limit":"gcra:1/1s"}`),
		s.call("write-a", "PUT", "/api/v1/rules/api", `{"id":"api","limit":"gcra:1/1s"}`),
		s.call("write-a", "DELETE", "/api/v1/rules/api", ""),
		s.call("write-a", "PUT", "/api/v1/users/u/tier", `{"tier":"paid"}`),
	} {
		if a.is(409).has("file-managed"); !strings.Contains(string(a.body), "policy.yaml") {
			t.Errorf("%s", a.body)
		}
	}
}

// TestAChangedRuleDecides: on this node, and on another one that follows the document.
func TestAChangedRuleDecides(t *testing.T) {
	s := newServer(t, setup{})
	a := s.call("write-a", "PUT", "/api/v1/rules/api", `{"id":"api","key":["user"],"limit":"gcra:7/1h"}`, "If-Match", "*").is(200)
	_, version, err := s.tenants["a"].Rules.List(t.Context())
	s.must(err)
	s.await("a", version)
	if got := s.call("check-a", "POST", "/api/v1/check", me).is(200); got.field("limit") != 7.0 {
		t.Errorf("after %s: %s", a.body, got.body)
	}
	if got := s.call("check-b", "POST", "/api/v1/check", me).is(200); got.field("limit") != 3.0 {
		t.Errorf("another tenant: %s", got.body)
	}
}

// TestPoliciesAreValidated: what is wrong is data, with its place.
func TestPoliciesAreValidated(t *testing.T) {
	s := newServer(t, setup{})
	a := s.call("read-a", "POST", "/api/v1/policy:validate", "version: 1\nrules:\n- {id: a, limit: \"fixed-window:1000/1m\", key: [ip]}\n", "Content-Type", "application/yaml").is(200)
	if a.field("valid") != true || a.field("version") == nil || len(a.field("errors").([]any)) != 0 || a.field("findings", 0, "line") == nil {
		t.Errorf("%s", a.body)
	}
	a = s.call("read-a", "POST", "/api/v1/policy:validate", "version: 1\nrules:\n- {id: a, limits: gcra:1/1s, ky: [ip]}\n", "Content-Type", "application/yaml").is(200)
	if a.field("valid") != false || a.field("version") != nil || len(a.field("errors").([]any)) < 2 || a.field("errors", 0, "line") != 3.0 || a.field("errors", 1, "suggestion") != "key" {
		t.Errorf("%s", a.body)
	}
	s.call("read-a", "POST", "/api/v1/policy:validate", `{"version":1}`).is(200)
	a = s.call("read-a", "POST", "/api/v1/policy:validate", `{"version":1,"attributes":{"k":{"secret":true}}}`).is(200)
	if a.field("valid") != false || a.field("errors", 0, "detail") == "" {
		t.Errorf("%s", a.body)
	}
	s.call("read-a", "POST", "/api/v1/policy:validate", "x", "Content-Type", "text/plain").is(415)
	s.call("read-a", "POST", "/api/v1/policy:validate", strings.Repeat("#", MaxBody+1), "Content-Type", "application/yaml").is(413)
	many := s.call("read-a", "POST", "/api/v1/policy:validate", "version: 1\nrules: ["+strings.Repeat("{},", 5000)+"{}]", "Content-Type", "application/yaml").is(200)
	if n := len(many.field("errors").([]any)); n != mostErrors {
		t.Errorf("%d errors are shown", n)
	}
}

func TestARequestIsExplained(t *testing.T) {
	s := newServer(t, setup{})
	a := s.call("read-a", "POST", "/api/v1/policy:explain", `{"identifier":"me","dimension":"USER","endpoint":"/login","method":"POST","attributes":{"ip":"192.0.2.1"}}`).is(200)
	if a.field("list") != "none" || a.field("tier") != "free" || a.field("rules", 0, "limits", 0, "source") != "tier" ||
		a.field("rules", 1, "endpoint") != "POST /login" || a.field("rules", 2, "applies") != "key attribute missing" || a.field("rules", 2, "detail") != "org" {
		t.Errorf("%s", a.body)
	}
	if a = s.call("read-a", "POST", "/api/v1/policy:explain", strings.Replace(me, "me", "villain", 1)).is(200); a.field("list") != "denied" {
		t.Errorf("%s", a.body)
	}
	s.call("read-a", "POST", "/api/v1/policy:explain", `{"identifier":"me","cost":1}`).is(400).has("malformed", "/cost")
	s.call("read-a", "POST", "/api/v1/policy:explain", `{}`).is(422).has("invalid", "/identifier", "/dimension", "/endpoint")
	if q := s.call("check-a", "GET", "/api/v1/quota?identifier=me&dimension=USER&endpoint=/", ""); q.field("remaining") != 3.0 {
		t.Errorf("an explanation charges: %s", q.body)
	}
}

// TestARuleHasEveryFieldOfAPolicy: what a policy has, the document has.
func TestARuleHasEveryFieldOfAPolicy(t *testing.T) {
	properties := description31.Components.Schemas["Rule"].Value.Properties
	var missing []string
	for _, name := range append(jsonNames(policy.Rule{}), "name", "created_at", "updated_at") {
		if properties[name] == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		t.Errorf("the schema Rule has no %v", missing)
	}
}

// TestARuleWithAScheduleDecidesByTheTime: and explanations and the limits of a user say so.
func TestARuleWithAScheduleDecidesByTheTime(t *testing.T) {
	s := newServer(t, setup{}) // it is Sunday noon
	rule := `{"id":"api","key":["user"],"limit":"gcra:7/1h","schedule":[{"when":"Sun 12:00-13:00","limit":"gcra:9/1h"}]}`
	a := s.call("write-a", "PUT", "/api/v1/rules/api", rule, "If-Match", "*").is(200)
	if a.field("schedule", 0, "when") != "Sun 12:00-13:00" {
		t.Errorf("%s", a.body)
	}
	_, version, err := s.tenants["a"].Rules.List(t.Context())
	s.must(err)
	s.await("a", version)
	if got := s.call("check-a", "POST", "/api/v1/check", me).is(200); got.field("limit") != 9.0 {
		t.Errorf("%s", got.body)
	}
	if got := s.call("read-a", "POST", "/api/v1/policy:explain", me).is(200); got.field("rules", 0, "limits", 0, "when") != "Sun 12:00-13:00" {
		t.Errorf("%s", got.body)
	}
	if got := s.call("read-a", "GET", "/api/v1/users/me/limits", "").is(200); got.field("limits", 0, "when") != "Sun 12:00-13:00" || got.field("limits", 0, "limit") != 9.0 {
		t.Errorf("%s", got.body)
	}
	s.clock.Add(time.Hour)
	if got := s.call("check-a", "POST", "/api/v1/check", me).is(200); got.field("limit") != 7.0 {
		t.Errorf("an hour later: %s", got.body)
	}
	s.call("write-a", "PUT", "/api/v1/rules/api", strings.Replace(rule, "gcra:9", "token-bucket:9", 1), "If-Match", "*").is(422)
}
