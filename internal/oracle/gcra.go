package oracle

import "math/big"

// GCRA is the generic cell rate algorithm.
const GCRA Kind = "gcra"

func gcra() family { return family{kind: GCRA, start: func() model { return &arrival{} }} }

// arrival is the state of GCRA and of the leaky bucket as a queue: the
// theoretical arrival time, which is the instant at which the queue is empty.
// nil is a key that was never used.
//
//	next = max(now, tat) + n·T, admitted iff next − now ≤ B·T; then tat = next
//
// Ticks are 1/L' µs, so that T is P' of them.
type arrival struct {
	at    *big.Rat
	queue bool
}

// tat returns the arrival time in ticks, and now if that is later or there is
// none. Under another limit than it was made with it is rounded up, against the
// caller.
func (a *arrival) tat(p *parameters, now int64) *big.Int {
	if a.at == nil {
		return times(now, p.units)
	}
	return larger(times(now, p.units), ceilTicks(a.at, p.units))
}

func (a *arrival) next(p *parameters, now, cost int64) *big.Int {
	return plus(a.tat(p, now), times(cost, p.per))
}

func (a *arrival) admits(p *parameters, now, cost int64) bool {
	ahead := minus(a.next(p, now, cost), times(now, p.units))
	return ahead.Cmp(times(p.capacity, p.per)) <= 0
}

func (a *arrival) take(p *parameters, now, cost int64) {
	a.at = new(big.Rat).SetFrac(a.next(p, now, cost), p.units)
}

// refund: tat − n·T, not below now.
func (a *arrival) refund(p *parameters, now, _, cost int64) {
	if a.at == nil || a.fresh(p, now) {
		return
	}
	back := minus(a.tat(p, now), times(cost, p.per))
	a.at = new(big.Rat).SetFrac(larger(times(now, p.units), back), p.units)
}

func (a *arrival) fresh(p *parameters, now int64) bool {
	return a.tat(p, now).Cmp(times(now, p.units)) == 0
}

func (a *arrival) turn(p *parameters, now int64) *big.Rat {
	if !a.queue {
		return new(big.Rat)
	}
	return new(big.Rat).SetFrac(minus(a.tat(p, now), times(now, p.units)), p.units)
}

func (a *arrival) clone() model { c := *a; return &c }

func (a *arrival) String() string {
	if a.at == nil {
		return "fresh"
	}
	return "tat " + a.at.RatString()
}
