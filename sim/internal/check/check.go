// Package check checks the decisions of a simulated run by its rules: it compares each
// with a model of the limit, charges the model with what was admitted, and says by how
// much too much was admitted and what explains it.
package check

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/store"
)

// The names of the rules; see scenario.Rules.
const (
	Admission = "admission"
	Denial    = "denial"
	Outcome   = "outcome"
	AllOrNone = "all-or-nothing"
	Retry     = "retry-after"
	Reset     = "reset-after"
	TrueTime  = "true-time"
	Local     = "local"
	Liveness  = "liveness"
	Isolation = "isolation"
	Subject   = "subject"
	Shadow    = "shadow"
	List      = "list"
	Breaker   = "breaker"
	DenyCache = "deny-cache"
	LocalSum  = "local-sum"
	Leases    = "leases"

	IDs          = "ids"
	Reservations = "reservations"
)

// Checker checks the decisions of one run.
type Checker struct {
	Now     int64 // true time, µs since the start
	Epoch   int64 // instant of the start
	Journal Journal
	Limits  []*Limit
	Goals   [Goals]int64
	Retries result.RetryAfter
	// Faulty are the faults whose effects are not over. Its elements never change.
	Faulty []*result.Fault
	// Failure is the first violation of a rule; nil without one. Its Scenario, Seed and
	// Limit are not set.
	Failure *result.Failure

	// Rules are the rules to check; nil is all.
	Rules []string
	// ClocksVary reports whether clocks of decisions may go back or differ: then the
	// debt at one instant says little of the debt at a later one.
	ClocksVary bool
	// Measure makes the checker measure admissions in true time apart: clocks vary, or
	// failure modes admit.
	Measure bool
	// ClocksDiffer and ClocksDrift report whether clocks of nodes may be off, and whether they
	// may run differently.
	ClocksDiffer, ClocksDrift bool
	// Nodes is the number of nodes, and Crashes how many of them have lost their memory so far.
	Nodes, Crashes int64
	// Leased is set where nodes have leases.
	Leased *Leased
	// Reserves reports whether traffic is reserved, and settled later.
	Reserves bool
	// Servers are the clocks of decisions, one for each server.
	Servers []*Clock

	admissions admissions
}

// Clock is what the checker knows of the clock of a server's decisions.
type Clock struct {
	// Read returns the instant at which the server would decide now.
	Read func() int64

	LastAt           int64 // the latest instant of a decision
	latest, earliest int64 // how far the clock was ahead
}

// Decision is the server's decision of one group.
type Decision struct {
	Node      int32
	Given     int64 // the instant that the store's clock showed
	At        int64
	Ops       []store.Op
	Slots     []*Slot // of Ops
	Committed bool
	Reserved  *Reserved // the reservation that it is of; nil for none
	Try       *Try      // that it is made for; nil where no caller is told of it
}

// Fail notes the first violation of a rule.
func (c *Checker) Fail(rule, format string, args ...any) {
	if c.Failure != nil || c.Rules != nil && !slices.Contains(c.Rules, rule) {
		return
	}
	_, events := c.Journal.Digest()
	c.Failure = &result.Failure{
		Rule: rule, Text: fmt.Sprintf(format, args...), Micros: c.Now, Event: events,
		Columns: result.EventColumns, Last: c.Journal.lines(),
	}
}

// Verify checks a decision, and charges the models with it.
func (c *Checker) Verify(d *Decision) {
	if d.At != d.Given {
		c.Fail(Outcome, "the store decided at %d while its clock showed %d", d.At, d.Given)
	}
	c.noteClock(d.Slots[0].clock(c), d.At)
	all := true
	for i := range d.Ops {
		op, s := &d.Ops[i], d.Slots[i]
		c.follow(s)
		all = all && op.Outcome.Allowed
		c.note(d, i)
		s.Limit.Result.Executed++
		s.Limit.Result.ExecutedAllowed += One(op.Outcome.Allowed)
		if op.Request.Verb == algorithm.Take {
			c.verifyOp(s, op, d.At)
		}
	}
	if d.Committed != all {
		c.Fail(AllOrNone, "committed is %t, and whether every op is allowed is %t", d.Committed, all)
	}
	for i := range d.Ops {
		op, s := &d.Ops[i], d.Slots[i]
		switch {
		case !d.Committed || op.Request.Cost == 0:
		case op.Request.Verb == algorithm.Refund:
			c.refund(s, d, int64(op.Request.At), op.Request.Cost)
		default:
			c.charge(s, d, op.Request.Cost, op.Request.Verb == algorithm.Charge)
		}
		if d.Committed {
			c.asIf(s, d, op.Request)
		}
	}
	if d.Committed && d.Reserved != nil {
		d.Reserved.commit(d)
	}
	for i := range d.Ops {
		c.verifyAfter(d.Slots[i], &d.Ops[i], d.At, d.Committed)
		c.verifySettled(d.Slots[i], d.At, d.Ops[i].Outcome.Remaining)
	}
}

// note adds the event of one op of a decision to the journal.
func (c *Checker) note(d *Decision, i int) {
	op, s := &d.Ops[i], d.Slots[i]
	e := c.Journal.Next(Decided, c.Now, d.Node)
	e.Limit, e.Key, e.Cost, e.At = s.Limit.Index, s.Key, op.Request.Cost, d.At
	e.Allowed, e.Remaining = op.Outcome.Allowed, op.Outcome.Remaining
	e.RetryMicros, e.ResetMicros = micros(op.Outcome.RetryAfter), micros(op.Outcome.ResetAfter)
	e.DelayMicros = micros(op.Outcome.Delay)
	c.Journal.Add(e, s.Hash)
}

// verifyOp checks the answer to one op against the state before it.
func (c *Checker) verifyOp(s *Slot, op *store.Op, at int64) {
	o, cost, limit := &op.Outcome, op.Request.Cost, s.Limit
	if o.Limit != limit.Capacity || o.Remaining < 0 || o.Remaining > o.Limit || o.ResetAfter < 0 || o.Allowed != (o.RetryAfter == 0) {
		c.Fail(Outcome, "limit %d, remaining %d, allowed %t, retry after %v and reset after %v do not fit together, or not to a capacity of %d",
			o.Limit, o.Remaining, o.Allowed, o.RetryAfter, o.ResetAfter, limit.Capacity)
	}
	switch {
	case cost == 0:
		if !o.Allowed {
			c.Fail(Denial, "a look was denied")
		}
		return
	case cost > limit.Capacity:
		if cost == limit.Capacity+1 {
			c.Goals[AboveCapacity]++
		}
		if o.Allowed || o.RetryAfter != algorithm.Never {
			c.Fail(Admission, "a cost of %d above the capacity of %d was answered with allowed %t and retry after %v", cost, limit.Capacity, o.Allowed, o.RetryAfter)
		}
		return
	case cost == limit.Capacity:
		c.Goals[WholeCapacity]++
	}
	c.corners(s, at)
	s.carried = s.carried && (s.freshAt == 0 || at < s.freshAt)
	room := s.model.Room(at, cost)
	switch {
	case o.Allowed && !room && !s.lossy:
		c.Fail(Admission, "a cost of %d was allowed where the limit has no room for it", cost)
	case !o.Allowed && s.carried:
		// What the state holds of another limit may deny, and what was given back and lost.
		c.Goals[CarriedDenied] += One(room)
		c.Retries.Denied++
	case !o.Allowed && room && s.lossy && c.ClocksVary:
		// The lost charges may have moved the state on: where a clock then goes back, the
		// state before it knows of an earlier window, which was full.
	case !o.Allowed && room:
		c.Fail(Denial, "a cost of %d was denied where the limit has room for it", cost)
	case !o.Allowed:
		c.verifyDenial(s, at, cost, micros(o.RetryAfter))
	case !s.lossy && !s.carried && o.Delay != time.Duration(s.model.Delay(at))*time.Microsecond:
		c.Fail(Outcome, "Delay of an admission is %v, and %d µs are queued before it", o.Delay, s.model.Delay(at))
	}
	c.verifyPromise(s, at, cost, o.Allowed)
}

// verifyDenial checks the wait of a denial and whether it was a false one.
func (c *Checker) verifyDenial(s *Slot, at, cost, wait int64) {
	if retry := s.model.Retry(at, cost); wait != retry {
		if !s.lossy {
			c.Fail(Retry, "RetryAfter for a cost of %d is %d µs, and the limit asks for %d µs", cost, wait, retry)
		}
		c.Retries.MaxErrorMicros = max(c.Retries.MaxErrorMicros, wait-retry, retry-wait)
	}
	c.Retries.Denied++
	if s.falselyDenied(at, c.Epoch+c.Now, cost) {
		c.Goals[FalseDenial]++
		s.Limit.Result.FalseDenials++
		AddUnits(&s.Limit.Result.FalselyDeniedUnits, cost)
		for _, f := range c.Faulty {
			f.FalseDenials++
			AddUnits(&f.FalselyDeniedUnits, cost)
		}
	}
}

// verifyPromise checks what an earlier denial said about this instant. Nothing was
// charged since.
func (c *Checker) verifyPromise(s *Slot, at, cost int64, allowed bool) {
	if s.retryAt == 0 {
		return
	}
	switch {
	case at >= s.retryAt && cost <= s.retryCost:
		if !allowed {
			c.Fail(Retry, "a cost of %d was denied %d µs after the end of the RetryAfter of %d, with no request in between",
				cost, at-s.retryAt, s.retryCost)
		}
		c.Retries.Kept++
		if at == s.retryAt {
			c.Goals[AdmittedExactly]++
			c.Retries.Exact++
		}
	case at < s.retryAt && cost >= s.retryCost:
		if allowed {
			c.Fail(Retry, "a cost of %d was allowed %d µs before the end of the RetryAfter of %d",
				cost, s.retryAt-at, s.retryCost)
		}
		c.Retries.Early++
		if at == s.retryAt-1 {
			c.Goals[DeniedByOne]++
			c.Retries.ByOne++
		}
	}
}

// verifyAfter checks what the answer says of the state after it, and keeps what it
// promises.
func (c *Checker) verifyAfter(s *Slot, op *store.Op, at int64, committed bool) {
	o, cost, limit := &op.Outcome, op.Request.Cost, s.Limit
	charged := committed && cost > 0
	reset := at + micros(o.ResetAfter)
	switch fresh := s.freshAt != 0 && at >= s.freshAt; {
	case fresh && cost <= limit.Capacity && !o.Allowed:
		c.Fail(Reset, "a cost of %d was denied %d µs after the end of ResetAfter", cost, at-s.freshAt)
	case fresh && !charged && (o.Remaining != limit.Capacity || o.ResetAfter != 0):
		c.Fail(Reset, "%d remain and ResetAfter is %v, %d µs after the end of an earlier ResetAfter", o.Remaining, o.ResetAfter, at-s.freshAt)
	case fresh && charged && o.Remaining != max(0, limit.Capacity-cost):
		c.Fail(Reset, "%d remain after a cost of %d, %d µs after the end of ResetAfter", o.Remaining, cost, at-s.freshAt)
	case !fresh && s.freshAt != 0 && !charged && reset != s.freshAt:
		c.Fail(Reset, "ResetAfter ended at %d, and ends at %d although nothing was charged", s.freshAt, reset)
	}
	if !s.lossy && !s.carried {
		if m := s.model; o.Remaining > 0 && !m.Room(at, o.Remaining) || o.Remaining < limit.Capacity && m.Room(at, o.Remaining+1) {
			c.Fail(Outcome, "%d remain, and the limit has room for another number", o.Remaining)
		}
	}
	s.freshAt = 0
	if reset > at {
		s.freshAt = reset
	}
	s.denied = !o.Allowed
	switch {
	case charged:
		s.retryAt = 0
	case !o.Allowed && o.RetryAfter != algorithm.Never:
		s.retryAt, s.retryCost = at+micros(o.RetryAfter), cost
	}
}

func micros(d time.Duration) int64 { return int64(d / time.Microsecond) }

// AddUnits adds units to a sum, which stays at 2^63 − 1 where it would pass it: ten
// million requests of the largest cost do.
func AddUnits(sum *int64, units int64) { *sum += min(units, math.MaxInt64-*sum) }
