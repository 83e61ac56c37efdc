// Package resilience holds decorators that keep limits useful where the store behind
// them is slow, broken or overloaded, and where one key gets most of the traffic.
//
// Each decorator is a store.Store around a store.Store, and stands alone. Several nest,
// the outermost first:
//
//	lease( denycache( breaker( store )))
//
// The failure mode of a limiter (weir.Options.OnFailure) is outside of all of them. Each
// decorator keeps the contract of the store that it wraps, and the comment of its type
// begins with the bound on what it may decide differently.
package resilience
