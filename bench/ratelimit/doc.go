// Package ratelimit measures the resolution of policies beside the matcher of
// envoyproxy/ratelimit, on the same rules. It is a module of its own, so that the libraries
// of that service are built nowhere else.
package ratelimit
