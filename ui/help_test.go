package ui

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/resilience"
	memorystore "github.com/weirgo/weir/store/memory"
)

const testPolicy = `version: 1
attributes: {plan: {}}
rules:
  - {id: user, key: [user], limit: "gcra:2/1h"}
  - {id: trial, key: [user], limit: "gcra:1/1h", mode: shadow}
overrides:
  - {rule: user, match: {user: [vip-4711]}, limit: "gcra:9/1h", until: 2100-01-01T00:00:00Z, reason: "<b>asked</b> for it"}
lists:
  deny: [{match: {user: [bad-4711]}, reason: "<script>alert(1)</script>"}]
`

// program is one with a policy and a page.
type program struct {
	*Handler
	recorder *Recorder
	enforcer *policy.Enforcer
	file     *policy.File
	options  *Options
	changed  []ModeChange
}

// open makes a program whose page is changed by adapt, if any.
func open(t *testing.T, adapt func(*Options)) *program {
	t.Helper()
	p := &program{recorder: still(t, 0), file: weir.Must(policy.Parse([]byte(testPolicy), nil))}
	s := weir.Must(memorystore.New(nil))
	t.Cleanup(func() { _ = s.Close() })
	limits := weir.Must(weir.NewMultiLimiter(s, &weir.Options{Observer: p.recorder}))
	p.enforcer = weir.Must(policy.NewEnforcer(limits, p.file.Compiled, &policy.EnforcerOptions{Observer: p.recorder, Sequential: true}))
	p.recorder.AddMemory("local", s)
	p.recorder.AddEnforcer("local", p.enforcer)
	p.recorder.AddBreaker("local", weir.Must(resilience.NewBreaker(s, nil)))
	p.options = &Options{
		Title: "Shop", Policy: func() Policy { return Policy{File: p.file, Since: start, Revision: 3} }, Explain: p.enforcer.Explain,
		Audit: func(*http.Request) ([]AuditEntry, error) {
			return []AuditEntry{{Time: start, Actor: "ann", Action: "rule.replace", Target: "rule:user", Result: "done", PolicyVersion: "v1"}}, nil
		},
		SetMode: func(_ *http.Request, c ModeChange) error { p.changed = append(p.changed, c); return nil },
		Account: func(*http.Request) Account { return Account{Name: "ann", Role: "write", MayWrite: true, SignOut: true} },
	}
	if adapt != nil {
		adapt(p.options)
	}
	p.Handler = weir.Must(New(p.recorder, p.options))
	return p
}

// decide decides n requests of a user.
func (p *program) decide(t *testing.T, user string, n int) {
	t.Helper()
	for range n {
		weir.Must(p.enforcer.Decide(t.Context(), policy.Request{Attributes: policy.Attributes{"user": user}}))
	}
}

func ask(h http.Handler, method, path string, form url.Values, heads ...string) (status int, body string, head http.Header) {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(heads); i += 2 {
		r.Header.Set(heads[i], heads[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String(), w.Header()
}

func get(t *testing.T, h http.Handler, path string) string {
	t.Helper()
	status, body, _ := ask(h, "GET", path, nil)
	if status != http.StatusOK {
		t.Fatalf("%s: %d\n%s", path, status, body)
	}
	return body
}

var allPaths = []string{"/", "/?range=hour", "/rules", "/rule?id=user", "/rule?id=trial", "/policy", "/explain", "/audit"}

var links = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)

func (p *program) form(mode string) url.Values {
	return url.Values{"rule": {"trial"}, "mode": {mode}, "version": {p.file.Compiled.Version()}}
}
