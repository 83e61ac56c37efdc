package conformance

import (
	"context"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// quietChecks are about calls that must leave no trace.
func quietChecks() []Check {
	return []Check{
		checkOf("denial/changes-nothing", "M7",
			"a denied Apply, of any cost, however often, changes no later answer", quietDenial).needing(needsClock),
		checkOf("look/changes-nothing", "M6",
			"an Apply of cost 0 is never denied and changes no later answer, also in debt", quietLook).needing(needsClock),
		checkOf("peek/changes-nothing", "M6",
			"a Peek, of any cost, at any instant, changes no later answer", quietPeek).needing(needsClock),
	}
}

// resetChecks are about Reset, which must leave no more than it was asked for.
func resetChecks() []Check {
	return []Check{
		checkOf("reset/forgets-one-slot", "J1",
			"Reset makes the slots fresh that it names, and touches no other", resetOne),
		checkOf("reset/idempotent", "J1",
			"Reset of a fresh slot, of no slots, and a second Reset change nothing and are no errors", resetTwice),
	}
}

// quietly drains a key of each kind in part or as a whole, lets something
// happen that must leave no trace, and takes what has to remain.
func (w *checkWorld) quietly(happens func(s store.Slot, capacity int64)) {
	w.Helper()
	for _, k := range w.kinds() {
		for _, a := range k.some() {
			w.startAt(checkStart)
			s := store.Slot{Key: "a", Limit: "l", Algorithm: a}
			capacity := checkCapacity(a)
			for _, part := range []int64{0, 1, capacity, capacity / 2}[:often(4, 3)] {
				if part > 0 {
					w.apply(checkOp("a", "l", a, part))
				}
				look := []store.Op{{Slot: s}}
				w.peek(look...)
				left := look[0].Outcome.Remaining
				happens(s, capacity)
				w.mustRemain(s, left)
				if left < capacity {
					w.mustBe(false, checkOp("a", "l", a, left+1))
				}
				if left > 0 {
					w.mustBe(true, checkOp("a", "l", a, left))
				}
				w.reset(s)
			}
		}
	}
}

func quietPeek(w *checkWorld) {
	w.quietly(func(s store.Slot, capacity int64) {
		w.Helper()
		now := w.now()
		for _, cost := range []int64{0, 1, capacity, capacity + 1} {
			w.peek(checkOp(s.Key, s.Limit, s.Algorithm, cost))
		}
		for _, by := range []time.Duration{time.Microsecond, -time.Second, 500 * time.Millisecond} {
			w.advance(by)
			w.peek(checkOp(s.Key, s.Limit, s.Algorithm, 1))
		}
		w.setClock(now)
		if w.can(needsOps) {
			w.peek(checkOp(s.Key, s.Limit, s.Algorithm, 1), checkOp(s.Key, "other", s.Algorithm, 1))
		}
	})
}

func quietLook(w *checkWorld) {
	w.quietly(func(s store.Slot, _ int64) {
		w.Helper()
		w.mustBe(true, checkOp(s.Key, s.Limit, s.Algorithm, 0))
		now := w.now()
		w.advance(-500 * time.Millisecond)
		if w.can(needsOps) {
			w.mustBe(true, checkOp(s.Key, s.Limit, s.Algorithm, 0), checkOp(s.Key, "other", s.Algorithm, 0))
		}
		w.setClock(now)
	})
}

func quietDenial(w *checkWorld) {
	w.quietly(func(s store.Slot, capacity int64) {
		w.Helper()
		for range often(5, 2) {
			w.mustBe(false, checkOp(s.Key, s.Limit, s.Algorithm, capacity+1))
		}
	})
}

func resetOne(w *checkWorld) {
	var slots []store.Slot
	for _, place := range [][2]string{{"a", "l"}, {"a", "m"}, {"al", ""}, {"b", "l"}}[:often(4, 3)] {
		slots = append(slots, w.slots(place[0], place[1])...)
	}
	full := capacities(slots)
	left := make([]int64, len(slots))
	w.mustAllTake(slots, full)
	for i, s := range slots {
		w.reset(s)
		left[i] = full[i]
		w.mustAllRemain(slots, left)
	}
	w.mustAllTake(slots, full)
	w.reset(slots[1:5]...)
	clear(left)
	copy(left[1:5], full[1:5])
	w.mustAllRemain(slots, left)
	// The parameters do not belong to the place.
	last := slots[len(slots)-len(w.kinds())] // a GCRA
	w.mustRemain(last, 0)
	w.reset(store.Slot{Key: last.Key, Limit: last.Limit, Algorithm: algorithm.Must(algorithm.ParseSpec("gcra:1/24h"))})
	w.mustRemain(last, checkCapacity(last.Algorithm))
}

func resetTwice(w *checkWorld) {
	slots := w.slots("a key", "l")
	w.reset()
	w.reset(slots...)
	w.reset(slots...)
	for range 2 {
		w.mustAllBeFresh(slots)
		for _, s := range slots {
			w.mustBe(true, checkOp(s.Key, s.Limit, s.Algorithm, 1))
		}
		w.reset(slots...)
		w.reset(slots...)
	}
	w.mustBe(true, checkOp("a key", "l", slots[0].Algorithm, 1))

	ctx := context.Background()
	bad := []store.Slot{slots[0], {Limit: "l", Algorithm: slots[0].Algorithm}}
	w.mustBeError("Reset of an empty key", w.store.Reset(ctx, bad), store.ErrInvalid, nil)
	bad[1] = store.Slot{Key: "a key"}
	w.mustBeError("Reset without an algorithm", w.store.Reset(ctx, bad), store.ErrInvalid, []store.Op{{Slot: bad[1]}})
	bad[1] = slots[0]
	w.mustBeError("Reset of a slot twice", w.store.Reset(ctx, bad), store.ErrDuplicateSlot, []store.Op{{Slot: bad[1]}})
	w.mustRemain(slots[0], checkCapacity(slots[0].Algorithm)-1)
}
