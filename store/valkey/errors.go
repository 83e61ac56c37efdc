package valkeystore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/store"
)

// meaning turns an error of valkey-go that is not a reply into one of a
// script.Client. sent is what the watch saw.
func meaning(ctx context.Context, err error, sent bool) error {
	var setup *valkey.ValkeyError
	var dial *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case !sent, // whatever it was, it came before the command
		errors.As(err, &setup), // a reply, but not to the command: to HELLO, AUTH, SELECT or CLUSTER SLOTS
		errors.As(err, &dial) && dial.Op == "dial",
		errors.As(err, &certificate),
		errors.Is(err, valkey.ErrNoCache), // CLIENT TRACKING is refused
		errors.Is(err, valkey.ErrNoSlot):
		return unavailable(err)
	case isContext(err) && deadline.Over(ctx) == nil:
		// The deadline of another caller ended a connection that was shared.
		// That is not the end of this caller's context, and must not match it.
		return fmt.Errorf("valkeystore: the connection was given up: %v", err)
	}
	return fmt.Errorf("valkeystore: %w", err)
}

// unavailable marks an error as one from before anything was sent.
func unavailable(err error) error {
	return fmt.Errorf("valkeystore: %w: %w", store.ErrUnavailable, err)
}

func isContext(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
