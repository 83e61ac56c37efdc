package script

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/store"
)

// timed is a Store whose calls have a time-out.
type timed struct {
	*Store
	timeout time.Duration
}

var (
	_ store.Featured = (*Store)(nil)
	_ store.Featured = (*timed)(nil)
)

// Features implements store.Featured. To watch the time for a call costs it a timer that
// is used again, where a context costs it five allocations.
func (s *Store) Features() store.Features {
	f := s.features(s, 0)
	f.Within = func(timeout time.Duration) store.Store { return &timed{s, timeout} }
	return f
}

// Features implements store.Featured.
func (t *timed) Features() store.Features { return t.features(t, t.timeout) }

// features are those of the store, with a time-out of which 0 is none.
func (s *Store) features(owner store.Store, timeout time.Duration) store.Features {
	f := store.Features{
		Owner: owner,
		Bind:  func(limit string, a algorithm.Algorithm) (store.Bound, error) { return s.bind(limit, a, timeout) },
		Once: func(ctx context.Context, o store.Once, ops []store.Op) (algorithm.Instant, bool, error) {
			return s.once(ctx, timeout, o, ops)
		},
		Names: &s.names,
	}
	if s.locator != nil {
		f.Node = s.nodeOfKey
	}
	return f
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
	return t.counters.failed(deadline.Call(ctx, t.timeout, func(ctx context.Context) error { return t.reset(ctx, slots) }))
}

// notSentInTime is the error of a caller that left before anything was sent.
func notSentInTime(verb string, left error) error {
	if exceeded := deadline.Exceeded(0); errors.As(left, &exceeded) {
		return fmt.Errorf("script: %s: %w: %w", verb, store.ErrUnavailable, exceeded)
	}
	return left
}
