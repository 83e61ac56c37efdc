package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/store"
)

// Apply has the store decide ops, and fails unless it answers as the model.
func (w *World) Apply(ops ...store.Op) (committed bool) {
	return w.decide("Apply", ops, true)
}

// Peek is Apply for the Peek of a store.
func (w *World) Peek(ops ...store.Op) {
	w.decide("Peek", ops, false)
}

func (w *World) decide(name string, ops []store.Op, write bool) (committed bool) {
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
	ops := []store.Op{Op(s, cost)}
	w.Apply(ops...)
	return ops[0].Outcome
}

// Look peeks at a slot.
func (w *World) Look(s store.Slot) algorithm.Outcome {
	ops := []store.Op{Op(s, 0)}
	w.Peek(ops...)
	return ops[0].Outcome
}

// Drain takes the whole capacity of a fresh slot, and returns the instant at which
// the slot is fresh again.
func (w *World) Drain(s store.Slot) (fresh algorithm.Instant) {
	ops := []store.Op{Op(s, Capacity(s.Algorithm))}
	w.MustCommit(ops...)
	return w.Now() + Micros(ops[0].Outcome.ResetAfter)
}

// Reset resets slots, in the store and in the model.
func (w *World) Reset(slots ...store.Slot) {
	for _, s := range slots {
		w.Note("reset  %s", transcript.Slot(s))
		delete(w.Model, s.ID())
	}
	w.NoError("Reset", w.Store.Reset(context.Background(), slots))
}

// MustCommit fails unless an Apply is committed.
func (w *World) MustCommit(ops ...store.Op) {
	w.Must(true, ops...)
}

// MustDeny fails unless an Apply is not committed.
func (w *World) MustDeny(ops ...store.Op) {
	w.Must(false, ops...)
}

// Must fails unless an Apply ends as the check says.
func (w *World) Must(committed bool, ops ...store.Op) {
	if got := w.Apply(ops...); got != committed {
		w.Wrong(got, committed, "Apply is not committed, or is, against what the check was written for")
	}
}

// TakeUnits takes unit by unit until n are asked for, and returns how many were
// admitted.
func (w *World) TakeUnits(s store.Slot, n int) (admitted int64) {
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
	if at != w.Now() {
		w.Wrong(at, w.Now(), "the decision was not made at the instant that the clock shows")
	}
	w.mustAnswer(ops, want)
}

// asFresh leads from a wrong answer to its cause, where the answer is right for a
// fresh key and the key is not fresh.
func (w *World) asFresh(op *store.Op, want algorithm.Outcome) string {
	if op.Outcome.Limit == changedState {
		return "; its state came back from the store changed"
	}
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
	w.MustRefuseIn(context.Background(), "of "+what, target, ops)
}

// MustRefuseIn is MustRefuse with a context. It returns the errors of both.
func (w *World) MustRefuseIn(ctx context.Context, what string, target error, ops []store.Op) {
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
	_, _, err := b.Apply(ctx, op.Key, op.Request)
	w.MustBeError("Apply by a Bound "+what, err, target, []store.Op{op})
	_, _, err = b.Peek(ctx, op.Key, op.Request)
	w.MustBeError("Peek by a Bound "+what, err, target, []store.Op{op})
}

// MustBeError fails unless err matches target and shows none of the keys of ops.
func (w *World) MustBeError(what string, err, target error, ops []store.Op) {
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
	var got *store.InputError
	if !errors.As(err, &got) {
		w.Wrong(fmt.Sprintf("%T: %v", err, err), "a *store.InputError", "the error of %s", what)
	}
	same := got.Op == want.Op && (want.Field == "" || got.Field == want.Field) && (want.Value == "" || got.Value == want.Value || got.Value == fmt.Sprintf("%q", want.Value))
	if !same || got.Field == "" || got.Value == "" || got.Allowed == "" {
		w.Wrong(fmt.Sprintf("%+v", *got), fmt.Sprintf("%+v, and what is allowed", want), "the parts of the error of %s", what)
	}
}

// Path is a way on which a call reaches a store: on the methods of the store, or on
// those of its features.
type Path uint8

// The bits of a Path.
const (
	ByBound  Path = 1 << iota // calls with one op go through a Bound
	InATime                   // through the store that Within returns
	ByMethod Path = 0
)

// Paths are the paths that the store offers.
func (w *World) Paths() []Path {
	paths := []Path{ByMethod}
	f := store.FeaturesOf(w.Store)
	if f.Bind != nil {
		paths = append(paths, ByBound)
	}
	if f.Within != nil {
		paths = append(paths, InATime, InATime|ByBound)
	}
	return paths
}

// Call makes one call on the path that was asked for, where the store offers it.
func (w *World) Call(ops []store.Op, write bool) (at algorithm.Instant, committed bool, err error) {
	w.Calls++
	ctx := context.Background()
	s := w.onPath()
	if b := w.boundFor(s, ops); b != nil {
		op, call := &ops[0], b.Peek
		if write {
			call = b.Apply
		}
		op.Outcome, at, err = call(ctx, op.Key, op.Request)
		return at, op.Outcome.Allowed, err
	}
	if write {
		return s.Apply(ctx, ops)
	}
	at, err = s.Peek(ctx, ops)
	return at, false, err
}

// Wrap puts a wrapper in the place of the store.
func (w *World) Wrap(wrap func(inner store.Store) store.Store) {
	w.Store = wrap(w.Store)
	w.timed, w.bounds = nil, map[boundLimit]store.Bound{}
}

// onPath is the store, or the store that its Within returns.
func (w *World) onPath() store.Store {
	within := store.FeaturesOf(w.Store).Within
	if w.Path&InATime == 0 || within == nil {
		return w.Store
	}
	if w.timed == nil {
		w.timed = within(time.Hour)
	}
	return w.timed
}

// Bind returns a Bound of the store, or nil where it offers none.
func (w *World) Bind(limit string, a algorithm.Algorithm) store.Bound {
	return w.bind(w.Store, limit, a)
}

func (w *World) bind(s store.Store, limit string, a algorithm.Algorithm) store.Bound {
	bind := store.FeaturesOf(s).Bind
	if bind == nil {
		return nil
	}
	b, err := bind(limit, a)
	w.NoError("Bind", err)
	return b
}

// boundLimit is what a Bound was made for.
type boundLimit struct {
	path Path
	name string
	spec algorithm.Spec
}

func (w *World) boundFor(s store.Store, ops []store.Op) store.Bound {
	if w.Path&ByBound == 0 || len(ops) != 1 {
		return nil
	}
	limit := boundLimit{w.Path, ops[0].Limit, ops[0].Algorithm.Spec()}
	if w.bounds[limit] == nil {
		w.bounds[limit] = w.bind(s, ops[0].Limit, ops[0].Algorithm)
	}
	return w.bounds[limit]
}
