package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/store"
)

// Apply has the store decide ops, and fails unless it answers as the model.
func (w *World) Apply(ops ...store.Op) (committed bool) {
	w.Helper()
	return w.decide("Apply", ops, true)
}

// Peek is Apply for the Peek of a store.
func (w *World) Peek(ops ...store.Op) {
	w.Helper()
	w.decide("Peek", ops, false)
}

func (w *World) decide(name string, ops []store.Op, write bool) (committed bool) {
	w.Helper()
	for _, op := range ops {
		if w.Doubtful(op.Slot) {
			w.Failf("a mistake in the check itself: a store may have dropped the state of %s", transcript.Slot(op.Slot))
		}
	}
	asked := slices.Clone(ops)
	at, committed, err := w.Call(ops, write)
	w.Observe(at, err)
	w.Record(strings.ToLower(name), ops, err)
	w.NoError(name, err)
	for i := range ops {
		if ops[i].Slot.ID() != asked[i].Slot.ID() || ops[i].Request != asked[i].Request {
			w.Wrong(fmt.Sprintf("%s, %+v", transcript.Slot(ops[i].Slot), ops[i].Request), fmt.Sprintf("%s, %+v", transcript.Slot(asked[i].Slot), asked[i].Request),
				"the call has changed more of op %d than its Outcome", i)
		}
	}
	want, wantCommitted := w.Model.Decide(w.Now(), asked, write)
	w.MustAnswer(at, ops, want)
	if write && committed != wantCommitted {
		w.Wrong(committed, wantCommitted, "Apply does not say whether it was committed")
	}
	return committed
}

// One applies one op and returns its answer.
func (w *World) One(s store.Slot, cost int64) algorithm.Outcome {
	w.Helper()
	ops := []store.Op{Op(s, cost)}
	w.Apply(ops...)
	return ops[0].Outcome
}

// Look peeks at a slot.
func (w *World) Look(s store.Slot) algorithm.Outcome {
	w.Helper()
	ops := []store.Op{Op(s, 0)}
	w.Peek(ops...)
	return ops[0].Outcome
}

// Drain takes the whole capacity of a fresh slot, and returns the instant at which
// the slot is fresh again.
func (w *World) Drain(s store.Slot) (fresh algorithm.Instant) {
	w.Helper()
	ops := []store.Op{Op(s, Capacity(s.Algorithm))}
	w.MustCommit(ops...)
	return w.Now() + Micros(ops[0].Outcome.ResetAfter)
}

// Reset resets slots, in the store and in the model.
func (w *World) Reset(slots ...store.Slot) {
	w.Helper()
	for _, s := range slots {
		w.Note("reset  %s", transcript.Slot(s))
		delete(w.Model, s.ID())
	}
	w.NoError("Reset", w.Store.Reset(context.Background(), slots))
}

// MustCommit fails unless an Apply is committed.
func (w *World) MustCommit(ops ...store.Op) {
	w.Helper()
	w.Must(true, ops...)
}

// MustDeny fails unless an Apply is not committed.
func (w *World) MustDeny(ops ...store.Op) {
	w.Helper()
	w.Must(false, ops...)
}

// Must fails unless an Apply ends as the check says.
func (w *World) Must(committed bool, ops ...store.Op) {
	w.Helper()
	if got := w.Apply(ops...); got != committed {
		w.Wrong(got, committed, "Apply is not committed, or is, against what the check was written for")
	}
}

// TakeUnits takes unit by unit until n are asked for, and returns how many were
// admitted.
func (w *World) TakeUnits(s store.Slot, n int) (admitted int64) {
	w.Helper()
	for range n {
		if w.Apply(Op(s, 1)) {
			admitted++
		}
	}
	return admitted
}

// MustAnswer fails unless ops were answered at the instant that the clock shows, as
// the model says.
func (w *World) MustAnswer(at algorithm.Instant, ops []store.Op, want []algorithm.Outcome) {
	w.Helper()
	if at != w.Now() {
		w.Wrong(at, w.Now(), "the decision was not made at the instant that the clock shows")
	}
	for i := range ops {
		if op := &ops[i]; op.Outcome != want[i] {
			w.Wrong(transcript.Outcome(op.Outcome), transcript.Outcome(want[i]), "op %d, %s cost %d, is answered wrongly: %s%s",
				i, transcript.Slot(op.Slot), op.Request.Cost, transcript.Difference(op.Outcome, want[i]), w.asFresh(op, want[i]))
		}
	}
}

// asFresh leads from a wrong answer to its cause, where the answer is right for a
// fresh key and the key is not fresh.
func (w *World) asFresh(op *store.Op, want algorithm.Outcome) string {
	_, charged := op.Algorithm.Step(algorithm.State{}, w.Now(), op.Request)
	_, look := op.Algorithm.Step(algorithm.State{}, w.Now(), algorithm.Request{})
	if want == charged || want == look || op.Outcome != charged && op.Outcome != look {
		return ""
	}
	return "; a fresh key is answered like this: was its state dropped?"
}

// MustRefuse calls Apply and Peek with ops that must be refused with an error that
// matches target and shows no key.
func (w *World) MustRefuse(what string, target error, ops ...store.Op) {
	w.Helper()
	w.MustRefuseIn(context.Background(), "of "+what, target, ops)
}

// MustRefuseIn is MustRefuse with a context. It returns the errors of both.
func (w *World) MustRefuseIn(ctx context.Context, what string, target error, ops []store.Op) {
	w.Helper()
	_, committed, err := w.Store.Apply(ctx, ops)
	w.MustBeError("Apply "+what, err, target, ops)
	if committed {
		w.Wrong("committed", "not committed", "Apply %s", what)
	}
	_, err = w.Store.Peek(ctx, ops)
	w.MustBeError("Peek "+what, err, target, ops)
}

// MustRefuseBound is MustRefuseIn for a Bound.
func (w *World) MustRefuseBound(ctx context.Context, b store.Bound, what string, target error, op store.Op) {
	w.Helper()
	_, _, err := b.Apply(ctx, op.Key, op.Request)
	w.MustBeError("Apply by a Bound "+what, err, target, []store.Op{op})
	_, _, err = b.Peek(ctx, op.Key, op.Request)
	w.MustBeError("Peek by a Bound "+what, err, target, []store.Op{op})
}

// MustBeError fails unless err matches target and shows none of the keys of ops.
func (w *World) MustBeError(what string, err, target error, ops []store.Op) {
	w.Helper()
	w.Note("%s: error %v", what, err)
	if !errors.Is(err, target) {
		w.Wrong(err, fmt.Sprintf("an error that matches %q", target), "%s does not give the error that it must", what)
	}
	for _, op := range ops {
		if len(op.Key) > 3 && strings.Contains(err.Error(), op.Key) {
			w.Wrong(err, "the same without the key", "%s gives an error with a key in it, and keys are personal data", what)
		}
	}
}

// MustNameField fails unless err is an InputError with the parts that are given
// and no part empty.
func (w *World) MustNameField(err error, what string, want store.InputError) {
	w.Helper()
	var got *store.InputError
	if !errors.As(err, &got) {
		w.Wrong(fmt.Sprintf("%T: %v", err, err), "a *store.InputError", "the error of %s", what)
	}
	same := got.Op == want.Op && (want.Field == "" || got.Field == want.Field) && (want.Value == "" || got.Value == want.Value || got.Value == fmt.Sprintf("%q", want.Value))
	if !same || got.Field == "" || got.Value == "" || got.Allowed == "" {
		w.Wrong(fmt.Sprintf("%+v", *got), fmt.Sprintf("%+v, and what is allowed", want), "the parts of the error of %s", what)
	}
}
