package checks

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

func takeRefused(w *world.World) {
	slots := w.Slots("a", "l")
	for denied, drained := range slots {
		w.StartAt(world.Start)
		w.Drain(drained)
		for i, s := range slots { // all others have something to lose
			if i != denied {
				w.MustCommit(world.Op(s, 1))
			}
		}
		left := w.Remaining(slots)
		for _, cost := range []int64{1, world.Capacity(drained.Algorithm) + 1} {
			ops := world.Ops(slots, 0)
			for i := range ops {
				ops[i].Request.Cost = min(1, left[i])
			}
			ops[denied].Request.Cost = cost
			w.MustDeny(ops...)
			w.MustAllRemain(slots, left)
		}
	}
	takeRefusedAt(w)
}

// takeRefusedAt has one of twenty ops denied, in each place.
func takeRefusedAt(w *world.World) {
	slots := make([]store.Slot, 20)
	for i := range slots {
		slots[i] = world.SlotOf("b", "l"+strconv.Itoa(i), w.Limit("gcra:5/1h"))
	}
	w.MustTakeAll(slots, slices.Repeat([]int64{1}, len(slots)))
	left := slices.Repeat([]int64{4}, len(slots))
	for denied := range slots {
		ops := world.Ops(slots, 1)
		ops[denied].Request.Cost = 5
		w.MustDeny(ops...)
		w.MustAllRemain(slots, left)
	}
}

func takeSingle(w *world.World) {
	for _, cost := range []int64{1, 2, 0, 3, 4, 6, 5, 1} {
		committed := w.Apply(world.Ops(w.Slots("together", ""), cost)...)
		for _, s := range w.Slots("alone", "") {
			if committed {
				w.MustCommit(world.Op(s, cost))
			} else { // nothing was charged together either
				w.Peek(world.Op(s, cost))
			}
		}
		w.Advance(450 * time.Millisecond)
	}
}

func takeRetry(w *world.World) {
	slots := slices.DeleteFunc(w.Slots("a", ""), func(s store.Slot) bool {
		_, custom := s.Algorithm.(world.Cooldown)
		return custom // its wait would hide the others
	})
	ops := world.Ops(slots, 3)
	w.MustCommit(ops...)
	for range 5 {
		w.MustDeny(ops...)
		var longest time.Duration
		for _, op := range ops {
			longest = max(longest, op.Outcome.RetryAfter)
		}
		w.Advance(longest - time.Microsecond)
		w.MustDeny(ops...)
		w.Advance(time.Microsecond)
		w.MustCommit(ops...)
	}
}

// takeOrder takes three ops twice in each order, of slots that are new each time, and
// then looks at the slots.
func takeOrder(w *world.World) {
	orders := [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, costs := range [][3]int64{{1, 2, 3}, {1, 2, 5}, {6, 1, 1}, {4, 1, 0}} {
		for _, order := range orders {
			w.SetClock(world.Start)
			slots := w.Slots("a", fmt.Sprint(order, costs))
			for round := range 3 {
				ops := make([]store.Op, len(order))
				for place, i := range order {
					ops[place] = world.Op(slots[2*i], costs[i]*int64(min(1, 2-round))) // of every other kind
				}
				w.Apply(ops...)
				w.Advance(300 * time.Millisecond)
			}
		}
	}
}

func takeTwice(w *world.World) {
	slots := w.Slots("a key", "l")
	first := slots[0].Algorithm
	// Among few ops and among many; with other parameters of the same kind.
	again := world.Take("a key", "l", w.Limit(w.Kinds()[0].Name+":9/1s"), 1)
	for _, among := range []int{0, 1, 5, 20} {
		ops := []store.Op{world.Take("a key", "l", first, 1)}
		for i := range among {
			ops = append(ops, world.Take("a key", string(rune('m'+i)), first, 1))
		}
		w.MustRefuse("a slot twice", store.ErrDuplicateSlot, append(slices.Clone(ops), again)...)
		for _, op := range ops {
			w.MustBeFresh(op.Slot)
		}
	}
	// What differs in key, limit or kind is not the same slot.
	different := []store.Op{
		world.Take("a key", "l", first, 1), world.Take("a key", "m", first, 1),
		world.Op(slots[1], 1), world.Take("b key", "l", first, 1),
	}
	if !w.Can(world.NeedsKeys) {
		different = different[:3]
	}
	w.MustCommit(different...)
}

func takeInstant(w *world.World) {
	const n = 20
	a := world.Limit("gcra:1/7us,burst=1000")
	for round := range 10 {
		ops := make([]store.Op, n)
		for i := range ops {
			ops[i] = world.Take("a", string(rune('a'+i)), a, 3)
		}
		if round%2 == 1 {
			slices.Reverse(ops) // or times that are all late by as much would not show
		}
		w.Clock.AddPerReading(1)
		from := w.Now()
		at, _, err := w.Call(ops, true)
		to := w.Now()
		w.Clock.AddPerReading(0)
		w.Record("apply", ops, err)
		if err != nil || at < from || at > to {
			w.Wrong(fmt.Sprintf("%v, error %v", at, err), fmt.Sprintf("%v to %v, which the clock showed", from, to), "the instant of the decision")
		}
		w.SetClock(at)
		want, _ := w.Model.Decide(at, ops, true)
		w.MustAnswer(at, ops, want)
		w.SetClock(to)
	}
}

func takeMost(w *world.World) {
	a := w.Limit("gcra:2/1h")
	ops := make([]store.Op, store.MaxOps)
	for i := range ops {
		ops[i] = world.Take("a", "l"+strconv.Itoa(i), a, 1)
	}
	w.MustCommit(ops...)
	last := &ops[len(ops)-1]
	last.Request.Cost = 2
	w.MustDeny(ops...)
	last.Request.Cost = 1
	w.MustCommit(ops...)
	w.MustDeny(ops...)
	for i := range ops {
		ops[i].Request.Cost = 0
	}
	w.Peek(ops...)
}
