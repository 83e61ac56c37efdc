package service

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/service/auth"
	"github.com/weirgo/weir/service/config"
	"github.com/weirgo/weir/service/rest"
	"github.com/weirgo/weir/ui"
)

// pagePrefix is where the page for operators is served.
const pagePrefix = "/ui/"

// shownChanges is how many lines of the audit the page shows.
const shownChanges = 100

// sessionCookie has the token of an operator who has signed in, and the tenant.
const sessionCookie = "weir_ui"

// mostCookie is what browsers keep of a cookie.
const mostCookie = 4000

// policyVersions are the policy of a tenant and the one before it.
type policyVersions struct {
	mu              sync.Mutex
	current, before *policy.File
}

// next notes the policy that decides now.
func (v *policyVersions) next(f *policy.File) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.current != nil && f.Compiled.Version() != v.current.Compiled.Version() {
		v.before = v.current
	}
	v.current = f
}

// shown is what the page shows of the policy of a tenant.
func (t *tenant) shown() ui.Policy {
	st := t.watcher.Status()
	t.versions.mu.Lock()
	defer t.versions.mu.Unlock()
	return ui.Policy{File: t.versions.current, Before: t.versions.before, Since: st.Since, Revision: st.Revision, Err: st.Err}
}

// verdictObservers call each of several observers of a policy.
type verdictObservers []policy.Observer

// ObserveVerdict implements policy.Observer.
func (all verdictObservers) ObserveVerdict(ctx context.Context, v *policy.Verdict, err error) {
	for _, each := range all {
		each.ObserveVerdict(ctx, v, err)
	}
}

// watchFront reads the counts of a store of a front, which has no tenant: the page of the
// default one shows it.
func (s *Service) watchFront(name string, made *stack) {
	watchStack(s.metrics, name, made)
	watchStack(s.tenants[config.DefaultTenant].recorder, name, made)
}

// openPages makes the page of each tenant.
func (s *Service) openPages(c *config.Config, h *rest.Handler) error {
	for name, t := range s.tenants {
		o := &ui.Options{
			Title: "weir", ShowKeys: c.UI.ShowKeys, HashKey: t.hashKey, Policy: t.shown, Account: s.account,
			Explain: func(ctx context.Context, r policy.Request) (policy.Explanation, error) {
				if tenant := t.engine.Tenant(); tenant != "" {
					r.Attributes["tenant"] = tenant // whatever was sent
				}
				return t.engine.Enforcer().Explain(ctx, r)
			},
		}
		if name != config.DefaultTenant {
			o.Title = "weir: " + name
		}
		if s.audit != nil {
			o.Audit = func(*http.Request) ([]ui.AuditEntry, error) { return s.changes(name) }
		}
		switch {
		case t.rules == nil:
			o.ManagedBy = "Rules are changed in the file " + t.file + "."
		case c.Auth == nil:
			o.ManagedBy = "The page changes nothing where callers are not told apart: it needs auth.file."
		default:
			o.SetMode = func(r *http.Request, c ui.ModeChange) error { return h.SetMode(r, c.Rule, c.Mode, c.Version) }
		}
		var err error
		if t.page, err = ui.New(t.recorder, o); err != nil {
			return err
		}
	}
	return nil
}

// changes are the last lines of the audit of a tenant.
func (s *Service) changes(tenant string) ([]ui.AuditEntry, error) {
	entries, err := s.audit.Last(tenant, shownChanges)
	if err != nil {
		s.log.Error("the audit cannot be read", "error", err)
		return nil, errors.New("see the log of the service")
	}
	shown := make([]ui.AuditEntry, len(entries))
	for i, e := range entries {
		shown[i] = ui.AuditEntry{Time: e.Time, Actor: e.Actor, Action: e.Action, Target: e.Target, Result: e.Result, PolicyVersion: e.PolicyVersion}
	}
	return shown, nil
}

// account is who looks at a page: nobody where callers are not told apart.
func (s *Service) account(r *http.Request) ui.Account {
	c, known := auth.CallerOf(r.Context())
	if !known || s.config.Load().Auth == nil {
		return ui.Account{}
	}
	_, err := r.Cookie(sessionCookie)
	return ui.Account{Name: c.Name, Role: string(c.Role), MayWrite: c.Role.May(auth.Write), SignOut: err == nil}
}

// pageHandler serves the page of the tenant of the caller. Who asks without a token, or with a
// wrong one, is asked to sign in; the token is then in a cookie that no script reads and no
// other site sends. What is the same for everybody is shown to everybody.
func (s *Service) pageHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] // as the page reads it
		switch {
		case ui.IsAsset(r):
			s.tenants[config.DefaultTenant].page.ServeHTTP(w, r)
			return
		case name == "sign-in", name == "sign-out":
			s.session(w, r, name == "sign-in")
			return
		}
		r = withSession(r)
		action, target := auth.Read, r.Method+" "+pagePrefix
		if r.Method == http.MethodPost && name == "mode" {
			action, target = auth.Write, target+name
		}
		c, err := s.guard.Authorize(r.Context(), auth.RequestOf(r, action, target))
		if err != nil {
			s.signIn(w, err)
			return
		}
		s.tenants[c.Tenant].page.ServeHTTP(w, r.WithContext(auth.WithCaller(r.Context(), c)))
	})
}

// session signs in or out: it sets the cookie, or removes it.
func (s *Service) session(w http.ResponseWriter, r *http.Request, in bool) {
	if r.Method != http.MethodPost {
		w.Header().Set("Location", "./")
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		s.writeSignIn(w, http.StatusForbidden, "The form was sent by another site.")
		return
	}
	// Without Path it is for the folder of this request, as the browser sees it.
	cookie := &http.Cookie{
		Name: sessionCookie, MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	}
	if in {
		r.Body = http.MaxBytesReader(w, r.Body, maxMessage)
		if err := r.ParseForm(); err != nil {
			s.writeSignIn(w, http.StatusBadRequest, "The form cannot be read.")
			return
		}
		cookie.MaxAge = 0 // until the browser is closed
		cookie.Value = sessionOf(r.PostForm.Get("token"), r.PostForm.Get("tenant"))
		if len(cookie.Value) > mostCookie {
			s.writeSignIn(w, http.StatusUnprocessableEntity, "The token is too long for a cookie.")
			return
		}
		tried := withSessionOf(r, cookie.Value)
		if _, err := s.guard.Authorize(r.Context(), auth.RequestOf(tried, auth.Read, "POST "+pagePrefix+"sign-in")); err != nil {
			s.signIn(w, err)
			return
		}
	}
	http.SetCookie(w, cookie)
	w.Header().Set("Location", "./")
	w.WriteHeader(http.StatusSeeOther)
}

// sessionOf is the value of the cookie.
func sessionOf(token, tenant string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(strings.TrimSpace(token))) + "." + encode([]byte(strings.TrimSpace(tenant)))
}

// withSession is a request with the token of its cookie, where it brings none itself.
func withSession(r *http.Request) *http.Request {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil || r.Header.Get("Authorization") != "" {
		return r
	}
	return withSessionOf(r, cookie.Value)
}

func withSessionOf(r *http.Request, session string) *http.Request {
	r = r.Clone(r.Context())
	token, tenant, _ := strings.Cut(session, ".")
	text, _ := base64.RawURLEncoding.DecodeString(token) // one that is not valid is no token that anybody has
	r.Header.Set("Authorization", "Bearer "+string(text))
	if name, _ := base64.RawURLEncoding.DecodeString(tenant); len(name) > 0 {
		r.Header.Set(auth.TenantHeader, string(name))
	}
	return r
}

// signIn asks to sign in, and says why the guard has refused.
func (s *Service) signIn(w http.ResponseWriter, err error) {
	status, message := http.StatusServiceUnavailable, "The service cannot answer now."
	var refused *auth.Error
	if errors.As(err, &refused) {
		message = strings.ToUpper(refused.Detail[:1]) + refused.Detail[1:] + "."
		switch refused.Reason {
		case auth.Unauthenticated:
			status = http.StatusUnauthorized
			w.Header().Set("WWW-Authenticate", `Bearer realm="weir"`)
		case auth.Forbidden:
			status = http.StatusForbidden
		case auth.Limited:
			status = http.StatusTooManyRequests
			w.Header().Set("Retry-After", strconv.FormatInt(int64((refused.RetryAfter+time.Second-1)/time.Second), 10))
		}
	}
	s.writeSignIn(w, status, message)
}

func (s *Service) writeSignIn(w http.ResponseWriter, status int, message string) {
	if err := ui.WriteSignIn(w, status, "weir", message, len(s.tenants) > 1); err != nil {
		s.log.Error("the page cannot be written", "error", err)
		http.Error(w, cmp.Or(message, http.StatusText(status)), status)
	}
}
