package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/store"
	"google.golang.org/grpc"
)

const (
	defaultTimeout  = 500 * time.Millisecond
	defaultAttempts = 3
	// longest is how long all attempts of a call may take, without their pauses.
	longest = 4 * time.Minute
)

// ErrInvalid: an option is not valid.
var ErrInvalid = errors.New("client: not valid")

// Options are the optional settings of a Client. nil means all defaults.
type Options struct {
	// TLS is how the connection is secured. nil is TLS with the roots of the system. A
	// client certificate (mutual TLS) goes in here.
	TLS *tls.Config
	// Plaintext uses no TLS, as for a service on the same machine. TLS must be nil then,
	// and a Token is sent readable.
	Plaintext bool
	// Token is the bearer token. "" sends none.
	Token string

	// Timeout bounds each attempt, in addition to the caller's context. 0 is 500 ms; 1 ms
	// or more.
	Timeout time.Duration
	// Attempts is how often a call with an idempotency key is sent at most, with pauses of 5
	// to 150 ms. 0 is 3; 1 never sends again. Attempts times Timeout is at most 4 minutes.
	// No attempt ends later than 5 minutes after the call, since the service may have
	// forgotten the key then.
	Attempts int
	// IdempotencyKeys gives every call that has no idempotency key one of its own, at random.
	IdempotencyKeys bool

	// OnFailure says what to answer where the service is unavailable or does not answer
	// in time. Errors of other kinds, and the end of the caller's context, stay errors.
	OnFailure weir.FailureMode
	// Local is what weir.FailLocal asks; required there, and refused in the other modes.
	Local *Local

	// Dial are further options of the connection, such as interceptors.
	Dial []grpc.DialOption
}

// Local are limits of this process. The service knows its limits; a client that shall go
// on without it has to know them, too.
type Local struct {
	// Store counts, usually in memory. It stays the caller's. A resilience.Share around it
	// gives this process its part of each limit, so that all processes together keep
	// to it.
	Store store.Store
	// Limits are what Allow, AllowN and Reserve ask, by their names. A limit that is not
	// among them fails closed.
	Limits []weir.Limit
	// Check is what Check asks in place of the policy, for each identifier of a dimension.
	// The zero Limit fails closed.
	Check weir.Limit
}

func refused(field, value, allowed string) error {
	return fmt.Errorf("%w: %s is %s, allowed: %s", ErrInvalid, field, value, allowed)
}

// withDefaults checks options and fills in defaults.
func (o *Options) withDefaults() (Options, error) {
	if o == nil {
		o = &Options{}
	}
	out := *o
	if out.Timeout == 0 {
		out.Timeout = defaultTimeout
	}
	if out.Attempts == 0 {
		out.Attempts = defaultAttempts
	}
	switch {
	case out.Timeout < time.Millisecond:
		return out, refused("Options.Timeout", out.Timeout.String(), "0 (500ms), or 1ms or more")
	case out.Attempts < 1:
		return out, refused("Options.Attempts", fmt.Sprint(out.Attempts), "0 (3), or 1 or more")
	case out.Timeout > longest/time.Duration(out.Attempts):
		return out, refused("Options.Timeout", out.Timeout.String(), fmt.Sprintf("at most %s for all %d attempts", longest, out.Attempts))
	case out.Plaintext && out.TLS != nil:
		return out, refused("Options.TLS", "set", "nil with Plaintext")
	case out.OnFailure < weir.FailClosed || out.OnFailure > weir.FailLocal:
		return out, refused("Options.OnFailure", out.OnFailure.String(), "FailClosed, FailOpen or FailLocal")
	case (out.OnFailure == weir.FailLocal) != (out.Local != nil):
		return out, refused("Options.Local", map[bool]string{true: "nil", false: "set"}[out.Local == nil], "set with FailLocal, and nil in the other modes")
	}
	return out, nil
}
