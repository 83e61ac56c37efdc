package service

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
)

// FuzzListeners: no request to the listeners http and admin, with everything that they may
// serve, makes a handler panic or answer with 500 or more, and no answer is larger than 4 MiB.
// FuzzRoutes of package rest holds the answers of REST against their document as well.
func FuzzListeners(f *testing.F) {
	const form, data = "application/x-www-form-urlencoded", "application/json"
	for _, c := range [][5]string{
		{"GET", "/healthz", "", "", ""}, {"GET", "/readyz", "", "", ""}, {"GET", "/healthcheck", "", "", ""}, {"GET", "/metrics", "", "", "Bearer token-writer"},
		{"GET", "/rlconfig", "", "", "Bearer token-writer"}, {"GET", "/v1/HealthCheck", "", "", ""}, {"GET", "/v1/LiveCheck", "", "", ""},
		{"POST", "/json", `{"domain":"shop","descriptors":[{"entries":[{"key":"path","value":"x"}]}]}`, data, "Bearer token-writer"},
		{"POST", "/v1/GetRateLimits", `{"requests":[{"name":"n","unique_key":"k","hits":1,"limit":2,"duration":3600000}]}`, data, "Bearer token-writer"},
		{"POST", "/api/v1/check", `{"identifier":"me","dimension":"USER","endpoint":"/"}`, data, "Bearer token-writer"},
		{"PUT", "/api/v1/rules/user", `{"id":"user","key":["user"],"limit":"gcra:3/1h"}`, data, "Bearer token-writer"},
		{"GET", "/ui/", "", "", "Bearer token-reader"}, {"GET", "/ui/rules", "", "", "Bearer token-reader"}, {"GET", "/ui/rule?id=user", "", "", "Bearer token-reader"},
		{"GET", "/ui/policy", "", "", "Bearer token-reader"}, {"GET", "/ui/audit", "", "", "Bearer token-reader"}, {"GET", "/ui/events", "", "", "Bearer token-reader"},
		{"GET", "/ui/data?minutes=60", "", "", "Bearer token-reader"}, {"GET", "/ui/page.css", "", "", ""}, {"HEAD", "/ui/explain", "", "", "Bearer token-reader"},
		{"POST", "/ui/explain", "endpoint=%2F&method=GET&attributes=user%3Dme", form, "Bearer token-reader"},
		{"POST", "/ui/mode", "rule=user&mode=shadow&version=x", form, "Bearer token-writer"},
		{"POST", "/ui/sign-in", "token=token-reader&tenant=default", form, ""}, {"POST", "/ui/sign-out", "", form, ""},
		{"GET", "/ui/../api//v1/%00", "", "multipart/form-data; boundary=", "Basic"},
	} {
		f.Add(c[0], c[1], c[2], c[3], c[4], "weir_ui=dG9rZW4tcmVhZGVy.")
	}
	const many = "gcra:1000000000/1s"
	folder := files(f, "callers.yaml", callers("writer write default", "reader read default"),
		"envoy.yaml", "domain: shop\ndescriptors: [{key: path, rate_limit: {unit: hour, requests_per_unit: 2}}]\n",
		"weir.yaml", free+"limits: {api: 'fixed-window:2/1h'}\nrls: {files: [envoy.yaml]}\ngubernator: {enabled: true}\nauth: {file: callers.yaml}\nstore: {max_keys: 1000}\n"+
			"on_failure: open\nself_limits: {checks: '"+many+"', reads: '"+many+"', writes: '"+many+"'}\n")
	s := runLogged(f, load(f, folder), &Options{}, slog.New(slog.DiscardHandler))
	servertest.Await(f, "the service is ready", func() bool { return s.ready.why() == "" }) // until then /readyz answers 503
	f.Fuzz(func(t *testing.T, method, target, body, media, authorization, cookie string) {
		path, query, _ := strings.Cut(target, "?")
		u := &url.URL{Path: path, RawQuery: query}
		if unescaped, err := url.PathUnescape(path); err == nil {
			u.Path, u.RawPath = unescaped, path
		}
		for _, handler := range []http.Handler{s.http.Handler, s.admin.Handler} {
			ctx, cancel := context.WithCancel(t.Context())
			r := httptest.NewRequestWithContext(ctx, "GET", "/", strings.NewReader(body))
			r.Method, r.URL = method, u
			for name, value := range map[string]string{"Content-Type": media, "Authorization": authorization, "Cookie": cookie} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			w := &leaving{httptest.NewRecorder(), cancel}
			handler.ServeHTTP(w, r)
			if cancel(); w.Code >= 500 {
				t.Errorf("%s %q: %d %s", method, target, w.Code, w.Body)
			}
			if w.Body.Len() > 4<<20 {
				t.Errorf("%s %q: an answer of %d bytes", method, target, w.Body.Len())
			}
		}
	})
}

// leaving is a client that leaves when a stream has begun: otherwise it would not end.
type leaving struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (l *leaving) Flush() { l.leave() }

// FlushError is Flush for those who look at its error.
func (l *leaving) FlushError() error {
	l.leave()
	return nil
}
