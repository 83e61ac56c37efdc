package algorithm

import (
	"time"

	"github.com/weirgo/weir/internal/exact"
)

// schedule is the arithmetic that GCRA and the leaky bucket share: a
// theoretical arrival time that moves on by T = P/L for each unit, held as a
// whole number of µs and a numerator over L, both in lowest terms.
//
// All sums are relative to the instant of the decision: an absolute one,
// arrival time + cost × T, could pass 2^53 at the bounds, which a script on a
// server could not follow.
type schedule struct {
	kind         string
	limit        int64 // as given, for Spec
	period       int64 // as given, µs
	burst        int64
	units, per   int64 // L and P in lowest terms
	unit, full   span  // T and burst × T
	withFraction bool  // units > 1: instants can have a fraction
}

// span is a length of time, whole + part/units µs with 0 ≤ part < units. As the
// difference of two spans, whole may be negative.
type span struct{ whole, part int64 }

func newSchedule(kind, field string, r Rate, burst int64) (schedule, error) {
	if err := r.check(nameOf(kind)); err != nil {
		return schedule{}, err
	}
	if err := r.checkBurst(nameOf(kind), field, burst); err != nil {
		return schedule{}, err
	}
	s := schedule{kind: kind, limit: r.Units, period: int64(r.Per / time.Microsecond), burst: burst}
	s.units, s.per = r.reduced()
	s.unit, s.full = s.product(1), s.product(burst)
	s.withFraction = s.units > 1
	return s, nil
}

// Spec implements Algorithm. The parameters are limit, period in µs, and burst
// or capacity.
func (s *schedule) Spec() Spec {
	return Spec{Kind: s.kind, Params: [4]int64{s.limit, s.period, s.burst}}
}

// times returns n × T.
func (s *schedule) times(n int64) span {
	if n == 1 {
		return s.unit
	}
	return s.product(n)
}

func (s *schedule) product(n int64) span {
	q, rest := exact.MulDiv(n, s.per, s.units)
	return span{q, rest}
}

func (s *schedule) plus(a, b span) span {
	sum := span{a.whole + b.whole, a.part + b.part}
	if sum.part >= s.units {
		sum = span{sum.whole + 1, sum.part - s.units}
	}
	return sum
}

func (s *schedule) minus(a, b span) span {
	diff := span{a.whole - b.whole, a.part - b.part}
	if diff.part < 0 {
		diff = span{diff.whole - 1, diff.part + s.units}
	}
	return diff
}

// ceil rounds up to whole µs.
func (a span) ceil() int64 { return exact.Up(a.whole, a.part) }

// less reports a < b.
func (a span) less(b span) bool {
	return a.whole < b.whole || a.whole == b.whole && a.part < b.part
}

// debt returns how far the arrival time in s lies beyond now; 0 if it does not.
func (s *schedule) debt(state *State, now int64) span {
	if state.shape == oneWord {
		return span{whole: max(0, state.w0-now)}
	}
	return s.debtWithPart(state, now)
}

// debtWithPart is debt for an arrival time with a fraction. One over another
// denominator, from before a change of parameters, is rounded up, against the
// caller.
func (s *schedule) debtWithPart(state *State, now int64) span {
	if state.shape == nil || state.w0 < now {
		return span{}
	}
	d := span{whole: state.w0 - now, part: state.w1}
	if state.shape.words != 3 {
		d.part = 0
	} else if state.w2 != s.units {
		d.part = exact.Up(exact.MulDiv(state.w1, s.units, max(1, state.w2)))
	}
	if d.part >= s.units {
		d = span{whole: d.whole + 1}
	}
	return d
}

// room returns how much debt may be added: burst × T − debt, perhaps negative.
func (s *schedule) room(debt span) span { return s.minus(s.full, debt) }

// remaining returns how many units fit into room, which is not below 0.
func (s *schedule) remaining(room span) int64 {
	if s.withFraction {
		return s.remainingOf(room)
	}
	return int64(uint64(room.whole) / uint64(s.per))
}

// remainingOf is remaining for a rate with a fraction. It is a function of its own, and not
// inlined, so that remaining, like debt, is small enough for the compiler to inline.
//
//go:noinline
func (s *schedule) remainingOf(room span) int64 {
	n, _ := exact.MulAddDiv(room.whole, s.units, room.part, s.per)
	return n
}

// over returns how many units room is below 0, rounded up.
func (s *schedule) over(room span) int64 {
	return min(MaxUnits, exact.Up(exact.MulAddDiv(-room.whole, s.units, -room.part, s.per)))
}

// MaxDebt implements Charger.
func (s *schedule) MaxDebt() int64 { return maxDebt(s.units, s.per, s.burst) }

// raised returns the schedule by which a charge is decided: with a burst that is
// larger by the largest debt.
func (s *schedule) raised() schedule {
	r := *s
	r.burst += s.MaxDebt()
	r.full = r.product(r.burst)
	return r
}

// refund moves the arrival time back by n units, not to before now.
func (s *schedule) refund(state *State, now, n int64) {
	debt := s.debt(state, now)
	if debt == (span{}) || n == 0 {
		return
	}
	if given := s.times(n); given.less(debt) {
		*state = s.store(now, s.minus(debt, given))
	} else {
		*state = s.store(now, span{})
	}
}

// store returns the state whose arrival time lies debt beyond now.
func (s *schedule) store(now int64, debt span) State {
	if debt.part == 0 {
		return State{w0: now + debt.whole, shape: oneWord}
	}
	return State{now + debt.whole, debt.part, s.units, threeWords}
}

// CheckState implements StateChecker: an instant, or an instant and a proper
// fraction of a µs.
func (s *schedule) CheckState(state State) error {
	if state.Fresh() {
		return nil
	}
	if n := state.Words(); n != 1 && n != 3 {
		return refuseShape(state)
	}
	const latest = int64(MaxInstant) + int64(MaxTimeToFull/time.Microsecond)
	if state.w0 < 0 || state.w0 > latest {
		return refuseState(Instant(state.w0).String())
	}
	if state.Words() == 3 && (state.w2 < 2 || state.w2 > MaxUnits || state.w1 < 1 || state.w1 >= state.w2) {
		return refuseState(Instant(state.w1).String() + " " + Instant(state.w2).String())
	}
	return nil
}
