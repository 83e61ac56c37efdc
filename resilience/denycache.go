package resilience

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/nilcheck"
	"github.com/weirgo/weir/store"
)

// DenyCacheOptions are the optional settings of a DenyCache. nil means all defaults.
type DenyCacheOptions struct {
	// MaxEntries bounds the denials that are remembered. One that ends early makes room
	// for a new one: of the 8 that have a hash in common with it, the first to end. 0 is
	// 100,000; below 0 is refused. An entry takes about 300 bytes and its key, and 8 bytes
	// where there is none. Keys of more than 1,000 bytes are not remembered.
	MaxEntries int

	// AnyCost also answers takes of more than one unit, and takes of which more than one
	// unit remains: where a cost was denied, every larger one is denied as well until
	// the RetryAfter of the least one is over. Such an answer is never a wrong denial,
	// and not as exact: Remaining and Debt are those of the denial that was
	// remembered, and RetryAfter of a larger cost is that of the least one, so that
	// whoever obeys it may be denied once more. Without it answers are exact, and
	// only takes of one unit are answered.
	AnyCost bool

	// Clock replaces the monotonic clock of the process, which moves forward with the wall clock
	// where that is ahead by more than a second, as after a machine was suspended. It may show another time than the
	// clock of the store, and has to run as fast: with a slower one denials would last too
	// long.
	Clock store.Clock
}

// DenyCacheStats are the counts of a DenyCache.
type DenyCacheStats struct {
	// Entries is how many denials are remembered now, those included that are over.
	Entries int
	// Denied is how many calls were denied without the store, and Asked how many went to
	// it, looks and resets not counted.
	Denied, Asked int64
}

// DenyCache is a store that never denies what the store behind it would admit at that
// instant, as long as all changes of its slots come through this process; a refund or a
// Reset by another process, and a state that the store lost, is seen late by at most the
// rest of the wait that was remembered. It admits nothing by itself.
//
// It remembers, for a slot and the parameters of its limit, that a take was denied and for
// how long, counted from when the call was sent; and denies the same take until then
// without a call to the store, in well under 1 µs. RetryAfter and ResetAfter are less by
// what has passed, and the answer is the store's, field by field, as long as no other
// process charges the slot. A process that is asked again and again for one key that is
// denied so costs its store one call each RetryAfter.
//
// A Reset, a charge or a refund, and a take that is admitted, forget the denial of their slot.
// So does a take with other parameters that is admitted, and a denial is never the answer
// for other parameters. A Take of several limits is answered where each of them is
// known to deny; looks, takes with a MaxDelay, and steps with an ID, go to the store. Where the default clock is used the last
// thousandth of a wait is left to the store, so that clocks which differ by 1,000 µs a
// second deny nothing too long.
//
// A DenyCache is safe for concurrent use. A call that goes to the store costs about half a
// microsecond more.
type DenyCache struct {
	decorator
	clock   store.Clock // nil: that of elapsed
	elapsed elapsed
	anyCost bool
	table   *denials
}

var _ store.Featured = (*DenyCache)(nil)

// NewDenyCache returns a DenyCache around a store. Close closes the store. A nil store, and
// an option outside its bounds, give an error that matches store.ErrInvalid.
func NewDenyCache(inner store.Store, opts *DenyCacheOptions) (*DenyCache, error) {
	if err := checkStore("store", inner); err != nil {
		return nil, err
	}
	if opts == nil {
		opts = &DenyCacheOptions{}
	}
	entries := opts.MaxEntries
	if entries == 0 {
		entries = 100_000
	}
	if entries < 0 {
		return nil, refuse("DenyCacheOptions.MaxEntries", strconv.Itoa(entries), "0 (100000) or more")
	}
	if opts.Clock != nil && nilcheck.IsNil(opts.Clock) {
		return nil, refuse("DenyCacheOptions.Clock", "a nil pointer", "a clock, or nil")
	}
	c := &DenyCache{clock: opts.Clock, elapsed: elapsed{start: time.Now()}, anyCost: opts.AnyCost, table: newDenials(entries)}
	c.wrapped = store.Wrap(inner, store.Hooks{Apply: c.apply, Once: c.once, Reset: c.reset, Close: c.table.close})
	return c, nil
}

// Features implements store.Featured: those of the store behind it.
func (c *DenyCache) Features() store.Features { return c.featuresOf(c) }

// Stats returns the counts. It takes no lock.
func (c *DenyCache) Stats() DenyCacheStats { return c.table.stats() }

// apply answers from the cache, or asks and remembers.
func (c *DenyCache) apply(ctx context.Context, ops []store.Op, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
	sent, readable := c.now()
	if readable && ctx.Err() == nil && !c.table.closed.Load() {
		if at, denied := c.deny(ops, sent); denied {
			return at, false, nil
		}
	}
	return c.ask(ctx, ops, sent, readable, next)
}

// once asks the store in any case, which may have made the step before, and remembers a
// denial.
func (c *DenyCache) once(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (at algorithm.Instant, committed bool, err error) {
	sent, readable := c.now()
	return c.ask(ctx, ops, sent, readable, func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
		return next(ctx, o, ops)
	})
}

// ask asks the store at an instant, and remembers what it denies.
func (c *DenyCache) ask(ctx context.Context, ops []store.Op, sent algorithm.Instant, readable bool, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
	c.table.asked.Add(1)
	var starts [8]uint64
	began := starts[:0]
	for i := range ops {
		began = append(began, c.table.begin(ops[i].ID(), improves(&ops[i])))
	}
	answered := false
	defer func() { // also of a call that panics
		changed := committed || !answered || errors.Is(err, store.ErrOutcomeUnknown)
		for i := range ops {
			op := &ops[i]
			var d *denial
			if answered && err == nil && readable && !committed {
				d = c.denialOf(op, at, sent)
			}
			c.table.end(op.ID(), began[i], improves(op), changed && op.Request.Cost > 0, d)
		}
	}()
	at, committed, err = next(ctx, ops)
	answered = true
	return at, committed, err
}

// deny answers ops where each of them is known to be denied.
func (c *DenyCache) deny(ops []store.Op, now algorithm.Instant) (at algorithm.Instant, denied bool) {
	for i := range ops {
		op := &ops[i]
		if !c.plain(op.Request) {
			return 0, false
		}
		decided, outcome, found := c.table.find(op, now)
		if !found {
			return 0, false
		}
		at = max(at, decided)
		op.Outcome = outcome
	}
	c.table.denied.Add(1)
	return at, true
}

// plain reports whether a request is one whose denial is remembered.
func (c *DenyCache) plain(r algorithm.Request) bool {
	return r.Verb == algorithm.Take && r.MaxDelay == 0 && (r.Cost == 1 || c.anyCost && r.Cost > 1)
}

// improves reports whether an op can make its slot better for others, or is no take.
func improves(op *store.Op) bool { return op.Request.Verb != algorithm.Take }

// denialOf is what is remembered of the answer to an op; nil: nothing.
func (c *DenyCache) denialOf(op *store.Op, at, sent algorithm.Instant) *denial {
	o := &op.Outcome
	if o.Allowed || !c.plain(op.Request) || o.RetryAfter <= 0 || o.RetryAfter == algorithm.Never || len(op.Key)+len(op.Limit) > maxKey {
		return nil
	}
	// While one unit is denied, nothing remains and no take is admitted: so all that
	// changes with time is RetryAfter and ResetAfter. A debt changes, too.
	if !c.anyCost && (o.Remaining != 0 || o.Debt != 0) {
		return nil
	}
	wait := algorithm.Instant(o.RetryAfter / time.Microsecond)
	if c.clock == nil {
		wait -= wait/1000 + 1
	}
	// The least that is known of how long the store's wait has lasted is the time since the
	// call was sent; where both clocks show one time, it is known exactly.
	ahead := at - sent
	if received, readable := c.now(); readable && sent <= at && at <= received {
		ahead = 0
	}
	return &denial{
		key: op.Key, limit: op.Limit, spec: op.Algorithm.Spec(), cost: op.Request.Cost,
		sent: sent, until: sent + wait, ahead: ahead, at: at, outcome: *o,
	}
}

// reset forgets what is known of the slots.
func (c *DenyCache) reset(ctx context.Context, slots []store.Slot, next func(context.Context, []store.Slot) error) error {
	began := make([]uint64, len(slots))
	for i := range slots {
		began[i] = c.table.begin(slots[i].ID(), true)
	}
	defer func() {
		for i := range slots {
			c.table.end(slots[i].ID(), began[i], true, true, nil)
		}
	}()
	return next(ctx, slots)
}

// now is the time in whole µs: since the start, or since the epoch on a clock that was given. A
// clock that no store can read is not readable.
func (c *DenyCache) now() (now algorithm.Instant, readable bool) {
	if c.clock == nil {
		t := time.Now()
		return algorithm.Instant(c.elapsed.at(t.Sub(c.elapsed.start), t.Round(0).Sub(c.elapsed.start.Round(0))) / time.Microsecond), true
	}
	now, err := algorithm.InstantOf(c.clock.Now())
	return now, err == nil
}

// elapsed is the time since a start. It never goes back, and it is not behind the wall clock by
// more than a second: monotonic time stands still while a machine is suspended, and the time of a
// store does not.
type elapsed struct {
	start   time.Time
	forward atomic.Int64 // ns by which it is ahead of monotonic time
}

// at returns the time since the start, where monotonic time and the wall clock say how much it is.
func (e *elapsed) at(monotonic, wall time.Duration) time.Duration {
	for {
		forward := e.forward.Load()
		now := monotonic + time.Duration(forward)
		if wall-now <= time.Second {
			return now
		}
		if e.forward.CompareAndSwap(forward, int64(wall-monotonic)) {
			return wall
		}
	}
}
