// Package checks holds the checks of a store, by subject.
package checks

import (
	"context"
	"io/fs"
	"slices"

	"github.com/weirgo/weir/conformance/internal/linear"
	"github.com/weirgo/weir/conformance/internal/timeline"
	"github.com/weirgo/weir/conformance/internal/world"
)

// background is the context of calls that nothing ends.
var background = context.Background()

// All returns all checks. timelines holds the files of the timelines.
func All(timelines fs.FS) []world.Check {
	// Those come first that only few mistakes break, so that the first failure
	// leads to the cause: testdata/first-failures.golden shows how well. What is
	// stored comes before all else: a state that is gone too early fails most others.
	return slices.Concat(narrow(), boundaryChecks(), featureChecks(), timeline.Checks(timelines), onceChecks(), concurrentChecks(), linear.Checks(), []world.Check{
		check("model/random-history", "P3", 0,
			"over any history of calls and clock readings the store answers as the pure functions do, field by field", randomHistories),
	})
}

// check makes a Check. needs are what it asks of a store beyond the ordinary.
func check(name, property string, needs world.Needs, rule string, body func(w *world.World)) world.Check {
	return world.Check{Name: name, Property: property, Rule: rule, Needs: needs, Body: body}
}

// narrow are the checks that are broken by one sort of mistake.
func narrow() []world.Check {
	const (
		clock   = world.NeedsClock
		ops     = world.NeedsOps
		inspect = world.NeedsInspect
		corrupt = world.NeedsCorrupt
	)
	return []world.Check{
		check("stored/for-a-while", "T2 T4", inspect,
			"what is kept has a time to live: not shorter than ResetAfter and the grace of a second, nor longer, or an hour where the clock is injected", storedTTL),
		check("stored/untouched-by-denials-and-looks", "M6 M7 T4", inspect,
			"peeks, looks and denials leave what is kept as it is, and keep it no longer, also beside other ops", storedUntouched),
		check("stored/nothing-for-a-fresh-key", "T3 T8", inspect,
			"nothing is kept for a key of which nothing was taken, also beside other ops, nor for one that was reset", storedNothing),
		check("stored/is-the-state", "P3 P5", inspect|clock,
			"what is kept for a slot is the text of the state that Step returned, byte for byte", storedText),
		check("expiry/swept", "T1 T7", world.NeedsSweep|clock,
			"a state that is swept away is met by no clock that is up to a second behind", expirySwept),

		check("corrupt/is-an-error", "T10 P5", corrupt,
			"what is stored and is no state gives ErrCorrupt, is not written over, and is gone after Reset", corruptError),
		check("corrupt/charges-nobody", "T10 X1", corrupt|ops,
			"an Apply of several slots, one of them damaged, is an error and charges none of the others", corruptTogether),
		check("corrupt/harms-no-other", "T10 J1", corrupt,
			"calls of other slots, at the same time too, do not notice damage", corruptOthers),

		check("key/and-limit-name", "T9", 0,
			"key and limit name are kept apart where they would be the same one after the other; a name may be empty", keptApart(joinedSlots)),
		check("key/any-bytes", "T9", 0,
			"keys are kept apart whatever bytes they consist of", keptApart(hostileSlots)),
		check("key/long", "T9", 0,
			"long keys are kept apart by all of their bytes", keptApart(longSlots)),
		check("key/and-kind", "K6", 0,
			"the kinds of algorithm of one key and limit name, and the versions of a kind, have states of their own", keptApart(kindSlots)),
		check("key/any-limit-name", "T9", 0,
			"limit names are kept apart whatever bytes they consist of, and by all of them", keptApart(limitNameSlots)),
		check("key/equal-hashes", "T9", 0,
			"keys and limit names are kept apart where short hashes of them are equal", keptApart(collidingSlots)),

		check("denial/changes-nothing", "M7", clock,
			"a denied Apply, of any cost, however often, changes no later answer", denialChangesNothing),
		check("look/changes-nothing", "M6", clock,
			"an Apply of cost 0 is never denied and changes no later answer, also in debt", lookChangesNothing),
		check("peek/changes-nothing", "M6", clock,
			"a Peek, of any cost, at any instant, changes no later answer", peekChangesNothing),
		check("reset/forgets-one-slot", "J1", 0,
			"Reset makes the slots fresh that it names, and touches no other", resetOne),
		check("reset/idempotent", "J1", 0,
			"Reset of a fresh slot, of no slots, and a second Reset change nothing and are no errors", resetTwice),

		check("expiry/never-decides", "T1 T2", clock,
			"a state is kept until its key would be fresh anyway, also where that is less than a millisecond away", expiryKeeps),
		check("expiry/clock-behind", "T1 C2", clock,
			"a clock that falls back by up to a second meets every state that it met before", expiryBehind),
		check("expiry/among-many", "T1 T7", clock,
			"a store that cleans up as others write, a thousand times before a key is fresh and a thousand times in the second after, drops nothing that a clock a second behind can meet",
			expiryAmongMany),
		check("expiry/forgotten", "T1 T3", clock,
			"a state that is dropped as soon as it may be leaves answers as they are: expiry decides nothing", expiryForgotten),
		check("expiry/denied-and-looked-at", "T4 T5", clock,
			"a key that is only denied, or only looked at, becomes fresh when it was first said to", expiryOfDenied),

		check("take/refused-changes-nothing", "X1", ops,
			"where one op of an Apply is denied, whichever of up to twenty it is, no slot is charged", takeRefused),
		check("take/one-instant", "C8", ops|clock,
			"all ops of a call are decided at one reading of the clock, the one that is returned", takeInstant),
		check("take/decides-as-single-calls", "X2", ops|clock,
			"ops in one Apply are decided as each would be alone, at the same instant", takeSingle),
		check("take/retry-after-is-tight", "X3", ops|clock,
			"a refused Apply is refused until the microsecond before the longest RetryAfter of its ops, and committed at it", takeRetry),
		check("take/order-does-not-matter", "X4", ops|clock,
			"the answer to an op, and what it leaves, do not depend on its place among the ops", takeOrder),
		check("take/same-slot-twice", "X5", ops,
			"an Apply or Peek that names a slot twice is refused with ErrDuplicateSlot and charges nothing", takeTwice),
		check("take/most-ops", "X1", ops,
			"an Apply of store.MaxOps ops is one step: committed as a whole or not at all", takeMost),

		check("verb/charge-and-refund", "I4 M8", 0,
			"a charge and a refund of a single op are decided as Step does, also into debt, beyond its bound, and on a fresh key", verbsAlone),
		check("verb/all-or-nothing", "X1", ops,
			"in one Apply a limit is given back, another charged and a third one taken of, or nothing changes", verbsTogether),

		check("input/cost-at-the-edges", "I1 L5", 0,
			"the capacity passes on a fresh key and leaves nothing; any cost above it, up to the largest number, is denied for ever and takes nothing", inputEdges),
		check("input/large-numbers", "I1 I3", 0,
			"costs and counts above 2^32 are those numbers", inputLarge),
		check("input/refused", "I1", 0,
			"a call that is invalid in one op is refused with ErrInvalid, without a key in the text, and charges none of the others", inputRefused),
		check("input/error-says-what", "I1", 0,
			"what is refused gives an InputError with op, field, value and what is allowed, or a DuplicateError with both ops", inputSays),
		check("input/ops-stay-the-callers", "P2", world.NeedsKeys,
			"a store copies what it needs of ops, and does not touch them after it returned", inputStays),

		check("context/ended", "D3", 0,
			"a call whose context has ended before gives the error of the context, and charges nothing", contextEnded),
		check("context/ended-while-queued", "D3", clock,
			"a call whose context ends while it waits for another gives the error of the context, and charges nothing", contextQueued),
		check("context/ending", "D4 X1", 0,
			"a call whose context ends while it runs is done as a whole or not at all, and not at all where the error is that of the context alone", contextEnding),
		check("close/then-closed", "D3", 0,
			"Close is idempotent, and later calls of every other method return ErrClosed, or ErrInvalid where they are invalid", closeThenClosed),
		check("close/while-in-use", "D3 H1", 0,
			"a call that runs while the store is closed is decided or gets ErrClosed", closeInUse),

		check("clock/out-of-bounds", "C7", clock,
			"a clock that shows a time before 1970 or after algorithm.MaxInstant gives an error, and charges nothing", clockOutOfBounds),
		check("clock/epoch", "C7", clock,
			"the epoch, instant 0, is a time as any other: a state that was written then is not fresh", clockEpoch),
		check("clock/powers-of-two", "C7 T3", clock,
			"a fresh key is fresh at every instant, also beside those at which a number gets longer or a float coarser", clockPowers),
		check("clock/no-order-grants", "C1 C2 C5", clock,
			"callers whose clocks differ by up to a second admit, all together, what one caller with the later clock could", clockSkewed),

		check("limits/same-again", "K1", 0,
			"a limit that is made anew with the same parameters, however often, goes on as if nothing had been done", limitsSame),
		check("limits/raised", "K2", clock,
			"a raised limit counts at the next call, and what was taken before is not given back by it", limitsRaised),
		check("limits/lowered", "K3", clock,
			"a limit lowered below what is used leaves from nothing to its capacity, never less, and then admits as a new one does", limitsLowered),
		check("limits/changed-and-back", "K4", 0,
			"a limit that is changed and changed back, with nothing but looks in between, goes on from where it was", limitsBack),
		check("limits/alternating", "K5 K7", 0,
			"two callers with different parameters of one limit admit, at one instant, no more than the sum of both capacities, however often they take turns", limitsTurns),
		check("log/thousands-of-entries", "S3 E5", 0,
			"a log counts every entry of its window, thousands of them, and Reset forgets them all", logEntries),
		check("key/among-many", "J1 T6", 0,
			"what a thousand other keys do changes nothing of a key's answers", keyAmongMany),

		check("capability/own-clock", "C1 C8 H2 H3", world.NeedsOwnClock,
			"a store with its own clock takes no notice of callers' clocks, and its instants pass as real time does", ownClock),
		check("capability/one-key", "X7", world.NeedsOneKey,
			"a store that takes one key a call refuses others with ErrCrossNode, whatever the order, and charges nothing", oneKey),
		check("capability/one-op", "X7", world.NeedsOneOp,
			"a store that takes one op a call refuses others with an InputError about their number, and charges nothing", oneOp),
		check("capability/built-in-only", "I1", world.NeedsBuiltInOnly,
			"a store that runs built-in algorithms only refuses others with an InputError that names the kind, and charges nothing", builtInOnly),
		check("capability/never-forgets", "T1 T5", world.NeedsNeverForgets|clock,
			"a store that never forgets meets every state again with a clock that returns from far ahead, and sees by its value that it has become fresh", neverForgets),
	}
}

// boundaryChecks try every wait that a store promises on both of its sides.
func boundaryChecks() []world.Check {
	var checks []world.Check
	for _, k := range world.Kinds() {
		checks = append(checks, check("boundary/"+k.Name, "L1 L2 L6", world.NeedsClock|k.Needs,
			"a denied request is denied until the microsecond before RetryAfter and admitted at it; a key is fresh at ResetAfter and not before",
			func(w *world.World) { boundariesOf(w, k) }))
	}
	return append(checks, check("boundary/bound-limit", "E13", world.NeedsClock,
		"a limit prepared with Bind decides exactly as Apply and Peek with one op", boundariesByBound))
}

// featureChecks are about store.Features and about wrappers.
func featureChecks() []world.Check {
	return []world.Check{
		check("features/owner", "E13", 0,
			"a store names itself as the Owner of its features, or the store that it embeds", featuresOwner),
		check("features/same-answers", "E13", 0,
			"a store decides by a Bound and with a time-out as by Apply and Peek, from the same states", featuresAgree),
		check("features/wrapped", "E13", 0,
			"a wrapper that embeds the store, and one with hooks, sees every decision on every path and changes no answer", featuresWrapped),
		check("features/seen-by-decorator", "E13", world.NeedsSeen,
			"the code of a decorator sees every decision, also by a Bound and with a time-out", featuresSeen),
	}
}

// concurrentChecks have many callers ask at the same time while the clock stands
// still, so that what comes out is known without knowing who was first.
func concurrentChecks() []world.Check {
	var checks []world.Check
	for _, k := range world.Kinds() {
		checks = append(checks, check("concurrent/exactly-the-capacity/"+k.Name, "H4", k.Needs,
			"concurrent callers of one slot at one instant take exactly its capacity", func(w *world.World) { concurrentCapacity(w, k) }))
	}
	for _, k := range world.Kinds() {
		if !world.IsCharger(k) {
			continue
		}
		checks = append(checks, check("concurrent/settled-costs-add-up/"+k.Name, "I6 H1", k.Needs,
			"concurrent callers who take an estimate, and then give back the rest or are charged the excess, leave what the actual costs leave", func(w *world.World) { concurrentSettled(w, k) }))
	}
	return append(checks,
		check("concurrent/ten-thousand", "H4", 0,
			"of 10,000 callers of one slot at one instant, a thousand in the quick profile, as many as its capacity are admitted", tenThousand),
		check("concurrent/takes-in-opposite-orders", "H1", world.NeedsKeys,
			"concurrent Applies that name the same slots in different orders all come to an end, and each unit is counted once", concurrentOrders),
		check("concurrent/takes-are-whole", "H1 X1", world.NeedsKeys,
			"what concurrent callers see of slots that are always taken together is equal", concurrentWhole),
	)
}
