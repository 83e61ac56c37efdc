// Package envoyproxy compares package service/envoy with the service whose place it takes,
// envoyproxy/ratelimit: both are asked the same requests, for their answers and their speed.
// It is a module of its own and no
// part of go.work, since the libraries of that service do not build beside newer ones.
package envoyproxy
