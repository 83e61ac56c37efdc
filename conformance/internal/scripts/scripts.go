// Package scripts holds the checks of a store that runs the script of an algorithm.
package scripts

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/checks"
	"github.com/weirgo/weir/conformance/internal/draw"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// Checks returns the checks of a script that decides as a does. Parts of the
// histories are decided by the earlier algorithms, which must be of the same kind.
func Checks(a algorithm.Algorithm, earlier ...algorithm.Algorithm) []world.Check {
	all := append([]algorithm.Algorithm{a}, earlier...)
	check := func(name, property, rule string, body func(h *history)) world.Check {
		return world.Check{Name: name, Property: property, Rule: rule, Body: func(w *world.World) {
			mustBeOfOneKind(w, name, a, earlier)
			// All histories share the store and the clock of w: to open a store
			// may be a connection.
			salt, runs := strconv.FormatUint(rand.Uint64(), 36), 0
			w.Search(func(t *draw.T) {
				runs++
				h := newHistory(t, w, salt+"."+strconv.Itoa(runs), all)
				defer h.forget()
				body(h)
			})
		}}
	}
	return []world.Check{
		check("script/runs", "P3",
			"the store keeps the state that the script returns, and has no use for the one that Step does", scriptRuns),
		check("script/alone", "P3",
			"over any history of single requests, clock readings and changed parameters the script decides as Step does, and leaves its state", alone),
		check("script/together", "P3 X1",
			"in an Apply of several ops the script decides as Step does, and leaves the state as it was where another op is refused", together),
		check("script/shared", "P3 H1",
			"callers who ask at the same time are answered as if one had come after the other, and so is the state left", shared),
		{Name: "script/time-to-live", Property: "T2 T4", Needs: world.NeedsInspect,
			Rule: "what the script returns for the ResetAfter keeps a state as long as Step says, and no longer",
			Body: func(w *world.World) { mustBeOfOneKind(w, "script/time-to-live", a, earlier); live(w, all) }},
		{Name: "script/damage", Property: "T10 P5", Needs: world.NeedsCorrupt,
			Rule: "what is stored and is no state of the kind gives ErrCorrupt, is not written over, and is gone after Reset",
			Body: func(w *world.World) {
				s := world.SlotOf("damaged."+strconv.FormatUint(rand.Uint64(), 36), "l", a)
				defer w.Reset(s)
				checks.DamageIsAnError(w, s, func(int) bool { return true })
			}},
	}
}

func mustBeOfOneKind(w *world.World, name string, a algorithm.Algorithm, earlier []algorithm.Algorithm) {
	for i, e := range earlier {
		if kind := a.Spec().Kind; e.Spec().Kind != kind {
			w.Fatalf("%s: earlier[%d] is of kind %q, and must be of kind %q", name, i, e.Spec().Kind, kind)
		}
	}
}

// live takes from fresh keys, by the clock of the server: with an injected clock a
// state is kept for an hour at least, which hides what a script says.
func live(w *world.World, all []algorithm.Algorithm) {
	// The time that passes between a call and a look, and what a script may round up.
	const margin, rounding = 10 * time.Millisecond, time.Millisecond
	s, salt := w.OpenByItself(), strconv.FormatUint(rand.Uint64(), 36)
	for i, a := range all {
		for j, cost := range []int64{1, world.Capacity(a), world.Capacity(a)/2 + 1} {
			slot := world.SlotOf(fmt.Sprintf("%s.%d.%d", salt, i, j), "l", a)
			ops := []store.Op{world.Op(slot, cost)}
			began := time.Now()
			_, _, err := s.Apply(context.Background(), ops)
			w.Record("apply", ops, err)
			w.NoError("Apply", err)
			got, found := w.Inspect(w.TB, s, slot)
			reset, slack := ops[0].Outcome.ResetAfter, time.Since(began)+margin
			if least := reset + store.Grace - slack; found || least > 0 {
				checks.MustLive(w, slot, got, found, reset, least, store.TTL(reset)+rounding)
			}
			w.NoError("Reset", s.Reset(context.Background(), []store.Slot{slot}))
		}
	}
}

// scriptRuns has a Step answer rightly and return the fresh state. A store that has
// no script forgets what was taken.
func scriptRuns(h *history) {
	op := world.Take(h.key, "", h.a, 1)
	want, _ := h.a.Step(algorithm.State{}, h.Now(), op.Request)
	h.remember(op.Slot)
	ops := []store.Op{op}
	ops[0].Algorithm = forgetful{h.a}
	err := guarded(func() error {
		_, _, err := h.Store.Apply(context.Background(), ops)
		return err
	})
	h.Record("apply", ops, err)
	h.NoError("Apply", err)
	h.Model[op.Slot.ID()] = world.Held{State: want}
	if got, shown := h.stored(op.Slot); shown[0] && got[0].Fresh() {
		h.Failf("the state is the fresh one, which a Step with a mistake had returned: no script was run.\n"+
			"  Does the store know one for the kind %q?", h.a.Spec().Kind)
	}
	h.mustHold(op.Slot)
}

func alone(h *history) {
	for range h.limit.Number("requests", 1, 15) {
		h.moveClock()
		op := h.op("")
		if h.limit.Number("peek first", 0, 1) == 1 {
			h.Peek(op)
		}
		h.take(op)
		h.mustHold(op.Slot)
	}
}

func together(h *history) {
	for range h.limit.Number("calls", 1, 10) {
		h.moveClock()
		ops := h.ops()
		if h.limit.Number("peek first", 0, 1) == 1 {
			h.Peek(ops...)
		}
		h.take(ops...)
		h.mustHold(h.slots()...)
	}
}

// shared has callers ask at the same time while the clock stands still, and looks
// for an order in which they can have come.
func shared(h *history) {
	for range h.limit.Number("rounds", 1, 3) {
		for range h.limit.Number("requests before", 0, 3) {
			h.moveClock()
			h.take(h.op(""))
		}
		h.moveClock()
		calls := make([][]store.Op, h.limit.Number("callers", 2, 6))
		for i := range calls {
			if calls[i] = h.ops(); h.limit.Number("alone", 0, 2) > 0 {
				calls[i] = []store.Op{h.op(names[h.limit.Number("limit", 0, len(names)-1)])}
			}
		}
		committed := make([]bool, len(calls))
		h.Concurrently(len(calls), func(i int) (err error) {
			_, committed[i], err = h.Store.Apply(context.Background(), calls[i])
			return err
		})
		for _, ops := range calls {
			h.Record("apply", ops, nil)
		}
		h.Note("these %d calls were made at the same time", len(calls))
		h.mustHaveAnOrder(calls, committed)
	}
}

// mustHaveAnOrder fails unless there is an order of calls in which Step gives their
// answers and leaves the states that are stored. Two orders may give the same
// answers and leave different states.
func (h *history) mustHaveAnOrder(calls [][]store.Op, committed []bool) {
	slots := h.slots()
	got, shown := h.stored(slots...)
	var other world.Model // gives the answers, but not the states
	after := order(h.Model, h.Now(), calls, committed, func(m world.Model) bool {
		for i, s := range slots {
			if shown[i] && isWhole(s) && got[i].String() != m.Of(s).State.String() {
				other = m
				return false
			}
		}
		return true
	})
	switch {
	case after != nil:
		h.Model = after
	case other != nil:
		h.Model = other
		h.mustHold(slots...)
	default:
		h.Failf("there is no order of the %d calls in which Step gives these answers", len(calls))
	}
}

// order returns the states after calls in an order in which they are answered as
// they are, and which leaves states that are accepted; nil where there is none.
func order(before world.Model, at algorithm.Instant, calls [][]store.Op, committed []bool, accepted func(world.Model) bool) world.Model {
	done := make([]bool, len(calls))
	var search func(m world.Model, left int) world.Model
	search = func(m world.Model, left int) world.Model {
		if left == 0 {
			if accepted(m) {
				return m
			}
			return nil
		}
		for i, ops := range calls {
			if done[i] {
				continue
			}
			next := maps.Clone(m)
			outcomes, all := next.Decide(at, ops, true)
			same := all == committed[i]
			for j := range ops {
				same = same && outcomes[j] == ops[j].Outcome
			}
			if !same {
				continue
			}
			done[i] = true
			if found := search(next, left-1); found != nil {
				return found
			}
			done[i] = false
		}
		return nil
	}
	return search(before, len(calls))
}
