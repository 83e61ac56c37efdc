package checks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// onceChecks are about steps that have an ID.
func onceChecks() []world.Check {
	const clock, ops, keys = world.NeedsClock, world.NeedsOps, world.NeedsKeys
	return []world.Check{
		check("once/same-answer", "D1 M8", 0,
			"a step that was made is answered again, under its ID, with the same outcomes and the same instant, and charged once", onceAnswers),
		check("once/every-verb", "D1 I4", 0,
			"a charge and a refund with an ID are made once, also a refund of which nothing was left to give back, and one of no units", onceVerbs),
		check("once/all-or-nothing", "D1 X1", ops,
			"a step of several ops with an ID is made once as a whole, and remembered as a whole", onceTogether),
		check("once/refused-is-not-remembered", "D1 M7", 0,
			"a step that is refused, or of looks, leaves nothing: the next with its ID is decided anew", onceRefused),
		check("once/other-ops", "D1", 0,
			"an ID that is remembered is refused with ErrIDReused for other ops, which are not made", onceReused),
		check("once/same-ops-in-another-order", "D1", keys,
			"the order of ops belongs to a step, and the order of keys not to the place of its ID", onceOrder),
		check("once/ids-are-kept-apart", "D1 T9", 0,
			"IDs are kept apart whatever bytes they consist of, from those of other keys, and from states", onceApart),
		check("once/forgotten-at-its-end", "D5", clock,
			"an ID is remembered until its TTL is over, to the microsecond, and then names a new step; a clock behind meets it again", onceEnds),
		check("once/kept-over-a-reset", "D1", 0,
			"Reset of a slot forgets no ID", onceReset),
		check("once/input", "I1", 0,
			"an ID or a TTL out of its bounds, and ops that are not valid, are refused with an InputError, and charge nothing", onceInput),
		check("concurrent/one-of-an-id", "D1 H1", 0,
			"of concurrent callers with one ID one is charged, and all get its answer", onceConcurrent),
	}
}

// once is an ID that is remembered for an hour.
func once(id string) store.Once { return store.Once{ID: id, TTL: time.Hour} }

func onceAnswers(w *world.World) {
	w.NeedOnce()
	for i, s := range w.Slots("a", "l") {
		for _, path := range w.Paths() {
			w.Path = path
			id := once(fmt.Sprint("id ", i, path))
			w.Once(id, world.Op(s, 2))
			w.Once(id, world.Op(s, 2))
			w.Apply(world.Op(s, 1)) // somebody else
			w.Once(id, world.Op(s, 2))
			if w.Can(world.NeedsClock) {
				w.Advance(time.Second)
				w.Once(id, world.Op(s, 2))
			}
			w.Look(s)
			w.Reset(s)
		}
	}
}

func onceVerbs(w *world.World) {
	w.NeedOnce()
	for i, s := range chargers(w, "a", "l") {
		w.MustCommit(world.Op(s, 2))
		taken := w.Now()
		charge, refund, nothing := once(fmt.Sprint("charge", i)), once(fmt.Sprint("refund", i)), once(fmt.Sprint("nothing", i))
		for range 2 {
			w.Once(charge, verb(s, algorithm.Charge, 9, 0))
		}
		w.Look(s)
		for range 2 {
			w.Once(refund, verb(s, algorithm.Refund, 4, taken))
		}
		w.Look(s)
		w.Reset(s)
		w.Once(nothing, verb(s, algorithm.Refund, 2, taken))
		w.MustCommit(world.Op(s, 3)) // somebody else, who must not be given back
		w.Once(nothing, verb(s, algorithm.Refund, 2, taken))
		w.Look(s)
		none := once(fmt.Sprint("none", i)) // a settlement that changes nothing
		w.Once(none, verb(s, algorithm.Refund, 0, taken))
		w.Once(none, verb(s, algorithm.Refund, 0, taken))
		w.MustRefuseOnce("with a refund of more", store.ErrIDReused, none, verb(s, algorithm.Refund, 1, taken))
		w.Look(s)
		w.Reset(s)
	}
}

func onceTogether(w *world.World) {
	w.NeedOnce()
	taken, charged := w.Slots("a", "taken"), chargers(w, "a", "charged")
	for i := range charged {
		slots := []store.Slot{taken[i], charged[(i+1)%len(charged)], taken[(i+2)%len(taken)]}
		asked := func(cost int64) []store.Op {
			return []store.Op{world.Op(slots[0], cost), verb(slots[1], algorithm.Charge, 7, 0), world.Op(slots[2], 0)}
		}
		id := once(fmt.Sprint("step ", i))
		if w.Once(id, asked(world.Capacity(slots[0].Algorithm)+1)...) {
			w.Failf("a step above a capacity is committed")
		}
		for range 3 {
			w.Once(id, asked(1)...)
		}
		for _, s := range slots {
			w.Look(s)
		}
		w.Reset(slots...)
	}
}

func onceRefused(w *world.World) {
	w.NeedOnce()
	for i, s := range w.Slots("a", "l") {
		id := once(fmt.Sprint("id ", i))
		w.Once(id, world.Op(s, 0))
		w.Drain(s)
		w.Once(id, world.Op(s, 1))
		w.Once(id, world.Op(s, 2))
		w.Reset(s)
		w.Once(id, world.Op(s, 1))
		w.Once(id, world.Op(s, 1))
		w.Once(id, world.Op(s, 0)) // has no ID
		w.Look(s)
		w.Reset(s)
	}
}

func onceReused(w *world.World) {
	w.NeedOnce()
	a := w.Limit("gcra:5/1s")
	s := world.SlotOf("the key", "l", a)
	id := once("id")
	w.Once(id, world.Op(s, 1))
	limit, kind := world.SlotOf("the key", "m", a), world.SlotOf("the key", "l", w.Limit("token-bucket:5/1s"))
	for _, other := range []struct {
		what string
		op   store.Op
	}{
		{"cost", world.Op(s, 2)}, {"limit", world.Op(limit, 1)}, {"kind", world.Op(kind, 1)},
		{"parameter", world.Op(world.SlotOf("the key", "l", w.Limit("gcra:6/1s")), 1)},
		{"verb", verb(s, algorithm.Charge, 1, 0)}, {"instant", verb(s, algorithm.Refund, 1, w.Now())},
	} {
		w.MustRefuseOnce("of another "+other.what, store.ErrIDReused, id, other.op)
	}
	if w.Can(world.NeedsOps) {
		w.MustRefuseOnce("of more ops", store.ErrIDReused, id, world.Op(s, 1), world.Op(limit, 1))
	}
	w.Once(id, world.Op(s, 1))
	w.Look(s)
	w.MustBeFresh(limit, kind)
}

func onceOrder(w *world.World) {
	w.NeedOnce()
	slots := []store.Slot{world.SlotOf("the key", "l", w.Limit("gcra:5/1s")), world.SlotOf("another key", "l", w.Limit("gcra:5/1s"))}
	id := once("id")
	w.Once(id, world.Ops(slots, 1)...)
	slices.Reverse(slots)
	w.MustRefuseOnce("in another order", store.ErrIDReused, id, world.Ops(slots, 1)...)
	slices.Reverse(slots)
	w.Once(id, world.Ops(slots, 1)...)
	w.Look(slots[0])
	w.Look(slots[1])
}

func onceApart(w *world.World) {
	w.NeedOnce()
	a := w.Limit("gcra:1000/1s")
	s := world.SlotOf("the key", "l", a)
	long := strings.Repeat("x", store.MaxID-1)
	ids := []string{"a", "A", "a ", " a", "a:b", "a%3Ab", "{a}", "a}", "%7Ba%7D", "\x00", "a\x00", "a\x00b", "\xff", "\xfe", "l", long + "1", long + "2"}
	for range 2 {
		for _, id := range ids {
			w.Once(once(id), world.Op(s, 1))
		}
	}
	w.Look(s)
	other := world.SlotOf("another key", "l", a)
	w.Once(once("a"), world.Op(other, 3))
	w.Once(once("a"), world.Op(s, 1))
	w.Look(other)
	w.Look(s)
	// Keys that look like what an ID may be stored as.
	for _, key := range []string{"a", "ID", "ID/1:a", "the key:ID/1:a"} {
		w.Once(once("a"), world.Take(key, "a", a, 1))
		w.Once(once("a"), world.Take(key, "a", a, 1))
		w.Look(world.SlotOf(key, "a", a))
	}
}

func onceEnds(w *world.World) {
	w.NeedOnce()
	for i, s := range w.Slots("a", "l") {
		for _, ttl := range []time.Duration{store.MinTTL, 1500 * time.Microsecond, 90 * time.Second} {
			o := store.Once{ID: fmt.Sprint("id ", i, ttl), TTL: ttl}
			w.Once(o, world.Op(s, 1))
			w.Advance(ttl - time.Microsecond)
			w.Once(o, world.Op(s, 1))
			w.Advance(time.Microsecond)
			w.Once(o, world.Op(s, 1)) // a new one
			w.Advance(-time.Microsecond)
			w.Once(o, world.Op(s, 1)) // which a clock behind meets
			w.Look(s)
			w.Reset(s)
		}
	}
}

func onceReset(w *world.World) {
	w.NeedOnce()
	for i, s := range w.Slots("a", "l") {
		id := once(fmt.Sprint("id ", i))
		w.Once(id, world.Op(s, 2))
		w.Reset(s)
		w.Once(id, world.Op(s, 2))
		w.Look(s)
	}
}

func onceInput(w *world.World) {
	w.NeedOnce()
	s := world.SlotOf("the key", "l", w.Limit("gcra:5/1s"))
	for what, o := range map[string]store.Once{
		"without an ID": {TTL: time.Hour}, "with an ID that is too long": once(strings.Repeat("x", store.MaxID+1)),
		"without a TTL": {ID: "a"}, "with a TTL below 0": {ID: "a", TTL: -time.Second}, "with a TTL that is too short": {ID: "a", TTL: store.MinTTL - 1},
		"with a TTL that is too long": {ID: "a", TTL: store.MaxTTL + time.Microsecond}, "with a part of a µs": {ID: "a", TTL: time.Second + 1},
	} {
		err := w.MustRefuseOnce(what, store.ErrInvalid, o, world.Op(s, 1))
		w.MustNameField(err, "Once "+what, store.InputError{Op: -1})
	}
	w.MustRefuseOnce("of a cost below 0", store.ErrInvalid, once("a"), world.Op(s, -1))
	w.MustRefuseOnce("of nothing", store.ErrInvalid, once("a"))
	w.MustBeFresh(s)
	w.Once(once("a"), world.Op(s, 1)) // was not remembered for what is refused
	w.Look(s)
}

func onceConcurrent(w *world.World) {
	w.NeedOnce()
	callers := max(8, w.Scaled(50))
	for i, s := range w.Slots("a", "l") {
		type answer struct {
			at        algorithm.Instant
			outcome   algorithm.Outcome
			committed bool
		}
		for round := range w.Often(4, 2) {
			answers := make([]answer, callers)
			id := once(fmt.Sprint("id ", i, round))
			call := store.FeaturesOf(w.Store).Once
			w.Concurrently(callers, func(n int) (err error) {
				ops := []store.Op{world.Op(s, 1)}
				a := &answers[n]
				a.at, a.committed, err = call(background, id, ops)
				a.outcome = ops[0].Outcome
				return err
			})
			w.Observe(answers[0].at, nil)
			for _, a := range answers {
				if a != answers[0] || !a.committed {
					w.Wrong(fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", answers[0]), "the answers to concurrent callers with one ID differ")
				}
			}
			w.Model.Decide(answers[0].at, []store.Op{world.Op(s, 1)}, true)
			w.Look(s)
			w.Reset(s)
		}
	}
}
