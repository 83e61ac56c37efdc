package deadline

import (
	"context"
	"math/rand/v2"
	"time"
)

// pauserKey is the key of a Pauser in a context.
type pauserKey struct{}

// Pauser waits for d. An error ends what waits.
type Pauser func(d time.Duration) error

// WithPauser returns a context in which Pause uses p, and Patience has no end: a simulator has a
// time of its own.
func WithPauser(ctx context.Context, p Pauser) context.Context {
	return context.WithValue(ctx, pauserKey{}, p)
}

func pauserOf(ctx context.Context) Pauser {
	p, _ := ctx.Value(pauserKey{}).(Pauser)
	return p
}

// Pause waits for d, less or more by up to half of it, at random, so that callers who have begun
// together do not go on together. It ends with ctx, and returns its error then.
func Pause(ctx context.Context, d time.Duration) error {
	if p := pauserOf(ctx); p != nil {
		return p(d)
	}
	return Sleep(ctx, rand.N(d)+d/2, nil)
}

// Patience returns a context that ends with ctx, and after d. With a Pauser it is ctx: the
// Pauser says when it is over.
func Patience(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if pauserOf(ctx) != nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}
