package checks

import (
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// resetChecks are about Reset, which must have no effect but what it was asked for.
func resetChecks() []world.Check {
	return []world.Check{
		check("reset/forgets-one-slot", "J1", 0,
			"Reset makes the slots fresh that it names, and touches no other", resetOne),
		check("reset/idempotent", "J1", 0,
			"Reset of a fresh slot, of no slots, and a second Reset change nothing and are no errors", resetTwice),
	}
}

func resetOne(w *world.World) {
	var slots []store.Slot
	for _, place := range [][2]string{{"a", "l"}, {"a", "m"}, {"al", ""}, {"b", "l"}}[:w.Often(4, 3)] {
		slots = append(slots, w.Slots(place[0], place[1])...)
	}
	full, left := world.Capacities(slots), make([]int64, len(slots))
	w.MustTakeAll(slots, full)
	for i, s := range slots {
		w.Reset(s)
		left[i] = full[i]
		w.MustAllRemain(slots, left)
	}
	w.MustTakeAll(slots, full)
	w.Reset(slots[1:5]...)
	clear(left)
	copy(left[1:5], full[1:5])
	w.MustAllRemain(slots, left)
	// The parameters do not belong to the place.
	last := slots[len(slots)-len(w.Kinds())] // the first kind
	w.MustRemain(last, 0)
	w.Reset(world.SlotOf(last.Key, last.Limit, world.Limit(w.Kinds()[0].Name+":1/1s")))
	w.MustBeFresh(last)
}

func resetTwice(w *world.World) {
	slots := w.Slots("a key", "l")
	w.Reset()
	for range 2 {
		w.Reset(slots...)
		w.Reset(slots...)
		w.MustBeFresh(slots...)
		for _, s := range slots {
			w.MustCommit(world.Op(s, 1))
		}
	}
	w.Reset(slots...)
	w.Reset(slots...)
	first := slots[0]
	w.MustCommit(world.Op(first, 1))
	for _, bad := range []struct {
		what   string
		slot   store.Slot
		target error
	}{
		{"Reset of an empty key", store.Slot{Limit: "l", Algorithm: first.Algorithm}, store.ErrInvalid},
		{"Reset without an algorithm", store.Slot{Key: "a key"}, store.ErrInvalid},
		{"Reset of a slot twice", first, store.ErrDuplicateSlot},
	} {
		err := w.Store.Reset(background, []store.Slot{first, bad.slot})
		w.MustBeError(bad.what, err, bad.target, []store.Op{world.Op(bad.slot, 0)})
	}
	w.MustRemain(first, world.Capacity(first.Algorithm)-1)
}
