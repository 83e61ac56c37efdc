package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/store"
)

// Options are the optional settings of a Guard. nil means all defaults.
type Options struct {
	// Tenants are the tenants that the service has. nil is DefaultTenant alone. A caller of
	// another tenant is refused.
	Tenants []string
	// Limits are the limits of the service itself.
	Limits Limits
	// TenantLimits are Limits of single tenants; what is "" there is as in Limits.
	TenantLimits map[string]Limits
	// Refused is called for requests that are refused because their caller is not known or
	// may not do what it asks: for the audit. It is called concurrently, for 10 of them a
	// second and 100 at once, so that nobody fills a disk with refusals; Refusal.Missed
	// counts the others. nil is not called.
	Refused func(ctx context.Context, r Refusal)
	// Clock is what the self-limits count by. nil is the wall clock.
	Clock store.Clock
}

// Refusal is a request that was refused.
type Refusal struct {
	// Caller is empty where it is not known.
	Caller Caller
	// Remote is the address of the peer, Target the route or method.
	Remote, Target string
	Action         Action
	Err            *Error
	// Missed is how many refusals before this one were not reported.
	Missed int64
}

// Guard finds the caller of a request, and says whether the caller may do what it asks. It
// is safe for concurrent use.
type Guard struct {
	table   atomic.Pointer[Table] // nil: everybody is the caller anonymous
	tenants map[string]bool
	limits  *selfLimits
	refused func(ctx context.Context, r Refusal)
	counts  [Write + 1]atomic.Int64
	missed  atomic.Int64 // refusals that were not reported
}

// anonymous is everybody where there is no table.
var anonymous = Caller{Name: "anonymous", Role: RoleWrite, Tenant: DefaultTenant}

// New returns a Guard. A nil Table lets everybody do everything as the caller "anonymous"
// of DefaultTenant: on a loopback address, and where the configuration says insecure. A
// tenant or a self-limit that is not valid gives an error. Close frees what it holds.
func New(t *Table, opts *Options) (*Guard, error) {
	if opts == nil {
		opts = &Options{}
	}
	g := &Guard{tenants: map[string]bool{}, refused: opts.Refused}
	if g.refused == nil {
		g.refused = func(context.Context, Refusal) {}
	}
	names := opts.Tenants
	if names == nil {
		names = []string{DefaultTenant}
	}
	for _, name := range names {
		if !isName(name) {
			return nil, fmt.Errorf("auth: tenant %q is not allowed: must be %s", name, nameAllowed)
		}
		g.tenants[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(opts.TenantLimits)) {
		if !g.tenants[name] {
			return nil, fmt.Errorf("auth: limits of tenant %q: unknown tenant", name)
		}
	}
	if t == nil && !g.tenants[DefaultTenant] {
		return nil, fmt.Errorf("auth: without a table the tenants must have %q", DefaultTenant)
	}
	limits, err := newSelfLimits(opts.Limits, opts.TenantLimits, opts.Clock)
	if err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	g.limits = limits
	if t != nil {
		if err := g.Swap(t); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	return g, nil
}

// Close frees the self-limits. Requests are refused after that.
func (g *Guard) Close() error { return g.limits.store.Close() }

// Swap replaces the table: a request is judged by one of the two. A table with a tenant
// that the service does not have, and a table for a Guard without one, are refused, and
// the one before stays.
func (g *Guard) Swap(t *Table) error {
	if t == nil {
		return errors.New("auth: the table is nil")
	}
	for _, name := range t.Tenants() {
		if !g.tenants[name] {
			return fmt.Errorf("auth: callers have the unknown tenant %q: must be one of %s", name, strings.Join(slices.Sorted(maps.Keys(g.tenants)), ", "))
		}
	}
	g.table.Store(t)
	return nil
}

// Limited returns how many requests a self-limit has refused, by action.
func (g *Guard) Limited(a Action) int64 {
	if a < Open || a > Write {
		return 0
	}
	return g.counts[a].Load()
}

// Request is what a Guard sees of a request.
type Request struct {
	// Authorization are the values of the header or metadata of that name.
	Authorization []string
	// Subject is that of a client certificate that was verified; "" where there is none.
	Subject string
	// Tenant are the values of TenantHeader.
	Tenant []string
	// Remote is the address of the peer, Target the route or method: for the audit.
	Remote, Target string
	Action         Action

	peer net.Addr // in place of Remote where it is not nil: its text is made for a refusal only
}

// remote is the address of the peer.
func (r *Request) remote() string {
	if r.peer != nil {
		return r.peer.String()
	}
	return r.Remote
}

// Authorize returns the caller of a request that may go on. Otherwise the error is an
// *Error.
func (g *Guard) Authorize(ctx context.Context, r Request) (Caller, error) {
	c, refusal := g.admit(&r)
	if refusal == nil && r.Action != Open {
		wait, err := g.limits.take(ctx, c, r.Action)
		switch {
		case err != nil:
			return Caller{}, &Error{Reason: Unavailable, Detail: "the limits of the service cannot be asked", Err: err}
		case wait > 0:
			g.counts[r.Action].Add(1)
			return Caller{}, &Error{Reason: Limited, Detail: "too many requests of this kind to the service itself", RetryAfter: wait}
		}
	}
	if refusal != nil {
		g.report(ctx, Refusal{Caller: c, Remote: r.remote(), Target: r.Target, Action: r.Action, Err: refusal})
		return Caller{}, refusal
	}
	return c, nil
}

// report reports a refusal, or counts it where there are too many.
func (g *Guard) report(ctx context.Context, r Refusal) {
	if d, err := g.limits.refusals.Allow(ctx, "all"); err != nil || !d.Allowed {
		g.missed.Add(1)
		return
	}
	r.Missed = g.missed.Swap(0)
	g.refused(ctx, r)
}

// admit finds the caller and holds its role against the action.
func (g *Guard) admit(r *Request) (Caller, *Error) {
	if r.Action == Open {
		return Caller{}, nil
	}
	c, known := g.find(r)
	if !known {
		return Caller{}, &Error{Reason: Unauthenticated, Detail: "the request has no valid token"}
	}
	if len(r.Tenant) > 1 {
		return c, &Error{Reason: Forbidden, Detail: TenantHeader + " is given more than once"}
	}
	switch {
	case c.Tenant == AnyTenant && len(r.Tenant) == 0:
		return c, &Error{Reason: Forbidden, Detail: "the caller has to name a tenant in " + TenantHeader}
	case c.Tenant == AnyTenant:
		c.Tenant = r.Tenant[0]
	case len(r.Tenant) == 1 && r.Tenant[0] != c.Tenant:
		return c, &Error{Reason: Forbidden, Detail: "the tenant is not that of the caller"}
	}
	if !g.tenants[c.Tenant] {
		c.Tenant = ""
		return c, &Error{Reason: Forbidden, Detail: "the tenant is not known"}
	}
	if !c.Role.May(r.Action) {
		return c, &Error{Reason: Forbidden, Detail: fmt.Sprintf("the role %s may not %s", c.Role, r.Action)}
	}
	return c, nil
}

// find returns the caller. A token that is not valid is not made good by a certificate.
func (g *Guard) find(r *Request) (Caller, bool) {
	t := g.table.Load()
	if t == nil {
		return anonymous, true
	}
	if len(r.Authorization) == 0 {
		return t.bySubjectName(r.Subject)
	}
	if len(r.Authorization) > 1 {
		return Caller{}, false
	}
	scheme, token, _ := strings.Cut(r.Authorization[0], " ")
	token = strings.Trim(token, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return Caller{}, false
	}
	return t.byToken(token)
}

// Reason is why a Guard refuses.
type Reason int

const (
	// Unauthenticated: the caller is not known. 401, UNAUTHENTICATED.
	Unauthenticated Reason = iota + 1
	// Forbidden: the caller may not do this, or not for this tenant. 403, PERMISSION_DENIED.
	Forbidden
	// Limited: a self-limit refuses. 429, RESOURCE_EXHAUSTED.
	Limited
	// Unavailable: the Guard was closed. 503, UNAVAILABLE.
	Unavailable
)

// Error is a request that a Guard refuses.
type Error struct {
	Reason Reason
	Detail string
	// RetryAfter is the wait of Limited.
	RetryAfter time.Duration
	Err        error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return "auth: " + e.Detail + ": " + e.Err.Error()
	}
	return "auth: " + e.Detail
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
