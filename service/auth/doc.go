// Package auth says who calls the service, for which tenant, and what the caller may do.
//
// A [Table] has the callers: the SHA-256 of a token or the subject of a client
// certificate, a name, a [Role], and a tenant. A [Guard] finds the caller of a request in
// it, holds the role against the [Action] of the route or method, and limits how much one
// caller may ask of the service itself. [Guard.HTTP], [Guard.Unary] and [Guard.Stream] put
// a Guard in front of handlers; [CallerOf] is what the handlers ask.
//
// A tenant comes from the Table, never from a message. A caller whose tenant is "*" is
// trusted to name one, in the header or metadata [TenantHeader].
package auth
