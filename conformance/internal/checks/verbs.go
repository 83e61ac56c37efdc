package checks

import (
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// verb is an op with a verb. A refund is of what was taken at the instant at.
func verb(s store.Slot, v algorithm.Verb, cost int64, at algorithm.Instant) store.Op {
	op := world.Op(s, cost)
	op.Request.Verb, op.Request.At = v, at
	return op
}

// chargers are slots of those kinds that know a charge and a refund.
func chargers(w *world.World, key, limit string) (slots []store.Slot) {
	for _, s := range w.Slots(key, limit) {
		if _, is := s.Algorithm.(algorithm.Charger); is {
			slots = append(slots, s)
		}
	}
	return slots
}

func verbsAlone(w *world.World) {
	for _, s := range chargers(w, "a", "l") {
		for _, path := range w.Paths() {
			w.Path = path
			w.MustCommit(world.Op(s, 2))
			taken := w.Now()
			w.Peek(verb(s, algorithm.Charge, 9, 0))
			w.MustCommit(verb(s, algorithm.Charge, 9, 0))
			w.MustDeny(world.Op(s, 1))
			w.Peek(verb(s, algorithm.Refund, 7, taken))
			w.MustCommit(verb(s, algorithm.Refund, 7, taken))
			w.Look(s)
			w.MustDeny(verb(s, algorithm.Charge, 3*algorithm.MaxUnits, 0))
			w.Look(s)
			w.MustCommit(verb(s, algorithm.Refund, algorithm.MaxUnits, taken))
			w.Look(s)
			w.Reset(s)
			w.MustCommit(verb(s, algorithm.Refund, 5, taken)) // of a fresh key
			w.Look(s)
			w.MustCommit(world.Op(s, 1))
			w.Reset(s)
		}
	}
}

// verbsTogether gives back to one limit, charges another and takes of a third.
func verbsTogether(w *world.World) {
	given, charged, taken := chargers(w, "a", "given"), chargers(w, "a", "charged"), w.Slots("a", "taken")
	for i := range given {
		slots := []store.Slot{given[i], charged[i], taken[(i+1)%len(taken)]}
		w.MustCommit(world.Op(slots[0], 4), world.Op(slots[1], 4))
		at := w.Now()
		ops := []store.Op{verb(slots[0], algorithm.Refund, 3, at), verb(slots[1], algorithm.Charge, 3, 0), world.Op(slots[2], world.Capacity(slots[2].Algorithm)+1)}
		looks := func() {
			for _, s := range slots {
				w.Look(s)
			}
		}
		w.Peek(ops...)
		w.MustDeny(ops...)
		looks()
		ops[2].Request.Cost = 1
		w.MustCommit(ops...)
		looks()
		ops[1].Request.Cost, ops[2].Request.Cost = 3*algorithm.MaxUnits, 0
		w.MustDeny(ops...)
		looks()
		w.Reset(slots...)
	}
}
