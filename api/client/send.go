package client

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	keyMetadata  = "idempotency-key"
	firstPause   = 10 * time.Millisecond
	longestPause = 100 * time.Millisecond
	// remembered is how long the service remembers an idempotency key: a call that is sent
	// again later is charged again.
	remembered = 5 * time.Minute
)

type keyOfContext struct{}

// WithIdempotencyKey returns a context whose call has an idempotency key: 1 to 128 visible
// ASCII characters, such as the ID of the request that is limited. Within 5 minutes the
// service charges a key once for each caller and method, and gives the same answer
// again. Another call under the same key is an *Error with codes.InvalidArgument.
//
// Whoever repeats a key is admitted again and charged nothing. Of a key that somebody
// else chooses, the work must be done once, too: otherwise it is a way around the limit.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOfContext{}, key)
}

// keyOf is the idempotency key of a context, or "".
func keyOf(ctx context.Context) string {
	key, _ := ctx.Value(keyOfContext{}).(string)
	return key
}

// send makes a call. One with an idempotency key is sent again where the outcome may be
// unknown, while the service must still remember the key.
func send[In, Out any](ctx context.Context, c *Client, call func(context.Context, In, ...grpc.CallOption) (Out, error), in In) (Out, error) {
	attempts := 1
	key := keyOf(ctx)
	if key == "" && c.opts.IdempotencyKeys {
		key = rand.Text()
	}
	sending := ctx
	if key != "" {
		attempts = c.opts.Attempts
		sending = metadata.AppendToOutgoingContext(ctx, keyMetadata, key)
	}
	var unknown bool // whether an attempt before may have been counted
	began := time.Now()
	for n, pause := 1, firstPause; ; n, pause = n+1, min(2*pause, longestPause) {
		within, cancel := context.WithTimeout(sending, c.opts.Timeout)
		out, err := call(within, in)
		cancel()
		if err == nil {
			return out, nil
		}
		e := errorOf(ctx, err, n)
		e.MayHaveCounted = e.MayHaveCounted || unknown
		unknown = e.MayHaveCounted
		wait := pause/2 + mathrand.N(pause)
		if n == attempts || ctx.Err() != nil || !isFailure(e.Code) || time.Since(began)+wait+c.opts.Timeout > remembered {
			return out, e
		}
		if !sleep(ctx, wait) {
			return out, errorOf(ctx, status.FromContextError(ctx.Err()).Err(), n).after(unknown)
		}
	}
}

// isFailure reports whether a code says that the service cannot be asked, rather than
// what it has answered.
func isFailure(code codes.Code) bool {
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}

// sleep reports whether the pause is over and ctx has not ended.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
