// Package deadline gives a call to a store a time-out, and the end of it a meaning.
package deadline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirgo/weir/store"
)

// Over returns ctx.Err(), a little earlier: a client sees that a deadline has passed
// before the timer of the context does.
func Over(ctx context.Context) error {
	if until, has := ctx.Deadline(); has && !time.Now().Before(until) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// Exceeded is the error of a caller that waited for as long as this without an answer.
type Exceeded time.Duration

func (e Exceeded) Error() string { return fmt.Sprintf("no answer within %v", time.Duration(e)) }

// Unwrap returns the error of a context that ends after a time.
func (e Exceeded) Unwrap() error { return context.DeadlineExceeded }

// Within is context.WithTimeout; a timeout of 0 is none.
func Within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}

// Explain gives the error of a call its meaning that had the context within, made of
// ctx by Within. Where the time-out has ended the call, and not ctx, the error matches
// store.ErrUnavailable: by the contract of a store nothing was changed, unless the error
// says store.ErrOutcomeUnknown.
func Explain(ctx, within context.Context, timeout time.Duration, err error) error {
	ended := Over(within)
	ours := ended != nil && Over(ctx) == nil && errors.Is(err, ended)
	if ours && !errors.Is(err, store.ErrOutcomeUnknown) {
		return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, Exceeded(timeout), err)
	}
	return err
}

// Call runs f within a timeout, of which 0 is none, and explains its error.
func Call(ctx context.Context, timeout time.Duration, f func(ctx context.Context) error) error {
	within, cancel := Within(ctx, timeout)
	defer cancel()
	return Explain(ctx, within, timeout, f(within))
}
