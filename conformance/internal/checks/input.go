package checks

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// person is a key that an error must not show.
const person = "somebody@example.com"

// misnamed is an algorithm of the kind that it says.
type misnamed string

func (m misnamed) Spec() algorithm.Spec { return algorithm.Spec{Kind: string(m)} }
func (misnamed) String() string         { return "misnamed" }
func (misnamed) Step(s algorithm.State, _ algorithm.Instant, _ algorithm.Request) (algorithm.State, algorithm.Outcome) {
	return s, algorithm.Outcome{Allowed: true}
}

func inputRefused(w *world.World) {
	good := w.Slots(person, "l")
	a := good[0].Algorithm
	m := world.SlotOf(person, "m", a)
	for _, bad := range []struct {
		what string
		op   store.Op
	}{
		{"an empty key", world.Take("", "l", a, 1)},
		{"no algorithm", world.Take(person, "m", nil, 1)},
		{"a negative cost", world.Op(m, -1)},
		{"the most negative cost", world.Op(m, -1<<63)},
		{"a negative delay", store.Op{Slot: m, Request: algorithm.Request{Cost: 1, MaxDelay: -time.Nanosecond}}},
		{"an unknown verb", verb(m, 3, 1, 0)},
		{"a charge with a bound on the delay", store.Op{Slot: m, Request: algorithm.Request{Cost: 1, Verb: algorithm.Charge, MaxDelay: 1}}},
		{"a refund before the first instant", verb(m, algorithm.Refund, 1, -1)},
		{"a refund after the last instant", verb(m, algorithm.Refund, 1, algorithm.MaxInstant+1)},
		{"a charge of what knows none", verb(world.SlotOf(person, "m", world.NewCooldown(5, 1)), algorithm.Charge, 1, 0)},
		{"a refund of what knows none", verb(world.SlotOf(person, "m", world.NewCooldown(5, 1)), algorithm.Refund, 1, 0)},
		{"a kind without a name", world.Take(person, "m", misnamed(""), 1)},
		{"a kind that is not a name", world.Take(person, "m", misnamed("Not a name:1"), 1)},
	} {
		for place := range 3 {
			if w.Can(world.NeedsOps) {
				ops := world.Ops(good[:3], 1)
				ops[place] = bad.op
				w.MustRefuse(bad.what, store.ErrInvalid, ops...)
			}
		}
		w.MustRefuse(bad.what, store.ErrInvalid, bad.op)
		if bad.op.Algorithm == a {
			if b := w.Bind("l", a); b != nil {
				w.MustRefuseBound(background, b, "with "+bad.what, store.ErrInvalid, bad.op)
			}
		} else if bind := store.FeaturesOf(w.Store).Bind; bind != nil && bad.op.Request.Verb == algorithm.Take {
			_, err := bind("l", bad.op.Algorithm)
			w.MustBeError("Bind of "+bad.what, err, store.ErrInvalid, nil)
		}
	}
	w.MustRefuse("no ops", store.ErrInvalid)
	many := make([]store.Op, store.MaxOps+1)
	for i := range many {
		many[i] = world.Take(person, string(rune('0'+i)), a, 1)
	}
	w.MustRefuse("too many ops", store.ErrInvalid, many...)
	w.MustBeFresh(append(good, many[0].Slot, m)...)
}

func inputSays(w *world.World) {
	a := w.Limit("gcra:5/1s")
	says := func(want store.InputError, ops ...store.Op) {
		_, _, err := w.Store.Apply(background, ops)
		w.MustNameField(err, "Apply", want)
		_, err = w.Store.Peek(background, ops)
		w.MustNameField(err, "Peek", want)
	}
	says(store.InputError{Op: -1, Field: "number of ops", Value: "0"})
	says(store.InputError{Op: 0, Field: "Slot.Key"}, world.Take("", "l", a, 1))
	says(store.InputError{Op: 0, Field: "Slot.Algorithm", Value: "nil"}, world.Take(person, "l", nil, 1))
	says(store.InputError{Op: 0, Field: "Request.Cost", Value: "-3"}, world.Take(person, "l", a, -3))
	late := world.Take(person, "l", a, 1)
	late.Request.MaxDelay = -time.Second
	says(store.InputError{Op: 0, Field: "Request.MaxDelay", Value: "-1s"}, late)
	w.MustNameField(w.Store.Reset(background, []store.Slot{world.SlotOf("", "l", a)}), "Reset", store.InputError{Op: 0, Field: "Slot.Key"})
	if !w.Can(world.NeedsOps) {
		return
	}
	says(store.InputError{Op: 1, Field: "Request.Cost", Value: "-3"}, world.Take(person, "l", a, 1), world.Take(person, "m", a, -3))
	for _, among := range []int{0, 20} {
		ops := []store.Op{world.Take(person, "l", a, 1)}
		for i := range among {
			ops = append(ops, world.Take(person, "m"+strconv.Itoa(i), a, 1))
		}
		ops = append(ops, world.Take(person, "l", a, 2))
		_, _, err := w.Store.Apply(background, ops)
		want := store.DuplicateError{First: 0, Second: among + 1}
		if got := new(store.DuplicateError); !errors.As(err, &got) || *got != want {
			w.Wrong(fmt.Sprintf("%T: %v", err, err), fmt.Sprintf("a *store.DuplicateError %+v", want), "the error of an Apply that names a slot twice")
		}
	}
}

func inputEdges(w *world.World) {
	for n, s := range w.Slots("a", "l") {
		capacity := world.Capacity(s.Algorithm)
		above := []int64{capacity + 1, capacity + 2, 1 << 31, 1 << 32, algorithm.MaxUnits, algorithm.MaxUnits + 1, algorithm.MaxWord, algorithm.MaxWord + 1, 1<<63 - 1}
		for round := range 2 {
			for i, cost := range above {
				if w.Quick() && (i+n+round)%2 == 1 {
					continue // of another slot, and of this one in the other round
				}
				w.Peek(world.Op(s, cost))
				w.MustDeny(world.Op(s, cost))
			}
			w.Must(round == 0, world.Op(s, capacity)) // then nothing is left
		}
	}
}

// inputLarge takes and counts more than 32 bits hold.
func inputLarge(w *world.World) {
	const large = 1<<32 + 5
	for _, spec := range world.BuiltIn("1000000000000/24h") {
		s := world.SlotOf("a", "l", w.Limit(spec))
		for _, cost := range []int64{large, 1, large, 1 << 32, 3} {
			w.MustCommit(world.Op(s, cost))
		}
		w.Apply(world.Op(s, algorithm.MaxUnits-3*1<<32))
		w.Look(s)
	}
}

func inputStays(w *world.World) {
	a := w.Limit("gcra:5/1s")
	wrong := world.Take("wrong", "wrong", world.Limit("fixed-window:1/24h"), 1)
	wrong.Outcome.Limit = -1
	first, second := world.SlotOf("a", "l", a), world.SlotOf("b", "l", a)
	for range 3 {
		ops := []store.Op{world.Op(first, 1), world.Op(second, 2)}
		w.Apply(ops...)
		ops[0], ops[1] = wrong, wrong // from here on they are ours again
		looks := []store.Op{world.Op(second, 0), world.Op(first, 0)}
		w.Peek(looks...)
		looks[0], looks[1] = wrong, wrong

		w.Advance(time.Microsecond)
		w.Peek(world.Op(first, 1), world.Op(second, 1))
		forget := []store.Slot{first}
		w.NoError("Reset", w.Store.Reset(background, forget))
		delete(w.Model, first.ID())
		forget[0] = wrong.Slot
		w.Peek(world.Op(first, 0), world.Op(second, 0))
		for _, op := range []store.Op{ops[0], ops[1], looks[0], looks[1]} {
			if op.Key != "wrong" || op.Outcome.Limit != -1 {
				w.Wrong(fmt.Sprintf("%+v", op), fmt.Sprintf("%+v", wrong), "the store has written to ops after it returned")
			}
		}
	}
	// A refused call may write outcomes and nothing else.
	ops := []store.Op{world.Op(first, 1), world.Op(second, -1)}
	_, _, err := w.Store.Apply(background, ops)
	if !errors.Is(err, store.ErrInvalid) || ops[0].Key != "a" || ops[1].Request.Cost != -1 || ops[0].Limit != "l" {
		w.Wrong(fmt.Sprintf("error %v, %+v", err, ops), "ErrInvalid, and the ops as they were", "after a refused Apply")
	}
	w.MustRemain(wrong.Slot, 1)
}
