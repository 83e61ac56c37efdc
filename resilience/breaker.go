package resilience

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/internal/nilcheck"
	"github.com/weirgo/weir/store"
)

// ErrOpen is the error of a call that a Breaker refuses. It matches store.ErrUnavailable:
// nothing was sent and nothing was charged.
var ErrOpen = fmt.Errorf("resilience: the breaker is open: %w", store.ErrUnavailable)

// BreakerOptions are the optional settings of a Breaker. nil means all defaults.
type BreakerOptions struct {
	// Window is over which time calls and failures are counted, in steps of a tenth of
	// it. 0 is 10 s; below 10 ms and above 1 h are refused.
	Window time.Duration
	// MinCalls is how many calls have to be in the window before the Breaker opens. 0
	// is 20; below 0 is refused.
	MinCalls int64
	// FailurePercent is the share of failures in the window from which on it opens, from 1
	// to 100. 0 is 50.
	FailurePercent int64
	// SlowCall is from when on a call counts as a failure although it was answered. 0 is
	// 50 ms, half of the default time-out of a limiter: choose half of
	// weir.Options.Timeout. Below 0 is refused.
	SlowCall time.Duration
	// OpenFor is how long it stays open, give or take 20 % at random, so that processes
	// do not probe together. 0 is 5 s; below 10 ms and above 1 h are refused.
	OpenFor time.Duration
	// Probes is how many calls in a row have to succeed before it closes. 0 is 3; below
	// 0 is refused.
	Probes int64

	// OnTransition, where it is not nil, is called after each change of state, on the
	// goroutine of the call that made it and with no lock held. Of two changes that
	// follow each other closely the second may be reported first. It must not wait.
	OnTransition func(BreakerTransition)

	// Clock replaces the monotonic clock of the process. Where it goes back, the latest
	// reading counts.
	Clock store.Clock
	// Random returns a number from 0 to n−1, in place of rand.Int64N. It is called
	// concurrently, and must not call the Breaker.
	Random func(n int64) int64
}

// BreakerTransition is a change of state.
type BreakerTransition struct {
	// Node names the server; see Breaker.
	Node     string
	From, To BreakerState
	// At is when, on the clock of the Breaker.
	At time.Time
	// Calls and Failures are the counts of the window before the change.
	Calls, Failures int64
}

// BreakerStats are the state and the counts of a Breaker for one server.
type BreakerStats struct {
	// Node names the server; see Breaker.
	Node  string
	State BreakerState
	// Calls and Failures are those in the window.
	Calls, Failures int64
	// Refused, Probes and Opened are counts since the start: calls that were refused,
	// probes that were sent, and how often it opened.
	Refused, Probes, Opened int64
	// OpenFor is how much longer it refuses all calls; 0 unless State is BreakerOpen.
	OpenFor time.Duration
}

// settings are BreakerOptions with the defaults filled in.
type settings struct {
	window, slowCall, openFor        time.Duration
	minCalls, failurePercent, probes int64
}

// Breaker is a store that decides as the store behind it, or not at all: it adds the error
// ErrOpen and no decision. While it is open a call costs two readings of the clock and a
// lock, and reaches no server; and of a server that stays broken it asks one call each
// OpenFor, give or take 20 %.
//
// It counts the calls of the last Window. A failure is store.ErrUnavailable,
// store.ErrOutcomeUnknown, and a call that took longer than SlowCall. A refusal, invalid
// input, store.ErrContention, ErrFull and ErrCorrupt are no failures, and the end of the
// caller's own context says nothing, unless a deadline has passed after SlowCall. From
// MinCalls on, and with FailurePercent of failures, it opens: each call gets ErrOpen
// immediately, and the failure mode of the limiter answers in microseconds. After OpenFor
// the next call is a probe: a real decision that is charged as any other. One probe is in
// flight at a time. Each that fails opens the Breaker anew, and Probes successes in a row
// close it. Refused calls never put the next probe off.
//
// Where the store tells its servers apart (store.Features.Node), as a store on a cluster
// does, each server has a state and counts of its own, and one that is broken refuses no
// call for the others. The first 1,000 servers are told apart.
//
// A Breaker is safe for concurrent use. Limiters of one store share one.
type Breaker struct {
	decorator
	settings settings
	opts     BreakerOptions
	start    time.Time
	node     func(key string) string // nil: one server

	mu       sync.RWMutex
	circuits map[string]*circuit
}

var _ store.Featured = (*Breaker)(nil)

// NewBreaker returns a Breaker around a store. Close closes the store. A nil store, and an
// option outside its bounds, give an error that matches store.ErrInvalid.
func NewBreaker(inner store.Store, opts *BreakerOptions) (*Breaker, error) {
	if err := checkStore("store", inner); err != nil {
		return nil, err
	}
	if opts == nil {
		opts = &BreakerOptions{}
	}
	s, err := opts.settings()
	if err != nil {
		return nil, err
	}
	b := &Breaker{settings: s, opts: *opts, circuits: make(map[string]*circuit)}
	if b.opts.Random == nil {
		b.opts.Random = rand.Int64N
	}
	b.start = b.time()
	b.node = store.FeaturesOf(inner).Node
	b.wrapped = store.Wrap(inner, store.Hooks{Apply: b.apply, Once: b.once, Peek: b.peek, Reset: b.reset})
	return b, nil
}

func (o *BreakerOptions) settings() (settings, error) {
	s := settings{window: o.Window, slowCall: o.SlowCall, openFor: o.OpenFor, minCalls: o.MinCalls, failurePercent: o.FailurePercent, probes: o.Probes}
	for _, d := range []struct {
		field            string
		value            *time.Duration
		def, least, most time.Duration
		allowed          string
	}{
		{"BreakerOptions.Window", &s.window, 10 * time.Second, 10 * time.Millisecond, time.Hour, "0 (10s), or 10ms to 1h"},
		{"BreakerOptions.SlowCall", &s.slowCall, 50 * time.Millisecond, 1, 1<<63 - 1, "0 (50ms) or more"},
		{"BreakerOptions.OpenFor", &s.openFor, 5 * time.Second, 10 * time.Millisecond, time.Hour, "0 (5s), or 10ms to 1h"},
	} {
		if *d.value == 0 {
			*d.value = d.def
		}
		if *d.value < d.least || *d.value > d.most {
			return s, refuse(d.field, d.value.String(), d.allowed)
		}
	}
	for _, n := range []struct {
		field     string
		value     *int64
		def, most int64
		allowed   string
	}{
		{"BreakerOptions.MinCalls", &s.minCalls, 20, 1 << 40, "0 (20) or more"},
		{"BreakerOptions.FailurePercent", &s.failurePercent, 50, 100, "0 (50), or 1 to 100"},
		{"BreakerOptions.Probes", &s.probes, 3, 1 << 40, "0 (3) or more"},
	} {
		if *n.value == 0 {
			*n.value = n.def
		}
		if *n.value < 1 || *n.value > n.most {
			return s, refuse(n.field, strconv.FormatInt(*n.value, 10), n.allowed)
		}
	}
	if o.Clock != nil && nilcheck.IsNil(o.Clock) {
		return s, refuse("BreakerOptions.Clock", "a nil pointer", "a clock, or nil")
	}
	return s, nil
}

// Features implements store.Featured: those of the store behind it.
func (b *Breaker) Features() store.Features { return b.featuresOf(b) }

// Stats returns the state and the counts for each server, in the order of their names: of
// those that were asked for so far.
func (b *Breaker) Stats() []BreakerStats {
	now := b.now()
	b.mu.RLock()
	defer b.mu.RUnlock()
	all := make([]BreakerStats, 0, len(b.circuits))
	for _, c := range b.circuits {
		all = append(all, c.stats(now))
	}
	slices.SortFunc(all, func(a, b BreakerStats) int { return strings.Compare(a.Node, b.Node) })
	return all
}

func (b *Breaker) apply(ctx context.Context, ops []store.Op, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
	err = b.call(ctx, ops[0].Key, func() error {
		at, committed, err = next(ctx, ops)
		return err
	})
	return at, committed, err
}

func (b *Breaker) once(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (at algorithm.Instant, committed bool, err error) {
	err = b.call(ctx, ops[0].Key, func() error {
		at, committed, err = next(ctx, o, ops)
		return err
	})
	return at, committed, err
}

func (b *Breaker) peek(ctx context.Context, ops []store.Op, next store.PeekFunc) (at algorithm.Instant, err error) {
	err = b.call(ctx, ops[0].Key, func() error {
		at, err = next(ctx, ops)
		return err
	})
	return at, err
}

func (b *Breaker) reset(ctx context.Context, slots []store.Slot, next func(context.Context, []store.Slot) error) error {
	if len(slots) == 0 {
		return next(ctx, slots)
	}
	return b.call(ctx, slots[0].Key, func() error { return next(ctx, slots) })
}

// call makes a call for a key, or refuses it.
func (b *Breaker) call(ctx context.Context, key string, next func() error) error {
	c := b.circuit(key)
	began := b.now()
	period, admitted, what := c.admit(began)
	b.report(c, what)
	if !admitted {
		return ErrOpen
	}
	v := neither // of a call that panics
	defer func() { b.report(c, c.done(period, v, b.now())) }()
	err := next()
	v = b.judge(ctx, b.now()-began, err)
	return err
}

// answered are errors with which a store that works refuses a call.
var answered = []error{store.ErrContention, store.ErrFull, store.ErrCorrupt, store.ErrIDReused}

// judge says what the end of a call that took this long says of the store.
func (b *Breaker) judge(ctx context.Context, took time.Duration, err error) verdict {
	slow := took > b.settings.slowCall
	isAny := func(errs ...error) bool {
		for _, target := range errs {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	switch ended := deadline.Over(ctx); {
	case err != nil && ended != nil && !(slow && errors.Is(ended, context.DeadlineExceeded)):
		return neither
	case err != nil && ended != nil, isAny(store.ErrUnavailable, store.ErrOutcomeUnknown):
		return failure
	case err == nil || isAny(answered...):
		if slow {
			return failure
		}
		return success
	}
	return neither
}

// maxNodes is how many servers are told apart.
const maxNodes = 1000

// circuit returns the state machine of the server of a key.
func (b *Breaker) circuit(key string) *circuit {
	node := ""
	if b.node != nil {
		node = b.node(key)
	}
	b.mu.RLock()
	c := b.circuits[node]
	b.mu.RUnlock()
	if c != nil {
		return c
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.circuits) >= maxNodes {
		node = ""
	}
	if c = b.circuits[node]; c == nil {
		c = &circuit{node: node, settings: &b.settings, openFor: b.openFor}
		b.circuits[node] = c
	}
	return c
}

func (b *Breaker) report(c *circuit, what change) {
	if what.from == what.to || b.opts.OnTransition == nil {
		return
	}
	b.opts.OnTransition(BreakerTransition{
		Node: c.node, From: what.from, To: what.to, At: b.start.Add(what.at), Calls: what.calls, Failures: what.failures,
	})
}

// openFor draws how long to stay open.
func (b *Breaker) openFor() time.Duration {
	fifth := int64(b.settings.openFor) / 5
	return b.settings.openFor + time.Duration(b.opts.Random(2*fifth+1)-fifth)
}

// now is the time since the start.
func (b *Breaker) now() time.Duration { return b.time().Sub(b.start) }

func (b *Breaker) time() time.Time {
	if b.opts.Clock != nil {
		return b.opts.Clock.Now()
	}
	return time.Now()
}
