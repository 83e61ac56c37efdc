package world

import (
	"context"
	"slices"
	"strconv"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/store"
)

// What is not about single calls is asked in as few calls as the store can take: on
// a server round trips are what a check costs.

// inCalls cuts ops into calls.
func (w *World) inCalls(ops []store.Op) (calls [][]store.Op) {
	most := store.MaxOps
	if !w.Can(NeedsOps) {
		most = 1
	}
	from := 0
	for i := range ops {
		if i-from == most || ops[i].Key != ops[from].Key && !w.Can(NeedsKeys) {
			calls = append(calls, ops[from:i])
			from = i
		}
	}
	return append(calls, ops[from:])
}

// Remaining looks at slots and returns how much remains of each.
func (w *World) Remaining(slots []store.Slot) []int64 {
	w.Helper()
	ops := Ops(slots, 0)
	for _, call := range w.inCalls(ops) {
		w.Peek(call...)
	}
	left := make([]int64, len(slots))
	for i, op := range ops {
		left[i] = op.Outcome.Remaining
	}
	return left
}

// MustRemain looks at a slot and fails unless want units remain.
func (w *World) MustRemain(s store.Slot, want int64) {
	w.Helper()
	w.MustAllRemain([]store.Slot{s}, []int64{want})
}

// MustAllRemain is MustRemain for slots.
func (w *World) MustAllRemain(slots []store.Slot, want []int64) {
	w.Helper()
	for i, got := range w.Remaining(slots) {
		if got != want[i] {
			w.Wrong(got, want[i], "the wrong number of units remains of %s", transcript.Slot(slots[i]))
		}
	}
}

// MustBeFresh is MustAllRemain for slots of which nothing is taken.
func (w *World) MustBeFresh(slots ...store.Slot) {
	w.Helper()
	w.MustAllRemain(slots, Capacities(slots))
}

// MustTakeAll takes the cost of each slot.
func (w *World) MustTakeAll(slots []store.Slot, costs []int64) {
	w.Helper()
	ops := Ops(slots, 0)
	for i := range ops {
		ops[i].Request.Cost = costs[i]
	}
	for _, call := range w.inCalls(ops) {
		w.MustCommit(call...)
	}
}

// WriteOthers takes from n other keys, past the model: a store may take that for a
// reason to clean up. The keys are new ones where the name is new.
func (w *World) WriteOthers(name string, n int) {
	w.Helper()
	a := w.Limit("gcra:5/24h")
	ops := make([]store.Op, n)
	for i := range ops {
		ops[i] = Take("other:"+name, strconv.Itoa(i), a, 1)
		if w.Can(NeedsKeys) {
			ops[i].Key, ops[i].Limit = "other:"+name+strconv.Itoa(i), "l"
		}
	}
	_, want := a.Step(algorithm.State{}, Start, ops[0].Request)
	w.Note("%d other keys are taken from", n)
	for call := range slices.Chunk(ops, w.Often(1, 100)) { // a store may count calls
		for _, part := range w.inCalls(call) {
			at, committed, err := w.Store.Apply(context.Background(), part)
			w.Observe(at, err)
			if err != nil || !committed {
				w.Wrong(err, "no error, and committed", "Apply of other keys")
			}
			for _, op := range part {
				if op.Outcome != want {
					w.Wrong(transcript.Outcome(op.Outcome), transcript.Outcome(want), "a unit of another key, the first")
				}
			}
		}
	}
}
