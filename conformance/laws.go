package conformance

import (
	"testing"

	"github.com/weirgo/weir/algorithm"
	"pgregory.net/rapid"
)

// Law is something that must hold for every algorithm, built in or written
// elsewhere. A law is checked by trying to break it: with a history that leads
// to some state, and with requests that probe around it.
type Law struct {
	// Name is stable: its first part is the property it stands for, the
	// rest says it in words, such as "L2-denied-until-retry-after".
	Name string
	// Rule is the law in one sentence.
	Rule string

	check func(w *lawWorld)
}

// Check tries once to break the law for a with inputs drawn from t, and fails t
// if it can. It is one run of a property: use it inside rapid.Check, where the
// parameters of a can be drawn as well.
//
// The algorithms in earlier must be of the same kind as a. Parts of the history
// are then decided by them, as when the parameters of a limit change while its
// keys live on.
func (l Law) Check(t *rapid.T, a algorithm.Algorithm, earlier ...algorithm.Algorithm) {
	t.Helper()
	l.check(newLawWorld(t, l, a, earlier))
}

// TestAlgorithm checks every law for a, each in a subtest named "law/" and the
// name of the law. A failure shows the law, its rule, the history that breaks
// it, made as short as possible, and how to run it again.
//
// The flags of rapid apply: -rapid.checks is the number of histories for each
// law (100; a fifth of that under -short), -rapid.seed repeats a run.
//
// The laws demand what the documentation of algorithm.Algorithm and
// algorithm.Outcome promises, so also that the waits are the shortest ones, to
// the microsecond: RetryAfter (L2, L3) and ResetAfter (L6-not-fresh-before). Not
// every algorithm can know that much. Two limits in one, for example, of which
// the looser one no longer matters some time before it is empty, can only name
// the later instant. Such an algorithm works with every store, but its callers
// wait longer than they need, or its keys live longer. Its test loops over Laws
// and skips, by name, what it does not claim.
//
// Beyond that the laws take for granted what is sane for a limit: that waiting
// alone never lowers what remains (M1), that cost is additive, so that a + b
// admitted at one instant is a and then b (E4, S6), and that every key that is
// left alone becomes fresh in the end (L4, L6).
func TestAlgorithm(t *testing.T, a algorithm.Algorithm) {
	t.Helper()
	for _, l := range Laws() {
		t.Run("law/"+l.Name, rapid.MakeCheck(func(t *rapid.T) { l.Check(t, a) }))
	}
}

// Laws returns all laws, those about states first.
func Laws() []Law {
	return []Law{
		{"P1-equal-arguments-equal-results",
			"Step is a function of state, instant and request, whatever was asked in between", lawFunction},
		{"P2-states-are-values",
			"a Step never changes the state it starts from, nor any other state made earlier", lawValues},
		{"P2-concurrent-steps-are-independent",
			"Steps from one state may run at the same time and do not see each other", lawConcurrent},
		{"P5-text-keeps-the-state",
			"the text of a state reads back as the same state, which decides the same", lawText},
		{"P6-words-are-in-bounds",
			"every word of a state is within 2^53 and CheckState accepts what Step returns", lawBounds},
		{"K6-kind-names-the-layout",
			"Spec never changes and its Kind is 1 to 64 bytes of a-z, 0-9, '-', '.' and '/'", lawKind},
		{"E13-in-place-equals-step",
			"StepInPlace leaves the state and the outcome of Step, whatever was there, and copies made earlier stay as they were", lawInPlace},

		{"S6-fresh-admits-the-capacity",
			"from fresh, exactly the capacity passes at one instant, however it is split into costs", lawCapacity},
		{"S8-outcome-is-well-formed",
			"Limit is constant, Remaining is from 0 to Limit, waits are whole microseconds that agree with Allowed", lawOutcome},
		{"M4-smaller-cost-is-admitted",
			"where a cost is admitted, every smaller one is", lawSmaller},
		{"M5-larger-cost-is-denied",
			"where a cost is denied, every larger one is, and waits no shorter", lawLarger},
		{"M6-look-changes-nothing",
			"cost 0 is admitted and returns the state as it was, also in debt and when the clock goes back", lawLook},
		{"M7-denial-changes-nothing",
			"a denial returns the state as it was and reports what a look would", lawDenial},
		{"E3-remaining-is-exact",
			"Remaining is admitted at the same instant, at once and unit by unit, and one unit more is not", lawRemaining},
		{"E4-costs-add-up",
			"a and then b at one instant leave the state and the answer that a + b leaves", lawSum},
		{"E14-look-foretells-take",
			"a cost is admitted where a look reports that much Remaining, which then falls by that cost", lawForetold},
		{"I1-negative-cost-is-harmless",
			"a cost below 0 is denied with Never and gives nothing back", lawNegative},
		{"I1-cost-at-the-edges",
			"the capacity passes on a fresh key and leaves 0 Remaining; any cost above it is denied with Never, the state kept", lawEdges},
		{"C7-instant-out-of-bounds-is-harmless",
			"an instant outside 0 to MaxInstant neither panics nor makes more than the capacity remain", lawFarInstant},

		{"L1-admitted-at-retry-after",
			"a denied request is admitted at now + RetryAfter if nothing else came", lawAdmittedAtRetry},
		{"L2-denied-until-retry-after",
			"1 µs before now + RetryAfter a denied request is still denied, and has 1 µs to wait", lawDeniedBeforeRetry},
		{"L3-retry-after-is-the-shortest-wait",
			"at every instant before now + RetryAfter the request is denied and told the same end of the wait", lawShortestWait},
		{"L4-capacity-is-admitted-in-the-end",
			"a cost up to the capacity waits no longer than ResetAfter, and never Never", lawEventually},
		{"L5-above-capacity-is-never-admitted",
			"a cost above the capacity is denied with Never at any instant, and so is it on a fresh key", lawNever},
		{"L6-fresh-at-reset-after",
			"at now + ResetAfter and later the key answers as a fresh one does", lawFresh},
		{"L6-not-fresh-before-reset-after",
			"1 µs before now + ResetAfter some request is answered otherwise than on a fresh key", lawNotFreshBefore},
		{"L7-reset-instant-is-steady",
			"now + ResetAfter is the same for all looks at a state that is not yet fresh", lawSteadyReset},
		{"M1-remaining-never-falls-with-time",
			"at a later instant, all else equal, no less is admitted and no less remains", lawPatience},
		{"C2-clock-going-back-gains-nothing",
			"what a clock that goes back admits would pass at the latest reading too, and leaves the key no better", lawClockBack},
		{"C5-jump-forward-is-idleness",
			"a jump forward, however far, is worth as much as waiting in steps, and never more than fresh", lawJump},
		{"C6-jump-back-costs-only-the-jump",
			"a clock set back by J delays an answer by at most J beyond the wait before", lawSetBack},
	}
}
