package weir

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// Limiter is one limit, for any number of keys. Which verb to use:
//
//   - Allow, AllowN: may this pass now? Charged if the answer is yes.
//   - AllowWithin: the same with a bound on the Delay of a leaky bucket.
//   - AllowOnce: the same with an ID: counted once, also where it is asked again.
//   - Reserve: take an estimate now, and settle the actual cost later.
//   - Peek, PeekN: how does the key stand, and what would AllowN answer? Never
//     charged.
//   - Charge: take a cost that was spent already, whatever remains.
//   - Refund: give back what was taken and not used.
//   - Wait, WaitN: let this pass as soon as it may.
//   - Reset: forget the key; it is fresh again.
//
// A refusal is a Decision. An error means that there is no decision, that
// Decision.Allowed is false, and that nothing was charged unless the error
// matches store.ErrOutcomeUnknown or is a *WaitError that says so. A *DebtError and
// a *WaitError come with the Decision that they are about. The errors are
// store.ErrInvalid for an empty key or a cost below 0, store.ErrClosed, the error of a
// ctx that has ended, and what the store returns. What is answered instead where a
// store fails is for Options.OnFailure to say; such a Decision is Degraded.
//
// A Limiter is safe for concurrent use. Each verb but Wait costs one call to the
// store; on store/memory it allocates nothing for the algorithms with a state of fixed
// size. Time is the store's clock.
type Limiter struct {
	guard
	bound    store.Bound // nil if the store has none
	flat     flatBound   // bound, where it is one; else nil
	direct   flatBound   // flat, where there is no Observer; else nil
	slot     store.Slot  // without a key
	capacity int64       // the largest cost that a fresh key admits
	observer Observer
	release  func()        // of the name on the store; nil if that has no names
	ops      sync.Pool     // of *[1]store.Op
	queues   queues        // of the calls to Wait
	multi    *MultiLimiter // for what has an ID
	closed   atomic.Bool
	done     chan struct{} // closed with it
}

// New returns a Limiter for limit l on store s. The store stays the caller's: it may
// serve any number of limiters, and is closed by its owner. Limiters of one limit on
// one store share their states. One built anew with other parameters runs on from
// the states: close the old one first, or set Options.Replaces. Otherwise a second
// limit of the same name with another algorithm or other parameters is refused, where the
// store remembers names, as the stores of this project do for their process.
//
// A nil store, a limit without a name or an algorithm, and an option outside its
// bounds give an error that matches store.ErrInvalid.
func New(s store.Store, l Limit, opts *Options) (*Limiter, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := checkStore("store", s); err != nil {
		return nil, err
	}
	if err := l.check(-1); err != nil {
		return nil, err
	}
	if err := opts.check(s); err != nil {
		return nil, err
	}
	limiter := &Limiter{
		guard:    newGuard(s, opts),
		slot:     store.Slot{Limit: l.Name, Algorithm: l.Algorithm},
		observer: opts.Observer,
		done:     make(chan struct{}),
	}
	_, fresh := l.Algorithm.Step(algorithm.State{}, 0, algorithm.Request{})
	limiter.capacity = fresh.Limit
	limiter.ops.New = func() any { return new([1]store.Op) }
	if bind := store.FeaturesOf(limiter.store).Bind; bind != nil && limiter.timeout == 0 && limiter.resolveWithin == 0 {
		bound, err := bind(l.Name, l.Algorithm)
		if err != nil {
			return nil, err
		}
		limiter.bound = bound
		limiter.flat, _ = bound.(flatBound)
		if opts.Observer == nil {
			limiter.direct = limiter.flat
		}
	}
	limiter.multi = newMultiLimiter(limiter.guard, opts)
	if names := store.FeaturesOf(s).Names; names != nil {
		var err error
		if limiter.release, err = names.Claim(l.Name, l.Algorithm, opts.Replaces); err != nil {
			return nil, err
		}
	}
	return limiter, nil
}

// Limit returns the limit that New was given.
func (l *Limiter) Limit() Limit { return Limit{Name: l.slot.Limit, Algorithm: l.slot.Algorithm} }

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

// AllowOnce is AllowN with an ID, which counts once however often it is asked for: what is
// said of Ask.ID holds. The ID names it among those of the same key.
func (l *Limiter) AllowOnce(ctx context.Context, key string, n int64, id string) (Decision, error) {
	ask := l.Limit().ForN(key, n)
	ask.ID = id
	r, err := l.multi.Take(ctx, ask)
	if len(r.Decisions) == 0 {
		return Decision{}, err
	}
	return r.Decisions[0], err
}

// AllowWithin is AllowN with a bound on the Delay of a leaky bucket: n units that would
// have to wait longer are denied. maxDelay is that of algorithm.Request: 0 is no bound,
// below 0 is an error, and the other algorithms ignore it.
func (l *Limiter) AllowWithin(ctx context.Context, key string, n int64, maxDelay time.Duration) (d Decision, err error) {
	err = l.ask(ctx, KindTake, key, algorithm.Request{Cost: n, MaxDelay: maxDelay}, &d)
	return d, err
}

// Charge takes n units whatever remains: the key may go into debt (Decision.Debt), and is
// denied until it is paid back. It is for a cost that was spent before it was known. Where
// the debt would pass the largest one, 10^12 units or 18,250 days, nothing is taken and the
// error is a *DebtError. 0 is a look, below 0 is an error, and so is an algorithm that is
// no algorithm.Charger.
func (l *Limiter) Charge(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = l.ask(ctx, KindTake, key, algorithm.Request{Cost: n, Verb: algorithm.Charge}, &d)
	if err == nil && !d.Allowed {
		err = &DebtError{Decision: d}
	}
	return d, err
}

// Refund gives back n units of what was taken at an instant: Decision.At of the call that
// took them. The key never becomes better than fresh, and of what no longer counts nothing
// is given back. It is always Allowed. It does not know whether n units were taken, nor
// whether they were given back before: that is for the caller. A Degraded Decision was not
// counted by the store and is not to be given back. 0 is a look, below 0 is an error, and
// so is an algorithm that is no algorithm.Charger.
func (l *Limiter) Refund(ctx context.Context, key string, n int64, at time.Time) (d Decision, err error) {
	r := algorithm.Request{Cost: n, Verb: algorithm.Refund}
	if r.At, err = takenAt(0, "at", at); err != nil {
		l.observe(ctx, KindTake, key, r, &d, err, 0)
		return d, err
	}
	err = l.ask(ctx, KindTake, key, r, &d)
	return d, err
}

// Peek looks at the key: Remaining is what it could take now. It
// changes nothing and is always Allowed.
func (l *Limiter) Peek(ctx context.Context, key string) (d Decision, err error) {
	err = l.ask(ctx, KindPeek, key, algorithm.Request{}, &d)
	return d, err
}

// PeekN returns what AllowN would answer now, and changes nothing.
func (l *Limiter) PeekN(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = l.ask(ctx, KindPeek, key, algorithm.Request{Cost: n}, &d)
	return d, err
}

// flatBound is a store.Bound that also answers in single values, as that of store/memory
// does: see there.
type flatBound interface {
	store.Bound
	TakeFlat(ctx context.Context, key string, n int64, maxDelay time.Duration) (allowed bool, limit, remaining, debt int64, retryAfter, resetAfter, delay time.Duration, at algorithm.Instant, err error)
}

// take is ask on the path that matters: there is no Observer, and the store has a
// flatBound. It writes the answer to where the caller wants it, since to copy a Decision
// from function to function costs as much as to make it.
func (l *Limiter) take(ctx context.Context, key string, n int64, d *Decision) error {
	if l.direct == nil || l.closed.Load() {
		return l.ask(ctx, KindTake, key, algorithm.Request{Cost: n}, d)
	}
	allowed, limit, remaining, debt, retryAfter, resetAfter, delay, at, err := l.direct.TakeFlat(ctx, key, n, 0)
	if err != nil {
		if l.mode != FailClosed {
			return l.decideOps(ctx, key, algorithm.Request{Cost: n}, true, err, d)
		}
		return err
	}
	d.Allowed = allowed
	d.Limit = limit
	d.Remaining = remaining
	d.Debt = debt
	d.RetryAfter = retryAfter
	d.ResetAfter = resetAfter
	d.Delay = delay
	d.At = at.Time()
	return nil
}

// ask is decide, observed.
func (l *Limiter) ask(ctx context.Context, kind Kind, key string, r algorithm.Request, d *Decision) error {
	if l.observer == nil {
		return l.decide(ctx, key, r, kind != KindPeek, d)
	}
	start := l.start()
	err := l.decide(ctx, key, r, kind != KindPeek, d)
	l.observe(ctx, kind, key, r, d, err, since(start))
	return err
}

// observe shows the Observer, where there is one, what came of a call.
func (l *Limiter) observe(ctx context.Context, kind Kind, key string, r algorithm.Request, d *Decision, err error, took time.Duration) {
	if l.observer == nil {
		return
	}
	l.observer.Observe(ctx, Observation{
		Kind: kind, Limit: l.slot.Limit, Algorithm: l.slot.Algorithm, Key: key, Cost: r.Cost, Verb: r.Verb,
		OnFailure: l.mode, Allowed: d.Allowed, Decision: *d, Err: err, Took: took,
	})
}

func (l *Limiter) decide(ctx context.Context, key string, r algorithm.Request, take bool, d *Decision) error {
	if l.closed.Load() {
		return store.ErrClosed
	}
	if l.bound == nil {
		return l.decideOps(ctx, key, r, take, nil, d)
	}
	var err error
	switch {
	case !take:
		err = d.set(l.bound.Peek(ctx, key, r))
	case l.flat != nil && r.Verb == algorithm.Take:
		err = d.setFlat(l.flat.TakeFlat(ctx, key, r.Cost, r.MaxDelay))
	default:
		err = d.set(l.bound.Apply(ctx, key, r))
	}
	if err != nil && l.mode != FailClosed {
		return l.decideOps(ctx, key, r, take, err, d)
	}
	return err
}

// decideOps goes the way of several ops: to a store that has no Bound, or,
// where that has failed already, to what stands in for it. An op handed to an
// interface moves to the heap, so it comes from a pool.
func (l *Limiter) decideOps(ctx context.Context, key string, r algorithm.Request, take bool, failed error, d *Decision) error {
	ops := l.ops.Get().(*[1]store.Op)
	defer func() {
		ops[0] = store.Op{} // the key is not kept
		l.ops.Put(ops)
	}()
	ops[0] = store.Op{Slot: l.slot, Request: r}
	ops[0].Key = key
	var at algorithm.Instant
	var cause, err error
	if failed != nil {
		at, cause, err = l.fallback(ctx, "", ops[:], take, failed)
	} else {
		at, cause, err = l.guard.ask(ctx, ops[:], take)
	}
	return d.setDegraded(ops[0].Outcome, at, cause, err)
}

// Reset makes the key fresh. It is idempotent.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	start := time.Now()
	err := l.resetKey(ctx, key)
	l.observe(ctx, KindReset, key, algorithm.Request{}, &Decision{}, err, time.Since(start))
	return err
}

func (l *Limiter) resetKey(ctx context.Context, key string) error {
	if l.closed.Load() {
		return store.ErrClosed
	}
	slot := l.slot
	slot.Key = key
	return l.reset(ctx, []store.Slot{slot})
}

// Close makes later calls return store.ErrClosed, and ends those that Wait. It
// leaves the store open. It is idempotent; the error is always nil.
func (l *Limiter) Close() error {
	if !l.closed.Swap(true) {
		close(l.done)
		_ = l.multi.Close()
		if l.release != nil {
			l.release()
		}
	}
	return nil
}
