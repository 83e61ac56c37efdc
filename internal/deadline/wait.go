package deadline

import (
	"context"
	"time"
)

// waiterKey is the key of a Waiter in a context.
type waiterKey struct{}

// Waiter waits until done is closed, and reports whether that came in time.
type Waiter func(done <-chan struct{}) bool

// WithWaiter returns a context in which Wait uses w: a simulator has a time of its own.
func WithWaiter(ctx context.Context, w Waiter) context.Context {
	return context.WithValue(ctx, waiterKey{}, w)
}

// Wait waits until done is closed, and reports whether that came before ctx ended and
// within timeout; 0 is without end.
func Wait(ctx context.Context, done <-chan struct{}, timeout time.Duration) bool {
	if w, has := ctx.Value(waiterKey{}).(Waiter); has {
		return w(done)
	}
	var late <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	case <-late:
		return false
	}
}
