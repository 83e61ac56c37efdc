package checks

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// takeChecks are about several ops in one Apply.
func takeChecks() []world.Check {
	const ops, moved = world.NeedsOps, world.NeedsOps | world.NeedsClock
	return []world.Check{
		check("take/refused-changes-nothing", "X1", ops,
			"where one op of an Apply is denied, whichever it is, no slot is charged", takeRefused),
		check("take/one-instant", "C8", moved,
			"all ops of a call are decided at one reading of the clock, the one that is returned", takeInstant),
		check("take/decides-as-single-calls", "X2", moved,
			"ops in one Apply are decided as each would be alone, at the same instant", takeSingle),
		check("take/retry-after-is-tight", "X3", moved,
			"a refused Apply is refused until the microsecond before the longest RetryAfter of its ops, and committed at it", takeRetry),
		check("take/order-does-not-matter", "X4", moved,
			"the answer to an op, and what it leaves, do not depend on its place among the ops", takeOrder),
		check("take/same-slot-twice", "X5", ops,
			"an Apply or Peek that names a slot twice is refused with ErrDuplicateSlot and charges nothing", takeTwice),
		check("take/most-ops", "X1", ops,
			"an Apply of store.MaxOps ops is one step: committed as a whole or not at all", takeMost),
	}
}

func takeRefused(w *world.World) {
	slots := w.Slots("a", "l")
	for denied, drained := range slots {
		w.StartAt(world.Start)
		// One unit each: all but the drained slot have something to lose.
		for i, s := range slots {
			cost := int64(1)
			if i == denied {
				cost = world.Capacity(s.Algorithm)
			}
			w.MustCommit(world.Op(s, cost))
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
			for i := range slots {
				if i != denied && ops[i].Outcome.Remaining != left[i] {
					w.Wrong(transcript.Outcome(ops[i].Outcome), fmt.Sprintf("%d remain", left[i]), "op %d of a refused Apply is not answered as a look", i)
				}
			}
		}
	}
}

func takeSingle(w *world.World) {
	for _, cost := range []int64{1, 2, 0, 3, 4, 6, 5, 1} {
		together := world.Ops(w.Slots("together", ""), cost)
		committed := w.Apply(together...)
		for i, s := range w.Slots("alone", "") {
			alone := []store.Op{world.Op(s, cost)}
			if !committed {
				w.Peek(alone...) // nothing was charged together either
			} else {
				w.Apply(alone...)
			}
			if committed && alone[0].Outcome != together[i].Outcome {
				w.Wrong(transcript.Outcome(together[i].Outcome), transcript.Outcome(alone[0].Outcome)+" (as alone)",
					"%s together with others", transcript.Slot(s))
			}
			if alone[0].Outcome.Allowed != together[i].Outcome.Allowed {
				w.Wrong(together[i].Outcome.Allowed, alone[0].Outcome.Allowed, "whether %s is allowed together with others", transcript.Slot(s))
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

func takeOrder(w *world.World) {
	orders := [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, costs := range [][3]int64{{1, 2, 3}, {1, 2, 5}, {6, 1, 1}, {4, 1, 0}} {
		want := takeInOrder(w, orders[0], costs)
		for _, order := range orders[1:] {
			if got := takeInOrder(w, order, costs); got != want {
				w.Wrong(fmt.Sprint(got), fmt.Sprint(want), "the answers with the ops in the order %v are not those in the order %v", order, orders[0])
			}
		}
	}
}

// takeInOrder takes three ops twice, in an order, and then looks at their slots,
// which are new ones. It returns the answers by op, not by place.
func takeInOrder(w *world.World, order [3]int, costs [3]int64) (answers [3][3]algorithm.Outcome) {
	w.Helper()
	w.SetClock(world.Start)
	slots := w.Slots("a", fmt.Sprint(order, costs))
	for round := range answers {
		ops := make([]store.Op, len(order))
		for place, i := range order {
			ops[place] = world.Op(slots[2*i], 0) // of every other kind
			if round < 2 {
				ops[place].Request.Cost = costs[i]
			}
		}
		w.Apply(ops...)
		for place, i := range order {
			answers[round][i] = ops[place].Outcome
		}
		w.Advance(300 * time.Millisecond)
	}
	return answers
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
