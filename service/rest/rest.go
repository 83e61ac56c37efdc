package rest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/service/audit"
	"github.com/weirgo/weir/service/auth"
	"github.com/weirgo/weir/service/engine"
	"github.com/weirgo/weir/service/rules"
	"github.com/weirgo/weir/service/users"
	"github.com/weirgo/weir/store"
)

// Tenant is what the routes work on.
type Tenant struct {
	// Engine answers checks; required.
	Engine *engine.Engine
	// File returns the policy in force as it was read. nil, or a nil File: there are no
	// rules.
	File func() *policy.File
	// Rules are where the rules can be changed. nil: they are read from File, and changes are
	// refused with 409 and ManagedBy.
	Rules *rules.Rules
	// ManagedBy says where rules have to be changed that cannot be changed here, such as
	// "the file policy.yaml".
	ManagedBy string
	// Users are where tiers and overrides are kept. nil: the routes of users but for their
	// limits are refused with 409.
	Users *users.Users
	// Compile are the options for policies that are validated: as those of the policy.
	Compile *policy.CompileOptions
}

// Options are the optional settings of a Handler. nil means all defaults.
type Options struct {
	// Audit is where changes are written down before they are made. nil: they are not.
	Audit *audit.Log
	// Skew gets the clock of the caller less that of this process, for each check with a
	// timestamp. It is called concurrently. nil is not called.
	Skew func(time.Duration)
	// Routed gets the context of a request that has found its route, with method and path of
	// the route, such as "GET" and "/api/v1/rules/{rule_id}". nil is not called.
	Routed func(ctx context.Context, method, path string)
	// Clock says when overrides may end. nil is the wall clock.
	Clock store.Clock
	// Logger gets errors that are no answer: never a key. nil is slog.Default.
	Logger *slog.Logger
}

// Handler answers the routes below /api/v1/. It is safe for concurrent use.
type Handler struct {
	guard  *auth.Guard
	tenant func(name string) (*Tenant, error)
	audit  *audit.Log
	skew   func(time.Duration)
	routed func(ctx context.Context, method, path string)
	now    func() time.Time
	log    *slog.Logger
}

// New returns a Handler. The guard stands in front of every route. tenant returns what a
// tenant has; its error is that of package engine, for a tenant that there is not.
func New(guard *auth.Guard, tenant func(name string) (*Tenant, error), opts *Options) (*Handler, error) {
	if guard == nil || tenant == nil {
		return nil, errors.New("rest: guard or tenant is nil: must not be")
	}
	if opts == nil {
		opts = &Options{}
	}
	h := &Handler{guard: guard, tenant: tenant, audit: opts.Audit, skew: opts.Skew, routed: opts.Routed, now: time.Now, log: opts.Logger}
	if opts.Clock != nil {
		h.now = opts.Clock.Now
	}
	if h.log == nil {
		h.log = slog.Default()
	}
	return h, nil
}

// Public are the routes for those who ask: check, quota, and the description.
func (h *Handler) Public() http.Handler { return &router{h, publicRoutes} }

// Admin are the routes for operators, and the description.
func (h *Handler) Admin() http.Handler { return &router{h, adminRoutes} }
