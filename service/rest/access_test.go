package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/service/auth"
	"github.com/weirgo/weir/service/version"
)

// target is a request to a route that finds something.
func (r *route) target() (target, body string) {
	target = strings.NewReplacer("{rule_id}", "api", "{id}", "me", "{override_id}", "x").Replace(r.path)
	switch {
	case strings.HasSuffix(r.path, "/quota"):
		target += "?identifier=me&dimension=USER&endpoint=/"
	case strings.HasSuffix(r.path, "/check"), strings.HasSuffix(r.path, ":explain"):
		body = me
	case r.method == "POST" || r.method == "PUT":
		body = `{"version":1}`
	}
	return target, body
}

// TestNoRouteWithoutAToken: every route, for every role, with a tenant that is that of the
// token, another one and none that there is.
func TestNoRouteWithoutAToken(t *testing.T) {
	s := newServer(t, setup{})
	roles := map[string]auth.Role{"check": auth.RoleCheck, "read": auth.RoleRead, "write": auth.RoleWrite}
	for _, r := range append(append([]*route{}, publicRoutes...), adminRoutes...) {
		target, body := r.target()
		if r.action != auth.Check && r.action != auth.Look && r.action != auth.Read && r.action != auth.Write {
			t.Errorf("%s does %s", r.name(), r.action)
		}
		for name, header := range map[string][]string{"none": nil, "wrong": {"Authorization", "Bearer x"}, "basic": {"Authorization", "Basic write-a"}, "hidden": {"X-Authorization", "Bearer write-a"}} {
			if a := s.call("", r.method, target, body, header...); a.status != 401 {
				t.Errorf("%s with the token %s: %d", r.name(), name, a.status)
			}
		}
		for name, role := range roles {
			for _, tenant := range []string{"", "a", "b", "c"} {
				var header []string
				if tenant != "" {
					header = []string{auth.TenantHeader, tenant}
				}
				a := s.call(name+"-a", r.method, target, body, header...)
				may := role.May(r.action) && (tenant == "" || tenant == "a")
				if may == (a.status == 401 || a.status == 403) {
					t.Errorf("%s as %s for the tenant %q: %d", r.name(), name, tenant, a.status)
				}
			}
		}
	}
	for _, target := range []string{"/", "/api/v1/", "/api/v1/rules/", "/api/v1/none", "/api/v2/check", "//api/v1/rules", "/api/v1/../v1/rules", "/api/v1/rules/a/b"} {
		if a := s.call("", "GET", target, ""); a.status != 401 {
			t.Errorf("%s without a token: %d", target, a.status)
		}
		if a := s.call("read-a", "GET", target, ""); a.status != 404 {
			t.Errorf("%s: %d", target, a.status)
		}
	}
	if a := s.call("write-a", "PATCH", "/api/v1/rules/api", "").is(405).has("method-not-allowed"); a.header.Get("Allow") != "DELETE, GET, PUT" {
		t.Errorf("%v", a.header)
	}
	w := httptest.NewRecorder()
	s.public.ServeHTTP(w, s.request("write-a", "GET", "/api/v1/rules", ""))
	if w.Code != http.StatusNotFound {
		t.Errorf("a route of operators on the listener for all: %d", w.Code)
	}
}

// TestRoutesAreThoseOfTheDocument: all of them, and no others.
func TestRoutesAreThoseOfTheDocument(t *testing.T) {
	ours := map[string]bool{}
	for _, r := range append(append([]*route{}, publicRoutes...), adminRoutes...) {
		ours[r.name()] = true
	}
	for path, item := range description31.Paths.Map() {
		for method := range item.Operations() {
			if name := method + " " + path; strings.HasPrefix(path, "/api/") {
				if !ours[name] {
					t.Errorf("no handler for %s", name)
				}
				delete(ours, name)
			}
		}
	}
	for name := range ours {
		t.Errorf("%s is not in the document", name)
	}
}

// deprecations are the routes that are going to end: a line here is a promise to those who
// call them.
var deprecations = map[string]version.Deprecation{}

// TestDeprecatedRoutesArePinned: each with headers, 6 months before its end.
func TestDeprecatedRoutesArePinned(t *testing.T) {
	for _, r := range append(append([]*route{}, publicRoutes...), adminRoutes...) {
		want, is := deprecations[r.name()]
		if is != (r.deprecated != nil) || is && *r.deprecated != want {
			t.Errorf("%s: deprecated %v, pinned %v", r.name(), r.deprecated, want)
		}
		if is && want.Check() != nil {
			t.Error(want.Check())
		}
	}
	s := newServer(t, setup{})
	old := *publicRoutes[0]
	old.deprecated = &version.Deprecation{Since: noon, Sunset: noon.AddDate(0, 6, 0), Successor: "/api/v2/check"}
	for _, body := range []string{me, "{"} { // with every answer
		w := httptest.NewRecorder()
		(&router{s.handler, []*route{&old}}).ServeHTTP(w, s.request("check-a", "POST", "/api/v1/check", body))
		if h := w.Header(); h.Get("Deprecation") != "@1795953600" || h.Get("Sunset") != "Sat, 29 May 2027 12:00:00 GMT" || h.Get("Link") != `</api/v2/check>; rel="successor-version"` {
			t.Errorf("%v", h)
		}
	}
	if a := s.call("check-a", "POST", "/api/v1/check", me); a.header.Get("Deprecation") != "" {
		t.Errorf("%v", a.header)
	}
}

// TestSelfLimitsAnswerWithAProblem: 429 with Retry-After, which no check was decided for.
func TestSelfLimitsAnswerWithAProblem(t *testing.T) {
	s := newServer(t, setup{limits: auth.Limits{Checks: "fixed-window:2/1s", Reads: "fixed-window:1/1m", Writes: "fixed-window:1/1m"}})
	for range 2 {
		s.call("check-a", "POST", "/api/v1/check", me).is(200)
	}
	for name, a := range map[string]*answer{
		"checks": s.call("check-a", "POST", "/api/v1/check", me),
		"reads":  last(s.call("read-a", "GET", "/api/v1/rules", ""), s.call("read-a", "GET", "/api/v1/rules", "")),
		"writes": last(s.call("write-a", "PUT", "/api/v1/users/u/tier", `{"tier":""}`), s.call("write-a", "PUT", "/api/v1/users/u/tier", `{"tier":""}`)),
	} {
		a.is(429).has("self-limited")
		if a.header.Get("Retry-After") == "" || a.header.Get("RateLimit") != "" {
			t.Errorf("%s: %v", name, a.header)
		}
	}
	s.call("check-b", "POST", "/api/v1/check", me).is(200)
	s.clock.Add(time.Second)
	if a := s.call("check-a", "GET", "/api/v1/quota?identifier=me&dimension=USER&endpoint=/", "").is(200); a.field("remaining") != 1.0 {
		t.Errorf("%s", a.body)
	}
}

func last(_, a *answer) *answer { return a }

// TestAHandlerThatPanicsAnswers500: and the server goes on.
func TestAHandlerThatPanicsAnswers500(t *testing.T) {
	s := newServer(t, setup{})
	s.tenants["a"] = &Tenant{}
	s.call("check-a", "POST", "/api/v1/check", me).is(500).has("internal")
	s.call("check-b", "POST", "/api/v1/check", me).is(200)
}

func TestNewRefusesNothing(t *testing.T) {
	s := newServer(t, setup{})
	for name, c := range map[string]func() (*Handler, error){
		"guard":  func() (*Handler, error) { return New(nil, func(string) (*Tenant, error) { return nil, nil }, nil) },
		"tenant": func() (*Handler, error) { return New(s.guard, nil, nil) },
	} {
		if _, err := c(); err == nil {
			t.Errorf("no %s is accepted", name)
		}
	}
	delete(s.tenants, "a") // the service has lost it
	s.call("check-a", "POST", "/api/v1/check", me).is(403).has("forbidden")
}
