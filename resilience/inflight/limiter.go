package inflight

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/internal/nilcheck"
	"github.com/weirgo/weir/store"
)

// Limit is how many units may be in flight.
type Limit struct {
	// Name keeps the limits of one key apart, 1 to 200 bytes.
	Name string
	// Units are how many units live holders of a key have at most together, 1 to MaxUnits.
	Units int64
}

// Options are the optional settings of a Limiter; nil means all defaults.
type Options struct {
	// Life is how long a hold is kept without being renewed, and so how long the units of a
	// holder that died are missing. A Limiter renews its holds after each third of it. 0 is
	// 30 s; else MinLife to MaxLife in whole µs. A life that is not many times the time-out
	// loses holds where the store is slow.
	Life time.Duration
	// Timeout bounds one call to the store, in addition to the context of the caller. 0 is
	// 100 ms; below 0 is refused.
	Timeout time.Duration
	// OnFailure says what to answer when the store cannot: weir.FailClosed, the default,
	// returns the error, and weir.FailOpen allows without counting. weir.FailLocal is
	// refused.
	OnFailure weir.FailureMode
	// Adaptive, where it is not nil, keeps the limit between Adaptive.Min and Limit.Units,
	// as the latencies of the holds say. nil is Limit.Units at all times.
	Adaptive *Adaptive
	// MaxWaiting is how many calls of Wait may wait for a key in this process; one more is
	// weir.ErrQueueFull. 0 is 1,000; below 0 is refused.
	MaxWaiting int
	// Clock measures latencies for Adaptive. nil is the clock of the process.
	Clock store.Clock
}

const (
	defaultLife       = 30 * time.Second
	defaultTimeout    = 100 * time.Millisecond
	defaultMaxWaiting = 1000
)

// Limiter gives out holds on the units of a Limit. It is safe for concurrent use, needs no
// closing, and costs a call to the store for an Acquire and one for a Release, and a timer
// for each hold.
//
// Acquire refuses immediately where no unit is free. Wait waits in a queue.
type Limiter struct {
	store      Store
	limit      Limit
	life       time.Duration
	timeout    time.Duration
	open       bool // weir.FailOpen
	maxWaiting int
	gradient   *gradient // nil where the limit is fixed
	clock      store.Clock
	queues     queues
	counts     counts
}

// Stats are counts of a Limiter since it was made.
type Stats struct {
	// Limit is the limit now.
	Limit int64
	// Held is how many holds this Limiter has given out and not got back, Waiting how many
	// calls of Wait wait.
	Held, Waiting int64
	// Allowed and Refused are the answers of the store, Degraded what weir.FailOpen
	// allowed, and Failed what ended with an error.
	Allowed, Refused, Degraded, Failed int64
	// Lost is how many holds have expired while their holders lived.
	Lost int64
}

type counts struct{ held, waiting, allowed, refused, degraded, failed, lost atomic.Int64 }

// New returns a Limiter. A nil store, and a limit or an option outside of its bounds, give an
// error. The store stays the caller's. Limiters that share a store, a key and a name count
// together, each by its own limit.
func New(s Store, limit Limit, opts *Options) (*Limiter, error) {
	if err := checkStore(s); err != nil {
		return nil, err
	}
	if opts == nil {
		opts = &Options{}
	}
	l := &Limiter{store: s, limit: limit, life: opts.Life, timeout: opts.Timeout, maxWaiting: opts.MaxWaiting, clock: opts.Clock}
	if l.life == 0 {
		l.life = defaultLife
	}
	if l.timeout == 0 {
		l.timeout = defaultTimeout
	}
	if l.maxWaiting == 0 {
		l.maxWaiting = defaultMaxWaiting
	}
	if l.clock == nil {
		l.clock = systemClock{}
	}
	switch {
	case len(limit.Name) < 1 || len(limit.Name) > maxName:
		return nil, refuse("Limit.Name", strconv.Itoa(len(limit.Name))+" bytes long", "1 to 200 bytes long")
	case limit.Units < 1 || limit.Units > MaxUnits:
		return nil, refuse("Limit.Units", strconv.FormatInt(limit.Units, 10), "1 to "+strconv.Itoa(MaxUnits))
	case l.life < MinLife || l.life > MaxLife || l.life%time.Microsecond != 0:
		return nil, refuse("Options.Life", l.life.String(), "0 (30s), or 1ms to 24h in whole µs")
	case l.timeout < 0:
		return nil, refuse("Options.Timeout", l.timeout.String(), "0 (100ms) or more")
	case l.maxWaiting < 0:
		return nil, refuse("Options.MaxWaiting", strconv.Itoa(l.maxWaiting), "0 (1,000) or more")
	case nilcheck.IsNil(l.clock):
		return nil, refuse("Options.Clock", "a nil pointer", "a clock, or nil")
	case opts.OnFailure != weir.FailClosed && opts.OnFailure != weir.FailOpen:
		return nil, refuse("Options.OnFailure", opts.OnFailure.String(), "FailClosed or FailOpen")
	}
	l.open = opts.OnFailure == weir.FailOpen
	if opts.Adaptive != nil {
		var err error
		if l.gradient, err = newGradient(*opts.Adaptive, limit.Units, l.clock.Now()); err != nil {
			return nil, err
		}
	}
	return l, nil
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// Limit returns the limit that the Limiter was made with. Stats has the one that holds now.
func (l *Limiter) Limit() Limit { return l.limit }

// Adapts reports whether the limit follows the latencies of holds; see Hold.Ignore.
func (l *Limiter) Adapts() bool { return l.gradient != nil }

// Stats returns counts. It is cheap.
func (l *Limiter) Stats() Stats {
	c := &l.counts
	return Stats{
		Limit: l.units(), Held: c.held.Load(), Waiting: c.waiting.Load(), Allowed: c.allowed.Load(),
		Refused: c.refused.Load(), Degraded: c.degraded.Load(), Failed: c.failed.Load(), Lost: c.lost.Load(),
	}
}

func (l *Limiter) units() int64 {
	if l.gradient != nil {
		return l.gradient.limit.Load()
	}
	return l.limit.Units
}

// unitsFor is the limit for who wants cost units: an adaptive limit that is lower admits
// them alone, and would else never rise where all want more.
func (l *Limiter) unitsFor(cost int64) int64 { return max(l.units(), min(cost, l.limit.Units)) }

// Acquire takes one unit of a key; see AcquireN.
func (l *Limiter) Acquire(ctx context.Context, key string) (*Hold, error) {
	return l.AcquireN(ctx, key, 1)
}

// AcquireN takes cost units of a key, 1 to MaxUnits, all or none. A refusal is a Hold that is
// not Allowed, and no error; a cost above Limit.Units is always refused. Whoever is Allowed
// releases the Hold.
//
// Where the outcome is unknown (store.ErrOutcomeUnknown), a goroutine gives the units back
// that may have been taken; what it does not reach comes back within the life of a hold.
func (l *Limiter) AcquireN(ctx context.Context, key string, cost int64) (*Hold, error) {
	h := Holder{Slot: Slot{key, l.limit.Name}, ID: weir.NewID(), Cost: cost, Life: l.life}
	hold := &Hold{limiter: l, holder: h, lost: make(chan struct{})}
	sent := time.Now()
	s, err := l.call(ctx, func(ctx context.Context) (Standing, error) { return l.store.Acquire(ctx, h, l.unitsFor(cost)) })
	unknown := errors.Is(err, store.ErrOutcomeUnknown)
	switch {
	case err == nil && !s.Held:
		l.counts.refused.Add(1)
		if l.gradient != nil {
			l.gradient.refused(l.clock.Now())
		}
		hold.standing = s
		return hold, nil
	case err == nil:
		l.counts.allowed.Add(1)
		hold.standing, hold.counted = s, true
	case l.open && weir.IsFailure(err) && deadline.Over(ctx) == nil:
		l.counts.degraded.Add(1)
		hold.cause, hold.counted, hold.unknown = err, unknown, unknown
	default:
		l.counts.failed.Add(1)
		if unknown {
			go func() { // who asks has no Hold to release
				_, _ = l.call(context.WithoutCancel(ctx), func(ctx context.Context) (Standing, error) { return l.store.Release(ctx, h) })
			}()
		}
		return nil, fmt.Errorf("inflight: acquire: %w", err)
	}
	hold.allowed, hold.since = true, l.clock.Now()
	l.counts.held.Add(1)
	if hold.counted {
		hold.begin(sent)
	}
	return hold, nil
}

// Peek returns how a key stands, and changes nothing. Its errors are those of the store,
// whatever Options.OnFailure is.
func (l *Limiter) Peek(ctx context.Context, key string) (Standing, error) {
	return l.call(ctx, func(ctx context.Context) (Standing, error) { return l.store.Peek(ctx, Slot{key, l.limit.Name}) })
}

// call makes one call to the store within the time-out.
func (l *Limiter) call(ctx context.Context, f func(context.Context) (Standing, error)) (s Standing, err error) {
	if _, local := l.store.(*Memory); local { // which never waits
		return f(ctx)
	}
	err = deadline.Call(ctx, l.timeout, func(ctx context.Context) (err error) {
		s, err = f(ctx)
		return err
	})
	return s, err
}
