package rest

import (
	"context"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/service/auth"
	"github.com/weirgo/weir/service/problem"
	"github.com/weirgo/weir/service/version"
)

// route is one method of one path.
type route struct {
	method string
	// path has parameters in braces, each a whole segment.
	path       string
	action     auth.Action
	handle     func(*call) error
	deprecated *version.Deprecation // nil: it is not
}

func (r *route) name() string { return r.method + " " + r.path }

var (
	publicRoutes = []*route{
		{method: "POST", path: "/api/v1/check", action: auth.Check, handle: (*call).check},
		{method: "GET", path: "/api/v1/quota", action: auth.Look, handle: (*call).quota},
		description,
	}
	adminRoutes = []*route{
		{method: "GET", path: "/api/v1/rules", action: auth.Read, handle: (*call).listRules},
		{method: "POST", path: "/api/v1/rules", action: auth.Write, handle: (*call).createRule},
		{method: "GET", path: "/api/v1/rules/{rule_id}", action: auth.Read, handle: (*call).getRule},
		{method: "PUT", path: "/api/v1/rules/{rule_id}", action: auth.Write, handle: (*call).replaceRule},
		{method: "DELETE", path: "/api/v1/rules/{rule_id}", action: auth.Write, handle: (*call).deleteRule},
		{method: "POST", path: "/api/v1/policy:validate", action: auth.Read, handle: (*call).validatePolicy},
		{method: "POST", path: "/api/v1/policy:explain", action: auth.Read, handle: (*call).explain},
		{method: "GET", path: "/api/v1/users/{id}/limits", action: auth.Read, handle: (*call).userLimits},
		{method: "PUT", path: "/api/v1/users/{id}/tier", action: auth.Write, handle: (*call).setTier},
		{method: "POST", path: "/api/v1/users/{id}/override", action: auth.Write, handle: (*call).createOverride},
		{method: "DELETE", path: "/api/v1/users/{id}/override/{override_id}", action: auth.Write, handle: (*call).deleteOverride},
		{method: "GET", path: "/api/v1/audit", action: auth.Read, handle: (*call).readAudit},
		description,
	}
	description = &route{method: "GET", path: "/api/v1/openapi.json", action: auth.Look, handle: (*call).describe}
)

// router finds the route of a request.
type router struct {
	handler *Handler
	routes  []*route
}

// ServeHTTP answers a request.
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := requestID(r.Header.Values("X-Request-Id"))
	w.Header().Set("X-Request-Id", id)
	route, params, allowed := rt.find(r)
	if route == nil { // for a caller who is known
		p := problem.New(problem.NotFound, "the service has no such route")
		if len(allowed) > 0 {
			p = problem.New(problem.MethodNotAllowed, "the route has the methods "+strings.Join(allowed, ", "))
		}
		rt.handler.guard.HTTP(auth.Look, "unknown route", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if len(allowed) > 0 {
				w.Header().Set("Allow", strings.Join(allowed, ", "))
			}
			p.Write(w)
		})).ServeHTTP(w, r)
		return
	}
	if rt.handler.routed != nil {
		rt.handler.routed(r.Context(), route.method, route.path)
	}
	rt.handler.guard.HTTP(route.action, route.name(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rt.handler.serve(&call{handler: rt.handler, route: route, params: params, id: id, w: w, r: r, ctx: r.Context()})
	})).ServeHTTP(w, r)
}

// find returns the route of a request and the values of its parameters, or else the
// methods that its path has. Paths are compared as they were sent, by segments, so that an
// escaped slash belongs to its segment.
func (rt *router) find(r *http.Request) (found *route, params map[string]string, allowed []string) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	sent := strings.Split(r.URL.EscapedPath(), "/")
	for _, route := range rt.routes {
		values, matches := match(strings.Split(route.path, "/"), sent)
		if !matches {
			continue
		}
		if route.method == method {
			return route, values, nil
		}
		allowed = append(allowed, route.method)
	}
	slices.Sort(allowed)
	return nil, nil, allowed
}

func match(path, sent []string) (params map[string]string, matches bool) {
	if len(path) != len(sent) {
		return nil, false
	}
	params = map[string]string{}
	for i, segment := range path {
		value, err := url.PathUnescape(sent[i])
		name, is := strings.CutPrefix(segment, "{")
		switch {
		case err != nil:
			return nil, false
		case is:
			params[strings.TrimSuffix(name, "}")] = value
		case value != segment:
			return nil, false
		}
	}
	return params, true
}

// requestID is what the caller calls the request, or a new name.
func requestID(sent []string) string {
	if len(sent) == 1 && len(sent[0]) >= 1 && len(sent[0]) <= 128 && !strings.ContainsFunc(sent[0], func(r rune) bool { return r <= ' ' || r > '~' }) {
		return sent[0]
	}
	return weir.NewID()
}

// call is a request that has found its route.
type call struct {
	handler *Handler
	route   *route
	params  map[string]string
	id      string
	w       http.ResponseWriter
	r       *http.Request
	ctx     context.Context
	caller  auth.Caller
	tenant  *Tenant
}

func (h *Handler) serve(c *call) {
	defer func() {
		if r := recover(); r != nil {
			h.log.Error("a handler has panicked", "route", c.route.name(), "panic", r, "stack", string(debug.Stack()))
			problem.New(problem.Internal, "").Write(c.w)
		}
	}()
	if c.route.deprecated != nil {
		c.route.deprecated.Header(c.w.Header())
	}
	err := c.begin()
	if err == nil {
		err = c.route.handle(c)
	}
	if err != nil {
		c.problemOf(err).Write(c.w)
	}
}

// begin finds the tenant of the caller.
func (c *call) begin() (err error) {
	c.caller, _ = auth.CallerOf(c.ctx) // the guard has found it
	c.tenant, err = c.handler.tenant(c.caller.Tenant)
	return err
}
