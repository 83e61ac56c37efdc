package conformance

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/weirgo/weir/algorithm"
)

// linearPatience is how long the search for an order may take.
const linearPatience = 30 * time.Second

// The verdicts on a history. One that is unknown is not a pass.
const (
	linearOK      = porcupine.Ok
	linearWrong   = porcupine.Illegal
	linearUnknown = porcupine.Unknown
)

// linearParts splits a history into parts that have no slot in common. A history
// has an order exactly if each of them has: calls of different parts do not see
// each other.
func linearParts(history []*linearCall) [][]*linearCall {
	leader := map[checkPlace]checkPlace{}
	var find func(p checkPlace) checkPlace
	find = func(p checkPlace) checkPlace {
		if next, found := leader[p]; found && next != p {
			leader[p] = find(next)
			return leader[p]
		}
		return p
	}
	for _, c := range history {
		for _, op := range c.ops {
			leader[find(checkPlaceOf(op.Slot))] = find(checkPlaceOf(c.ops[0].Slot))
		}
	}
	parts := map[checkPlace][]*linearCall{}
	for _, c := range history {
		first := find(checkPlaceOf(c.ops[0].Slot))
		parts[first] = append(parts[first], c)
	}
	all := slices.Collect(maps.Values(parts))
	for _, part := range all {
		slices.SortFunc(part, func(a, b *linearCall) int { return cmp.Compare(a.asked, b.asked) })
	}
	slices.SortFunc(all, func(a, b []*linearCall) int { return cmp.Compare(a[0].asked, b[0].asked) })
	return all
}

// linearVerdict looks for an order of a history.
func linearVerdict(history []*linearCall, patience time.Duration) porcupine.CheckResult {
	model := linearModel(history)
	return porcupine.CheckOperationsTimeout(model, linearOperations(history), patience)
}

func linearOperations(history []*linearCall) []porcupine.Operation {
	operations := make([]porcupine.Operation, len(history))
	end := int64(1)
	for _, c := range history {
		end = max(end, c.told+1)
	}
	for i, c := range history {
		told := c.told
		if c.open {
			told = end
		}
		operations[i] = porcupine.Operation{ClientId: c.caller, Input: c, Call: c.asked, Return: told}
	}
	return operations
}

// linearModel is the pure functions as porcupine wants them: its states are those
// of all slots of a history, in a fixed order.
func linearModel(history []*linearCall) porcupine.Model {
	index := linearIndex(history)
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Init: func() any { return make([]algorithm.State, len(index)) },
		Step: func(state, input, _ any) (bool, any) {
			return linearStep(index, state.([]algorithm.State), input.(*linearCall))
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

// linearIndex numbers the slots of a history, from 0.
func linearIndex(history []*linearCall) map[checkPlace]int {
	index := map[checkPlace]int{}
	for _, c := range history {
		for _, op := range c.ops {
			if _, found := index[checkPlaceOf(op.Slot)]; !found {
				index[checkPlaceOf(op.Slot)] = len(index)
			}
		}
	}
	return index
}

// linearStep reports whether a call may be answered as it was, and returns the
// states after it.
func linearStep(index map[checkPlace]int, states []algorithm.State, c *linearCall) (bool, []algorithm.State) {
	want, committed, after := linearDecide(index, states, c)
	if c.open || c.verb == "reset" {
		return true, after
	}
	for i, op := range c.ops {
		if op.Outcome != want[i] {
			return false, states
		}
	}
	return c.verb == "peek" || c.committed == committed, after
}

// linearDecide is what the pure functions make of a call.
func linearDecide(index map[checkPlace]int, states []algorithm.State, c *linearCall) (outcomes []algorithm.Outcome, committed bool, after []algorithm.State) {
	m := checkModel{}
	for _, op := range c.ops {
		place := checkPlaceOf(op.Slot)
		m[place] = checkState{state: states[index[place]]}
	}
	if c.verb == "reset" {
		clear(m)
	} else {
		outcomes, committed = m.decide(c.at, c.ops, c.verb == "apply")
	}
	after = slices.Clone(states)
	for _, op := range c.ops {
		place := checkPlaceOf(op.Slot)
		after[index[place]] = m[place].state
	}
	return outcomes, committed, after
}

// linearShortest cuts a history that has no order down to a part that has none
// either. Both cuts are sound. What was asked only after the call that cannot be
// had been answered cannot have been before it; where a call was asked before and
// answered after, it is left open: it may have happened by then or not. And what
// changes nothing leaves no trace in the others.
func linearShortest(history []*linearCall) []*linearCall {
	const patience = 2 * time.Second
	answers := make([]int64, len(history))
	for i, c := range history {
		answers[i] = c.told
	}
	slices.Sort(answers)
	until := func(told int64) []*linearCall {
		var part []*linearCall
		for _, c := range history {
			if c.asked < told {
				cut := *c
				cut.open = c.told > told
				part = append(part, &cut)
			}
		}
		return part
	}
	first := sort.Search(len(answers), func(i int) bool { return linearVerdict(until(answers[i]), patience) == linearWrong })
	short := until(answers[min(first, len(answers)-1)])
	last := linearLast(short)
	for i := 0; i < len(short); {
		without := slices.Delete(slices.Clone(short), i, i+1)
		if short[i] != last && !short[i].changes() && linearVerdict(without, patience) == linearWrong {
			short = without
			continue
		}
		i++
	}
	return short
}

// linearLast is the call that was answered last.
func linearLast(history []*linearCall) *linearCall {
	var last *linearCall
	for _, c := range history {
		if !c.open && (last == nil || c.told > last.told) {
			last = c
		}
	}
	return last
}

// linearWanted says what the last call of a history might have been told: after
// all others in one of their orders.
func linearWanted(history []*linearCall, last *linearCall) string {
	others := slices.DeleteFunc(slices.Clone(history), func(c *linearCall) bool { return c == last })
	model := linearModel(history)
	result, info := porcupine.CheckOperationsVerbose(model, linearOperations(others), time.Second)
	if result != linearOK {
		return "an answer that some order of them gives"
	}
	state := model.Init()
	for _, part := range info.PartialLinearizationsOperations() {
		if len(part) > 0 {
			for _, o := range part[0] {
				_, state = model.Step(state, o.Input, nil)
			}
		}
	}
	want := *last
	want.ops = slices.Clone(last.ops)
	index := linearIndex(history)
	outcomes, committed, _ := linearDecide(index, state.([]algorithm.State), last)
	for i := range outcomes {
		want.ops[i].Outcome = outcomes[i]
	}
	return fmt.Sprintf("after all of the others: %s", linearAnswer(want.ops, committed))
}
