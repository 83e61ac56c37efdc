package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// takeChecks are about several ops in one Apply.
func takeChecks() []Check {
	return []Check{
		checkOf("take/refused-changes-nothing", "X1",
			"where one op of an Apply is denied, whichever it is, no slot is charged", takeRefused).needing(needsOps),
		checkOf("take/one-instant", "C8",
			"all ops of a call are decided at one reading of the clock, the one that is returned", takeInstant).needing(needsOps | needsClock),
		checkOf("take/decides-as-single-calls", "X2",
			"ops in one Apply are decided as each would be alone, at the same instant", takeSingle).needing(needsOps | needsClock),
		checkOf("take/retry-after-is-tight", "X3",
			"a refused Apply is refused until the microsecond before the longest RetryAfter of its ops, and committed at it", takeRetry).needing(needsOps | needsClock),
		checkOf("take/order-does-not-matter", "X4",
			"the answer to an op, and what it leaves, do not depend on its place among the ops", takeOrder).needing(needsOps | needsClock),
		checkOf("take/same-slot-twice", "X5",
			"an Apply or Peek that names a slot twice is refused with ErrDuplicateSlot and charges nothing", takeTwice).needing(needsOps),
		checkOf("take/most-ops", "X1",
			"an Apply of store.MaxOps ops is one step: committed as a whole or not at all", takeMost).needing(needsOps),
	}
}

func takeRefused(w *checkWorld) {
	slots := w.slots("a", "l")
	for denied := range slots {
		w.startAt(checkStart)
		spare := slots[denied]
		// One unit each leaves all with something to lose but the one.
		for i, s := range slots {
			cost := int64(1)
			if i == denied {
				cost = checkCapacity(s.Algorithm)
			}
			w.mustBe(true, checkOp(s.Key, s.Limit, s.Algorithm, cost))
		}
		left := w.remaining(slots)
		for _, cost := range []int64{1, checkCapacity(spare.Algorithm) + 1} {
			ops := make([]store.Op, len(slots))
			for i, s := range slots {
				ops[i] = checkOp(s.Key, s.Limit, s.Algorithm, min(1, left[i]))
			}
			ops[denied].Request.Cost = cost
			w.mustBe(false, ops...)
			w.mustAllRemain(slots, left)
			for i := range slots {
				if i != denied && ops[i].Outcome.Remaining != left[i] {
					w.wrong(checkOutcomeText(ops[i].Outcome), fmt.Sprintf("%d remain", left[i]), "op %d of a refused Apply is not answered as a look", i)
				}
			}
		}
	}
}

func takeSingle(w *checkWorld) {
	for _, cost := range []int64{1, 2, 0, 3, 4, 6, 5, 1} {
		together := make([]store.Op, 0, 7)
		for _, s := range w.slots("together", "") {
			together = append(together, checkOp(s.Key, s.Limit, s.Algorithm, cost))
		}
		committed := w.apply(together...)
		for i, s := range w.slots("alone", "") {
			alone := []store.Op{checkOp(s.Key, s.Limit, s.Algorithm, cost)}
			if !committed {
				w.peek(alone...) // nothing was charged together either
			} else {
				w.apply(alone...)
			}
			if committed && alone[0].Outcome != together[i].Outcome {
				w.wrong(checkOutcomeText(together[i].Outcome), checkOutcomeText(alone[0].Outcome)+" (as alone)",
					"%s together with others", checkSlotText(s))
			}
			if alone[0].Outcome.Allowed != together[i].Outcome.Allowed {
				w.wrong(together[i].Outcome.Allowed, alone[0].Outcome.Allowed, "whether %s is allowed together with others", checkSlotText(s))
			}
		}
		w.advance(450 * time.Millisecond)
	}
}

func takeRetry(w *checkWorld) {
	var ops []store.Op
	for _, s := range w.slots("a", "") {
		if _, custom := s.Algorithm.(checkPause); custom {
			continue // its wait would hide the others
		}
		ops = append(ops, checkOp(s.Key, s.Limit, s.Algorithm, 3))
	}
	w.mustBe(true, ops...)
	for range 5 {
		w.mustBe(false, ops...)
		var longest time.Duration
		for _, op := range ops {
			longest = max(longest, op.Outcome.RetryAfter)
		}
		w.advance(longest - time.Microsecond)
		w.mustBe(false, ops...)
		w.advance(time.Microsecond)
		w.mustBe(true, ops...)
	}
}

func takeOrder(w *checkWorld) {
	orders := [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, costs := range [][3]int64{{1, 2, 3}, {1, 2, 5}, {6, 1, 1}, {4, 1, 0}} {
		want := w.takeInOrder(orders[0], costs)
		for _, order := range orders[1:] {
			if got := w.takeInOrder(order, costs); got != want {
				w.wrong(fmt.Sprint(got), fmt.Sprint(want), "the answers with the ops in the order %v are not those in the order %v", order, orders[0])
			}
		}
	}
}

// takeInOrder takes three ops twice, in an order, and then looks at their
// slots, which are new ones. It returns the answers by op, not by place.
func (w *checkWorld) takeInOrder(order [3]int, costs [3]int64) (answers [3][3]algorithm.Outcome) {
	w.Helper()
	w.setClock(checkStart)
	slots := w.slots("a", fmt.Sprint(order, costs))
	for round := range answers {
		ops := make([]store.Op, len(order))
		for place, i := range order {
			ops[place] = store.Op{Slot: slots[2*i]} // GCRA, leaky bucket, sliding log
			if round < 2 {
				ops[place].Request.Cost = costs[i]
			}
		}
		w.apply(ops...)
		for place, i := range order {
			answers[round][i] = ops[place].Outcome
		}
		w.advance(300 * time.Millisecond)
	}
	return answers
}

func takeTwice(w *checkWorld) {
	slots := w.slots("a key", "l")
	// Among few ops and among many; with other parameters of the same kind.
	other := w.limit("gcra:9/1s")
	for _, among := range []int{0, 1, 5, 20} {
		ops := []store.Op{checkOp("a key", "l", slots[0].Algorithm, 1)}
		for i := range among {
			ops = append(ops, checkOp("a key", string(rune('m'+i)), slots[0].Algorithm, 1))
		}
		ops = append(ops, checkOp("a key", "l", other, 1))
		w.mustRefuse("a slot twice", store.ErrDuplicateSlot, ops...)
		places := make([]store.Slot, among+1) // without the last, which is the first
		for i := range places {
			places[i] = ops[i].Slot
		}
		w.mustAllBeFresh(places)
	}
	// What differs in key, limit or kind is not the same slot.
	different := []store.Op{
		checkOp("a key", "l", slots[0].Algorithm, 1), checkOp("a key", "m", slots[0].Algorithm, 1),
		checkOp("a key", "l", slots[1].Algorithm, 1), checkOp("b key", "l", slots[0].Algorithm, 1),
	}
	if !w.can(needsKeys) {
		different = different[:3]
	}
	w.mustBe(true, different...)
}

func takeInstant(w *checkWorld) {
	const ops = 20
	a := algorithm.Must(algorithm.ParseSpec("gcra:1/7us,burst=1000"))
	for round := range 10 {
		call := make([]store.Op, ops)
		for i := range call {
			call[i] = checkOp("a", string(rune('a'+i)), a, 3)
		}
		if round%2 == 1 {
			slices.Reverse(call) // or times that are all late by as much would not show
		}
		w.clock.tick.Store(1000) // each reading is 1 µs later than the last
		from := w.now()
		at, _, err := w.call(call, true)
		to := w.now()
		w.clock.tick.Store(0)
		w.tell("apply", call, err)
		if err != nil || at < from || at > to {
			w.wrong(fmt.Sprintf("%v, error %v", at, err), fmt.Sprintf("%v to %v, which the clock showed", from, to), "the instant of the decision")
		}
		w.setClock(at)
		want, _ := w.model.decide(at, call, true)
		w.mustAnswer(at, call, want)
		w.setClock(to)
	}
}

func takeMost(w *checkWorld) {
	a := w.limit("gcra:2/1h")
	ops := make([]store.Op, store.MaxOps)
	for i := range ops {
		ops[i] = checkOp("a", "l"+string(rune('0'+i%10))+string(rune('0'+i/10%10))+string(rune('0'+i/100)), a, 1)
	}
	w.mustBe(true, ops...)
	last := &ops[len(ops)-1]
	last.Request.Cost = 2
	w.mustBe(false, ops...)
	last.Request.Cost = 1
	w.mustBe(true, ops...)
	w.mustBe(false, ops...)
	for i := range ops {
		ops[i].Request.Cost = 0
	}
	w.peek(ops...)
}
