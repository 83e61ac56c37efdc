package algorithm

import (
	"time"

	"github.com/weirgo/weir/internal/exact"
)

// SlidingCounter counts in aligned windows like FixedWindow and adds the part
// of the previous window that a trailing window would still cover, as if its
// units had come evenly: ⌈prev·(P − pos)/P⌉, rounded up so that the weighted
// count never passes the limit, not even by a fraction.
//
// A closed interval of t µs sees at most L + ⌊L·t/P⌋ admitted, so at most
// 2·L − 1 in a half-open window of P: L late in one window, then one at each
// P/L. The bound is reached. Against the true trailing count the estimate errs
// in both directions; only SlidingLog is exact.
//
// With limit 1 the unit of one window blocks the whole next one.
//
// The state is two or three words: "start cur [prev]". Decisions are O(1).
//
// Source: Cloudflare, "How we built rate limiting capable of scaling to
// millions of domains" (2017), with the estimate made exact.
type SlidingCounter struct{ window }

// KindSlidingCounter is the kind and state layout of a SlidingCounter.
const KindSlidingCounter = "sliding-counter/1"

var (
	_ InPlace      = (*SlidingCounter)(nil)
	_ StateChecker = (*SlidingCounter)(nil)
	_ Charger      = (*SlidingCounter)(nil)
)

func slidingCounterFamily() Family {
	return Family{
		Name: "sliding-counter", Kind: KindSlidingCounter,
		Build:     func(r Rate, _ int64) (Algorithm, error) { return lift(NewSlidingCounter(r)) },
		Summary:   `estimates a sliding window from two counts: little memory, an estimate`,
		Layout:    "start cur [prev]",
		Aligned:   true,
		Bound:     func(s Spec, t time.Duration) int64 { return rateOver(s.Params[0], s, t) },
		BoundText: "L + ⌊L·t/P⌋",
		Samples:   []string{"sliding-counter:1/1µs", "sliding-counter:10/1m", "sliding-counter:1000000000000/9600h"},
	}
}

// NewSlidingCounter returns a sliding window counter for r.Units per r.Per. A
// Rate outside its bounds is a *ParameterError.
func NewSlidingCounter(r Rate) (*SlidingCounter, error) {
	w, err := newWindow(KindSlidingCounter, r)
	if err != nil {
		return nil, err
	}
	return &SlidingCounter{w}, nil
}

// Step implements Algorithm.
func (c *SlidingCounter) Step(s State, now Instant, r Request) (next State, o Outcome) {
	c.StepInPlace(&s, now, r, &o)
	return s, o
}

// StepInPlace implements InPlace.
func (c *SlidingCounter) StepInPlace(s *State, now Instant, r Request, o *Outcome) {
	if r.Verb != Take {
		c.other(s, now, r, o)
		return
	}
	now = now.bounded()
	e := int64(now)
	if !s.Fresh() {
		e = max(e, s.w0)
	}
	start := c.start(e)
	next := start + c.period
	kept, cur, prev := c.carry(s, start)
	used := cur + c.estimate(prev, next-e)

	*o = Outcome{Limit: c.limit}
	switch {
	case uint64(r.Cost) > uint64(c.limit):
		o.RetryAfter = Never
	case r.Cost > 0 && used > c.limit-r.Cost:
		o.RetryAfter = micros(c.admits(r.Cost, cur, prev, start) - int64(now))
	default:
		o.Allowed = true
		if r.Cost > 0 {
			cur += r.Cost
			used += r.Cost
			*s = counterState(kept, cur, prev)
		}
	}
	switch {
	case cur > 0:
		o.ResetAfter = micros(next + c.period - int64(now))
	case prev > 0:
		o.ResetAfter = micros(next - int64(now))
	case start > int64(now):
		// All was given back, in a later window than a fresh key would count in.
		o.ResetAfter = micros(start - int64(now))
	}
	c.left(used, o)
}

// MaxDebt implements Charger.
func (c *SlidingCounter) MaxDebt() int64 { return MaxUnits }

// other is StepInPlace for a charge or a refund.
func (c *SlidingCounter) other(s *State, now Instant, r Request, o *Outcome) {
	*o = Outcome{Allowed: true}
	switch {
	case r.Verb == Charge:
		raised := SlidingCounter{c.raised()}
		raised.StepInPlace(s, now, Request{Cost: r.Cost}, o)
	case r.Verb == Refund && r.Cost >= 0:
		c.refund(s, int64(now.bounded()), int64(r.At.bounded()), r.Cost)
	default:
		*o = Outcome{RetryAfter: Never}
	}
	var look Outcome
	c.StepInPlace(s, now, Request{}, &look)
	o.answer(r.Verb, look)
}

// refund takes n from the count of the window that holds at, where it still counts.
func (c *SlidingCounter) refund(s *State, now, at, n int64) {
	if s.Fresh() || n == 0 {
		return
	}
	start := c.start(max(now, s.w0))
	kept, cur, prev := c.carry(s, start)
	switch at = c.start(at); {
	case at == start && cur > 0:
		cur = max(0, cur-n)
	case at == start-c.period && prev > 0:
		prev = max(0, prev-n)
	default:
		return
	}
	*s = counterState(kept, cur, prev)
}

// carry returns what s holds for the window at start: the start to store, the
// count of this window and of the one before.
func (c *SlidingCounter) carry(s *State, start int64) (kept, cur, prev int64) {
	switch {
	case s.Fresh():
		return start, 0, 0
	case s.w0 >= start:
		return s.w0, s.w1, s.Word(2)
	case s.w0 >= start-c.period:
		return start, 0, s.w1
	}
	return start, 0, 0
}

// estimate returns the units of the previous window that still count when the
// current one has left µs to go, rounded up.
func (c *SlidingCounter) estimate(prev, left int64) int64 {
	if prev == 0 {
		return 0
	}
	return exact.Up(exact.MulDiv(prev, left, c.period))
}

// admits returns the first instant at which cost is admitted, given that it is
// denied in the window at start. The weighted count only falls with time, also
// where one window becomes the previous one.
func (c *SlidingCounter) admits(cost, cur, prev, start int64) int64 {
	if spare := c.limit - cur - cost; spare >= 0 {
		if pos := c.position(prev, spare); pos < c.period {
			return start + pos
		}
	}
	return start + c.period + c.position(cur, c.limit-cost)
}

// position returns how far into a window the estimate of prev is down to spare:
// the first pos with prev·(P − pos) ≤ spare·P.
func (c *SlidingCounter) position(prev, spare int64) int64 {
	if prev <= spare {
		return 0
	}
	q, _ := exact.MulDiv(spare, c.period, prev)
	return c.period - q
}

// counterState leaves out a previous count of 0.
func counterState(start, cur, prev int64) State {
	if prev == 0 {
		return State{w0: start, w1: cur, shape: twoWords}
	}
	return State{start, cur, prev, threeWords}
}

// CheckState implements StateChecker.
func (c *SlidingCounter) CheckState(s State) error { return checkCounts(s, 2, 3) }
