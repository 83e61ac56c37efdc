package checks

import (
	"time"

	"github.com/weirgo/weir/conformance/internal/world"
)

func limitsSame(w *world.World) {
	for _, spec := range world.BuiltIn("5/1h") {
		w.StartAt(world.Start)
		take := func(committed bool, cost int64) {
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

func limitsRaised(w *world.World) {
	small, large := world.BuiltIn("5/1h"), world.BuiltIn("50/1h")
	for i := range small {
		for _, used := range []int64{1, 5} {
			w.StartAt(world.Start)
			before, after := world.SlotOf("a", "l", w.Limit(small[i])), world.SlotOf("a", "l", w.Limit(large[i]))
			w.MustCommit(world.Op(before, used))
			for _, cost := range []int64{0, 1, 4, 40, 2, 2, 1, 1} {
				w.Apply(world.Op(after, cost))
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
			w.Look(after)
			w.TakeUnits(after, 6)
			// However far it was over, it is a new one in the end.
			w.Advance(w.Look(after).ResetAfter)
			for range w.Often(3, 1) {
				w.TakeUnits(after, 6)
				w.Advance(2 * time.Hour)
			}
		}
	}
}

func limitsTurns(w *world.World) {
	// Periods with different denominators, so that fractions are carried over.
	others := world.BuiltIn("11/5h")
	for i, spec := range world.BuiltIn("7/3h") {
		w.StartAt(world.Start)
		for turn := range w.Often(40, 8) {
			limit := w.Limit([]string{spec, others[i]}[turn%2])
			w.TakeUnits(world.SlotOf("a", "l", limit), 1+turn%3)
		}
	}
}
