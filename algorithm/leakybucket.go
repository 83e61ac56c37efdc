package algorithm

import "time"

// LeakyBucket is a leaky bucket used as a queue: admitted callers wait their
// turn (Outcome.Delay), so that work starts at a constant rate, and a caller
// who finds the queue full is denied. It decides as GCRA with the capacity as
// burst; the capacity counts the unit in service, so with capacity 1 nobody
// waits.
//
// A caller who waits its Delay starts no earlier than its turn and less than
// 1 µs after it. Turns are exactly cost × P/L apart while the queue is not empty:
// a closed interval of t µs sees turns for at most n + ⌊t·L/P⌋ units, where n is
// the largest cost used. Nobody waits longer than capacity × P/L.
//
// A request may bound its Delay (Request.MaxDelay): it is denied rather than
// queued for longer. Remaining does not take that bound into account.
//
// The state is the instant at which the queue is empty: "w [f L]" as for GCRA.
// Decisions are O(1).
//
// Source: J. Turner, "New directions in communications (or which way to the
// information age?)", IEEE Communications Magazine 24 (1986); as a queue,
// nginx limit_req.
type LeakyBucket struct{ schedule }

// KindLeakyBucket is the kind and state layout of a LeakyBucket.
const KindLeakyBucket = "leaky-bucket/1"

var (
	_ InPlace      = (*LeakyBucket)(nil)
	_ StateChecker = (*LeakyBucket)(nil)
	_ Charger      = (*LeakyBucket)(nil)
	_ Queue        = (*LeakyBucket)(nil)
)

func leakyBucketFamily() Family {
	return Family{
		Name: "leaky-bucket", Kind: KindLeakyBucket, Option: "capacity",
		Build:     func(r Rate, capacity int64) (Algorithm, error) { return lift(NewLeakyBucket(r, capacity)) },
		Summary:   `admits as gcra; admitted callers wait for their turn, so work starts at a constant rate`,
		Layout:    "w [f L]",
		Bound:     func(s Spec, t time.Duration) int64 { return rateOver(s.Params[2], s, t) },
		BoundText: "B + ⌊t·L/P⌋",
		Samples:   []string{"leaky-bucket:1/1µs", "leaky-bucket:7/3s,capacity=3", "leaky-bucket:1000000000000/9600h"},
	}
}

// NewLeakyBucket returns a leaky bucket that starts r.Units per r.Per and holds
// capacity units, the one in service included. capacity runs from 1 to MaxUnits
// and must drain within MaxTimeToFull at that rate. What lies outside is a
// *ParameterError.
func NewLeakyBucket(r Rate, capacity int64) (*LeakyBucket, error) {
	s, err := newSchedule(KindLeakyBucket, "capacity", r, capacity)
	if err != nil {
		return nil, err
	}
	return &LeakyBucket{s}, nil
}

// Queue marks a LeakyBucket as an algorithm.Queue.
func (l *LeakyBucket) Queue() {}

// Step implements Algorithm.
func (l *LeakyBucket) Step(s State, now Instant, r Request) (next State, o Outcome) {
	l.StepInPlace(&s, now, r, &o)
	return s, o
}

// StepInPlace implements InPlace.
func (l *LeakyBucket) StepInPlace(s *State, now Instant, r Request, o *Outcome) {
	if r.Verb != Take {
		l.other(s, now, r, o)
		return
	}
	at := int64(now.bounded())
	debt := l.debt(s, at)
	room := l.room(debt)
	delay := debt.ceil()
	*o = Outcome{Limit: l.burst}
	if uint64(r.Cost) > uint64(l.burst) {
		o.RetryAfter = Never
	} else if cost, late := l.times(r.Cost), tooLate(delay, r.MaxDelay); r.Cost > 0 && (late > 0 || room.less(cost)) {
		o.RetryAfter = micros(max(late, l.minus(cost, room).ceil()))
	} else {
		o.Allowed = true
		o.Delay = micros(delay)
		if r.Cost > 0 {
			debt, room = l.plus(debt, cost), l.minus(room, cost)
			*s = l.store(at, debt)
		}
	}
	if room.whole < 0 {
		o.Debt = l.over(room)
	} else {
		o.Remaining = l.remaining(room)
	}
	o.ResetAfter = micros(debt.ceil())
}

// other is StepInPlace for a charge or a refund.
func (l *LeakyBucket) other(s *State, now Instant, r Request, o *Outcome) {
	*o = Outcome{Allowed: true}
	switch {
	case r.Verb == Charge:
		raised := LeakyBucket{l.raised()}
		raised.StepInPlace(s, now, Request{Cost: r.Cost}, o)
	case r.Verb == Refund && r.Cost >= 0:
		l.refund(s, int64(now.bounded()), r.Cost)
	default:
		*o = Outcome{RetryAfter: Never}
	}
	var look Outcome
	l.StepInPlace(s, now, Request{}, &look)
	o.answer(r.Verb, look)
}

// tooLate returns by how many µs delay exceeds the bound; it is not above 0
// where there is no bound or delay is within it.
func tooLate(delay int64, bound time.Duration) int64 {
	if bound == 0 {
		return 0
	}
	return delay - int64(bound/time.Microsecond)
}

// String returns the spec, such as "leaky-bucket:10/1s,capacity=21", as
// ParseSpec reads it.
func (l *LeakyBucket) String() string {
	return formatSpec(l.kind, l.limit, l.period, "capacity", l.burst)
}
