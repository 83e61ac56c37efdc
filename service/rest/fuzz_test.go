package rest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
)

// FuzzRoutes: no request makes a handler panic or answer 500; each answer is one of the
// document, and not much larger than what the service has.
func FuzzRoutes(f *testing.F) {
	for _, r := range append(append([]*route{}, publicRoutes...), adminRoutes...) {
		target, body := r.target()
		f.Add(r.method, target, body, "application/json", "", "")
	}
	for _, c := range [][6]string{
		{"POST", "/api/v1/check", `{"identifier":"é","dimension":"IP","endpoint":"*","cost":0,"attributes":{"ip":"::1","org":"x"},"idempotency_key":"k"}`, "application/x-www-form-urlencoded", "k", ""},
		{"POST", "/api/v1/rules", `{"id":"n","endpoints":{"POST /a":"gcra:1/1s"},"cost":{"attribute":"u","default":1},"mode":"enforce 10%","replaces":["api"]}`, "application/json", "", ""},
		{"PUT", "/api/v1/rules/api", `{"id":"api","key":["user"],"limits":{"a":{"tier":"api","spec":"gcra:1/1s"}}}`, "application/json", "", "*"},
		{"DELETE", "/api/v1/rules/old", "", "", "", `"x", *`},
		{"POST", "/api/v1/policy:validate", "version: 1\nrules:\n- {id: a, limit: gcra:1/1s}\n", "application/yaml", "", ""},
		{"PUT", "/api/v1/users/%2F%00/tier", `{"tier":"paid","custom_limits":{"api":0}}`, "application/json", "", ""},
		{"POST", "/api/v1/users/me/override", `{"rule_id":"api","limit":"gcra:1/1s","expires_at":"2026-12-01T00:00:00Z","reason":"r"}`, "application/json", "", ""},
		{"GET", "/api/v1/rules?limit=1&cursor=MSBhcGk", "", "", "", ""},
		{"GET", "/api/v1/audit?user=me&since=2026-11-29T00:00:00Z&cursor=1", "", "", "", ""},
		{"GET", "/api/v1/quota?identifier=a&dimension=ORG&endpoint=/&attribute=user%3Dx", "", "", "", ""},
		{"PATCH", "/api/v1/rules//..%2f", "\xff", "text/plain; =", "\x00", "W/"},
	} {
		f.Add(c[0], c[1], c[2], c[3], c[4], c[5])
	}
	s := newServer(f, setup{})
	f.Fuzz(func(t *testing.T, method, target, body, media, key, match string) {
		path, query, _ := strings.Cut(target, "?")
		u := &url.URL{Path: path, RawQuery: query}
		if unescaped, err := url.PathUnescape(path); err == nil {
			u.Path, u.RawPath = unescaped, path
		}
		send := func(handler http.Handler, routes []*route) {
			r := httptest.NewRequest("GET", "/", io.NopCloser(strings.NewReader(body)))
			r.Method, r.URL = method, u
			r.Header.Set("Authorization", "Bearer write-a")
			for name, value := range map[string]string{"Content-Type": media, "Idempotency-Key": key, "If-Match": match} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			found, _, _ := (&router{s.handler, routes}).find(r)
			a := &answer{t, w.Code, w.Result().Header, w.Body.Bytes()}
			if a.status >= 500 {
				t.Errorf("%s %q: %d %s", method, target, a.status, a.body)
			}
			if err := conforms(r, found, a); err != nil {
				t.Errorf("%s %q: %d %v\n%s", method, target, a.status, err, a.body)
			}
			if len(a.body) > 4<<20 {
				t.Errorf("%s %q: an answer of %d bytes", method, target, len(a.body))
			}
		}
		send(s.public, publicRoutes)
		send(s.admin, adminRoutes)
	})
}

// TestABodyIsNotReadBeyondItsBound: a client that sends without end costs no memory.
func TestABodyIsNotReadBeyondItsBound(t *testing.T) {
	s := newServer(t, setup{})
	for _, r := range append(append([]*route{}, publicRoutes...), adminRoutes...) {
		if r.method != "POST" && r.method != "PUT" {
			continue
		}
		target, _ := r.target()
		sent := &endless{}
		request := httptest.NewRequest(r.method, target, sent)
		request.Header.Set("Authorization", "Bearer write-a")
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("If-Match", "*")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := s.send(request)
		runtime.ReadMemStats(&after)
		if a.is(413).has("too-large"); sent.read > MaxBody+(64<<10) {
			t.Errorf("%s: %d bytes were read", r.name(), sent.read)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
			t.Errorf("%s: %d bytes of memory", r.name(), used)
		}
	}
}

// endless is a body without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read += len(p)
	return len(p), nil
}
