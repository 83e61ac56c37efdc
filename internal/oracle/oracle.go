// Package oracle decides requests in the most literal way there is, to check
// package algorithm against. It keeps naive state in exact rationals (every
// admitted request where the algorithm is a log), knows of each algorithm
// nothing but when it admits a cost and what taking it changes, and finds
// everything else (what remains, how long to wait, when the key is as new) by
// search over that predicate.
//
// It was written from the definitions, not from the code that it checks, and
// imports none of it. It is slow, and for tests and simulations only.
package oracle

import (
	"fmt"
	"math/big"
	"time"
)

// Kind names an algorithm, in the words that a spec starts with.
type Kind string

//go:generate go run ../generate/list -type family -func families -out families_generated.go

// family is a kind with its model.
type family struct {
	kind     Kind
	windowed bool         // the capacity is the limit
	calendar bool         // the windows are those of a Calendar, and no period counts
	start    func() model // of a key that was never used
}

// Kinds returns all kinds, in a fixed order.
func Kinds() []Kind {
	var all []Kind
	for _, f := range families() {
		all = append(all, f.kind)
	}
	return all
}

// familyOf panics on an unknown kind.
func familyOf(k Kind) family {
	for _, f := range families() {
		if f.kind == k {
			return f
		}
	}
	panic("oracle: unknown kind " + string(k))
}

// Windowed reports whether k counts in windows: its capacity is its limit.
func (k Kind) Windowed() bool { return familyOf(k).windowed }

// ByCalendar reports whether the windows of k are those of a calendar: see Oracle.Follow.
func (k Kind) ByCalendar() bool { return familyOf(k).calendar }

// Never is the RetryAfter of a cost that no wait will get admitted.
const Never int64 = -1

// Outcome is the answer to one request. Times are whole µs from the instant of
// the decision.
type Outcome struct {
	Allowed    bool
	Limit      int64 // the capacity
	Remaining  int64 // the largest cost admitted at the same instant, after this decision
	RetryAfter int64 // 0 when allowed; else the least wait after which it is admitted, or Never
	ResetAfter int64 // the least wait after which the key acts as one that was never used
	Delay      int64 // leaky bucket: the wait for one's turn, rounded up
	Debt       int64 // the least number of units to give back so that the capacity is not exceeded, at most MaxUnits
}

// MaxUnits is the largest Debt, and MaxTimeToFull, in µs, the longest time in which a
// charge may leave a key that is not fresh.
const (
	MaxUnits      int64 = 1_000_000_000_000
	MaxTimeToFull int64 = 18_250 * 86_400_000_000
)

// parameters of a limit. Capacity equals limit for the windowed kinds.
type parameters struct {
	limit, period, capacity int64
	units, per              *big.Int // L/P in lowest terms: T = per/units µs
	calendar                *Calendar
}

// model is the naive state of one key under one kind. Instants are µs. A model
// never changes but by take.
type model interface {
	// admits reports whether a cost of at least 1 would be admitted at now,
	// if no bound on the delay were given.
	admits(p *parameters, now, cost int64) bool
	// take records that cost was admitted at now.
	take(p *parameters, now, cost int64)
	// fresh reports whether, from now on, the key acts as one never used.
	fresh(p *parameters, now int64) bool
	// turn returns the wait, in µs, for the turn of a unit admitted at now.
	turn(p *parameters, now int64) *big.Rat
	// clone returns an independent copy.
	clone() model
	fmt.Stringer
}

// refunder is a model whose algorithm knows charges and refunds.
type refunder interface {
	// refund gives back what still counts of a cost of at least 1 that was
	// admitted at the instant at.
	refund(p *parameters, now, at, cost int64)
}

// Oracle is one key under one limit. It is not safe for concurrent use.
type Oracle struct {
	kind     Kind
	p        parameters
	calendar *Calendar // that it follows; nil follows from the period
	state    model
}

// New returns a fresh key under limit units per period µs. capacity is the
// burst or capacity of a GCRA, token bucket or leaky bucket; the windowed kinds
// ignore it. New checks no bounds: numbers have no size here. It panics on an
// unknown kind and on parameters below 1.
func New(kind Kind, limit, period, capacity int64) *Oracle {
	o := &Oracle{kind: kind, state: familyOf(kind).start()}
	o.SetParameters(limit, period, capacity)
	return o
}

// SetParameters puts the key under other parameters. It changes no state: what
// the old state means under the new parameters is decided when it is read, so a
// change and a change back with nothing between them have no effect.
func (o *Oracle) SetParameters(limit, period, capacity int64) {
	if o.kind.Windowed() {
		capacity = limit
	}
	if limit < 1 || period < 1 || capacity < 1 {
		panic(fmt.Sprintf("oracle: limit %d, period %d, capacity %d", limit, period, capacity))
	}
	rate := big.NewRat(limit, period)
	calendar := o.calendar
	if o.kind.ByCalendar() && calendar == nil {
		calendar = NewCalendar("day")
		for _, unit := range []string{"week", "month", "quarter", "year"} {
			if period > longest(calendar.unit) {
				calendar = NewCalendar(unit)
			}
		}
	}
	o.p = parameters{limit, period, capacity, rate.Num(), rate.Denom(), calendar}
}

// longest is the most µs that a window of a unit has, without changes of the clock.
func longest(unit string) int64 {
	days := map[string]int64{"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
	return days[unit] * 86_400_000_000
}

// Follow puts a key that counts by a calendar under another one. Without it the calendar
// is that of UTC, with the shortest unit of which a window can be as long as the period.
func (o *Oracle) Follow(c *Calendar) { o.calendar, o.p.calendar = c, c }

// SetArrival makes at, in µs since the epoch, the theoretical arrival time of a
// GCRA or the instant at which the queue of a leaky bucket is empty.
func (o *Oracle) SetArrival(at *big.Rat) { o.state.(*arrival).at = new(big.Rat).Set(at) }

// Turn returns the exact wait, in µs, for the turn of a unit that a leaky
// bucket admits at now: Delay before it is rounded up. 0 for the other kinds.
func (o *Oracle) Turn(now int64) *big.Rat { return o.state.turn(&o.p, now) }

// Clone returns a copy that shares nothing with o.
func (o *Oracle) Clone() *Oracle {
	c := *o
	c.state = o.state.clone()
	return &c
}

// String returns the state. Keys of one kind with equal strings and equal
// parameters decide equally for ever.
func (o *Oracle) String() string { return o.state.String() }

// Admits reports whether a cost of at least 1 would be admitted at the instant now,
// if no bound on the delay were given.
func (o *Oracle) Admits(now, cost int64) bool { return o.state.admits(&o.p, now, cost) }

// Charge takes a cost of at least 1 at the instant now, also where it would not be
// admitted.
func (o *Oracle) Charge(now, cost int64) { o.state.take(&o.p, now, cost) }

// Fresh reports whether from the instant now on the key acts as one that was never
// used.
func (o *Oracle) Fresh(now int64) bool { return o.state.fresh(&o.p, now) }

// Decide decides a request of cost ≥ 0 at the instant now and keeps the state
// after it. maxDelay bounds the Delay of a leaky bucket, as it does in a
// request: 0 is no bound, and the other kinds ignore it.
func (o *Oracle) Decide(now, cost int64, maxDelay time.Duration) Outcome {
	return o.decide(now, cost, maxDelay, bisection{})
}

// DecideByScan is Decide with every search done by trying all values in turn.
// It does not rely on any predicate being monotone, and is for small numbers.
func (o *Oracle) DecideByScan(now, cost int64, maxDelay time.Duration) Outcome {
	return o.decide(now, cost, maxDelay, scan{})
}

func (o *Oracle) decide(now, cost int64, maxDelay time.Duration, s searcher) Outcome {
	admits := func(d int64) bool {
		return o.state.admits(&o.p, now+d, cost) && o.inTime(now+d, maxDelay)
	}
	answer := Outcome{Limit: o.p.capacity, Allowed: cost == 0 || admits(0)}
	switch {
	case answer.Allowed:
		answer.Delay = ceil(o.state.turn(&o.p, now))
		if cost > 0 {
			o.state.take(&o.p, now, cost)
		}
	case cost > o.p.capacity:
		answer.RetryAfter = Never
	default:
		answer.RetryAfter = s.least(1, admits)
	}
	o.look(&answer, now, s)
	return answer
}

// look finds what a look at the state reports, but for the Delay.
func (o *Oracle) look(answer *Outcome, now int64, s searcher) {
	answer.Remaining = s.greatest(o.p.capacity, func(n int64) bool {
		return n == 0 || o.state.admits(&o.p, now, n)
	})
	answer.ResetAfter = s.least(0, func(d int64) bool { return o.state.fresh(&o.p, now+d) })
	if answer.Remaining == 0 {
		answer.Debt = min(MaxUnits, s.least(0, func(n int64) bool { return n >= MaxUnits || o.state.admits(&o.p, now, -n) }))
	}
}

// DecideCharge decides a charge of cost ≥ 0 at the instant now and keeps the state
// after it.
func (o *Oracle) DecideCharge(now, cost int64) Outcome {
	answer := Outcome{Limit: o.p.capacity}
	debt := o.maxDebt()
	inBounds := func(d int64) bool { return o.state.admits(&o.p, now+d, cost-debt) }
	switch {
	case cost == 0 || inBounds(0):
		answer.Allowed = true
		answer.Delay = ceil(o.state.turn(&o.p, now))
		if cost > 0 {
			o.state.take(&o.p, now, cost)
		}
	case cost > o.p.capacity+debt:
		answer.RetryAfter = Never
	default:
		answer.RetryAfter = bisection{}.least(1, inBounds)
	}
	o.look(&answer, now, bisection{})
	return answer
}

// maxDebt is how far a charge may go beyond the capacity.
func (o *Oracle) maxDebt() int64 {
	if o.kind.Windowed() {
		return MaxUnits
	}
	most := floorDivide(times(MaxTimeToFull, o.p.units), o.p.per)
	most.Sub(most, big.NewInt(o.p.capacity))
	return smaller(most, big.NewInt(MaxUnits)).Int64()
}

// DecideRefund gives back, at the instant now, a cost ≥ 0 of what was admitted at the
// instant at, and keeps the state after it. It panics for a kind that knows no refund.
func (o *Oracle) DecideRefund(now, at, cost int64) Outcome {
	if cost > 0 {
		o.state.(refunder).refund(&o.p, now, at, cost)
	}
	answer := Outcome{Allowed: true, Limit: o.p.capacity, Delay: ceil(o.state.turn(&o.p, now))}
	o.look(&answer, now, bisection{})
	return answer
}

// inTime reports whether the turn of a unit admitted at now, rounded up to
// whole µs, is within the bound.
func (o *Oracle) inTime(now int64, bound time.Duration) bool {
	if bound == 0 {
		return true
	}
	delay := new(big.Int).Mul(big.NewInt(ceil(o.state.turn(&o.p, now))), big.NewInt(int64(time.Microsecond)))
	return delay.Cmp(big.NewInt(int64(bound))) <= 0
}
