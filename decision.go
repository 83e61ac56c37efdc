package weir

import (
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// Never is the RetryAfter of a request that can never be admitted: its cost
// exceeds the capacity. It compares as the longest wait. Do not send it as a
// header; the request is wrong, not early.
const Never = algorithm.Never

// Decision is the answer of one limit. Durations are whole microseconds and
// count from At.
type Decision struct {
	// Allowed reports whether the cost was admitted, and so charged.
	Allowed bool
	// Degraded reports that the store did not decide this and a failure mode
	// did; Cause is why.
	Degraded bool
	// Limit is the capacity: the most that a fresh key admits at one instant.
	Limit int64
	// Remaining is the largest cost that would be admitted right after this
	// decision, from 0 to Limit.
	Remaining int64
	// Debt is the number of units that count above Limit, rounded up. Remaining rises
	// above 0 only after these units are regained or given back. A charge, a lower
	// limit, and a clock that goes back leave a debt.
	Debt int64
	// RetryAfter is 0 when allowed. When denied it is the shortest wait after
	// which the same request is admitted if nobody else asks, to the
	// microsecond: round up where a coarser unit is needed. Never if no wait
	// helps.
	RetryAfter time.Duration
	// ResetAfter is the shortest wait after which the key acts as if it had
	// never been used.
	ResetAfter time.Duration
	// Delay is how long an admitted caller of a leaky bucket must wait before
	// it starts; 0 for the other algorithms. A Peek has the Delay that a unit would
	// wait.
	Delay time.Duration
	// At is the instant of the decision on the store's clock, in UTC. It is
	// zero where there was no decision.
	At time.Time
	// Cause is the error that a failure mode stood in for, or nil.
	Cause error
}

// ResetAt is the instant at which the key acts as if it had never been used: At and
// ResetAfter. It is the zero Time where At is, and where ResetAfter is Never, which a
// user's own algorithm may say.
func (d Decision) ResetAt() time.Time { return d.after(d.ResetAfter) }

// RetryAt is the instant from which the same request is admitted if nobody else
// asks: At and RetryAfter, and so At when allowed. It is the zero Time where no wait
// helps and where At is zero.
func (d Decision) RetryAt() time.Time { return d.after(d.RetryAfter) }

func (d Decision) after(wait time.Duration) time.Time {
	if d.At.IsZero() || wait == Never {
		return time.Time{}
	}
	return d.At.Add(wait)
}

// set fills in d from the answer of a store, or leaves it as it is and returns
// the error. It takes the answer as a call returns it, in registers: a variable
// between the two would be a copy through memory, which is a tenth of a decision.
func (d *Decision) set(o algorithm.Outcome, at algorithm.Instant, err error) error {
	if err != nil {
		return err
	}
	d.Allowed = o.Allowed
	d.Limit = o.Limit
	d.Remaining = o.Remaining
	d.Debt = o.Debt
	d.RetryAfter = o.RetryAfter
	d.ResetAfter = o.ResetAfter
	d.Delay = o.Delay
	d.At = at.Time()
	return nil
}

// setFlat is set for an answer in single values. Limiter.take does the same itself: this call
// is not inlined.
func (d *Decision) setFlat(allowed bool, limit, remaining, debt int64, retryAfter, resetAfter, delay time.Duration, at algorithm.Instant, err error) error {
	if err != nil {
		return err
	}
	d.Allowed = allowed
	d.Limit = limit
	d.Remaining = remaining
	d.Debt = debt
	d.RetryAfter = retryAfter
	d.ResetAfter = resetAfter
	d.Delay = delay
	d.At = at.Time()
	return nil
}

// setDegraded is set for an answer that may come from a failure mode.
func (d *Decision) setDegraded(o algorithm.Outcome, at algorithm.Instant, cause, err error) error {
	if err = d.set(o, at, err); err != nil || cause == nil {
		return err
	}
	d.Degraded, d.Cause = true, cause
	if at == 0 {
		d.At = time.Time{} // no store was asked, so there is no instant
	}
	return nil
}

// Result is the answer of several limits that are asked together.
type Result struct {
	// Allowed reports whether every limit admitted its cost. Only then was
	// anything charged.
	Allowed bool
	// Decisions has one Decision for each Ask, in their order. Where Allowed is
	// false, a limit that alone would have admitted its cost says Allowed,
	// with the numbers of a look: it was not charged.
	Decisions []Decision
	// Binding is the index of the limit that matters most: when denied the one
	// with the longest RetryAfter, when allowed the one with the smallest
	// Remaining; the first of equals.
	Binding int
	// RetryAfter is the longest of all: the shortest wait after which the same
	// request passes every limit if nobody else asks. 0 when allowed.
	RetryAfter time.Duration
	// Delay is how long an admitted caller must wait before it starts: the longest Delay
	// of the limits that it took units of. 0 when denied. An Ask with the cost 0 and a
	// refund take nothing, so nobody waits for them.
	Delay time.Duration
}

// summarize fills in what a Result says of its Decisions together.
func (r *Result) summarize(ops []store.Op) {
	for i, d := range r.Decisions {
		b := &r.Decisions[r.Binding]
		if r.Allowed && d.Remaining < b.Remaining || !r.Allowed && d.RetryAfter > b.RetryAfter {
			r.Binding = i
		}
		if r.Allowed && ops[i].Request.Cost > 0 && ops[i].Request.Verb != algorithm.Refund {
			r.Delay = max(r.Delay, d.Delay)
		}
	}
	r.RetryAfter = r.Decisions[r.Binding].RetryAfter
}
