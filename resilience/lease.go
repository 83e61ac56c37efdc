package resilience

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/nilcheck"
	"github.com/weirgo/weir/store"
)

// LeaseOptions are the optional settings of a Lease. nil means all defaults.
type LeaseOptions struct {
	// Units is the most units of one lease. 0 is 10,000; 1 is no leases: every decision
	// is the store's. Below 0 is refused.
	Units int64

	// MaxShare is the largest part of a limit that one lease may hold, and the largest
	// part of what remains of it, above 0 and at most 0.5. 0 is 0.05. A limit of which
	// that part is less than two units is never leased: with the default, a capacity
	// below 40.
	MaxShare float64

	// Life is how long units may be held, from the instant at which they were asked
	// for. 0 is 1 s; 1 ms to 1 h. Units that nobody has used for a quarter of it are
	// given back, and all others before its end.
	Life time.Duration

	// Timeout bounds each call that gives units back, also within the call of a caller: later
	// a rate would have regained more of them. 0 is 100 ms; 1 ms to 1 min.
	Timeout time.Duration

	// MaxKeys is how many slots are watched or leased at one time. Other slots are decided by
	// the store until some of these are cold. 0 is 10,000; below 0 is refused. A slot
	// takes about 500 bytes and its key.
	MaxKeys int

	// Only reports whether a limit has leases, by its name; such as
	// func(limit string) bool { return watched.Policy().Leased(limit) } for the limits of a
	// policy. It is called for each decision, concurrently, and must not wait. Units of a limit
	// that has leases no longer are given back. nil: all limits have leases.
	Only func(limit string) bool

	// Clock replaces the time of the process. With a Clock the Lease starts no
	// goroutine, and gives back nothing by itself but where a caller is denied: call
	// Sweep. It should not go back.
	Clock store.Clock
}

// Lease is a store.Store that never admits more than its inner store has charged:
// admitted units, and units that leases hold, are at most the units taken from the inner store less
// the units given back to it. Its price is denials: units that the leases of other processes
// hold unused are missing, at most one and a half times MaxShare of the capacity for each
// process (a new lease, and half of the one before), until they are given back within Life.
//
// A slot that is asked often is hot. The Lease takes more units of a hot slot than its
// caller wants, in the same call, and hands them out in this process without the store.
// How many follows the use of the slot in the last quarter of a Life: none for a cold slot, and
// about what one such quarter uses for a hot one, within Units and MaxShare. A call for
// new units leaves when half of the old ones are used, and one at a time for each slot.
//
// Near its limit a slot has no leases: every decision, with its Remaining and RetryAfter, is the
// store's there. Before a caller is denied the units that this process holds are given
// back, and the store is asked again.
//
// What a unit may be used for depends on the algorithm:
//
//   - fixed window, sliding counter: until the end of the window that it was taken
//     in. The bound of the algorithm holds for what is admitted, on the clock of the store.
//   - GCRA, token bucket: until the end of Life. An interval of t sees at most
//     B + ⌊(t + Life)·L/P⌋. Of the units given back, those that the rate has
//     regained since they were taken are not given back twice.
//   - sliding log, leaky bucket, and algorithms of users: never leased. A log promises at
//     most its limit in every window, and a queue the turn of each caller, which a unit
//     used late would break.
//
// The answer from a lease has the Remaining that the store had when the units were
// taken, with the units that are left: other processes may have used some of it since. Its instant is
// that of the store, moved on by the clock of this process. Its ResetAfter is that of the
// units taken.
//
// Takes of several ops, takes with an ID, charges, refunds and looks at other slots are the store's; units that
// are held count as taken there. A look at a slot whose units are held, for no more than these, is
// answered as a take would be. Reset drops the units of this process; the units that other processes
// hold at that instant, or give back later, and a grant that is on its way back, may be admitted
// once more.
//
// A grant whose outcome is unknown is never handed out, and one that is given back with an unknown
// outcome is not given back again: either is units less, never more. A process that dies
// leaves its units charged.
//
// A decision from a lease costs a hash, a lock and a reading of the clock, and no
// allocation. A Lease is safe for concurrent use. Close gives all units back first, and then
// closes the inner store.
type Lease struct {
	decorator
	features store.Features

	inner   store.Store // with the time-out for calls that give back, if it has one
	timed   bool        // inner needs no context with a time-out
	opts    LeaseOptions
	tick    time.Duration // a quarter of Life
	kinds   map[string]kind
	table   table
	clock   func() time.Time
	closed  atomic.Bool
	stop    chan struct{}
	stopped chan struct{} // nil without a goroutine
	closing sync.Once
	err     error // of closing
}

var _ store.Featured = (*Lease)(nil)

// NewLease returns a Lease around inner, which must not be nil and is closed with it. It
// returns an *store.InputError for options out of their bounds. It does no I/O. Without
// a Clock it starts one goroutine, which Close stops.
func NewLease(inner store.Store, opts *LeaseOptions) (*Lease, error) {
	if err := checkStore("inner", inner); err != nil {
		return nil, err
	}
	o, err := opts.complete()
	if err != nil {
		return nil, err
	}
	l := &Lease{opts: o, tick: o.Life / 4, kinds: leasable(), clock: time.Now, inner: inner, stop: make(chan struct{})}
	l.table.init(o.MaxKeys)
	if o.Clock != nil {
		l.clock = o.Clock.Now
	}
	features := store.FeaturesOf(inner)
	l.timed = features.NoIO || features.Within != nil
	if features.Within != nil {
		l.inner = features.Within(o.Timeout)
	}
	l.decorator = decorator{l.wrap(inner, 0)}
	l.features = l.featuresOf(l)
	if features.Within != nil {
		l.features.Within = func(timeout time.Duration) store.Store { return l.wrap(features.Within(timeout), timeout) }
	}
	if o.Clock == nil {
		l.stopped = make(chan struct{})
		go l.sweeper()
	}
	return l, nil
}

// complete returns the options with defaults, or an error about one of them.
func (o *LeaseOptions) complete() (LeaseOptions, error) {
	var c LeaseOptions
	if o != nil {
		c = *o
	}
	if c.Units < 0 {
		return c, refuse("LeaseOptions.Units", strconv.FormatInt(c.Units, 10), "0 or more")
	}
	if !(c.MaxShare >= 0 && c.MaxShare <= 0.5) {
		return c, refuse("LeaseOptions.MaxShare", strconv.FormatFloat(c.MaxShare, 'g', -1, 64), "0 to 0.5")
	}
	if c.MaxKeys < 0 {
		return c, refuse("LeaseOptions.MaxKeys", strconv.Itoa(c.MaxKeys), "0 or more")
	}
	if c.Life != 0 && (c.Life < time.Millisecond || c.Life > time.Hour) {
		return c, refuse("LeaseOptions.Life", c.Life.String(), "0, or 1ms to 1h")
	}
	if c.Timeout != 0 && (c.Timeout < time.Millisecond || c.Timeout > time.Minute) {
		return c, refuse("LeaseOptions.Timeout", c.Timeout.String(), "0, or 1ms to 1m")
	}
	if c.Clock != nil && nilcheck.IsNil(c.Clock) {
		return c, refuse("LeaseOptions.Clock", "nil", "a clock, or no interface value")
	}
	setDefault(&c.Units, 10_000)
	setDefault(&c.MaxShare, 0.05)
	setDefault(&c.Life, time.Second)
	setDefault(&c.Timeout, 100*time.Millisecond)
	setDefault(&c.MaxKeys, 10_000)
	return c, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Features implements store.Featured.
func (l *Lease) Features() store.Features { return l.features }

// Close gives all units back, each grant within Timeout, and closes the inner store. It
// returns an error where units could not be given back: they stay charged. It is idempotent.
func (l *Lease) Close() error { return l.decorator.Close() }

// end gives all units back.
func (l *Lease) end() error {
	l.closing.Do(func() {
		l.closed.Store(true)
		close(l.stop)
		if l.stopped != nil {
			<-l.stopped
		}
		if _, lost := l.giveAllBack(context.Background(), func(*leased) bool { return true }, everything); lost > 0 {
			l.err = fmt.Errorf("resilience: close: %d units of leases could not be given back", lost)
		}
	})
	return l.err
}

// wrap returns inner, which has a time-out or none, with the hooks around it.
func (l *Lease) wrap(inner store.Store, timeout time.Duration) store.Store {
	apply := func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
		return l.apply(ctx, ops, timeout, next)
	}
	return store.Wrap(&returning{inner, l}, store.Hooks{Apply: apply, Once: l.once, Peek: l.peek, Reset: l.reset})
}

// returning is the inner store, whose Close gives the units of leases back first.
type returning struct {
	store.Store
	lease *Lease
}

var _ store.Featured = (*returning)(nil)

// Features implements store.Featured: those of the inner store.
func (r *returning) Features() store.Features {
	f := store.FeaturesOf(r.Store)
	f.Owner, f.Within = r, nil // a time-out is set around the whole
	return f
}

// Close implements store.Store.
func (r *returning) Close() error { return errors.Join(r.lease.end(), r.Store.Close()) }
