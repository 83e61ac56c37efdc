// Package store says what a store of rate-limiter states has to do: run pure
// algorithms atomically, and add nothing to their decisions.
//
// Stores of this project are memorystore (store/memory) and, for states that
// processes share, those on servers. A store written elsewhere implements
// [Store] with the help of [Validate], [Decide] and [TTL], and is right when it
// passes package conformance.
package store

import (
	"context"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Slot says where a state lies: whom it is about, which limit, and how it is
// decided. Slots that differ in Key, in Limit, or in the Kind or Identity of the
// Spec of the algorithm have separate states. The other parameters do not belong
// to the place: a limit whose parameters change runs on from the state it has.
type Slot struct {
	// Key is whom: any non-empty byte string, kept apart from every other
	// one whatever it contains.
	Key string
	// Limit names the limit, so that one key can have several. "" is a name.
	Limit string
	// Algorithm decides. It must not be nil.
	Algorithm algorithm.Algorithm
}

// Op is one request to one slot, and after Apply or Peek the answer to it.
type Op struct {
	Slot
	Request algorithm.Request
	// Outcome is written by the store where it returns no error.
	Outcome algorithm.Outcome
}

// MaxOps is the most ops that one Apply or Peek takes.
const MaxOps = 1000

// Store keeps states and decides over them, atomically. Implementations must be
// safe for concurrent use. An error is never a decision: where a store cannot
// answer it returns an error, and what then happens is for its caller to choose.
type Store interface {
	// Apply decides all ops at one instant of the store's clock, as one
	// atomic step: either every op is allowed and all states move on, or
	// none does. It writes the Outcome of every op, as Decide defines it, and
	// returns the instant and whether the step was committed.
	//
	// Applies that touch a common slot must be linearizable: there is an
	// order of them in which each decides on the states that the one before
	// left. A refused Apply, and an op of cost 0, must write nothing: no
	// state and no expiry.
	//
	// With an error, nothing is known of the outcomes, and nothing was
	// written unless the error is ErrOutcomeUnknown.
	//
	// The store copies what it needs of ops and does not touch them after
	// it returned. A ctx that has ended before the step is made gives its
	// error, and no step.
	Apply(ctx context.Context, ops []Op) (at algorithm.Instant, committed bool, err error)

	// Peek writes the Outcomes that Apply would give for these ops now, and
	// changes nothing: no state, no expiry.
	Peek(ctx context.Context, ops []Op) (at algorithm.Instant, err error)

	// Reset makes the slots fresh, all of them or, with an error, perhaps
	// some. It is idempotent; a slot that is fresh stays so.
	Reset(ctx context.Context, slots []Slot) error

	// Close releases what the store holds. It is idempotent. Later calls of
	// the other methods return ErrClosed, or ErrInvalid where they are not valid.
	Close() error
}

// Clock is a source of time. Stores that take one cut its readings down to whole
// microseconds and answer with an error where a reading lies outside
// [algorithm.InstantOf]. It must be safe for concurrent use.
type Clock interface {
	Now() time.Time
}
