package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
)

const threeTiers = `
version: 1
default_tier: free
attributes: {user: {}, tier: {}}
tiers:
  free:    {limits: {api: "gcra:5/1h"}}
  premium: {extends: free, limits: {api: "gcra:10/1h"}}
rules:
  - {id: login, match: {endpoints: ["POST /login"]}, key: [ip], limit: "fixed-window:1/1m"}
  - {id: api, match: {endpoints: ["/api/"]}, key: [user], limit: {tier: api}, on_missing: deny}
  - {id: trial, match: {endpoints: ["/api/"]}, key: [ip], limit: "gcra:1/1h", mode: shadow}
  - {id: closed, match: {endpoints: ["/closed"]}, key: [ip], limit: "0"}
lists:
  deny: [{match: {ip: 198.51.100.0/24}, until: 2036-01-01T00:00:00Z, reason: scan}]
`

func newPolicy(t *testing.T, s store.Store, clock store.Clock, address *httplimit.ClientAddress) *httplimit.Middleware {
	t.Helper()
	file, err := policy.Parse([]byte(threeTiers), nil)
	if err != nil {
		t.Fatal(err)
	}
	multi, err := weir.NewMultiLimiter(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := policy.NewEnforcer(multi, file.Compiled, &policy.EnforcerOptions{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	m, err := httplimit.NewPolicy(e, address, map[string]httplimit.Key{"user": httplimit.Header("X-User"), "tier": httplimit.Header("X-Tier")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// request makes one of a client behind the proxy 10.0.0.1.
func request(method, path, client string, headers ...string) *http.Request {
	r := get("10.0.0.1:1", append(headers, "X-Forwarded-For", client)...)
	r.Method, r.URL.Path = method, path
	return r
}

func TestPolicyDecides(t *testing.T) {
	clock := &movable{midnight}
	behind, err := httplimit.NewClientAddress(&httplimit.AddressOptions{Trusted: []string{"10.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	h := newPolicy(t, newMemory(t, clock), clock, behind).Handler(hello)
	const v6, v6too = "2001:db8:1:2::1", "2001:db8:1:2::2"
	for i, test := range []struct {
		r             *http.Request
		status        int
		limit, policy string
	}{
		{request("POST", "/login", v6), 200, `"login";r=0;t=60;weir-standing=warning`, `"login";q=1;w=60`},
		{request("POST", "/login", v6too), 429, `"login";r=0;t=60;weir-standing=throttled`, `"login";q=1;w=60`}, // the same /64
		{request("POST", "/login", "203.0.113.9"), 200, `"login";r=0;t=60;weir-standing=warning`, `"login";q=1;w=60`},
		{request("GET", "/api/items", v6, "X-User", "a"), 200, `"api";r=4;t=720`, `"api";q=5;w=3600`},
		{request("GET", "/api/items", v6, "X-User", "b", "X-Tier", "premium"), 200, `"api";r=9;t=360`, `"api";q=10;w=3600`},
		{request("GET", "/api/items", v6), 403, "", ""},
		{request("GET", "/closed", v6), 403, "", ""},
		{request("GET", "/free", v6), 200, "", ""},
		{request("GET", "/free", "198.51.100.7"), 403, "", ""},
	} {
		w := serve(h, test.r)
		if w.Code != test.status || w.Header().Get("RateLimit") != test.limit || w.Header().Get("RateLimit-Policy") != test.policy {
			t.Errorf("request %d: %d %v", i, w.Code, w.Header())
		}
		if body := w.Body.String(); strings.Contains(body, "scan") || strings.Contains(body, v6) {
			t.Errorf("request %d: %s", i, body)
		}
		if w.Code == 429 && (w.Header().Get("Retry-After") != "60" || fmt.Sprint(problemOf(t, w).Violated) != "[login]") {
			t.Errorf("request %d: %v %s", i, w.Header(), w.Body)
		}
	}
}

// down is a store that a policy cannot ask.
type down struct{ store.Store }

func (down) Apply(context.Context, []store.Op) (at algorithm.Instant, committed bool, err error) {
	return 0, false, store.ErrUnavailable
}

func TestPolicyOfStoreThatFails(t *testing.T) {
	clock := &movable{midnight}
	h := newPolicy(t, down{newMemory(t, clock)}, clock, nil).Handler(hello)
	r := get("203.0.113.7:1", "X-User", "a")
	r.URL.Path = "/api/items"
	if w := serve(h, r); w.Code != 503 || !strings.HasSuffix(problemOf(t, w).Type, "#temporary-reduced-capacity") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestNewPolicyRefuses(t *testing.T) {
	clock := &movable{midnight}
	file := weir.Must(policy.Parse([]byte(threeTiers), nil))
	e := weir.Must(policy.NewEnforcer(weir.Must(weir.NewMultiLimiter(newMemory(t, clock), nil)), file.Compiled, nil))
	none := map[string]httplimit.Key{}
	for want, build := range map[string]func() (*httplimit.Middleware, error){
		"enforcer is nil": func() (*httplimit.Middleware, error) { return httplimit.NewPolicy(nil, nil, none, nil) },
		"Options.Absent is 2": func() (*httplimit.Middleware, error) {
			return httplimit.NewPolicy(e, nil, none, &httplimit.Options{Absent: httplimit.AbsentSkip})
		},
		"Options.Absent is 9": func() (*httplimit.Middleware, error) {
			return httplimit.NewPolicy(e, nil, none, &httplimit.Options{Absent: 9})
		},
		"Options.Cost": func() (*httplimit.Middleware, error) {
			return httplimit.NewPolicy(e, nil, none, &httplimit.Options{Cost: func(*http.Request) int64 { return 1 }})
		},
		`attributes is "ip"`: func() (*httplimit.Middleware, error) {
			return httplimit.NewPolicy(e, nil, map[string]httplimit.Key{"ip": httplimit.RemoteAddress}, nil)
		},
		"attributes[user] is nil": func() (*httplimit.Middleware, error) {
			return httplimit.NewPolicy(e, nil, map[string]httplimit.Key{"user": nil}, nil)
		},
	} {
		if m, err := build(); m != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestPolicyFieldFollowsThePolicy: RateLimit-Policy of a limit with the same name is that
// of the policy which decides now.
func TestPolicyFieldFollowsThePolicy(t *testing.T) {
	clock := &movable{midnight}
	compiled := func(limit string) *policy.Compiled {
		return weir.Must(policy.Parse([]byte(strings.ReplaceAll(threeTiers, "gcra:5/1h", limit)), nil)).Compiled
	}
	multi := weir.Must(weir.NewMultiLimiter(newMemory(t, clock), nil))
	e := weir.Must(policy.NewEnforcer(multi, compiled("gcra:5/1h"), &policy.EnforcerOptions{Clock: clock}))
	h := weir.Must(httplimit.NewPolicy(e, nil, map[string]httplimit.Key{"user": httplimit.Header("X-User"), "tier": httplimit.Header("X-Tier")}, nil)).Handler(hello)
	for _, test := range []struct{ limit, tier, want string }{
		{"gcra:5/1h", "free", `"api";q=5;w=3600`},
		{"gcra:5/1h", "free", `"api";q=5;w=3600`},
		{"gcra:5/1h", "premium", `"api";q=10;w=3600`},
		{"gcra:7/1h", "free", `"api";q=7;w=3600`},
		{"gcra:7/1h", "premium", `"api";q=10;w=3600`},
		{"gcra:5/1h", "free", `"api";q=5;w=3600`},
	} {
		if _, err := e.Swap(compiled(test.limit)); err != nil {
			t.Fatal(err)
		}
		r := get("203.0.113.7:1", "X-User", test.tier, "X-Tier", test.tier)
		r.URL.Path = "/api/items"
		if got := serve(h, r).Header().Get("RateLimit-Policy"); got != test.want {
			t.Errorf("%s, %s: %s, want %s", test.limit, test.tier, got, test.want)
		}
	}
}
