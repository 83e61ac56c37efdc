package weir

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// Limiter is one limit, for any number of keys. Which verb to use:
//
//   - Allow, AllowN: may this pass now? Charged if the answer is yes.
//   - Peek, PeekN: how does the key stand? Never charged, never denied for
//     having looked.
//   - Reset: forget the key; it is fresh again.
//
// A refusal is a Decision. An error means that there is no decision, that
// Decision.Allowed is false, and that nothing was charged unless the error
// matches store.ErrOutcomeUnknown. The errors are store.ErrInvalid for an empty
// key or a cost below 0, store.ErrClosed, the error of a ctx that has ended, and
// what the store returns.
//
// A Limiter is safe for concurrent use. Each verb costs one call to the store;
// on store/memory it allocates nothing for the algorithms with a state of fixed
// size. Time is the store's clock.
type Limiter struct {
	store  store.Store
	bound  store.Bound // nil if the store does not offer one
	slot   store.Slot  // without a key
	ops    sync.Pool   // of *[1]store.Op, for a store without Bound
	closed atomic.Bool
}

// New returns a Limiter that runs algorithm a on store s. The store stays the
// caller's: it may serve any number of Limiters and Takers, and is closed by its
// owner. Limiters with the same Options.Name and kind of algorithm on one store
// share their states; one made anew with other parameters runs on from them.
//
// A nil store or algorithm, and an option outside its bounds, give an error that
// matches store.ErrInvalid.
func New(s store.Store, a algorithm.Algorithm, opts *Options) (*Limiter, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := checkStore(s); err != nil {
		return nil, err
	}
	if err := store.ValidateLimit(a); err != nil {
		return nil, err
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	l := &Limiter{store: s, slot: store.Slot{Limit: opts.Name, Algorithm: a}}
	l.ops.New = func() any { return new([1]store.Op) }
	if binder, offered := s.(store.Binder); offered {
		bound, err := binder.Bind(opts.Name, a)
		if err != nil {
			return nil, err
		}
		l.bound = bound
	}
	return l, nil
}

// Allow asks for one unit.
func (l *Limiter) Allow(ctx context.Context, key string) (d Decision, err error) {
	err = l.take(ctx, key, 1, &d)
	return d, err
}

// AllowN asks for n units, all or none. 0 is a look, like Peek. Above the limit
// the answer is always a denial with RetryAfter Never; below 0 it is an error.
func (l *Limiter) AllowN(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = l.take(ctx, key, n, &d)
	return d, err
}

// Peek tells how the key stands: Remaining is what it could take now. It
// changes nothing and is always Allowed.
func (l *Limiter) Peek(ctx context.Context, key string) (d Decision, err error) {
	err = l.look(ctx, key, 0, &d)
	return d, err
}

// PeekN tells what AllowN would answer now, and changes nothing.
func (l *Limiter) PeekN(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = l.look(ctx, key, n, &d)
	return d, err
}

// take writes the answer to where the caller wants it: to copy a Decision from
// function to function costs as much as to make it.
func (l *Limiter) take(ctx context.Context, key string, n int64, d *Decision) error {
	if l.closed.Load() {
		return store.ErrClosed
	}
	r := algorithm.Request{Cost: n}
	if l.bound == nil {
		return l.ask(ctx, key, r, true, d)
	}
	return d.set(l.bound.Apply(ctx, key, r))
}

func (l *Limiter) look(ctx context.Context, key string, n int64, d *Decision) error {
	if l.closed.Load() {
		return store.ErrClosed
	}
	r := algorithm.Request{Cost: n}
	if l.bound == nil {
		return l.ask(ctx, key, r, false, d)
	}
	return d.set(l.bound.Peek(ctx, key, r))
}

// ask goes through the Store itself. An op handed to an interface moves to the
// heap, so it comes from a pool.
func (l *Limiter) ask(ctx context.Context, key string, r algorithm.Request, take bool, d *Decision) error {
	ops := l.ops.Get().(*[1]store.Op)
	defer func() {
		ops[0] = store.Op{} // the key is not kept
		l.ops.Put(ops)
	}()
	ops[0] = store.Op{Slot: l.slot, Request: r}
	ops[0].Key = key
	var at algorithm.Instant
	var err error
	if take {
		at, _, err = l.store.Apply(ctx, ops[:])
	} else {
		at, err = l.store.Peek(ctx, ops[:])
	}
	return d.set(ops[0].Outcome, at, err)
}

// Reset makes the key fresh. It is idempotent.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	if l.closed.Load() {
		return store.ErrClosed
	}
	slot := l.slot
	slot.Key = key
	return l.store.Reset(ctx, []store.Slot{slot})
}

// Close makes later calls return store.ErrClosed. It leaves the store open. It
// is idempotent; the error is always nil.
func (l *Limiter) Close() error {
	l.closed.Store(true)
	return nil
}
