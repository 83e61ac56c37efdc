package conformance

import (
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// checkModel is the simplest store there is, and says what the one under test
// has to answer: states in a map, moved on by Step.
type checkModel map[checkPlace]checkState

// checkPlace is what tells slots apart.
type checkPlace struct{ key, limit, kind string }

// checkState is what the model holds of a slot, and until when any store does.
type checkState struct {
	state algorithm.State
	spec  algorithm.Spec    // the parameters that wrote it
	kept  algorithm.Instant // a store may drop it when its clock has shown this
}

func checkPlaceOf(s store.Slot) checkPlace {
	return checkPlace{s.Key, s.Limit, s.Algorithm.Spec().Kind}
}

// decide returns what ops must be answered at an instant, and keeps their
// states where they are all allowed and write is true.
func (m checkModel) decide(at algorithm.Instant, ops []store.Op, write bool) (outcomes []algorithm.Outcome, committed bool) {
	outcomes = make([]algorithm.Outcome, len(ops))
	after := make([]algorithm.State, len(ops))
	committed = true
	for i, op := range ops {
		after[i], outcomes[i] = op.Algorithm.Step(m[checkPlaceOf(op.Slot)].state, at, op.Request)
		committed = committed && outcomes[i].Allowed
	}
	for i, op := range ops {
		place := checkPlaceOf(op.Slot)
		switch {
		case !committed && outcomes[i].Allowed:
			// It was not charged, so it is answered as a look.
			_, outcomes[i] = op.Algorithm.Step(m[place].state, at, algorithm.Request{})
		case committed && write && op.Request.Cost > 0:
			kept := at + algorithm.Instant(store.TTL(outcomes[i].ResetAfter)/time.Microsecond)
			m[place] = checkState{after[i], op.Algorithm.Spec(), kept}
		}
	}
	return outcomes, committed
}

// doubtful reports whether a store may answer for a slot either from the state
// that it was left in or as for a fresh key. Once its clock has shown the
// instant until which a state must be kept, a store may have dropped it; that
// must not show, but for a clock that then goes back by more than a second, and
// for a limit whose parameters change.
func (m checkModel) doubtful(s store.Slot, now, latest algorithm.Instant) bool {
	held, found := m[checkPlaceOf(s)]
	if !found || latest < held.kept {
		return false
	}
	const grace = algorithm.Instant(store.Grace / time.Microsecond)
	return now < held.kept-grace || s.Algorithm.Spec() != held.spec
}
