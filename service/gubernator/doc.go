// Package gubernator answers the protocol of gubernator (pb.gubernator.V1 and its JSON
// gateway) over any store of weir: the limit is in every request.
//
// Token bucket is what gubernator calls so: a window that begins with the first hit. Leaky
// bucket is a token bucket of weir. What cannot be honoured is refused, item by item, and
// listed in docs/guides/gubernator.md.
//
// The messages are registered under the names that gubernator has. A program cannot have
// this package and the gubernator library.
package gubernator
