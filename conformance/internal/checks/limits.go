package checks

import (
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/world"
)

// limitChecks are about limits whose parameters change while their keys live on.
// The model says what becomes of the state; what they demand beyond it is that
// nobody gains by a change.
func limitChecks() []world.Check {
	return []world.Check{
		check("limits/same-again", "K1", 0,
			"a limit that is made anew with the same parameters, however often, goes on as if nothing had been done", limitsSame),
		check("limits/raised", "K2", world.NeedsClock,
			"a raised limit counts at the next call, and what was taken before is not given back by it", limitsRaised),
		check("limits/lowered", "K3", world.NeedsClock,
			"a limit lowered below what is used leaves from nothing to its capacity, never less, and then admits as a new one does", limitsLowered),
		check("limits/changed-and-back", "K4", 0,
			"a limit that is changed and changed back, with nothing but looks in between, goes on from where it was", limitsBack),
		check("limits/alternating", "K5 K7", 0,
			"two callers with different parameters of one limit admit, at one instant, no more than the sum of both capacities, however often they take turns", limitsTurns),
	}
}

func limitsSame(w *world.World) {
	for _, spec := range world.BuiltIn("5/1h") {
		w.StartAt(world.Start)
		take := func(committed bool, cost int64) {
			w.Helper()
			w.Must(committed, world.Take("a", "l", w.Limit(spec), cost))
		}
		take(true, 4)
		w.MustRemain(world.SlotOf("a", "l", w.Limit(spec)), 1)
		take(true, 1)
		for range w.Often(20, 5) {
			take(false, 1)
		}
		w.MustRemain(world.SlotOf("a", "l", w.Limit(spec)), 0)
	}
}

func limitsRaised(w *world.World) {
	small, large := world.BuiltIn("5/1h"), world.BuiltIn("50/1h")
	for i := range small {
		for _, used := range []int64{1, 5} {
			w.StartAt(world.Start)
			before, after := world.SlotOf("a", "l", w.Limit(small[i])), world.SlotOf("a", "l", w.Limit(large[i]))
			w.MustCommit(world.Op(before, used))
			if got := w.Look(after).Limit; got != 50 {
				w.Wrong(got, 50, "the Limit after it was raised")
			}
			var admitted int64
			for _, cost := range []int64{1, 4, 40, 2, 2, 1, 1} {
				if w.Apply(world.Op(after, cost)) {
					admitted += cost
				}
			}
			if used+admitted > 50 {
				w.Wrong(used+admitted, "50 at most", "units admitted at one instant, before and after a limit was raised from 5 to 50")
			}
			// Then it fills up as the new one does.
			w.Advance(w.Look(after).ResetAfter)
			w.MustCommit(world.Op(after, 50))
		}
	}
}

func limitsLowered(w *world.World) {
	large, small := world.BuiltIn("50/1h"), world.BuiltIn("5/1h")
	for i := range small {
		for _, used := range []int64{1, 50, 4, 30}[:w.Often(4, 2)] {
			w.StartAt(world.Start)
			before, after := world.SlotOf("a", "l", w.Limit(large[i])), world.SlotOf("a", "l", w.Limit(small[i]))
			w.MustCommit(world.Op(before, used))
			if o := w.Look(after); o.Limit != 5 || o.Remaining < 0 || o.Remaining > 5 {
				w.Wrong(fmt.Sprintf("%d of %d", o.Remaining, o.Limit), "0 to 5 of 5", "what is left of a limit lowered from 50 to 5")
			}
			if admitted := w.TakeUnits(after, 6); admitted > 5 {
				w.Wrong(admitted, "5 at most", "units admitted after a limit was lowered from 50 to 5")
			}
			// However far it was over, two hours later at most it is a new one.
			reset := w.Look(after).ResetAfter
			if reset > 2*time.Hour {
				w.Wrong(reset, "2h0m0s at most", "the ResetAfter of a lowered limit of one hour")
			}
			w.Advance(reset)
			for range w.Often(3, 1) {
				if admitted := w.TakeUnits(after, 6); admitted != 5 {
					w.Wrong(admitted, 5, "units admitted in one go by the lowered limit, once it is as new")
				}
				w.Advance(2 * time.Hour)
			}
		}
	}
}

func limitsBack(w *world.World) {
	var others [][]string
	for _, rate := range []string{"7/1h", "100/3h", "1/2h"} {
		others = append(others, world.BuiltIn(rate))
	}
	for i, spec := range world.BuiltIn("7/3h") {
		w.StartAt(world.Start)
		s := world.SlotOf("a", "l", w.Limit(spec))
		for left := int64(6); left >= int64(w.Often(0, 4)); left-- {
			w.MustCommit(world.Op(s, 1))
			for j, specs := range others { // of the same kind
				if w.Quick() && (j+int(left))%3 > 0 {
					continue // at another step
				}
				other := world.SlotOf("a", "l", w.Limit(specs[i]))
				w.Peek(world.Op(other, 1))
				w.MustCommit(world.Op(other, 0))
				w.MustDeny(world.Op(other, world.Capacity(other.Algorithm)+1))
			}
			w.MustRemain(s, left)
		}
	}
}

func limitsTurns(w *world.World) {
	for _, f := range algorithm.Families() {
		w.StartAt(world.Start)
		// Periods with different denominators, so that fractions are carried over.
		a, b := w.Limit(f.Name+":7/3h"), w.Limit(f.Name+":11/5h")
		var admitted int64
		for turn := range w.Often(40, 8) {
			limit := a
			if turn%2 == 1 {
				limit = b
			}
			admitted += w.TakeUnits(world.SlotOf("a", "l", limit), 1+turn%3)
		}
		most := world.Capacity(a) + world.Capacity(b)
		if f.Aligned {
			most = 2 * max(world.Capacity(a), world.Capacity(b))
		}
		if admitted > most {
			w.Wrong(admitted, fmt.Sprintf("%d at most", most), "units admitted at one instant by two sets of parameters that take turns")
		}
	}
}
