// Package law holds the laws of an algorithm, and what draws the histories that try
// to break them.
package law

// Law is something that must hold for every algorithm.
type Law struct {
	Name, Rule string
	Check      func(w *World)
}

// All returns all laws, those about states first.
func All() []Law {
	return []Law{
		{"P1-equal-arguments-equal-results",
			"Step is a function of state, instant and request, whatever was asked in between", function},
		{"P2-states-are-values",
			"a Step never changes the state it starts from, nor any other state made earlier", values},
		{"P2-concurrent-steps-are-independent",
			"Steps from one state may run at the same time and do not see each other", concurrent},
		{"P5-text-keeps-the-state",
			"the text of a state reads back as the same state, which decides the same", text},
		{"P6-words-are-in-bounds",
			"every word of a state is within 2^53 and CheckState accepts what Step returns", bounds},
		{"K6-kind-names-the-layout",
			"Spec never changes and its Kind is 1 to 64 bytes of a-z, 0-9, '-', '.' and '/'", kind},
		{"E13-in-place-equals-step",
			"StepInPlace leaves the state and the outcome of Step, whatever was there, and copies made earlier stay as they were", inPlace},

		{"S6-fresh-admits-the-capacity",
			"from fresh, exactly the capacity passes at one instant, however it is split into costs", capacity},
		{"S8-outcome-is-well-formed",
			"Limit is constant, Remaining is from 0 to Limit, waits are whole microseconds that agree with Allowed", outcome},
		{"M4-smaller-cost-is-admitted",
			"where a cost is admitted, every smaller one is", smaller},
		{"M5-larger-cost-is-denied",
			"where a cost is denied, every larger one is, and waits no shorter", larger},
		{"M6-look-changes-nothing",
			"cost 0 is admitted and returns the state as it was, also in debt and when the clock goes back", look},
		{"M7-denial-changes-nothing",
			"a denial returns the state as it was and reports what a look would", denial},
		{"E3-remaining-is-exact",
			"Remaining is admitted at the same instant, at once and unit by unit, and one unit more is not", remaining},
		{"E4-costs-add-up",
			"a and then b at one instant leave the state and the answer that a + b leaves", sum},
		{"E14-look-foretells-take",
			"a cost is admitted where a look reports that much Remaining, which then falls by that cost", foretold},
		{"I1-negative-cost-is-harmless",
			"a cost below 0 is denied with Never and gives nothing back", negative},
		{"I1-cost-at-the-edges",
			"the capacity passes on a fresh key and leaves 0 Remaining; any cost above it is denied with Never, the state kept", edges},
		{"C7-instant-out-of-bounds-is-harmless",
			"an instant outside 0 to MaxInstant neither panics nor makes more than the capacity remain", farInstant},

		{"L1-admitted-at-retry-after",
			"a denied request is admitted at now + RetryAfter if nothing else came", admittedAtRetry},
		{"L2-denied-until-retry-after",
			"1 µs before now + RetryAfter a denied request is still denied, and has 1 µs to wait", deniedBeforeRetry},
		{"L3-retry-after-is-the-shortest-wait",
			"at every instant before now + RetryAfter the request is denied and told the same end of the wait", shortestWait},
		{"L4-capacity-is-admitted-in-the-end",
			"a cost up to the capacity waits no longer than ResetAfter, and never Never", eventually},
		{"L5-above-capacity-is-never-admitted",
			"a cost above the capacity is denied with Never at any instant, and so is it on a fresh key", never},
		{"L6-fresh-at-reset-after",
			"at now + ResetAfter and later the key answers as a fresh one does", fresh},
		{"L6-not-fresh-before-reset-after",
			"1 µs before now + ResetAfter some request is answered otherwise than on a fresh key", notFreshBefore},
		{"L7-reset-instant-is-steady",
			"now + ResetAfter is the same for all looks at a state that is not yet fresh", steadyReset},
		{"M1-remaining-never-falls-with-time",
			"at a later instant, all else equal, no less is admitted and no less remains", patience},
		{"C2-clock-going-back-gains-nothing",
			"what a clock that goes back admits would pass at the latest reading too, and leaves the key no better", clockBack},
		{"C5-jump-forward-is-idleness",
			"a jump forward, however far, is worth as much as waiting in steps, and never more than fresh", jump},
		{"C6-jump-back-costs-only-the-jump",
			"a clock set back by J delays an answer by at most J beyond the wait before", setBack},
	}
}
