package weir

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/store"
)

// Taker asks several limits at once, all or nothing: a request that has to pass
// a limit for its address, one for its user and one for its organisation is
// charged to all three or to none. It is safe for concurrent use.
type Taker struct {
	guard
	observe func(Observation)
	closed  atomic.Bool
}

// NewTaker returns a Taker on a store. The store stays the caller's: it may
// serve any number of Takers and Limiters, and is closed by its owner. opts may
// be nil; an option outside its bounds, or a nil store, gives an error that
// matches store.ErrInvalid.
func NewTaker(s store.Store, opts *Options) (*Taker, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := checkStore("store", s); err != nil {
		return nil, err
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	if opts.Name != "" {
		return nil, refuse("Options.Name", strconv.Quote(opts.Name), "empty for a Taker: each op names its limit")
	}
	return &Taker{guard: newGuard(s, opts), observe: opts.Observe}, nil
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
	return t.ask(ctx, "Take", ops, true)
}

// Peek returns what Take would answer now, and changes nothing.
func (t *Taker) Peek(ctx context.Context, ops ...store.Op) (Result, error) {
	return t.ask(ctx, "Peek", ops, false)
}

func (t *Taker) ask(ctx context.Context, verb string, ops []store.Op, take bool) (Result, error) {
	if t.observe == nil {
		return t.decide(ctx, ops, take)
	}
	start := time.Now()
	r, err := t.decide(ctx, ops, take)
	took := time.Since(start)
	for i := range ops {
		seen := Observation{
			Verb: verb, Limit: ops[i].Limit, Key: ops[i].Key, Cost: ops[i].Request.Cost,
			Err: err, Took: took,
		}
		if err == nil {
			seen.Decision = r.Decisions[i]
		}
		t.observe(seen)
	}
	return r, err
}

func (t *Taker) decide(ctx context.Context, ops []store.Op, take bool) (Result, error) {
	if t.closed.Load() {
		return Result{}, store.ErrClosed
	}
	own := slices.Clone(ops) // the store writes outcomes; the caller's ops stay as they are
	at, committed, cause, err := t.guard.ask(ctx, own, take)
	if err != nil {
		return Result{}, err
	}
	r := Result{Allowed: committed, Decisions: make([]Decision, len(own))}
	for i := range own {
		if err := r.Decisions[i].setDegraded(own[i].Outcome, at, cause, nil); err != nil {
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
