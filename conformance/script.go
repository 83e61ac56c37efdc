package conformance

import (
	"context"
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

// TestScript checks that a store that runs the script of an algorithm decides as
// its Step does: every field of every Outcome, and the state to the last digit.
// It is all that the author of a script needs:
//
//	func TestQuotaScript(t *testing.T) {
//		conformance.TestScript(t, newServerStore, quota{limit: 5, length: time.Minute}, quota{limit: 2, length: time.Hour})
//	}
//
// newStore returns a store that knows the script and takes its time from clk, as
// for TestStore; see Opener. It may hold other things: the keys are new ones, and
// are Reset afterwards. It must not drop states while the test runs. Those of
// package store/script keep them for an hour at least.
//
// a decides, and parts of the histories are decided by the earlier ones, as when
// the parameters of a limit change while its keys live on. They must be of one
// kind. Without them a change of parameters is not tested.
//
// The checks are subtests: that the script is run at all (script/runs), requests
// one by one (script/alone), several limits all or nothing, also where another one
// refuses (script/together), and callers who travel in one call (script/shared).
// A failure names the check and its rule and tells the story: what was asked and
// answered, what came and what had to.
//
// The flags of rapid apply: -rapid.checks is the number of histories for each
// check (100; a fifth of that under -short), -rapid.seed repeats a run. TestScript
// takes Step for right; TestAlgorithm is for that.
func TestScript(t *testing.T, newStore func(tb testing.TB, clk clock.Clock) store.Store, a algorithm.Algorithm, earlier ...algorithm.Algorithm) {
	t.Helper()
	for _, c := range scriptChecks(a, earlier...) {
		t.Run(c.Name, func(t *testing.T) {
			c.Run(t, func(clk clock.Clock) store.Store { return newStore(t, clk) })
		})
	}
}

// scriptChecks are the checks of TestScript.
func scriptChecks(a algorithm.Algorithm, earlier ...algorithm.Algorithm) []Check {
	of := func(name, property, rule string, body func(h *scriptHistory)) Check {
		c := Check{Name: name, Property: property, Rule: rule}
		c.Run = func(t TB, open Opener) {
			t.Helper()
			kind := a.Spec().Kind
			for i, e := range earlier {
				if e.Spec().Kind != kind {
					t.Fatalf("%s: earlier[%d] is of kind %q, and must be of kind %q", name, i, e.Spec().Kind, kind)
				}
			}
			// One store and clock for all histories: to open one may be
			// a connection.
			base := newCheckWorld(c, t, open)
			salt := strconv.FormatUint(rand.Uint64(), 36)
			runs := 0
			rapid.Check(t, func(t *rapid.T) {
				runs++
				h := newScriptHistory(t, base, a, earlier)
				h.key = salt + "." + strconv.Itoa(runs)
				defer h.forget()
				body(h)
			})
		}
		return c
	}
	return []Check{
		of("script/runs", "P3",
			"the store keeps the state that the script returns, and has no use for the one that Step does", scriptRuns),
		of("script/alone", "P3",
			"over any history of single requests, clock readings and changed parameters the script decides as Step does, and leaves its state", scriptAlone),
		of("script/together", "P3 X1",
			"in an Apply of several ops the script decides as Step does, and leaves the state as it was where another op is refused", scriptTogether),
		of("script/shared", "P3 H1",
			"callers who ask at the same time are answered as if one had come after the other, and so is the state left", scriptShared),
	}
}

// scriptRuns has a Step answer rightly and return the fresh state. A store that
// has no script forgets what was taken.
func scriptRuns(h *scriptHistory) {
	h.setClock(h.draw.now)
	op := checkOp(h.key, "", h.a, 1)
	lying := op
	lying.Algorithm = scriptLiar{h.a}
	want, _ := h.a.Step(algorithm.State{}, h.now(), op.Request)
	h.remember(op.Slot)
	ops := []store.Op{lying}
	err := h.guarded(func() (err error) {
		_, _, err = h.store.Apply(context.Background(), ops)
		return err
	})
	h.tell("apply", ops, err)
	if err != nil {
		h.failf("Apply failed, and must not: %v", err)
	}
	h.model[checkPlaceOf(op.Slot)] = checkState{state: want}
	if got, shown := h.stored(op.Slot); shown[0] && got[0].Fresh() {
		h.failf("the state is the fresh one, which a Step with a mistake had returned: no script was run.\n"+
			"  Does the store know one for the kind %q?", h.a.Spec().Kind)
	}
	h.mustHold(op.Slot)
}

func scriptAlone(h *scriptHistory) {
	for range h.draw.number("requests", 1, 15) {
		h.moveClock()
		op := h.op("")
		if h.draw.number("peek first", 0, 1) == 1 {
			h.peek(op)
		}
		h.take(op)
		h.mustHold(op.Slot)
	}
}

func scriptTogether(h *scriptHistory) {
	for range h.draw.number("calls", 1, 10) {
		h.moveClock()
		ops := h.ops()
		if h.draw.number("peek first", 0, 1) == 1 {
			h.peek(ops...)
		}
		h.take(ops...)
		h.mustHold(h.slots()...)
	}
}

// scriptShared lets callers in at once while the clock stands still, and looks for
// an order in which they can have come.
func scriptShared(h *scriptHistory) {
	for range h.draw.number("rounds", 1, 3) {
		for range h.draw.number("requests before", 0, 3) {
			h.moveClock()
			h.take(h.op(""))
		}
		h.moveClock()
		calls := make([][]store.Op, h.draw.number("callers", 2, 6))
		for i := range calls {
			if calls[i] = h.ops(); h.draw.number("alone", 0, 2) > 0 {
				calls[i] = []store.Op{h.op(h.limitName())}
			}
		}
		committed := make([]bool, len(calls))
		h.together(len(calls), func(i int) (err error) {
			_, committed[i], err = h.store.Apply(context.Background(), calls[i])
			return err
		})
		for _, ops := range calls {
			h.tell("apply", ops, nil)
		}
		h.note("these %d calls were made at the same time", len(calls))
		h.mustHaveAnOrder(calls, committed)
	}
}

// mustHaveAnOrder fails unless there is an order of calls in which Step gives their
// answers and leaves the states that are stored. Two orders may give the same
// answers and leave different states.
func (h *scriptHistory) mustHaveAnOrder(calls [][]store.Op, committed []bool) {
	h.Helper()
	slots := h.slots()
	got, shown := h.stored(slots...)
	var other checkModel // gives the answers, but not the states
	after := scriptOrder(h.model, h.now(), calls, committed, func(m checkModel) bool {
		for i, s := range slots {
			if want := m[checkPlaceOf(s)].state; shown[i] && h.shows(s) && got[i].String() != want.String() {
				other = m
				return false
			}
		}
		return true
	})
	switch {
	case after != nil:
		h.model = after
	case other != nil:
		h.model = other
		h.mustHold(slots...)
	default:
		h.failf("there is no order of the %d calls in which Step gives these answers", len(calls))
	}
}

// scriptOrder returns the states after calls in an order in which they are answered
// as they are, and which leaves states that are accepted; nil where there is none.
func scriptOrder(before checkModel, at algorithm.Instant, calls [][]store.Op, committed []bool, accepted func(checkModel) bool) checkModel {
	done := make([]bool, len(calls))
	var search func(m checkModel, left int) checkModel
	search = func(m checkModel, left int) checkModel {
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
			outcomes, all := next.decide(at, ops, true)
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
