// Package weirv1 is the gRPC service weir.v1.RateLimiter: its messages, its client and
// the interface of its server. All but this file is generated from
// proto/weir/v1/ratelimiter.proto, which says what the fields mean.
package weirv1
