package sim

import (
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// The rules.
const (
	ruleAdmission = "admission"
	ruleDenial    = "denial"
	ruleOutcome   = "outcome"
	ruleAllOrNone = "all-or-nothing"
	ruleRetry     = "retry-after"
	ruleReset     = "reset-after"
	ruleTrueTime  = "true-time"
	ruleLocal     = "local"
	ruleLiveness  = "liveness"
)

// Rules returns the names of all rules:
//
//   - admission: what the server charges to a slot keeps within the limit, on the clock
//     that it decides by, but for what the faults that happened explain: in a fail-over
//     what was lost, in a restart without data and an eviction what counted then, and
//     at most the capacity each time;
//   - denial: the server never denies what the limit has room for, with all that it
//     has charged; not where it has lost a state and its clock goes back as well, which
//     may bring it back to a window that was full;
//   - outcome: Limit, Remaining and Delay are as the limit asks for;
//   - all-or-nothing: a call is committed where every op is allowed, and only there;
//   - retry-after: RetryAfter is the least wait, and a request that comes then with
//     nobody in between is admitted, one that comes before is not;
//   - reset-after: from ResetAfter on a slot acts as if it had never been used, and
//     until then ResetAfter names the same instant;
//   - true-time: admissions, those of failure modes included, keep within the limit in
//     true time, but for what the faults, the clocks and the failure mode explain;
//   - local: a node's local store keeps the limit;
//   - liveness: when all faults are healed and the traffic has ended, nothing is
//     outstanding, and every slot becomes fresh in time.
func Rules() []string {
	return []string{ruleAdmission, ruleDenial, ruleOutcome, ruleAllOrNone, ruleRetry, ruleReset, ruleTrueTime, ruleLocal, ruleLiveness}
}

// decision is what the server decided over one group.
type decision struct {
	node      int32
	given     int64 // what the store's clock showed
	at        int64
	ops       []store.Op
	slots     []*slot
	committed bool
}

// verify checks a decision, and charges the models with it.
func (w *world) verify(d *decision) {
	if d.at != d.given {
		w.fail(ruleOutcome, "the store decided at %d while its clock showed %d", d.at, d.given)
	}
	w.seen(d.at)
	all := true
	for i := range d.ops {
		op, s := &d.ops[i], d.slots[i]
		all = all && op.Outcome.Allowed
		w.noteDecision(d, i)
		s.limit.result.Executed++
		s.limit.result.ExecutedAllowed += int64(truth(op.Outcome.Allowed))
		w.verifyOp(s, op, d.at)
	}
	if d.committed != all {
		w.fail(ruleAllOrNone, "committed is %t, and that every op is allowed is %t", d.committed, all)
	}
	for i := range d.ops {
		op, s := &d.ops[i], d.slots[i]
		if d.committed && op.Request.Cost > 0 {
			w.charge(s, d.at, op.Request.Cost)
		}
		w.verifyAfter(s, op, d.at, d.committed)
	}
}

// verifyOp checks the answer to one op against the state before it.
func (w *world) verifyOp(s *slot, op *store.Op, at int64) {
	o, cost, law := &op.Outcome, op.Request.Cost, s.limit.law
	if o.Limit != law.capacity || o.Remaining < 0 || o.Remaining > o.Limit || o.ResetAfter < 0 || o.Allowed != (o.RetryAfter == 0) {
		w.fail(ruleOutcome, "limit %d, remaining %d, allowed %t, retry after %v and reset after %v do not fit together, or not to a capacity of %d",
			o.Limit, o.Remaining, o.Allowed, o.RetryAfter, o.ResetAfter, law.capacity)
	}
	switch {
	case cost == 0:
		if !o.Allowed {
			w.fail(ruleDenial, "a look was denied")
		}
		return
	case cost > law.capacity:
		if cost == law.capacity+1 {
			w.goals[goalAboveCapacity]++
		}
		if o.Allowed || o.RetryAfter != algorithm.Never {
			w.fail(ruleAdmission, "a cost of %d above the capacity of %d was answered with allowed %t and retry after %v", cost, law.capacity, o.Allowed, o.RetryAfter)
		}
		return
	case cost == law.capacity:
		w.goals[goalWholeCapacity]++
	}
	w.corners(s, at)
	room := s.model.room(at, cost)
	switch {
	case o.Allowed && !room && !s.lossy:
		w.fail(ruleAdmission, "a cost of %d was allowed where the limit has no room for it", cost)
	case !o.Allowed && room && s.lossy && w.blind:
		// What was lost may have moved the state on: where a clock then goes back, the
		// state before it knows of an earlier window, which was full.
	case !o.Allowed && room:
		w.fail(ruleDenial, "a cost of %d was denied where the limit has room for it", cost)
	case !o.Allowed:
		w.verifyDenial(s, at, cost, micros(o.RetryAfter))
	case law.queue && !s.lossy:
		if delay := s.model.(*bucket).delay(at); micros(o.Delay) != delay {
			w.fail(ruleOutcome, "an admission was told to wait for %v, and %d µs are queued before it", o.Delay, delay)
		}
	case !law.queue && o.Delay != 0:
		w.fail(ruleOutcome, "a delay of %v from a limit that is no queue", o.Delay)
	}
	w.verifyPromise(s, at, cost, o.Allowed)
}

// verifyDenial checks the wait of a denial and sees whether it was a false one.
func (w *world) verifyDenial(s *slot, at, cost, told int64) {
	if retry := s.model.retry(at, cost); told != retry {
		if !s.lossy {
			w.fail(ruleRetry, "a cost of %d was told to wait for %d µs, and the limit asks for %d µs", cost, told, retry)
		}
		w.retries.MaxErrorMicros = max(w.retries.MaxErrorMicros, told-retry, retry-told)
	}
	w.retries.Told++
	if s.falsely(at, w.epoch+w.now, cost) {
		w.goals[goalFalseDenial]++
		s.limit.result.FalseDenials++
		addUnits(&s.limit.result.FalselyDeniedUnits, cost)
		for _, f := range w.faulty {
			f.result.FalseDenials++
			addUnits(&f.result.FalselyDeniedUnits, cost)
		}
	}
}

// verifyPromise checks what an earlier denial said about a time like this one. Nothing
// was charged since.
func (w *world) verifyPromise(s *slot, at, cost int64, allowed bool) {
	if s.promised == 0 {
		return
	}
	switch {
	case at >= s.promised && cost <= s.promisedCost:
		if !allowed {
			w.fail(ruleRetry, "a cost of %d was denied %d µs after the instant at which %d were told to be admitted, with nobody in between",
				cost, at-s.promised, s.promisedCost)
		}
		w.retries.Kept++
		if at == s.promised {
			w.goals[goalAdmittedExactly]++
			w.retries.Exact++
		}
	case at < s.promised && cost >= s.promisedCost:
		if allowed {
			w.fail(ruleRetry, "a cost of %d was allowed %d µs before the instant at which %d were told to be admitted",
				cost, s.promised-at, s.promisedCost)
		}
		w.retries.Early++
		if at == s.promised-1 {
			w.goals[goalDeniedByOne]++
			w.retries.ByOne++
		}
	}
}

// verifyAfter checks what the answer says of the state after it, and keeps its promises.
func (w *world) verifyAfter(s *slot, op *store.Op, at int64, committed bool) {
	o, cost, law := &op.Outcome, op.Request.Cost, s.limit.law
	charged := committed && cost > 0
	reset := at + micros(o.ResetAfter)
	switch fresh := s.resets != 0 && at >= s.resets; {
	case fresh && cost <= law.capacity && !o.Allowed:
		w.fail(ruleReset, "a cost of %d was denied %d µs after the slot was told to be fresh", cost, at-s.resets)
	case fresh && !charged && (o.Remaining != law.capacity || o.ResetAfter != 0):
		w.fail(ruleReset, "%d remain and %v to reset %d µs after the slot was told to be fresh", o.Remaining, o.ResetAfter, at-s.resets)
	case fresh && charged && o.Remaining != law.capacity-cost:
		w.fail(ruleReset, "%d remain after a cost of %d, %d µs after the slot was told to be fresh", o.Remaining, cost, at-s.resets)
	case !fresh && s.resets != 0 && !charged && reset != s.resets:
		w.fail(ruleReset, "a slot that was told to be fresh at %d is told to be at %d, and nothing was charged", s.resets, reset)
	}
	if !s.lossy {
		if m := s.model; o.Remaining > 0 && !m.room(at, o.Remaining) || o.Remaining < law.capacity && m.room(at, o.Remaining+1) {
			w.fail(ruleOutcome, "%d remain, and the limit has room for another number", o.Remaining)
		}
	}
	s.resets = 0
	if reset > at {
		s.resets = reset
	}
	s.denied = !o.Allowed
	switch {
	case charged:
		s.promised = 0
	case !o.Allowed && o.RetryAfter != algorithm.Never:
		s.promised, s.promisedCost = at+micros(o.RetryAfter), cost
	}
}
