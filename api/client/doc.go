// Package client calls the rate limiting service (weir serve) over gRPC, with the types
// and the failure modes of package weir.
//
//	c, err := client.New("limits.example.com:8081", &client.Options{Token: token, TLS: &tls.Config{}})
//	...
//	d, err := c.Allow(ctx, "api", "user:42")
//
// A denial is a Decision. An error means that there is no decision; it is an *Error, with
// the code of the service, the fields that are not valid, and whether something may have
// been charged. Each attempt has a time-out (Options.Timeout).
//
// # Calls that are sent again
//
// Where a reply was lost, nobody knows whether the units were taken: to ask again might
// take them twice. So a call is sent again only where it has an idempotency key, under
// which the service charges once: see [WithIdempotencyKey] and
// Options.IdempotencyKeys. gRPC itself sends again only what the service has not seen.
//
// # When the service cannot be asked
//
// Options.OnFailure says what Check, Allow, AllowN and Reserve answer then: an error
// (weir.FailClosed, the default), a Decision that admits without counting
// (weir.FailOpen), or what limits of this process say (weir.FailLocal). These answers are
// Degraded. Other calls return the error.
package client
