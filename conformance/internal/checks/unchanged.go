package checks

import (
	"time"

	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// unchangedChecks are about calls that must have no effect.
func unchangedChecks() []world.Check {
	return []world.Check{
		check("denial/changes-nothing", "M7", world.NeedsClock,
			"a denied Apply, of any cost, however often, changes no later answer", denialChangesNothing),
		check("look/changes-nothing", "M6", world.NeedsClock,
			"an Apply of cost 0 is never denied and changes no later answer, also in debt", lookChangesNothing),
		check("peek/changes-nothing", "M6", world.NeedsClock,
			"a Peek, of any cost, at any instant, changes no later answer", peekChangesNothing),
	}
}

// mustNotChange takes nothing, a part or all of a key of each kind, makes calls
// that must have no effect, and takes what must remain.
func mustNotChange(w *world.World, calls func(s store.Slot, capacity int64)) {
	w.Helper()
	for s, capacity := range w.SomeLimits() {
		for _, part := range []int64{0, 1, capacity, capacity / 2}[:w.Often(4, 3)] {
			if part > 0 {
				w.Apply(world.Op(s, part))
			}
			left := w.Look(s).Remaining
			calls(s, capacity)
			w.MustRemain(s, left)
			if left < capacity {
				w.MustDeny(world.Op(s, left+1))
			}
			if left > 0 {
				w.MustCommit(world.Op(s, left))
			}
			w.Reset(s)
		}
	}
}

func peekChangesNothing(w *world.World) {
	mustNotChange(w, func(s store.Slot, capacity int64) {
		w.Helper()
		now := w.Now()
		for _, cost := range []int64{0, 1, capacity, capacity + 1} {
			w.Peek(world.Op(s, cost))
		}
		for _, by := range []time.Duration{time.Microsecond, -time.Second, 500 * time.Millisecond} {
			w.Advance(by)
			w.Peek(world.Op(s, 1))
		}
		w.SetClock(now)
		if w.Can(world.NeedsOps) {
			w.Peek(world.Op(s, 1), world.Take(s.Key, "other", s.Algorithm, 1))
		}
	})
}

func lookChangesNothing(w *world.World) {
	mustNotChange(w, func(s store.Slot, _ int64) {
		w.Helper()
		w.MustCommit(world.Op(s, 0))
		now := w.Now()
		w.Advance(-500 * time.Millisecond)
		if w.Can(world.NeedsOps) {
			w.MustCommit(world.Op(s, 0), world.Take(s.Key, "other", s.Algorithm, 0))
		}
		w.SetClock(now)
	})
}

func denialChangesNothing(w *world.World) {
	mustNotChange(w, func(s store.Slot, capacity int64) {
		w.Helper()
		for range w.Often(5, 2) {
			w.MustDeny(world.Op(s, capacity+1))
		}
	})
}
