// Package algorithm holds rate-limiting algorithms as pure functions on whole
// numbers: a state, an instant and a request give the next state and an outcome.
//
// Nothing here reads a clock, holds a lock, starts a goroutine or does I/O. A
// store runs these functions atomically (package store); a simulator runs them
// on virtual time; the tests compare everything else with them.
//
// # Which algorithm
//
// All bounds are for the cost admitted to one key in a closed interval of t µs,
// with a limit of L units per P µs and a burst or capacity of B units. They
// are tight: a greedy caller reaches them (GCRA and token bucket where the
// fraction that a whole microsecond costs them fits into the burst).
//
//	GCRA             B + ⌊t·L/P⌋         smooth, one or three words of state
//	token bucket     B + ⌊t·L/P⌋         the same decisions, two or four words
//	leaky bucket     admits as GCRA; admitted callers wait for their turn, and
//	                 turns are never closer than cost × P/L
//	fixed window     L·(⌊t/P⌋ + 2)       at most L per aligned window, 2·L at an edge
//	calendar window  L a window          days to years of a time zone, 2·L at an edge
//	sliding log      L·(⌊t/P⌋ + 1)       at most L in every half-open window of P, exactly
//	sliding counter  L + ⌊L·t/P⌋         at most 2·L − 1 in every window of P
//
// "At most L in any P" is what the sliding log gives, and it pays with memory
// for every admitted request. GCRA is the one to start with.
//
// # Numbers
//
// Time is whole microseconds, cost is whole units, and a rate is a fraction
// that is never turned into a decimal: 7 per 3 s does not drift, however many
// requests it sees. Limits, capacities and costs up to [MaxUnits], periods from
// 1 µs to [MaxPeriod] and a time-to-full up to [MaxTimeToFull] are exact; the
// constructors refuse everything else. Waiting times are rounded up, what
// remains is rounded down.
package algorithm

import (
	"math"
	"time"
)

// Never is the RetryAfter of a request that no wait will get admitted: its cost
// exceeds the capacity. It is the largest Duration, so it also compares as the
// longest wait.
const Never = time.Duration(math.MaxInt64)

// Algorithm decides requests for one limit. Implementations are immutable and
// safe for concurrent use. One written elsewhere can do what those of this
// package do: states are made by NewState, or by Append of a Log. A store may
// guard against its panics, which costs a tenth of a decision in memory.
type Algorithm interface {
	// Spec names the kind, with the version of its state layout, and the
	// parameters. Two algorithms with equal Specs must decide equally, and
	// Spec must not change during the life of the value.
	Spec() Spec

	// Step decides r at the instant now for a key in state s and returns the
	// state after it. It must be a function of its arguments and nothing else:
	// no clock, no randomness, no memory of earlier calls. It must leave s as
	// it was; a denied request and a request of cost 0 must return s itself.
	//
	// Step must accept every state that it returned earlier, under the same
	// or under other parameters of the same kind and identity, and any order of
	// instants:
	// where the state knows a later instant than now, the later one counts.
	//
	// The caller guarantees 0 ≤ now ≤ MaxInstant and r.Cost ≥ 0.
	Step(s State, now Instant, r Request) (State, Outcome)
}

// InPlace is an optional interface of an Algorithm whose Step can also update
// a state where it lies. Stores that hold states in memory prefer it: copying a
// state out and back costs as much as the decision itself.
//
// StepInPlace must leave in *s exactly the state that Step would have returned,
// and in *o the same Outcome, whatever *o held. It must not keep s or o. The
// caller guarantees that nobody else reads or writes them during the call;
// copies of *s made earlier must stay valid states.
type InPlace interface {
	Algorithm
	StepInPlace(s *State, now Instant, r Request, o *Outcome)
}

// StateChecker is an optional interface of an Algorithm that can tell a state
// that it may have written from one that it cannot have: too many words, a
// word out of range. Stores that read states from outside the process ask
// before they Step, so that damage is reported and never taken for a fresh key.
type StateChecker interface {
	Algorithm
	// CheckState returns nil for the fresh state and for every state that
	// Step can return, under any valid parameters of this kind.
	CheckState(s State) error
}

// Queue is an optional interface of an Algorithm that is a queue itself: callers
// whom it admits must wait for the Delay of their Outcome, in the order of their
// admission, and Request.MaxDelay bounds it. LeakyBucket is one.
type Queue interface {
	Algorithm
	// Queue is never called; it tells such an Algorithm from others.
	Queue()
}

// Request is what a caller asks of a limit.
type Request struct {
	// Cost is the number of units asked for. 0 is a look: never denied,
	// never a change of state. Below 0 is refused by the stores before Step;
	// a Step that meets one denies it with Never. A Take above the capacity is
	// denied with Never.
	Cost int64

	// MaxDelay bounds the Delay of a leaky bucket: a request whose rounded
	// Delay would be longer is denied. 0 is no bound; above 0 and below 1 µs
	// means no delay at all; a part below 1 µs is otherwise dropped; below 0
	// is refused by the stores. The other algorithms ignore it. A Charge and a
	// Refund have none.
	MaxDelay time.Duration

	// At is the instant at which a Refund was taken, as the store returned it: the
	// window algorithms give back only where the window, or the entry, of that
	// instant still counts. The other algorithms and verbs ignore it.
	At Instant

	// Verb says what is done with Cost. The zero Verb is Take; the others are for
	// an Algorithm that is a Charger.
	Verb Verb
}

// Outcome is the answer to a Request. Durations are whole µs, counted from the
// instant of the decision.
type Outcome struct {
	// Allowed says whether the cost was admitted.
	Allowed bool
	// Limit is the capacity: the largest cost a fresh key admits in one instant.
	Limit int64
	// Remaining is the largest cost that would be admitted at the same
	// instant after this decision, from 0 to Limit. It ignores MaxDelay.
	Remaining int64
	// RetryAfter is 0 when allowed. When denied it is the shortest wait after
	// which the same request is admitted if nothing else happens: 1 µs
	// earlier it is still denied. Never if no wait helps.
	RetryAfter time.Duration
	// ResetAfter is the shortest wait after which the key acts like one that
	// was never used, if nothing else happens. 0 for a fresh key.
	ResetAfter time.Duration
	// Debt is how many units more than the capacity count, rounded up, at most
	// MaxUnits: so many have to be regained, or given back, before Remaining
	// can rise above 0. It is above 0 after a charge, after a change of
	// parameters, and where a clock has gone back behind an instant that the
	// state knows.
	Debt int64
	// Delay is how long an admitted caller of a leaky bucket must wait for
	// its turn, rounded up; for a look, how long a unit would wait now. 0 for
	// a denied request and for every other algorithm.
	Delay time.Duration
}

// Spec identifies what an Algorithm computes. It is comparable: equal Specs
// mean equal decisions.
type Spec struct {
	// Kind is the name of the algorithm and the version of its state layout,
	// such as "gcra/1". It is part of the stored name of every key, so two
	// kinds never read each other's state. 1 to 64 bytes of a-z, 0-9, '-',
	// '.' and '/'.
	Kind string
	// Params are the parameters, in an order that belongs to the kind. Those
	// of this package use limit, period in µs, and burst or capacity.
	Params [4]int64
	// Identity is what of the parameters belongs to the identity of a state, as
	// text: two algorithms of one kind with different identities have two states for
	// one key, and a limit whose identity changes starts fresh. The window algorithms
	// have their period or their calendar here: a window of another length has no use for the
	// counts of this one, and would erase them. "" where all parameters may change over a
	// state; else at most 64 bytes of a-z, A-Z, 0-9, '-', '.', '/', '_' and '+'.
	Identity string
}

// StoredKind returns what of s tells states apart, as it stands in stored names: Kind,
// and "@" and Identity where there is one, such as "fixed-window/1@1m".
func (s Spec) StoredKind() string {
	if s.Identity == "" {
		return s.Kind
	}
	return s.Kind + "@" + s.Identity
}

// Must returns a, or panics if err is not nil. It is for variables and
// examples whose parameters are constants.
func Must[A Algorithm](a A, err error) A {
	if err != nil {
		panic(err)
	}
	return a
}
