package store

import (
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Decide is the step that every store makes: it decides ops at one instant over
// the states of their slots, all or nothing. before[i] and after[i] belong to
// ops[i]; the three have one length. It writes every Outcome and every after,
// and reports whether all ops are allowed. Only then may a store keep after,
// and it needs to only where Changes says so. after may not be before.
//
// In a refused step, an op that alone would have been allowed is answered as a
// look: Allowed, with the Remaining, ResetAfter and Delay of a cost of 0.
//
// It is pure and safe for concurrent use. ops must be valid (see Validate).
func Decide(at algorithm.Instant, ops []Op, before, after []algorithm.State) (committed bool) {
	committed = true
	for i := range ops {
		op := &ops[i]
		after[i], op.Outcome = op.Algorithm.Step(before[i], at, op.Request)
		committed = committed && op.Outcome.Allowed
	}
	if committed {
		return true
	}
	for i := range ops {
		after[i] = before[i]
		if op := &ops[i]; op.Outcome.Allowed && op.Request.Cost > 0 {
			_, op.Outcome = op.Algorithm.Step(before[i], at, algorithm.Request{})
		}
	}
	return false
}

// Changes reports whether an op that is part of a committed step changes its
// state. Only such an op may write, and only it sets the expiry. Where the state after it
// is the fresh one, as after a refund of which nothing was left to give back, the slot
// is dropped, or not made.
func Changes(op *Op) bool { return op.Outcome.Allowed && op.Request.Cost > 0 }

// Grace is how much longer than needed a state is kept, so that a clock that is
// up to this far behind its latest reading does not meet a key that has been
// dropped too early.
const Grace = time.Second

// TTL is how long a store keeps a state that was just changed: its ResetAfter,
// rounded up to whole milliseconds, and Grace. Rounding down would free a key
// before its time. A store may keep a state longer; that never shows in a
// decision.
// One that no Duration can hold is the longest there is.
func TTL(resetAfter time.Duration) time.Duration {
	if resetAfter > algorithm.Never-Grace-time.Millisecond {
		return algorithm.Never
	}
	if rest := resetAfter % time.Millisecond; rest > 0 {
		resetAfter += time.Millisecond - rest
	}
	return resetAfter + Grace
}
