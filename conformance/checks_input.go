package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// inputChecks are about calls that can never be right, and about whose the
// slices are that a call is given.
func inputChecks() []Check {
	return []Check{
		checkOf("input/refused", "I1",
			"a call that is invalid in one op is refused with ErrInvalid, without a key in the text, and charges none of the others",
			inputRefused),
		checkOf("input/ops-stay-the-callers", "P2",
			"a store copies what it needs of ops, and does not touch them after it returned", inputStays),
	}
}

func inputRefused(w *checkWorld) {
	const key = "somebody@example.com"
	good := checkSlots(key, "l")
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
	for _, s := range good {
		w.mustRemain(s, checkCapacity(s.Algorithm))
	}
	w.mustRemain(many[0].Slot, checkCapacity(a))
	w.mustRemain(store.Slot{Key: key, Limit: "m", Algorithm: a}, checkCapacity(a))

	if binder, offered := w.store.(store.Binder); offered {
		w.refusedByBound(binder, key, a)
	}
}

// refusedByBound is inputRefused for store.Binder.
func (w *checkWorld) refusedByBound(binder store.Binder, key string, a algorithm.Algorithm) {
	w.Helper()
	_, err := binder.Bind("l", nil)
	w.mustBeError("Bind without an algorithm", err, store.ErrInvalid, nil)
	_, err = binder.Bind("l", checkMisnamed("Not a name:1"))
	w.mustBeError("Bind of a kind that is not a name", err, store.ErrInvalid, nil)
	b, err := binder.Bind("l", a)
	if err != nil {
		w.failf("Bind failed, and must not: %v", err)
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

// checkMisnamed is an algorithm of the kind that it says.
type checkMisnamed string

func (m checkMisnamed) Spec() algorithm.Spec { return algorithm.Spec{Kind: string(m)} }
func (checkMisnamed) String() string         { return "misnamed" }
func (checkMisnamed) Step(s algorithm.State, _ algorithm.Instant, _ algorithm.Request) (algorithm.State, algorithm.Outcome) {
	return s, algorithm.Outcome{Allowed: true}
}

func inputStays(w *checkWorld) {
	a := algorithm.Must(algorithm.ParseSpec("gcra:5/1s"))
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
			w.failf("Reset failed, and must not: %v", err)
		}
		delete(w.model, checkPlaceOf(slots()[0]))
		forget[0] = wrong.Slot
		w.peek(checkOp("a", "l", a, 0), checkOp("b", "l", a, 0))
		for _, op := range []store.Op{ops[0], ops[1], looks[0], looks[1]} {
			if op.Key != "wrong" || op.Outcome.Limit != -1 {
				w.failf("the store has written to ops after it returned: %+v", op)
			}
		}
	}
	// A refused call may write outcomes and nothing else.
	ops := []store.Op{checkOp("a", "l", a, 1), checkOp("b", "l", a, -1)}
	_, _, err := w.store.Apply(context.Background(), ops)
	if !errors.Is(err, store.ErrInvalid) || ops[0].Key != "a" || ops[1].Request.Cost != -1 || ops[0].Limit != "l" {
		w.failf("after a refused Apply, error %v, the ops are %+v", err, ops)
	}
	w.mustRemain(store.Slot{Key: "wrong", Limit: "wrong", Algorithm: wrong.Algorithm}, 1)
}
