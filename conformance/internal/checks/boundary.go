package checks

import (
	"slices"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// boundaryChecks try every wait that a store promises on both of its sides.
func boundaryChecks() []world.Check {
	var checks []world.Check
	for _, k := range world.Kinds() {
		checks = append(checks, check("boundary/"+k.Name, "L1 L2 L6", world.NeedsClock|k.Needs,
			"a denied request is denied until the microsecond before RetryAfter and admitted at it; a key is fresh at ResetAfter and not before",
			func(w *world.World) {
				for i, a := range k.Limits[:w.Often(len(k.Limits), 2)] {
					boundaries(w, a, i)
				}
			}))
	}
	return append(checks, check("boundary/bound-limit", "E13", world.NeedsClock,
		"a limit prepared with Bind decides exactly as Apply and Peek with one op",
		func(w *world.World) {
			if store.FeaturesOf(w.Store).Bind == nil {
				w.Skipf("the store has no store.Features.Bind")
			}
			w.Path = world.ByBound
			for s := range w.SomeLimits() {
				boundaries(w, s.Algorithm, 0)
			}
		}))
}

// boundaries walks along the waits of one limit, from several instants; in the
// quick profile from one of them, another for each turn.
func boundaries(w *world.World, a algorithm.Algorithm, turn int) {
	w.Helper()
	period := algorithm.Instant(max(1, a.Spec().Params[1]))
	edge := (world.Start/period + 1) * period
	starts := []algorithm.Instant{world.Start, edge - 1, 0, edge}
	costs := []int64{1, world.Capacity(a)}
	if w.Quick() {
		starts, costs = starts[turn:][:1], costs[turn:][:1]
	}
	for _, start := range starts {
		w.StartAt(start)
		retryBoundaries(w, world.SlotOf("retry", "", a))
		resetBoundaries(w, world.SlotOf("reset", "", a), world.SlotOf("fresh", "", a))
		for _, cost := range costs {
			windowBoundaries(w, world.SlotOf("window", "", a), period, cost)
		}
	}
}

// retryBoundaries asks for what does not fit, and again on both sides of its
// RetryAfter, each time from the state that the last one left.
func retryBoundaries(w *world.World, s store.Slot) {
	w.Helper()
	capacity := world.Capacity(s.Algorithm)
	w.Apply(world.Op(s, capacity))
	for _, cost := range []int64{1, 1, 2, capacity, 1, capacity/2 + 1, 1} {
		cost = min(cost, capacity)
		o := w.One(s, cost)
		if o.Allowed {
			continue
		}
		w.Advance(o.RetryAfter - time.Microsecond)
		if again := w.One(s, cost); again.Allowed || again.RetryAfter != time.Microsecond {
			w.Wrong(transcript.Outcome(again), "denied, retry after 1µs", "1 µs before the RetryAfter of %v that was answered", o.RetryAfter)
		}
		w.Advance(time.Microsecond)
		if again := w.One(s, cost); !again.Allowed {
			w.Wrong(transcript.Outcome(again), "allowed", "at the RetryAfter of %v that was answered", o.RetryAfter)
		}
	}
}

// resetBoundaries asks for all that a fresh key gives, on both sides of ResetAfter,
// and for the same of a key that is fresh.
func resetBoundaries(w *world.World, s, fresh store.Slot) {
	w.Helper()
	capacity := world.Capacity(s.Algorithm)
	for _, cost := range []int64{capacity/2 + 1, 1, capacity} {
		o := w.One(s, min(cost, capacity))
		w.Advance(o.ResetAfter - time.Microsecond)
		if o := w.One(s, capacity); o.Allowed {
			w.Wrong(transcript.Outcome(o), "denied", "the whole capacity, 1 µs before ResetAfter")
		}
		w.Advance(time.Microsecond)
		again, want := w.One(s, capacity), w.One(fresh, capacity)
		if again != want || !again.Allowed {
			w.Wrong(transcript.Outcome(again), transcript.Outcome(want)+" (as a fresh key)", "the whole capacity, at ResetAfter")
		}
		w.Reset(fresh, s)
	}
}

// windowBoundaries takes a cost and looks around every instant at which something
// may change, in the order of time, with every cost that may make a difference.
func windowBoundaries(w *world.World, s store.Slot, period algorithm.Instant, taken int64) {
	w.Helper()
	capacity := world.Capacity(s.Algorithm)
	fresh := world.Micros(w.One(s, taken).ResetAfter) + w.Now()
	now := w.Now()
	edge := (now/period + 1) * period
	instants := []algorithm.Instant{
		now, now + 1, edge - 1, edge, edge + 1, edge + period/2,
		edge + period - 1, edge + period, edge + 2*period, now + period, fresh - 1, fresh, fresh + 1,
	}
	slices.Sort(instants)
	costs := []int64{1, capacity, 0, capacity - 1, capacity + 1, 2}
	for _, at := range slices.Compact(instants) {
		w.SetClock(at)
		for _, cost := range costs[:w.Often(len(costs), 2)] {
			w.Peek(world.Op(s, cost))
		}
	}
}
