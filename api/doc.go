// Package api is the interface of the rate limiting service as documents: OpenAPI is
// what it answers over HTTP, and package weirv1 below is the gRPC service in Go,
// generated from proto/weir/v1.
package api
