package weir

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// Taker asks several limits at once, all or nothing: a request that has to pass
// a limit for its address, one for its user and one for its organisation is
// charged to all three or to none. It is safe for concurrent use.
type Taker struct {
	store  store.Store
	closed atomic.Bool
}

// NewTaker returns a Taker on a store. The store stays the caller's: it may
// serve any number of Takers and Limiters, and is closed by its owner. A Taker
// has no Name: each op names its limit. opts may be nil; an option outside its
// bounds, or a nil store, gives an error that matches store.ErrInvalid.
func NewTaker(s store.Store, opts *Options) (*Taker, error) {
	if err := checkStore(s); err != nil {
		return nil, err
	}
	if opts != nil && opts.Name != "" {
		return nil, &store.InputError{Op: -1, Field: "Options.Name", Value: strconv.Quote(opts.Name), Allowed: "empty for a Taker: each op names its limit"}
	}
	return &Taker{store: s}, nil
}

// Take asks each op's limit for its cost, at one instant and in one step of the
// store. The Outcome of an op is ignored and left as it is; ops are not touched
// after Take has returned.
//
// A refusal is a Result. An error means that there is no decision, that
// Result.Allowed is false, and that nothing was charged unless the error
// matches store.ErrOutcomeUnknown: store.ErrInvalid for no ops, more than
// store.MaxOps, an empty key, no algorithm or a cost below 0;
// store.ErrDuplicateSlot where two ops name the same slot; store.ErrClosed; the
// error of a ctx that has ended; and what the store returns.
//
// It costs one call to the store and two allocations.
func (t *Taker) Take(ctx context.Context, ops ...store.Op) (Result, error) {
	return t.ask(ctx, ops, true)
}

// Peek returns what Take would answer now, and changes nothing.
func (t *Taker) Peek(ctx context.Context, ops ...store.Op) (Result, error) {
	return t.ask(ctx, ops, false)
}

func (t *Taker) ask(ctx context.Context, ops []store.Op, take bool) (Result, error) {
	if t.closed.Load() {
		return Result{}, store.ErrClosed
	}
	// The store writes outcomes into ops; the caller's stay as they are.
	own := slices.Clone(ops)
	var r Result
	var at algorithm.Instant
	var err error
	if take {
		at, r.Allowed, err = t.store.Apply(ctx, own)
	} else {
		at, err = t.store.Peek(ctx, own)
		r.Allowed = !slices.ContainsFunc(own, func(op store.Op) bool { return !op.Outcome.Allowed })
	}
	if err != nil {
		return Result{}, err
	}
	r.Decisions = make([]Decision, len(own))
	for i := range own {
		if err := r.Decisions[i].set(own[i].Outcome, at, nil); err != nil {
			return Result{}, err
		}
	}
	r.summarize()
	return r, nil
}

// Close makes later calls return store.ErrClosed. It leaves the store open. It
// is idempotent; the error is always nil.
func (t *Taker) Close() error {
	t.closed.Store(true)
	return nil
}
