package script

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// timed is a Store whose calls have a time-out.
type timed struct {
	*Store
	timeout time.Duration
}

var _ store.Featured = (*Store)(nil)

// Features implements store.Featured. To watch the time for a call costs it a timer that
// is used again, where a context costs it five allocations.
func (s *Store) Features() store.Features {
	return store.Features{
		Owner:  s,
		Within: func(timeout time.Duration) store.Store { return &timed{s, timeout} },
		Names:  &s.names,
	}
}

// Apply implements store.Store.
func (t *timed) Apply(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	return t.decide(ctx, t.timeout, ops, &t.takes)
}

// Peek implements store.Store.
func (t *timed) Peek(ctx context.Context, ops []store.Op) (at algorithm.Instant, err error) {
	at, _, err = t.decide(ctx, t.timeout, ops, &t.looks)
	return at, err
}

// Reset implements store.Store.
func (t *timed) Reset(ctx context.Context, slots []store.Slot) error {
	return inTime(ctx, t.timeout, func(ctx context.Context) error { return t.Store.Reset(ctx, slots) })
}

// lateError is the error of a call that was given up after timeout.
type lateError time.Duration

func (e lateError) Error() string { return fmt.Sprintf("no answer within %v", time.Duration(e)) }

// Unwrap is the error of a context that ends after a time.
func (e lateError) Unwrap() error { return context.DeadlineExceeded }

// unsent is the error of a caller that left before anything was sent.
func unsent(verb string, left error) error {
	if late := lateError(0); errors.As(left, &late) {
		return fmt.Errorf("script: %s: %w: %w", verb, store.ErrUnavailable, late)
	}
	return left
}

// inTime runs f with a context that ends after timeout, if that is not 0.
func inTime(ctx context.Context, timeout time.Duration, f func(ctx context.Context) error) error {
	if timeout == 0 {
		return f(ctx)
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := f(within)
	ended := over(within)
	ours := ended != nil && over(ctx) == nil && errors.Is(err, ended)
	if ours && !errors.Is(err, store.ErrOutcomeUnknown) {
		return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, lateError(timeout), err)
	}
	return err
}
