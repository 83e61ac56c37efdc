package algorithm

import "time"

// GCRA is the generic cell rate algorithm in its virtual scheduling form. It
// keeps one instant for each key, the theoretical arrival time, and admits a
// cost while that instant would not come to lie more than burst × P/L beyond
// now. From idle it admits burst units immediately, then one each P/L.
//
// A closed interval of t µs sees at most B + ⌊t·L/P⌋ admitted; the bound is
// reached. With B = L that is up to 2·L in a period: where "at most L in any P"
// is meant, use SlidingLog, or a burst of 1.
//
// With equal parameters it decides as TokenBucket does, request for request, on
// a clock that does not go back.
//
// The state is the instant in µs, followed by the numerator and denominator of
// its fraction where there is one: "w [f L]". Decisions are O(1).
//
// Source: ITU-T Recommendation I.371 (2004), Annex A.
type GCRA struct{ schedule }

// KindGCRA is the kind and state layout of a GCRA.
const KindGCRA = "gcra/1"

var (
	_ InPlace      = (*GCRA)(nil)
	_ StateChecker = (*GCRA)(nil)
	_ Charger      = (*GCRA)(nil)
)

func gcraFamily() Family {
	return Family{
		Name: "gcra", Kind: KindGCRA, Option: "burst",
		Build:     func(r Rate, capacity int64) (Algorithm, error) { return lift(NewGCRA(r, capacity)) },
		Summary:   `admits a burst from idle, then one unit each P/L: smooth, one number of state`,
		Layout:    "w [f L]",
		Bound:     func(s Spec, t time.Duration) int64 { return rateOver(s.Params[2], s, t) },
		BoundText: "B + ⌊t·L/P⌋",
		Samples:   []string{"gcra:1/1µs", "gcra:7/3s,burst=3", "gcra:1000000000000/9600h"},
	}
}

// NewGCRA returns a GCRA for the rate r that admits burst units immediately from
// idle. burst runs from 1 to MaxUnits and must fill within MaxTimeToFull at
// that rate; the usual choice is r.Units. What lies outside is a
// *ParameterError.
func NewGCRA(r Rate, burst int64) (*GCRA, error) {
	s, err := newSchedule(KindGCRA, "burst", r, burst)
	if err != nil {
		return nil, err
	}
	return &GCRA{s}, nil
}

// Step implements Algorithm.
func (g *GCRA) Step(s State, now Instant, r Request) (next State, o Outcome) {
	g.StepInPlace(&s, now, r, &o)
	return s, o
}

// StepInPlace implements InPlace.
func (g *GCRA) StepInPlace(s *State, now Instant, r Request, o *Outcome) {
	if r.Verb != Take {
		g.other(s, now, r, o)
		return
	}
	at := int64(now.bounded())
	debt := g.debt(s, at)
	room := g.room(debt)
	*o = Outcome{Limit: g.burst}
	if uint64(r.Cost) > uint64(g.burst) {
		o.RetryAfter = Never
	} else if cost := g.times(r.Cost); r.Cost > 0 && room.less(cost) {
		o.RetryAfter = micros(g.minus(cost, room).ceil())
	} else {
		o.Allowed = true
		if r.Cost > 0 {
			debt, room = g.plus(debt, cost), g.minus(room, cost)
			*s = g.store(at, debt)
		}
	}
	if room.whole < 0 {
		o.Debt = g.over(room)
	} else {
		o.Remaining = g.remaining(room)
	}
	o.ResetAfter = micros(debt.ceil())
}

// other is StepInPlace for a charge or a refund.
func (g *GCRA) other(s *State, now Instant, r Request, o *Outcome) {
	*o = Outcome{Allowed: true}
	switch {
	case r.Verb == Charge:
		raised := GCRA{g.raised()}
		raised.StepInPlace(s, now, Request{Cost: r.Cost}, o)
	case r.Verb == Refund && r.Cost >= 0:
		g.refund(s, int64(now.bounded()), r.Cost)
	default:
		*o = Outcome{RetryAfter: Never}
	}
	var look Outcome
	g.StepInPlace(s, now, Request{}, &look)
	o.answer(r.Verb, look)
}

// String returns the spec, such as "gcra:100/1m,burst=20", as ParseSpec reads it.
func (g *GCRA) String() string { return formatSpec(g.kind, g.limit, g.period, "burst", g.burst) }
