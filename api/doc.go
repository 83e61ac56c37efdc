// Package api is the interface of the rate limiting service as documents. What speaks
// it is below: weirv1 is the gRPC service in Go, generated from proto/weir/v1.
package api
