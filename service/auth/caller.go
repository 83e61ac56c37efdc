package auth

import "context"

// Role is what a caller may do.
type Role string

const (
	// RoleCheck may decide and look: gateways and applications.
	RoleCheck Role = "check"
	// RoleRead may look, and read what operators see: rules, limits of users, audit.
	RoleRead Role = "read"
	// RoleWrite may do everything.
	RoleWrite Role = "write"
)

// Action is what a route or a method does.
type Action int

const (
	// Open needs no caller: health. It is not limited.
	Open Action = iota + 1
	// Check decides and charges.
	Check
	// Look shows how somebody stands, and changes nothing.
	Look
	// Read shows what operators see.
	Read
	// Write changes rules, limits of users and states.
	Write
)

// String returns the name of the action.
func (a Action) String() string {
	switch a {
	case Open:
		return "open"
	case Check:
		return "check"
	case Look:
		return "look"
	case Read:
		return "read"
	case Write:
		return "write"
	}
	return "unknown"
}

// May reports whether a role may do an action. An unknown role may do nothing but what is
// Open.
func (r Role) May(a Action) bool {
	switch a {
	case Open:
		return true
	case Check:
		return r == RoleCheck || r == RoleWrite
	case Look:
		return r == RoleCheck || r == RoleRead || r == RoleWrite
	case Read:
		return r == RoleRead || r == RoleWrite
	case Write:
		return r == RoleWrite
	}
	return false
}

// DefaultTenant is the tenant where the configuration names none.
const DefaultTenant = "default"

// AnyTenant in a Table says that the caller names the tenant in TenantHeader.
const AnyTenant = "*"

// TenantHeader is the header, and in lower case the metadata, in which a caller with
// AnyTenant names the tenant of a request. Another caller may send its own tenant only.
const TenantHeader = "Weir-Tenant"

// Caller is who calls.
type Caller struct {
	// Name is the name in the Table: what audit and logs show.
	Name string
	Role Role
	// Tenant is never empty.
	Tenant string
}

type callerKey struct{}

// CallerOf returns the caller that a Guard has found; false behind no Guard, and where the
// action is Open.
func CallerOf(ctx context.Context) (Caller, bool) {
	c, found := ctx.Value(callerKey{}).(Caller)
	return c, found
}

// WithCaller returns a context with a caller: for tests of handlers, and for what the
// service does by itself.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}
