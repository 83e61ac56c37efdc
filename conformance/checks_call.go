package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// checkOp is an op of one cost.
func checkOp(key, limit string, a algorithm.Algorithm, cost int64) store.Op {
	return store.Op{Slot: store.Slot{Key: key, Limit: limit, Algorithm: a}, Request: algorithm.Request{Cost: cost}}
}

// apply has the store decide ops, and fails unless it answers as the model.
func (w *checkWorld) apply(ops ...store.Op) (committed bool) {
	w.Helper()
	w.mustBeDecidable(ops)
	asked := slices.Clone(ops)
	at, committed, err := w.call(ops, true)
	w.observe(at, err)
	w.tell("apply", ops, err)
	if err != nil {
		w.wrong(err, "no error", "Apply failed, and must not")
	}
	w.mustBeAsked(ops, asked)
	want, wantCommitted := w.model.decide(w.now(), asked, true)
	w.mustAnswer(at, ops, want)
	if committed != wantCommitted {
		w.wrong(committed, wantCommitted, "Apply does not say whether it was committed")
	}
	return committed
}

// peek is apply for Peek.
func (w *checkWorld) peek(ops ...store.Op) {
	w.Helper()
	w.mustBeDecidable(ops)
	asked := slices.Clone(ops)
	at, _, err := w.call(ops, false)
	w.observe(at, err)
	w.tell("peek", ops, err)
	if err != nil {
		w.wrong(err, "no error", "Peek failed, and must not")
	}
	w.mustBeAsked(ops, asked)
	want, _ := w.model.decide(w.now(), asked, false)
	w.mustAnswer(at, ops, want)
}

// observe takes over the instant of a store with a clock of its own.
func (w *checkWorld) observe(at algorithm.Instant, err error) {
	if err == nil && w.config().OwnClock {
		w.answered = at
		w.latest = max(w.latest, at)
	}
}

// mustBe fails unless an Apply ended as the check says.
func (w *checkWorld) mustBe(committed bool, ops ...store.Op) {
	w.Helper()
	if got := w.apply(ops...); got != committed {
		w.wrong(got, committed, "Apply is not committed, or is, against what the check was written for")
	}
}

// mustRemain looks at a slot and fails unless so much remains.
func (w *checkWorld) mustRemain(s store.Slot, want int64) {
	w.Helper()
	ops := []store.Op{{Slot: s}}
	w.peek(ops...)
	if got := ops[0].Outcome.Remaining; got != want {
		w.wrong(got, want, "the wrong number of units remains of %s", checkSlotText(s))
	}
}

// takeUnits takes unit by unit until n are asked for, and returns how many were
// admitted.
func (w *checkWorld) takeUnits(s store.Slot, n int) (admitted int64) {
	w.Helper()
	for range n {
		if w.apply(store.Op{Slot: s, Request: algorithm.Request{Cost: 1}}) {
			admitted++
		}
	}
	return admitted
}

// call makes one call, through a Bound where that was asked for and can be.
func (w *checkWorld) call(ops []store.Op, write bool) (at algorithm.Instant, committed bool, err error) {
	w.Helper()
	ctx := context.Background()
	if b := w.bound(ops); b != nil {
		op := &ops[0]
		if write {
			op.Outcome, at, err = b.Apply(ctx, op.Key, op.Request)
		} else {
			op.Outcome, at, err = b.Peek(ctx, op.Key, op.Request)
		}
		return at, op.Outcome.Allowed, err
	}
	if write {
		return w.store.Apply(ctx, ops)
	}
	at, err = w.store.Peek(ctx, ops)
	return at, false, err
}

func (w *checkWorld) bound(ops []store.Op) store.Bound {
	w.Helper()
	bind := store.FeaturesOf(w.store).Bind
	if bind == nil || !w.throughBound || len(ops) != 1 {
		return nil
	}
	limit := checkLimit{ops[0].Limit, ops[0].Algorithm.Spec()}
	if w.bounds[limit] == nil {
		b, err := bind(ops[0].Limit, ops[0].Algorithm)
		if err != nil {
			w.wrong(err, "no error", "Bind failed, and must not")
		}
		w.bounds[limit] = b
	}
	return w.bounds[limit]
}

// reset resets slots, in the store and in the model.
func (w *checkWorld) reset(slots ...store.Slot) {
	w.Helper()
	for _, s := range slots {
		w.note("reset  %s", checkSlotText(s))
		delete(w.model, checkPlaceOf(s))
	}
	if err := w.store.Reset(context.Background(), slots); err != nil {
		w.wrong(err, "no error", "Reset failed, and must not")
	}
}

// mustRefuse calls Apply and Peek with ops that must be refused with an error
// that matches target and shows no key.
func (w *checkWorld) mustRefuse(what string, target error, ops ...store.Op) {
	w.Helper()
	_, _, err := w.store.Apply(context.Background(), ops)
	w.mustBeError("Apply of "+what, err, target, ops)
	_, err = w.store.Peek(context.Background(), ops)
	w.mustBeError("Peek of "+what, err, target, ops)
}

func (w *checkWorld) mustBeError(what string, err, target error, ops []store.Op) {
	w.Helper()
	w.note("%s: error %v", what, err)
	if !errors.Is(err, target) {
		w.wrong(err, fmt.Sprintf("an error that matches %q", target), "%s does not give the error that it must", what)
	}
	for _, op := range ops {
		if len(op.Key) > 3 && strings.Contains(err.Error(), op.Key) {
			w.wrong(err, "the same without the key", "%s gives an error with a key in it, and keys are personal data", what)
		}
	}
}

// mustAnswer fails unless ops were answered as the model says.
func (w *checkWorld) mustAnswer(at algorithm.Instant, ops []store.Op, want []algorithm.Outcome) {
	w.Helper()
	if at != w.now() {
		w.wrong(at, w.now(), "the decision was not made at the instant that the clock shows")
	}
	for i, op := range ops {
		if op.Outcome != want[i] {
			w.wrong(checkOutcomeText(op.Outcome), checkOutcomeText(want[i]),
				"op %d, %s cost %d, is answered wrongly: %s%s", i, checkSlotText(op.Slot), op.Request.Cost, differing(op.Outcome, want[i]), w.asFresh(&op, want[i]))
		}
	}
}

// asFresh leads from a wrong answer to its cause, where it is that of a fresh key
// and the key is not.
func (w *checkWorld) asFresh(op *store.Op, want algorithm.Outcome) string {
	_, charged := op.Algorithm.Step(algorithm.State{}, w.now(), op.Request)
	_, look := op.Algorithm.Step(algorithm.State{}, w.now(), algorithm.Request{})
	if want == charged || want == look || op.Outcome != charged && op.Outcome != look {
		return ""
	}
	return "; a fresh key is answered like this: was its state dropped?"
}

// mustBeDecidable stops a check that asks more than any store promises.
func (w *checkWorld) mustBeDecidable(ops []store.Op) {
	w.Helper()
	for _, op := range ops {
		if w.doubtful(op.Slot) {
			w.failf("a mistake in the check itself: a store may have dropped the state of %s", checkSlotText(op.Slot))
		}
	}
}

// mustBeAsked fails where a call has changed what it was asked.
func (w *checkWorld) mustBeAsked(ops, asked []store.Op) {
	w.Helper()
	for i := range ops {
		if checkPlaceOf(ops[i].Slot) != checkPlaceOf(asked[i].Slot) || ops[i].Request != asked[i].Request {
			w.wrong(fmt.Sprintf("%s, %+v", checkSlotText(ops[i].Slot), ops[i].Request), fmt.Sprintf("%s, %+v", checkSlotText(asked[i].Slot), asked[i].Request),
				"the call has changed more of op %d than its Outcome", i)
		}
	}
}
