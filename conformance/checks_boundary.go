package conformance

import (
	"slices"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// boundaryChecks try every wait that a store promises on both of its sides.
func boundaryChecks() []Check {
	var checks []Check
	for _, k := range checkKinds() {
		checks = append(checks, checkOf("boundary/"+k.name, "L1 L2 L6",
			"a denied request is denied until the microsecond before RetryAfter and admitted at it; a key is fresh at ResetAfter and not before",
			func(w *checkWorld) {
				for i, a := range k.limits[:often(len(k.limits), 2)] {
					w.boundaries(a, i)
				}
			}).needing(needsClock|k.needs))
	}
	return append(checks, checkOf("boundary/bound-limit", "E13",
		"a limit prepared with Bind decides exactly as Apply and Peek with one op",
		func(w *checkWorld) {
			if store.FeaturesOf(w.store).Bind == nil {
				w.Skipf("the store has no store.Features.Bind")
			}
			w.throughBound = true
			for _, k := range w.kinds() {
				for i, a := range k.some() {
					w.boundaries(a, i)
				}
			}
		}).needing(needsClock))
}

// boundaries walks along the waits of one limit, from several instants; in the quick
// profile it is one of them, another for each limit.
func (w *checkWorld) boundaries(a algorithm.Algorithm, turn int) {
	w.Helper()
	period := algorithm.Instant(max(1, a.Spec().Params[1]))
	edge := (checkStart/period + 1) * period
	starts := []algorithm.Instant{checkStart, edge - 1, 0, edge}
	costs := []int64{1, checkCapacity(a)}
	if quick() {
		starts, costs = starts[turn:][:1], costs[turn:][:1]
	}
	for _, start := range starts {
		w.startAt(start)
		w.boundariesOfRetry(a)
		w.boundariesOfReset(a)
		for _, cost := range costs {
			w.boundariesOfWindow(a, period, cost)
		}
	}
}

// boundariesOfRetry asks for what does not fit, and again on both sides of its
// RetryAfter, each time from the state that the last one left.
func (w *checkWorld) boundariesOfRetry(a algorithm.Algorithm) {
	w.Helper()
	capacity := checkCapacity(a)
	w.apply(checkOp("retry", "", a, capacity))
	for _, cost := range []int64{1, 1, 2, capacity, 1, capacity/2 + 1, 1} {
		cost = min(cost, capacity)
		o := w.outcome("retry", a, cost)
		if o.Allowed {
			continue
		}
		w.advance(o.RetryAfter - time.Microsecond)
		if again := w.outcome("retry", a, cost); again.Allowed || again.RetryAfter != time.Microsecond {
			w.wrong(checkOutcomeText(again), "denied, retry after 1µs", "1 µs before the RetryAfter of %v that was told", o.RetryAfter)
		}
		w.advance(time.Microsecond)
		if again := w.outcome("retry", a, cost); !again.Allowed {
			w.wrong(checkOutcomeText(again), "allowed", "at the RetryAfter of %v that was told", o.RetryAfter)
		}
	}
}

// boundariesOfReset asks for all that a fresh key gives, on both sides of
// ResetAfter, and for the same of a key that is fresh.
func (w *checkWorld) boundariesOfReset(a algorithm.Algorithm) {
	w.Helper()
	capacity := checkCapacity(a)
	for _, cost := range []int64{capacity/2 + 1, 1, capacity} {
		o := w.outcome("reset", a, min(cost, capacity))
		w.advance(o.ResetAfter - time.Microsecond)
		if o := w.outcome("reset", a, capacity); o.Allowed {
			w.wrong(checkOutcomeText(o), "denied", "the whole capacity, 1 µs before ResetAfter")
		}
		w.advance(time.Microsecond)
		again, fresh := w.outcome("reset", a, capacity), w.outcome("fresh", a, capacity)
		if again != fresh || !again.Allowed {
			w.wrong(checkOutcomeText(again), checkOutcomeText(fresh)+" (as a fresh key)", "the whole capacity, at ResetAfter")
		}
		w.reset(checkOp("fresh", "", a, 0).Slot, checkOp("reset", "", a, 0).Slot)
	}
}

// boundariesOfWindow takes so much and looks from around every instant at which
// something may change, in the order of time, with every cost that may tell.
func (w *checkWorld) boundariesOfWindow(a algorithm.Algorithm, period algorithm.Instant, taken int64) {
	w.Helper()
	capacity := checkCapacity(a)
	o := w.outcome("window", a, taken)
	now := w.now()
	edge := (now/period + 1) * period
	fresh := now + algorithm.Instant(o.ResetAfter/time.Microsecond)
	instants := []algorithm.Instant{
		now, now + 1, edge - 1, edge, edge + 1, edge + period/2,
		edge + period - 1, edge + period, edge + 2*period, now + period, fresh - 1, fresh, fresh + 1,
	}
	slices.Sort(instants)
	costs := []int64{1, capacity, 0, capacity - 1, capacity + 1, 2}
	for _, at := range slices.Compact(instants) {
		w.setClock(at)
		for _, cost := range costs[:often(len(costs), 2)] {
			w.peek(checkOp("window", "", a, cost))
		}
	}
}

// outcome applies one op and returns its answer.
func (w *checkWorld) outcome(key string, a algorithm.Algorithm, cost int64) algorithm.Outcome {
	w.Helper()
	ops := []store.Op{checkOp(key, "", a, cost)}
	w.apply(ops...)
	return ops[0].Outcome
}
