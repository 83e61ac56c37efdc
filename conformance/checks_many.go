package conformance

import (
	"context"
	"slices"
	"strconv"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// What is not about single calls is asked in as few as the store can take: on a
// server round trips are what a check costs.

// inCalls cuts ops into calls.
func (w *checkWorld) inCalls(ops []store.Op) (calls [][]store.Op) {
	most := store.MaxOps
	if !w.can(needsOps) {
		most = 1
	}
	from := 0
	for i := range ops {
		if i-from == most || ops[i].Key != ops[from].Key && !w.can(needsKeys) {
			calls = append(calls, ops[from:i])
			from = i
		}
	}
	return append(calls, ops[from:])
}

// remaining looks at slots and returns how much remains of each.
func (w *checkWorld) remaining(slots []store.Slot) []int64 {
	w.Helper()
	ops := make([]store.Op, len(slots))
	for i, s := range slots {
		ops[i].Slot = s
	}
	for _, call := range w.inCalls(ops) {
		w.peek(call...)
	}
	left := make([]int64, len(slots))
	for i, op := range ops {
		left[i] = op.Outcome.Remaining
	}
	return left
}

// mustAllRemain is mustRemain for slots.
func (w *checkWorld) mustAllRemain(slots []store.Slot, want []int64) {
	w.Helper()
	for i, got := range w.remaining(slots) {
		if got != want[i] {
			w.wrong(got, want[i], "the wrong number of units remains of %s", checkSlotText(slots[i]))
		}
	}
}

// mustAllBeFresh is mustAllRemain for slots of which nothing is taken.
func (w *checkWorld) mustAllBeFresh(slots []store.Slot) {
	w.Helper()
	w.mustAllRemain(slots, capacities(slots))
}

// mustAllTake takes so much of each slot.
func (w *checkWorld) mustAllTake(slots []store.Slot, costs []int64) {
	w.Helper()
	ops := make([]store.Op, len(slots))
	for i, s := range slots {
		ops[i] = store.Op{Slot: s, Request: algorithm.Request{Cost: costs[i]}}
	}
	for _, call := range w.inCalls(ops) {
		w.mustBe(true, call...)
	}
}

func capacities(slots []store.Slot) []int64 {
	all := make([]int64, len(slots))
	for i, s := range slots {
		all[i] = checkCapacity(s.Algorithm)
	}
	return all
}

// others has other keys written to, n of them, past the model: a store may take
// that for a reason to clean up. The keys are new ones where the name is.
func (w *checkWorld) others(name string, n int) {
	w.Helper()
	a := w.limit("gcra:5/24h")
	ops := make([]store.Op, n)
	for i := range ops {
		ops[i] = checkOp("other:"+name, strconv.Itoa(i), a, 1)
		if w.can(needsKeys) {
			ops[i].Key, ops[i].Limit = "other:"+name+strconv.Itoa(i), "l"
		}
	}
	_, want := a.Step(algorithm.State{}, checkStart, ops[0].Request)
	w.note("%d other keys are taken from", n)
	for call := range slices.Chunk(ops, often(1, 100)) { // a store may count calls
		for _, part := range w.inCalls(call) {
			at, committed, err := w.store.Apply(context.Background(), part)
			w.observe(at, err)
			if err != nil || !committed {
				w.wrong(err, "no error, and committed", "Apply of other keys")
			}
			for _, op := range part {
				if op.Outcome != want {
					w.wrong(checkOutcomeText(op.Outcome), checkOutcomeText(want), "a unit of another key, the first")
				}
			}
		}
	}
}
