package linear

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// verdict looks for an order of a history.
func verdict(history []*call, patience time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(model(history), operations(history), patience)
}

func operations(history []*call) []porcupine.Operation {
	all := make([]porcupine.Operation, len(history))
	end := int64(1)
	for _, c := range history {
		end = max(end, c.returned+1)
	}
	for i, c := range history {
		returned := c.returned
		if c.pending {
			returned = end
		}
		all[i] = porcupine.Operation{ClientId: c.caller, Input: c, Call: c.began, Return: returned}
	}
	return all
}

// model is the pure functions as porcupine wants them: a state of it is the states
// of all slots of a history, in a fixed order.
func model(history []*call) porcupine.Model {
	index := slotIndex(history)
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Init: func() any { return make([]algorithm.State, len(index)) },
		Step: func(state, input, _ any) (bool, any) {
			states, c := state.([]algorithm.State), input.(*call)
			want, committed, after := decide(index, states, c)
			if c.pending || c.verb == "reset" {
				return true, after
			}
			for i, op := range c.ops {
				if op.Outcome != want[i] {
					return false, states
				}
			}
			return c.verb == "peek" || c.committed == committed, after
		},
		Equal: func(a, b any) bool {
			return slices.EqualFunc(a.([]algorithm.State), b.([]algorithm.State), algorithm.State.Equal)
		},
		Hash: func(state any) uint64 {
			var text []byte
			for _, s := range state.([]algorithm.State) {
				text, _ = s.AppendText(append(text, '\n'))
			}
			return maphash.Bytes(seed, text)
		},
	}
}

// slotIndex numbers the slots of a history, from 0.
func slotIndex(history []*call) map[store.SlotID]int {
	index := map[store.SlotID]int{}
	for _, c := range history {
		for _, op := range c.ops {
			if _, found := index[op.Slot.ID()]; !found {
				index[op.Slot.ID()] = len(index)
			}
		}
	}
	return index
}

// decide is what the pure functions answer to a call, and the states after it.
func decide(index map[store.SlotID]int, states []algorithm.State, c *call) (outcomes []algorithm.Outcome, committed bool, after []algorithm.State) {
	m := world.Model{}
	for _, op := range c.ops {
		place := op.Slot.ID()
		m[place] = world.Held{State: states[index[place]]}
	}
	if c.verb == "reset" {
		clear(m)
	} else {
		outcomes, committed = m.Decide(c.at, c.ops, c.verb == "apply")
	}
	after = slices.Clone(states)
	for _, op := range c.ops {
		place := op.Slot.ID()
		after[index[place]] = m[place].State
	}
	return outcomes, committed, after
}

// shortest cuts a history that has no order down to a part that has none either.
// Both cuts are sound. A call that began only after the impossible call had returned
// cannot have been before it; a call that began before and returned after is left
// pending: it may have had its effect by then or not. And a call that changes
// nothing has no effect on the others.
func shortest(history []*call) []*call {
	const patience = 2 * time.Second
	returns := make([]int64, len(history))
	for i, c := range history {
		returns[i] = c.returned
	}
	slices.Sort(returns)
	until := func(tick int64) []*call {
		var part []*call
		for _, c := range history {
			if c.began < tick {
				cut := *c
				cut.pending = c.returned > tick
				part = append(part, &cut)
			}
		}
		return part
	}
	first := sort.Search(len(returns), func(i int) bool { return verdict(until(returns[i]), patience) == porcupine.Illegal })
	short := until(returns[min(first, len(returns)-1)])
	last := lastReturned(short)
	for i := 0; i < len(short); {
		without := slices.Delete(slices.Clone(short), i, i+1)
		if short[i] != last && !short[i].changes() && verdict(without, patience) == porcupine.Illegal {
			short = without
			continue
		}
		i++
	}
	return short
}

// lastReturned is the call that returned last.
func lastReturned(history []*call) *call {
	var last *call
	for _, c := range history {
		if !c.pending && (last == nil || c.returned > last.returned) {
			last = c
		}
	}
	return last
}

// mustHaveAnOrder judges a history. A search that does not end is no pass.
func mustHaveAnOrder(w *world.World, history []*call) {
	const patience = 30 * time.Second
	slices.SortFunc(history, func(a, b *call) int { return cmp.Compare(a.began, b.began) })
	switch verdict(history, patience) {
	case porcupine.Illegal:
		show(w, history)
	case porcupine.Unknown:
		w.Wrong("none", "an order, or that there is none", "no verdict on a history of %d calls within %v, which is no pass", len(history), patience)
	}
}

// show fails with the shortest part of a history that no order explains.
func show(w *world.World, history []*call) {
	short := shortest(history)
	last := lastReturned(short)
	w.NewTranscript()
	w.Note("of %d calls, these %d alone have no order (began and returned count up for all callers together):\n%s",
		len(history), len(short), strings.Join(table(short), "\n"))
	w.Wrong(fmt.Sprintf("%s by caller %d: %s", last.verb, last.caller, answer(last.ops, last.committed)), possibleAnswer(short, last),
		"no order of concurrent calls gives their answers; the last of them cannot be")
}

func answer(ops []store.Op, committed bool) string {
	texts := make([]string, len(ops))
	for i, op := range ops {
		texts[i] = fmt.Sprintf("%s cost %d %s", transcript.Slot(op.Slot), op.Request.Cost, transcript.Outcome(op.Outcome))
	}
	text := strings.Join(texts, "\n")
	if len(ops) > 1 {
		text = fmt.Sprintf("committed %t\n%s", committed, text)
	}
	return text
}

// possibleAnswer says what the last call of a history might have been answered:
// after all others in one of their orders.
func possibleAnswer(history []*call, last *call) string {
	others := slices.DeleteFunc(slices.Clone(history), func(c *call) bool { return c == last })
	m := model(history)
	result, info := porcupine.CheckOperationsVerbose(m, operations(others), time.Second)
	if result != porcupine.Ok {
		return "an answer that some order of them gives"
	}
	state := m.Init()
	for _, part := range info.PartialLinearizationsOperations() {
		if len(part) > 0 {
			for _, o := range part[0] {
				_, state = m.Step(state, o.Input, nil)
			}
		}
	}
	ops := slices.Clone(last.ops)
	outcomes, committed, _ := decide(slotIndex(history), state.([]algorithm.State), last)
	for i := range outcomes {
		ops[i].Outcome = outcomes[i]
	}
	return fmt.Sprintf("after all of the others: %s", answer(ops, committed))
}

// table shows calls in fixed columns, in the order in which they began.
func table(history []*call) []string {
	rows := [][]any{{"caller", "began", "returned", "clock", "call", "slot", "cost", "answer", "left", "retry after", "fresh after"}}
	for _, c := range history {
		for i, op := range c.ops {
			row := []any{c.caller, c.began, c.returned, c.at, c.verb}
			if c.pending {
				row[2] = "-"
			}
			if c.verb == "reset" {
				row[3] = ""
			}
			if i > 0 {
				row = []any{"", "", "", "", "+"}
			}
			row = append(row, transcript.Slot(op.Slot), op.Request.Cost)
			o := op.Outcome
			switch left := fmt.Sprintf("%d of %d", o.Remaining, o.Limit); {
			case c.verb == "reset":
				row[6] = ""
			case c.pending:
				row = append(row, "(not answered by then)")
			case o.Allowed:
				row = append(row, "allowed", left, "-", o.ResetAfter)
			default:
				row = append(row, "denied", left, transcript.Wait(o.RetryAfter), o.ResetAfter)
			}
			rows = append(rows, row)
		}
	}
	return transcript.Table(rows)
}
