package world

import (
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// Model is the simplest store there is, and says what the store under test must
// answer: states in a map, moved on by Step.
type Model map[store.SlotID]Held

// Held is what the model holds of a slot, and until when any store does.
type Held struct {
	State algorithm.State
	spec  algorithm.Spec    // the parameters that wrote it
	Until algorithm.Instant // a store may drop it when its clock has shown this
}

// Of returns what the model holds of a slot.
func (m Model) Of(s store.Slot) Held { return m[s.ID()] }

// Decide returns what ops must be answered at an instant, and keeps their states
// where they are all allowed and write is true.
func (m Model) Decide(at algorithm.Instant, ops []store.Op, write bool) (outcomes []algorithm.Outcome, committed bool) {
	outcomes = make([]algorithm.Outcome, len(ops))
	after := make([]algorithm.State, len(ops))
	committed = true
	for i, op := range ops {
		after[i], outcomes[i] = op.Algorithm.Step(m.Of(op.Slot).State, at, op.Request)
		committed = committed && outcomes[i].Allowed
	}
	for i, op := range ops {
		switch {
		case !committed && outcomes[i].Allowed:
			// It was not charged, so it is answered as a look.
			_, outcomes[i] = op.Algorithm.Step(m.Of(op.Slot).State, at, algorithm.Request{})
		case committed && write && op.Request.Cost > 0:
			m[op.Slot.ID()] = Held{after[i], op.Algorithm.Spec(), at + Micros(store.TTL(outcomes[i].ResetAfter))}
		}
	}
	return outcomes, committed
}

// doubtful reports whether a store may answer for a slot either from the state in
// which it was left or as for a fresh key. Once its clock has shown the instant
// until which a state must be kept, a store may have dropped it. That must not
// show, except with a clock that then goes back by more than the grace, and with a
// limit whose parameters change.
func (m Model) doubtful(s store.Slot, now, latest algorithm.Instant) bool {
	held, found := m[s.ID()]
	if !found || latest < held.Until {
		return false
	}
	return now < held.Until-Micros(store.Grace) || s.Algorithm.Spec() != held.spec
}
