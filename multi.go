package weir

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/nilcheck"
	"github.com/weirgo/weir/store"
)

// MultiLimiter asks several limits together, all or nothing: a request that has to
// pass a limit for its address, one for its user and one for its organisation is
// charged to all three or to none. Which verb to use:
//
//   - Take: may this pass now? Charged if every limit says yes. With Limit.Charge and
//     Limit.Refund it also charges some limits and gives back to others, in one step.
//   - Reserve: take estimates now, and settle the actual costs later.
//   - Peek: what would Take answer? Never charged.
//   - Wait: let this pass as soon as it may.
//   - Reset: forget the keys; they are fresh again.
//
// A refusal is a Result. An error means that there is no decision, that
// Result.Allowed is false, and that nothing was charged unless the error matches
// store.ErrOutcomeUnknown or is a *WaitError that says so. A *DebtError, and a
// *WaitError of a limit that was asked, come with the Result that they are about.
// The errors are store.ErrInvalid for no asks, more than store.MaxOps, and an Ask
// without a key, a limit's name or algorithm, or a cost;
// store.ErrDuplicateSlot where two asks are for the same key and limit;
// store.ErrCrossNode where a cluster keeps the keys on different nodes;
// store.ErrClosed; the error of a ctx that has ended; and what the store returns.
// What is answered instead where a store fails is for Options.OnFailure to say.
//
// A MultiLimiter is safe for concurrent use. Each verb but Wait costs one call to the
// store and two allocations. Time is the store's clock.
type MultiLimiter struct {
	guard
	observer Observer
	queues   queues // of the calls to Wait
	debt     bool   // see Options.SettleIntoDebt
	key      []byte // see Options.ReservationKey
	closed   atomic.Bool
	done     chan struct{} // closed with it
}

var _ Decider = (*MultiLimiter)(nil)

// NewMultiLimiter returns a MultiLimiter on a store. The store stays the caller's: it
// may serve any number of limiters, and is closed by its owner. The limits of asks are
// not remembered: one name may come with several parameters, as for tiers of users, and
// they share the state of a key. opts may be nil; an
// option outside its bounds, or a nil store, gives an error that matches
// store.ErrInvalid.
func NewMultiLimiter(s store.Store, opts *Options) (*MultiLimiter, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := checkStore("store", s); err != nil {
		return nil, err
	}
	if err := opts.check(s); err != nil {
		return nil, err
	}
	return newMultiLimiter(newGuard(s, opts), opts), nil
}

func newMultiLimiter(g guard, opts *Options) *MultiLimiter {
	return &MultiLimiter{guard: g, observer: opts.Observer, debt: opts.SettleIntoDebt, key: slices.Clone(opts.ReservationKey), done: make(chan struct{})}
}

// Take implements Decider: it asks each limit for its cost, at one instant and in
// one step of the store.
func (m *MultiLimiter) Take(ctx context.Context, asks ...Ask) (Result, error) {
	return m.ask(ctx, KindTake, asks)
}

// Peek implements Decider: it returns what Take would answer now, and changes
// nothing.
func (m *MultiLimiter) Peek(ctx context.Context, asks ...Ask) (Result, error) {
	return m.ask(ctx, KindPeek, asks)
}

func (m *MultiLimiter) ask(ctx context.Context, kind Kind, asks []Ask) (Result, error) {
	if m.observer == nil {
		return m.decide(ctx, asks, kind != KindPeek)
	}
	start := m.start()
	r, err := m.decide(ctx, asks, kind != KindPeek)
	m.observe(ctx, kind, asks, &r, err, since(start))
	return r, err
}

func (m *MultiLimiter) decide(ctx context.Context, asks []Ask, take bool) (Result, error) {
	ops, err := opsOf(asks)
	if err != nil {
		return Result{}, err
	}
	id := ""
	if take { // a Peek ignores the IDs
		if id, err = idOf(asks); err != nil {
			return Result{}, err
		}
	}
	return m.decideOps(ctx, id, ops, take)
}

// decideOps writes the outcomes into ops. id is "" for none.
func (m *MultiLimiter) decideOps(ctx context.Context, id string, ops []store.Op, take bool) (Result, error) {
	if m.closed.Load() {
		return Result{}, store.ErrClosed
	}
	var at algorithm.Instant
	var cause, err error
	if id != "" {
		at, cause, err = m.guard.askOnce(ctx, id, ops)
	} else {
		at, cause, err = m.guard.ask(ctx, ops, take)
	}
	if err != nil {
		return Result{}, err
	}
	return resultOf(ops, at, cause)
}

// resultOf is the Result of ops that were decided.
func resultOf(ops []store.Op, at algorithm.Instant, cause error) (Result, error) {
	r := Result{Allowed: allAllowed(ops), Decisions: make([]Decision, len(ops))}
	for i := range ops {
		if err := r.Decisions[i].setDegraded(ops[i].Outcome, at, cause, nil); err != nil {
			return Result{}, err
		}
	}
	r.summarize(ops)
	if !r.Allowed {
		return r, refusedCharge(ops, r.Decisions)
	}
	return r, nil
}

// refusedCharge is the error of the first charge that was refused, or nil.
func refusedCharge(ops []store.Op, decisions []Decision) error {
	for i := range ops {
		if ops[i].Request.Verb == algorithm.Charge && !decisions[i].Allowed {
			return &DebtError{Ask: i, Decision: decisions[i]}
		}
	}
	return nil
}

// observe shows the Observer each ask; r may be nil.
func (m *MultiLimiter) observe(ctx context.Context, kind Kind, asks []Ask, r *Result, err error, took time.Duration) {
	if m.observer == nil {
		return
	}
	for i := range asks {
		seen := Observation{
			Kind: kind, Limit: asks[i].Limit.Name, Algorithm: asks[i].Limit.Algorithm, Key: asks[i].Key,
			Shadow: asks[i].Shadow, OnFailure: m.mode, Err: err, Took: took,
		}
		if err != nil && nilcheck.IsNil(seen.Algorithm) {
			seen.Algorithm = nil // also for a nil pointer: an Observer asks what is there
		}
		if kind != KindReset {
			seen.Cost, seen.Verb = asks[i].Cost, asks[i].Verb
		}
		if r != nil && i < len(r.Decisions) {
			seen.Allowed, seen.Decision = r.Allowed, r.Decisions[i]
		}
		m.observer.Observe(ctx, seen)
	}
}

// Reset makes the keys of asks fresh for their limits, whatever their cost. It is
// idempotent. With an error some may have been reset.
func (m *MultiLimiter) Reset(ctx context.Context, asks ...Ask) error {
	start := time.Now()
	err := m.resetAsks(ctx, asks)
	m.observe(ctx, KindReset, asks, nil, err, time.Since(start))
	return err
}

func (m *MultiLimiter) resetAsks(ctx context.Context, asks []Ask) error {
	if m.closed.Load() {
		return store.ErrClosed
	}
	slots := make([]store.Slot, len(asks))
	for i := range asks {
		if err := asks[i].Limit.check(i); err != nil {
			return err
		}
		slots[i] = store.Slot{Key: asks[i].Key, Limit: asks[i].Limit.Name, Algorithm: asks[i].Limit.Algorithm}
	}
	return m.reset(ctx, slots)
}

// Close makes later calls return store.ErrClosed, and ends those that Wait. It
// leaves the store open. It is idempotent; the error is always nil.
func (m *MultiLimiter) Close() error {
	if !m.closed.Swap(true) {
		close(m.done)
	}
	return nil
}
