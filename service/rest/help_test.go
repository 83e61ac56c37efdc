package rest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/api"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/policy/watch"
	"github.com/weirgo/weir/service/audit"
	"github.com/weirgo/weir/service/auth"
	"github.com/weirgo/weir/service/document"
	"github.com/weirgo/weir/service/engine"
	"github.com/weirgo/weir/service/rules"
	"github.com/weirgo/weir/service/users"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

const examplePolicy = `version: 1
default_tier: free
tiers:
  free: {limits: {api: "gcra:3/1h"}, algorithms: [gcra, fixed-window]}
  paid: {limits: {api: "gcra:100/1h"}}
rules:
  - {id: api, key: [user], limit: {tier: api}}
  - {id: login, key: [ip], match: {endpoints: ["POST /login"]}, limit: "sliding-log:2/15m"}
  - {id: both, key: [org], limits: {minute: "gcra:5/1m", day: "fixed-window:50/24h"}, replaces: [old]}
  - {id: old, key: [org], limit: "gcra:1/1h", mode: shadow}
lists:
  deny: [{match: {user: villain}, until: 2026-12-01T00:00:00Z, reason: abuse}]
`

// server is a Handler with two tenants, a and b, whose tokens are ROLE-TENANT.
type server struct {
	t       testing.TB
	clock   *clock.Mock
	handler *Handler
	public  http.Handler
	admin   http.Handler
	tenants map[string]*Tenant
	audit   *audit.Log
	guard   *auth.Guard
	fail    atomic.Pointer[error] // in place of each call to a store
}

// setup changes how a server is made.
type setup struct {
	limits  auth.Limits
	policy  string // "" is examplePolicy
	file    bool   // the policy comes from a file
	noAudit bool
	skew    func(time.Duration)
}

func newServer(t testing.TB, of setup) *server {
	t.Helper()
	s := &server{t: t, clock: clock.NewMock(), tenants: map[string]*Tenant{}}
	s.clock.Set(noon)
	if of.limits == (auth.Limits{}) {
		of.limits = auth.Limits{Checks: "unlimited", Reads: "unlimited", Writes: "unlimited"}
	}
	if of.policy == "" {
		of.policy = examplePolicy
	}
	text := "version: 1\ncallers:\n"
	for _, tenant := range []string{"a", "b"} {
		for _, role := range []string{"check", "read", "write"} {
			sum := sha256.Sum256([]byte(role + "-" + tenant))
			text += fmt.Sprintf("- {name: %s-%s, token_sha256: %s, role: %[1]s, tenant: %[2]s}\n", role, tenant, hex.EncodeToString(sum[:]))
		}
		s.tenants[tenant] = s.tenant(tenant, of)
	}
	table, err := auth.ParseTable([]byte(text))
	s.must(err)
	s.guard, err = auth.New(table, &auth.Options{Tenants: []string{"a", "b"}, Limits: of.limits, Clock: s.clock})
	s.must(err)
	t.Cleanup(func() { s.guard.Close() })
	if !of.noAudit {
		s.audit, err = audit.Open(t.TempDir(), &audit.Options{Clock: s.clock})
		s.must(err)
		t.Cleanup(func() { s.audit.Close() })
	}
	find := func(name string) (*Tenant, error) {
		if found := s.tenants[name]; found != nil {
			return found, nil
		}
		return nil, &engine.Error{Code: engine.PermissionDenied, Message: "unknown tenant"}
	}
	s.handler, err = New(s.guard, find, &Options{Audit: s.audit, Clock: s.clock, Skew: of.skew, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	s.must(err)
	s.public, s.admin = s.handler.Public(), s.handler.Admin()
	return s
}

func (s *server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// tenant makes a tenant whose policy and users lie in documents in memory.
func (s *server) tenant(name string, of setup) *Tenant {
	ctx := context.Background()
	memory := weir.Must(memorystore.New(&memorystore.Options{Clock: s.clock, MaxKeys: 100_000}))
	docs := new(document.Memory).Document
	doc, err := docs("policy")
	s.must(err)
	made := &Tenant{Users: users.New(docs, s.clock)}
	stored, err := rules.Open(ctx, doc, &rules.Options{Initial: []byte(of.policy), Clock: s.clock})
	s.must(err)
	w, err := watch.New(ctx, doc, nil)
	s.must(err)
	made.File = w.File
	if of.file {
		made.ManagedBy, made.Users = "the file policy.yaml", nil
	} else {
		made.Rules = stored
	}
	wrapped := store.Wrap(memory, store.Hooks{
		Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
			if err := s.fail.Load(); err != nil {
				return 0, false, *err
			}
			return next(ctx, ops)
		},
		Once: func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error) {
			if err := s.fail.Load(); err != nil {
				return 0, false, *err
			}
			return next(ctx, o, ops)
		},
		Peek: func(ctx context.Context, ops []store.Op, next store.PeekFunc) (algorithm.Instant, error) {
			if err := s.fail.Load(); err != nil {
				return 0, *err
			}
			return next(ctx, ops)
		},
	})
	lookup := users.New(docs, s.clock).Lookup()
	lookup.Timeout = time.Minute // of the wall clock: on a busy machine, too
	made.Engine = weir.Must(engine.New(wrapped, &engine.Options{
		Tenant: name, Policy: w.Policy(), Timeout: time.Minute, Enforcer: &policy.EnforcerOptions{Clock: s.clock, Subjects: lookup},
	}))
	running, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); w.Run(running, made.Engine.Enforcer()) }()
	s.t.Cleanup(func() { stop(); <-done; made.Engine.Close(); memory.Close() })
	return made
}

// await waits until a tenant decides by a version of its policy.
func (s *server) await(tenant, version string) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); s.tenants[tenant].Engine.PolicyVersion() != version; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("the tenant %s never decides by %s", tenant, version)
		}
	}
}

// answer is an answer that was held against the OpenAPI document.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// call sends a request with a token to the route that has it, and holds the answer against
// the document.
func (s *server) call(token, method, target, body string, header ...string) *answer {
	s.t.Helper()
	return s.send(s.request(token, method, target, body, header...))
}

func (s *server) request(token, method, target, body string, header ...string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func (s *server) send(r *http.Request) *answer {
	s.t.Helper()
	handler := s.admin
	routes := adminRoutes
	if p := r.URL.EscapedPath(); strings.HasPrefix(p, "/api/v1/check") || strings.HasPrefix(p, "/api/v1/quota") {
		handler, routes = s.public, publicRoutes
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	a := &answer{s.t, w.Code, w.Result().Header, w.Body.Bytes()}
	found, _, _ := (&router{s.handler, routes}).find(r)
	if err := conforms(r, found, a); err != nil {
		s.t.Errorf("%s %s: status %d: %v\n%s", r.Method, r.URL.EscapedPath(), a.status, err, a.body)
	}
	return a
}

var description31 = func() *openapi3.T {
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI())
	if err != nil {
		panic(err)
	}
	return doc
}()

// conforms holds an answer against the OpenAPI document: that of the route, or, where no
// route was found, a problem.
func conforms(r *http.Request, of *route, a *answer) error {
	if a.header.Get("X-Request-Id") == "" || a.status >= 400 && a.status != 429 && a.header.Get("Content-Type") != "application/problem+json" {
		return fmt.Errorf("headers %v", a.header)
	}
	path, method := "/api/v1/openapi.json", http.MethodGet // its default answer
	if of != nil {
		path, method = of.path, of.method
	}
	item := description31.Paths.Value(path)
	if item == nil || item.GetOperation(method) == nil {
		return errors.New("the document has no such route")
	}
	options := &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true}
	input := &openapi3filter.RequestValidationInput{
		Request: r, Options: options,
		Route: &routers.Route{Spec: description31, Path: path, PathItem: item, Method: method, Operation: item.GetOperation(method)},
	}
	output := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: a.status, Header: a.header, Options: options}
	output.SetBodyBytes(a.body)
	return openapi3filter.ValidateResponse(context.Background(), output)
}

// is checks the status.
func (a *answer) is(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Errorf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// has checks the type of a problem and the pointers of its errors, in any order.
func (a *answer) has(anchor string, pointers ...string) *answer {
	a.t.Helper()
	var p struct {
		Type   string
		Errors []struct{ Pointer, Detail string }
	}
	if err := json.Unmarshal(a.body, &p); err != nil {
		a.t.Fatalf("%v: %s", err, a.body)
	}
	_, got, _ := strings.Cut(p.Type, "#")
	found := map[string]bool{}
	for _, e := range p.Errors {
		if found[e.Pointer] = true; e.Detail == "" {
			a.t.Errorf("no detail of %s: %s", e.Pointer, a.body)
		}
	}
	wrong := got != anchor || len(found) != len(pointers)
	for _, pointer := range pointers {
		wrong = wrong || !found[pointer]
	}
	if wrong {
		a.t.Errorf("problem %s at %v, want %s at %q: %s", got, found, anchor, pointers, a.body)
	}
	return a
}

// read decodes the body.
func (a *answer) read(into any) *answer {
	a.t.Helper()
	if err := json.Unmarshal(a.body, into); err != nil {
		a.t.Fatalf("%v: %s", err, a.body)
	}
	return a
}

// field returns a value of the body by its path.
func (a *answer) field(path ...any) any {
	a.t.Helper()
	var value any
	a.read(&value)
	for _, p := range path {
		switch p := p.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[p]
		case int:
			list, _ := value.([]any)
			if p >= len(list) {
				return nil
			}
			value = list[p]
		}
	}
	return value
}
