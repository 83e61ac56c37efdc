package world

import (
	"context"
	"slices"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/store"
)

// Made is what the model knows of a step that was made under an ID.
type Made struct {
	At, until algorithm.Instant
	Outcomes  []algorithm.Outcome
}

// NeedOnce ends the check where the store knows no IDs.
func (w *World) NeedOnce() {
	if store.FeaturesOf(w.Store).Once == nil {
		w.Skipf("the store has no store.Features.Once")
	}
}

// CallOnce makes one call with an ID, on the path that was asked for.
func (w *World) CallOnce(o store.Once, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	w.Calls++
	once := store.FeaturesOf(w.onPath()).Once
	if once == nil {
		w.Wrong("no store.Features.Once", "one, as the store itself has", "the store that Within returns")
	}
	return once(context.Background(), o, ops)
}

// Once asks for ops with an ID and fails unless they are answered as the model says: as the
// step that was made under the ID, or else by a step that is made now. It reports whether
// the answer is committed.
func (w *World) Once(o store.Once, ops ...store.Op) (committed bool) {
	asked := slices.Clone(ops)
	at, committed, err := w.CallOnce(o, ops)
	name := [2]string{store.OnceTag(asked), o.ID}
	made, known := w.made[name]
	if known = known && store.Takes(asked) && w.Now() < made.until; !known {
		w.Observe(at, err)
	}
	w.Record("once", ops, err)
	w.NoError("Once", err)
	if known {
		if at != made.At || !committed {
			w.Wrong(at, made.At, "a step that was made is not answered with its instant, or not as committed")
		}
		w.mustAnswer(ops, made.Outcomes)
		return true
	}
	want, wantCommitted := w.Model.Decide(w.Now(), asked, true)
	w.MustAnswer(at, ops, want)
	if committed != wantCommitted {
		w.Wrong(committed, wantCommitted, "Once does not say whether it was committed")
	}
	if committed && store.Takes(asked) {
		if w.made == nil {
			w.made = map[[2]string]Made{}
		}
		w.made[name] = Made{at, at + Micros(o.TTL), want}
	}
	return committed
}

// MustRefuseOnce fails unless a call with an ID gives an error that matches target.
func (w *World) MustRefuseOnce(what string, target error, o store.Once, ops ...store.Op) error {
	_, committed, err := w.CallOnce(o, ops)
	w.MustBeError("Once "+what, err, target, ops)
	if committed {
		w.Wrong("committed", "not committed", "Once %s", what)
	}
	return err
}

// mustAnswer fails unless ops have the outcomes.
func (w *World) mustAnswer(ops []store.Op, want []algorithm.Outcome) {
	for i := range ops {
		if op := &ops[i]; op.Outcome != want[i] {
			w.Wrong(transcript.Outcome(op.Outcome), transcript.Outcome(want[i]), "op %d, %s cost %d, is answered wrongly: %s%s",
				i, transcript.Slot(op.Slot), op.Request.Cost, transcript.Difference(op.Outcome, want[i]), w.asFresh(op, want[i]))
		}
	}
}
