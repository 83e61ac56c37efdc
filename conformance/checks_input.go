package conformance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// inputChecks are about calls that can never be right, and about whose the
// slices are that a call is given.
func inputChecks() []Check {
	return []Check{
		checkOf("input/cost-at-the-edges", "I1 L5",
			"the capacity passes on a fresh key and leaves nothing; any cost above it, up to the largest number, is denied for ever and takes nothing", inputEdges),
		checkOf("input/refused", "I1",
			"a call that is invalid in one op is refused with ErrInvalid, without a key in the text, and charges none of the others",
			inputRefused),
		checkOf("input/error-says-what", "I1",
			"what is refused gives an InputError with op, field, value and what is allowed, or a DuplicateError with both ops", inputSays),
		checkOf("input/ops-stay-the-callers", "P2",
			"a store copies what it needs of ops, and does not touch them after it returned", inputStays).needing(needsKeys),
	}
}

func inputRefused(w *checkWorld) {
	const key = "somebody@example.com"
	good := w.slots(key, "l")
	a := good[0].Algorithm
	bad := []struct {
		what string
		op   store.Op
	}{
		{"an empty key", checkOp("", "l", a, 1)},
		{"no algorithm", checkOp(key, "m", nil, 1)},
		{"a negative cost", checkOp(key, "m", a, -1)},
		{"the most negative cost", checkOp(key, "m", a, -1<<63)},
		{"a negative delay", store.Op{
			Slot:    store.Slot{Key: key, Limit: "m", Algorithm: good[2].Algorithm},
			Request: algorithm.Request{Cost: 1, MaxDelay: -time.Nanosecond},
		}},
		{"a kind without a name", checkOp(key, "m", checkMisnamed(""), 1)},
		{"a kind that is not a name", checkOp(key, "m", checkMisnamed("Not a name:1"), 1)},
	}
	for _, b := range bad {
		for place := range 3 {
			if !w.can(needsOps) {
				break
			}
			ops := make([]store.Op, 0, 3)
			for i := range 3 {
				ops = append(ops, checkOp(key, "l", good[i].Algorithm, 1))
			}
			ops[place] = b.op
			w.mustRefuse(b.what, store.ErrInvalid, ops...)
		}
		w.mustRefuse(b.what, store.ErrInvalid, b.op)
	}
	w.mustRefuse("no ops", store.ErrInvalid)
	many := make([]store.Op, store.MaxOps+1)
	for i := range many {
		many[i] = checkOp(key, string(rune('0'+i)), a, 1)
	}
	w.mustRefuse("too many ops", store.ErrInvalid, many...)
	w.mustAllBeFresh(good)
	w.mustRemain(many[0].Slot, checkCapacity(a))
	w.mustRemain(store.Slot{Key: key, Limit: "m", Algorithm: a}, checkCapacity(a))

	if bind := store.FeaturesOf(w.store).Bind; bind != nil {
		w.refusedByBound(bind, key, a)
	}
}

// refusedByBound is inputRefused for store.Features.Bind.
func (w *checkWorld) refusedByBound(bind func(string, algorithm.Algorithm) (store.Bound, error), key string, a algorithm.Algorithm) {
	w.Helper()
	_, err := bind("l", nil)
	w.mustBeError("Bind without an algorithm", err, store.ErrInvalid, nil)
	_, err = bind("l", checkMisnamed("Not a name:1"))
	w.mustBeError("Bind of a kind that is not a name", err, store.ErrInvalid, nil)
	b, err := bind("l", a)
	if err != nil {
		w.wrong(err, "no error", "Bind failed, and must not")
	}
	for _, bad := range []struct {
		key string
		r   algorithm.Request
	}{{"", algorithm.Request{Cost: 1}}, {key, algorithm.Request{Cost: -1}}, {key, algorithm.Request{Cost: 1, MaxDelay: -1}}} {
		ops := []store.Op{{Slot: store.Slot{Key: bad.key, Limit: "l", Algorithm: a}, Request: bad.r}}
		_, _, err := b.Apply(context.Background(), bad.key, bad.r)
		w.mustBeError("Apply by a Bound", err, store.ErrInvalid, ops)
		_, _, err = b.Peek(context.Background(), bad.key, bad.r)
		w.mustBeError("Peek by a Bound", err, store.ErrInvalid, ops)
	}
	w.mustRemain(store.Slot{Key: key, Limit: "l", Algorithm: a}, checkCapacity(a))
}

func inputSays(w *checkWorld) {
	const key = "somebody@example.com"
	a := w.limit("gcra:5/1s")
	say := func(want store.InputError, ops ...store.Op) {
		w.Helper()
		_, _, err := w.store.Apply(context.Background(), ops)
		w.mustNameField(err, "Apply", want)
		_, err = w.store.Peek(context.Background(), ops)
		w.mustNameField(err, "Peek", want)
	}
	say(store.InputError{Op: -1, Field: "number of ops", Value: "0"})
	say(store.InputError{Op: 0, Field: "Slot.Key"}, checkOp("", "l", a, 1))
	say(store.InputError{Op: 0, Field: "Slot.Algorithm", Value: "nil"}, checkOp(key, "l", nil, 1))
	say(store.InputError{Op: 0, Field: "Request.Cost", Value: "-3"}, checkOp(key, "l", a, -3))
	late := checkOp(key, "l", a, 1)
	late.Request.MaxDelay = -time.Second
	say(store.InputError{Op: 0, Field: "Request.MaxDelay", Value: "-1s"}, late)
	w.mustNameField(w.store.Reset(context.Background(), []store.Slot{{Limit: "l", Algorithm: a}}), "Reset", store.InputError{Op: 0, Field: "Slot.Key"})
	if !w.can(needsOps) {
		return
	}
	say(store.InputError{Op: 1, Field: "Request.Cost", Value: "-3"}, checkOp(key, "l", a, 1), checkOp(key, "m", a, -3))
	for _, among := range []int{0, 20} {
		ops := []store.Op{checkOp(key, "l", a, 1)}
		for i := range among {
			ops = append(ops, checkOp(key, "m"+strconv.Itoa(i), a, 1))
		}
		ops = append(ops, checkOp(key, "l", a, 2))
		_, _, err := w.store.Apply(context.Background(), ops)
		want := store.DuplicateError{First: 0, Second: among + 1}
		if got := new(store.DuplicateError); !errors.As(err, &got) || *got != want {
			w.wrong(fmt.Sprintf("%T: %v", err, err), fmt.Sprintf("a *store.DuplicateError %+v", want), "the error of an Apply that names a slot twice")
		}
	}
}

func inputEdges(w *checkWorld) {
	for n, s := range w.slots("a", "l") {
		capacity := checkCapacity(s.Algorithm)
		take := func(cost int64) algorithm.Outcome {
			w.Helper()
			ops := []store.Op{{Slot: s, Request: algorithm.Request{Cost: cost}}}
			w.peek(ops...)
			w.apply(ops...)
			return ops[0].Outcome
		}
		above := []int64{capacity + 1, capacity + 2, 1 << 31, 1 << 32, algorithm.MaxUnits, algorithm.MaxUnits + 1, algorithm.MaxWord, algorithm.MaxWord + 1, 1<<63 - 1}
		for round := range 2 {
			for i, cost := range above {
				if quick() && (i+n+round)%2 == 1 {
					continue // of another slot, and of this one in the other round
				}
				if o := take(cost); o.Allowed || o.RetryAfter != algorithm.Never {
					w.wrong(checkOutcomeText(o), "denied, retry never", "cost %d of a capacity of %d", cost, capacity)
				}
			}
			if o := take(capacity); o.Allowed { // the first time; then nothing is left
				w.mustRemain(s, 0)
			}
		}
	}
}

// checkMisnamed is an algorithm of the kind that it says.
type checkMisnamed string

func (m checkMisnamed) Spec() algorithm.Spec { return algorithm.Spec{Kind: string(m)} }
func (checkMisnamed) String() string         { return "misnamed" }
func (checkMisnamed) Step(s algorithm.State, _ algorithm.Instant, _ algorithm.Request) (algorithm.State, algorithm.Outcome) {
	return s, algorithm.Outcome{Allowed: true}
}

func inputStays(w *checkWorld) {
	a := w.limit("gcra:5/1s")
	wrong := checkOp("wrong", "wrong", algorithm.Must(algorithm.ParseSpec("fixed-window:1/24h")), 1)
	wrong.Outcome.Limit = -1
	slots := func() []store.Slot {
		return []store.Slot{{Key: "a", Limit: "l", Algorithm: a}, {Key: "b", Limit: "l", Algorithm: a}}
	}
	for range 3 {
		ops := []store.Op{{Slot: slots()[0]}, {Slot: slots()[1]}}
		ops[0].Request.Cost, ops[1].Request.Cost = 1, 2
		w.apply(ops...)
		ops[0], ops[1] = wrong, wrong // from here on they are ours again
		looks := []store.Op{{Slot: slots()[1]}, {Slot: slots()[0]}}
		w.peek(looks...)
		looks[0], looks[1] = wrong, wrong

		forget := slots()
		w.advance(time.Microsecond)
		w.peek(checkOp("a", "l", a, 1), checkOp("b", "l", a, 1))
		if err := w.store.Reset(context.Background(), forget[:1]); err != nil {
			w.wrong(err, "no error", "Reset failed, and must not")
		}
		delete(w.model, checkPlaceOf(slots()[0]))
		forget[0] = wrong.Slot
		w.peek(checkOp("a", "l", a, 0), checkOp("b", "l", a, 0))
		for _, op := range []store.Op{ops[0], ops[1], looks[0], looks[1]} {
			if op.Key != "wrong" || op.Outcome.Limit != -1 {
				w.wrong(fmt.Sprintf("%+v", op), fmt.Sprintf("%+v", wrong), "the store has written to ops after it returned")
			}
		}
	}
	// A refused call may write outcomes and nothing else.
	ops := []store.Op{checkOp("a", "l", a, 1), checkOp("b", "l", a, -1)}
	_, _, err := w.store.Apply(context.Background(), ops)
	if !errors.Is(err, store.ErrInvalid) || ops[0].Key != "a" || ops[1].Request.Cost != -1 || ops[0].Limit != "l" {
		w.wrong(fmt.Sprintf("error %v, %+v", err, ops), "ErrInvalid, and the ops as they were", "after a refused Apply")
	}
	w.mustRemain(store.Slot{Key: "wrong", Limit: "wrong", Algorithm: wrong.Algorithm}, 1)
}
