package linear

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// parts splits a history into parts that have no slot in common. A history has an
// order exactly if each part has one: calls of different parts do not see each other.
func parts(history []*call) [][]*call {
	leader := map[store.SlotID]store.SlotID{}
	var find func(p store.SlotID) store.SlotID
	find = func(p store.SlotID) store.SlotID {
		if next, found := leader[p]; found && next != p {
			leader[p] = find(next)
			return leader[p]
		}
		return p
	}
	for _, c := range history {
		for _, op := range c.ops {
			leader[find(op.Slot.ID())] = find(c.ops[0].Slot.ID())
		}
	}
	byLeader := map[store.SlotID][]*call{}
	for _, c := range history {
		first := find(c.ops[0].Slot.ID())
		byLeader[first] = append(byLeader[first], c)
	}
	all := slices.Collect(maps.Values(byLeader))
	for _, part := range all {
		slices.SortFunc(part, func(a, b *call) int { return cmp.Compare(a.began, b.began) })
	}
	slices.SortFunc(all, func(a, b []*call) int { return cmp.Compare(a[0].began, b[0].began) })
	return all
}

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
