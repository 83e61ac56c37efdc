package law

import (
	"math"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// These laws are about the verbs of an algorithm.Charger; for another algorithm they
// hold of themselves.

// reachPresent is reach, with a clock that is not behind an instant that the state knows.
// It reports false for what is no algorithm.Charger.
func (w *World) reachPresent() bool {
	w.reach()
	w.now = max(w.now, w.past)
	return w.MaxDebt >= 0
}

// level is what remains, below 0 for a debt.
func level(o algorithm.Outcome) int64 { return o.Remaining - o.Debt }

func charged(w *World) {
	if !w.reachPresent() {
		return
	}
	for range w.Number("charges", 1, 4) {
		look := w.try(w.state, w.now, 0)
		r := w.Charge(look)
		fits := level(look)-r.Cost >= -w.MaxDebt
		next, o := w.a.Step(w.state, w.now, r)
		w.mustBeWellFormed(o, r)
		if o.Allowed != fits && r.Cost > 0 && look.Debt <= w.MaxDebt {
			w.failf("with %d remaining and a debt of %d, a charge of %d: allowed %t", look.Remaining, look.Debt, r.Cost, o.Allowed)
		}
		if o.Allowed && level(o) != level(look)-r.Cost {
			w.failf("with %d remaining and a debt of %d, a charge of %d leaves %d and %d", look.Remaining, look.Debt, r.Cost, o.Remaining, o.Debt)
		}
		w.record(w.a, w.now, r, o)
		w.state, w.last = next, o
		w.now += algorithm.Instant(min(w.Wait(o), int64(algorithm.MaxInstant-w.now)))
	}
}

func chargedAsTaken(w *World) {
	if w.reach(); w.MaxDebt < 0 {
		return
	}
	r := algorithm.Request{Cost: w.Cost(w.last)}
	next, o := w.a.Step(w.state, w.now, r)
	if !o.Allowed {
		return
	}
	same, p := w.a.Step(w.state, w.now, algorithm.Request{Verb: algorithm.Charge, Cost: r.Cost})
	w.mustAnswer(p, o, "charged instead of taken: %d", r.Cost)
	w.mustEqual(same, next, "charged instead of taken")
}

func largestDebt(w *World) {
	if !w.reachPresent() {
		return
	}
	look := w.try(w.state, w.now, 0)
	if look.Debt > w.MaxDebt {
		return // left by another limit
	}
	most := algorithm.Request{Verb: algorithm.Charge, Cost: level(look) + w.MaxDebt}
	if next, o := w.a.Step(w.state, w.now, most); !o.Allowed || o.Debt != w.MaxDebt || o.Remaining > 0 && w.MaxDebt > 0 {
		w.failf("a charge of %d, which leaves a debt of MaxDebt (%d): allowed %t, a debt of %d, %d remaining, state %q",
			most.Cost, w.MaxDebt, o.Allowed, o.Debt, o.Remaining, next)
	}
	r := most
	r.Cost += w.NumberOf("too much by", 1, w.Capacity)
	next, o := w.a.Step(w.state, w.now, r)
	if o.Allowed {
		w.failf("a charge of %d is admitted; of more than %d none is", r.Cost, most.Cost)
	}
	w.mustEqual(next, w.state, "after a denied charge")
	look.Allowed, look.RetryAfter, look.Delay = false, o.RetryAfter, 0
	w.mustAnswer(o, look, "a denied charge of %d against a look", r.Cost)
	if impossible := r.Cost > w.Capacity+w.MaxDebt; impossible != (o.RetryAfter == algorithm.Never) {
		w.failf("a charge of %d of the capacity %d and MaxDebt %d is to be retried after %v", r.Cost, w.Capacity, w.MaxDebt, o.RetryAfter)
	}
	at, in := w.after(o.RetryAfter)
	if !in {
		return
	}
	if !w.ask(w.state, at, r).Allowed || w.ask(w.state, at-1, r).Allowed {
		w.failf("a charge of %d is to be retried after %v; then: allowed %t, 1 µs earlier: %t",
			r.Cost, o.RetryAfter, w.ask(w.state, at, r).Allowed, w.ask(w.state, at-1, r).Allowed)
	}
}

func undone(w *World) {
	if !w.reachPresent() {
		return
	}
	r := algorithm.Request{Cost: w.Cost(w.last)}
	next, o := w.a.Step(w.state, w.now, r)
	if o.Allowed {
		w.mustSettle(next, w.state, o, r.Cost)
	}
}

func settled(w *World) {
	if !w.reachPresent() {
		return
	}
	r := algorithm.Request{Cost: max(1, w.Cost(w.last))}
	estimated, o := w.a.Step(w.state, w.now, r)
	if o.Allowed {
		back := w.NumberOf("given back", 1, r.Cost)
		actual, _ := w.a.Step(w.state, w.now, algorithm.Request{Cost: r.Cost - back})
		w.mustSettle(estimated, actual, o, back)
	}
}

// mustSettle fails unless estimated, which was left by a take at w.now, answers as actual
// does once back was given back, now or later.
func (w *World) mustSettle(estimated, actual algorithm.State, o algorithm.Outcome, back int64) {
	taken := w.now
	later := func() { w.now += algorithm.Instant(min(w.Wait(o), int64(algorithm.MaxInstant-w.now))) }
	if w.Number("later", 0, 2) > 0 {
		later()
	}
	refund := algorithm.Request{Verb: algorithm.Refund, Cost: back, At: taken}
	settled, answer := w.a.Step(estimated, w.now, refund)
	w.record(w.a, w.now, refund, answer)
	look := w.try(actual, w.now, 0)
	w.mustAnswer(answer, look, "%d of what was taken at %v are given back at %v, against having taken the rest only", back, taken, w.now)
	for range w.Number("requests after it", 1, 5) {
		r := w.Request(o)
		var got, want algorithm.Outcome
		settled, got = w.a.Step(settled, w.now, r)
		actual, want = w.a.Step(actual, w.now, r)
		w.mustAnswer(got, want, "%d of what was taken at %v were given back; at %v, asked for %+v, against having taken the rest only", back, taken, w.now, r)
		o = got
		later()
	}
}

func refunded(w *World) {
	if w.reach(); w.MaxDebt < 0 {
		return
	}
	for range w.Number("refunds", 1, 4) {
		r := algorithm.Request{Verb: algorithm.Refund, Cost: w.NumberOf("given back", 0, 2*w.Capacity), At: w.now}
		if w.Number("all there can be", 0, 5) == 0 {
			r.Cost = math.MaxInt64
		}
		look := w.try(w.state, w.now, 0)
		next, o := w.a.Step(w.state, w.now, r)
		w.mustBeWellFormed(o, r)
		rise := level(o) - level(look)
		if !o.Allowed || rise < 0 || rise > r.Cost && look.Debt < algorithm.MaxUnits || o.ResetAfter > look.ResetAfter || o.Delay > look.Delay {
			w.failf("a refund of %d turns %+v into %+v", r.Cost, look, o)
		}
		w.mustAnswer(w.try(next, w.now, 0), o, "a look after a refund of %d", r.Cost)
		w.state, w.last, w.now = next, o, w.tick()
	}
	fresh, _ := w.a.Step(algorithm.State{}, w.now, algorithm.Request{Verb: algorithm.Refund, Cost: w.Capacity, At: w.now})
	w.mustEqual(fresh, algorithm.State{}, "after a refund of a fresh key")
}

func verbEdges(w *World) {
	if w.reach(); w.MaxDebt < 0 {
		return
	}
	look := w.try(w.state, w.now, 0)
	for _, v := range []algorithm.Verb{algorithm.Charge, algorithm.Refund} {
		next, o := w.a.Step(w.state, w.now, algorithm.Request{Verb: v, At: w.now})
		w.mustEqual(next, w.state, "after a "+v.String()+" of 0")
		w.mustAnswer(o, look, "a %v of 0 against a look", v)
	}
	for _, r := range []algorithm.Request{
		{Verb: algorithm.Charge, Cost: -1}, {Verb: algorithm.Charge, Cost: math.MinInt64},
		{Verb: algorithm.Refund, Cost: -w.NumberOf("minus", 1, math.MaxInt64), At: w.now}, {Verb: -1, Cost: 1}, {Verb: 3, Cost: 1},
	} {
		next, o := w.a.Step(w.state, w.now, r)
		w.mustEqual(next, w.state, "after a request that makes no sense")
		if o.Allowed || o.RetryAfter != algorithm.Never {
			w.failf("%v of %d: allowed %t, retry after %v", r.Verb, r.Cost, o.Allowed, o.RetryAfter)
		}
		if o.Remaining != look.Remaining || o.Debt != look.Debt || o.Delay != time.Duration(0) {
			w.failf("%v of %d reports %+v, and a look %+v", r.Verb, r.Cost, o, look)
		}
	}
}
