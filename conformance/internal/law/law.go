// Package law holds the laws of an algorithm, and what draws the histories that try
// to break them.
package law

import (
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/draw"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

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
		{"P5-damage-is-refused",
			"CheckState refuses what no Step can have returned", damage},
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
			"Remaining is admitted at the same instant, in one request and unit by unit, and one unit more is not", remaining},
		{"E4-costs-add-up",
			"a and then b at one instant leave the state and the answer that a + b leaves", sum},
		{"E14-look-foretells-take",
			"a cost is admitted where a look reports that much Remaining, which then falls by that cost", foretold},
		{"I1-negative-cost-is-harmless",
			"a cost below 0 is denied with Never and gives nothing back", negative},
		{"I1-cost-at-the-edges",
			"the capacity passes on a fresh key and leaves 0 Remaining; any cost above it is denied with Never, the state kept", edges},
		{"C7-first-and-last-instant-are-sound",
			"at instant 0 and at MaxInstant, whatever the state knows, answers are well formed and no state is out of bounds", extremeInstants},

		{"M8-charge-counts-exactly",
			"a charge is admitted whatever remains, and Remaining less Debt falls by its cost", charged},
		{"M8-charge-of-what-remains-is-a-take",
			"where a take is admitted, a charge of the same cost leaves the same state and the same answer", chargedAsTaken},
		{"I3-charge-ends-at-the-largest-debt",
			"a charge may leave a Debt of MaxDebt; one unit more is denied, the state kept, until RetryAfter", largestDebt},
		{"I4-refund-undoes-its-take",
			"a take that is given back, sooner or later, leaves no trace if nothing came in between", undone},
		{"I4-refund-gives-no-more-than-it-says",
			"a refund raises Remaining less Debt by at most its cost, delays nothing, and returns the state of a fresh key as it was", refunded},
		{"I6-settling-is-charging-the-actual-cost",
			"a take of which a part is given back, sooner or later, is a take of the rest if nothing came in between", settled},
		{"I1-verbs-at-the-edges",
			"a charge and a refund of 0 are looks; with a cost below 0, and with an unknown verb, a request is denied with Never", verbEdges},

		{"S5-delay-is-the-backlog",
			"a unit waits until the queue is empty, which is at ResetAfter; what is no algorithm.Queue delays nobody", backlog},
		{"S5-own-cost-does-not-delay",
			"an admitted request waits as a look at its instant says, whatever it costs", ownCost},
		{"J3-turns-keep-the-order",
			"turns come in the order of admission, also where the clock goes back", turns},
		{"L3-bound-on-the-delay-is-exact",
			"a request is admitted where its delay is within MaxDelay, denied where that is 1 µs less, and RetryAfter is when it fits", delayBound},
		{"K2-raised-limit-gives-nothing-back",
			"where a limit has taken from a fresh key, a version of it with no smaller capacity does not have all left", raised},
		{"K3-lowered-limit-fills-again",
			"where a limit is used up, other versions of it report 0 to their capacity, and admit a cost when they say and all as fresh", lowered},
		{"K4-looks-of-other-limits-change-nothing",
			"a look and a denial of a limit with other parameters return the state as it was", lookedAt},
		{"K7-changes-grant-nothing-more",
			"two versions of a limit that take turns at one instant admit at most twice the larger capacity", flips},

		{"L1-admitted-at-retry-after",
			"a denied request is admitted at now + RetryAfter if nothing else came", admittedAtRetry},
		{"L2-denied-until-retry-after",
			"1 µs before now + RetryAfter a denied request is still denied, and has 1 µs to wait", deniedBeforeRetry},
		{"L3-retry-after-is-the-shortest-wait",
			"at every instant before now + RetryAfter the request is denied and RetryAfter ends at the same instant", shortestWait},
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

// Parameters are what algorithms are built from.
type Parameters struct {
	Rate     algorithm.Rate
	Capacity int64
}

// AllParameters are those of a family that are tested, from the smallest to the largest: two of each period, so
// that limits change also where the period belongs to the identity of a state.
func AllParameters() []Parameters {
	var all []Parameters
	for _, p := range []struct {
		per          time.Duration
		units, other int64
		capacity, of int64
	}{
		{time.Microsecond, 1, 3, 1, 2},
		{7 * time.Microsecond, 5, 3, 5, 2},
		{3 * time.Second, 7, 20, 4, 300},
		{24 * time.Hour, 1_000_003, 1, 50, 1000},
		{algorithm.MaxPeriod, algorithm.MaxUnits, algorithm.MaxUnits - 11, algorithm.MaxUnits, 45},
	} {
		all = append(all, Parameters{algorithm.Rate{Units: p.units, Per: p.per}, p.capacity}, Parameters{algorithm.Rate{Units: p.other, Per: p.per}, p.of})
	}
	return all
}

// World is one run of one law: an algorithm, a key's state, and where its
// clock stands. Whatever is not fixed is drawn.
type World struct {
	rapid.TB
	*draw.Limit
	law     Law
	a       algorithm.Algorithm
	earlier []algorithm.Algorithm

	state algorithm.State
	now   algorithm.Instant
	past  algorithm.Instant // the latest instant of a step
	taken draw.Instants
	last  algorithm.Outcome
	log   transcript.Log
}

// New returns a World for one run of a law. The algorithms in earlier must be of the
// same kind as a: they decide parts of the history.
func New(t rapid.TB, s draw.Source, l Law, a algorithm.Algorithm, earlier []algorithm.Algorithm) *World {
	w := &World{TB: t, law: l, a: a, earlier: earlier, now: start(s)}
	if w.last = w.try(w.state, w.now, 0); w.last.Limit < 1 {
		w.failf("a look at a fresh key reports Limit %d: a capacity is at least 1", w.last.Limit)
	}
	w.Limit = draw.For(s, a, w.now)
	return w
}

// FromRapid draws from a test of rapid.
type FromRapid struct{ *rapid.T }

// Draw implements draw.Source.
func (r FromRapid) Draw(label string, from, to int64) int64 {
	return rapid.Int64Range(from, to).Draw(r.T, label)
}

// try returns what a would answer to a plain cost; nothing is kept.
func (w *World) try(s algorithm.State, at algorithm.Instant, cost int64) algorithm.Outcome {
	return w.ask(s, at, algorithm.Request{Cost: cost})
}

func (w *World) ask(s algorithm.State, at algorithm.Instant, r algorithm.Request) algorithm.Outcome {
	_, o := w.a.Step(s, at, r)
	return o
}

// reach leads the key to some state, with clocks in any order, and leaves the
// clock at a drawn instant near it.
func (w *World) reach() {
	for range w.Number("steps", 0, 10) {
		w.step()
	}
	w.now = w.tick()
}

// step takes one drawn request, or one kind of it many times over. Now and then
// the state goes through its text, as if a store had kept it.
func (w *World) step() {
	w.now = w.tick()
	r := w.any()
	by := w.a
	if n := len(w.earlier); n > 0 {
		if i := w.Number("decided by", 0, n); i > 0 {
			by = w.earlier[i-1]
		}
	}
	times, gap := 1, int64(0)
	switch w.Number("manner", 0, 15) {
	case 14:
		times, gap = w.Number("times", 2, 80), w.NumberOf("gap", 0, w.Unit)
	case 15:
		w.state = w.reread(w.state)
	}
	for i := range times {
		if i > 0 {
			w.now = w.at(gap)
		}
		w.state, w.last = by.Step(w.state, w.now, r)
		w.past = max(w.past, w.now)
		w.record(by, w.now, r, w.last)
	}
}

// any draws a request with any verb.
func (w *World) any() algorithm.Request {
	w.taken.Add(w.now)
	return w.Any(w.taken, w.last)
}

// reread returns s as it comes back from its text.
func (w *World) reread(s algorithm.State) algorithm.State {
	read, err := algorithm.ParseState(s.String())
	if err != nil {
		w.failf("the text %q of a state does not read back: %v", s, err)
	}
	return read
}

// start draws where the clock stands first.
func start(s draw.Source) algorithm.Instant {
	const today = 1_764_277_200_123_456
	latest := int64(algorithm.MaxInstant)
	switch draw.Number(s, "epoch", 0, 4) {
	case 0:
		return algorithm.Instant(s.Draw("start", 0, 1000))
	case 1:
		return today
	case 2:
		return algorithm.Instant(latest - s.Draw("before the last instant", 0, 1000))
	case 3:
		return algorithm.Instant(today - today%3_600_000_000 + s.Draw("past the hour", 0, 10))
	}
	return algorithm.Instant((&draw.Limit{Source: s}).NumberOf("start", 0, latest))
}

// tick draws the next reading of the clock.
func (w *World) tick() algorithm.Instant { return w.Reading(w.now, w.last) }

// at is the instant d µs from now, kept within the bounds.
func (w *World) at(d int64) algorithm.Instant { return draw.After(w.now, d) }

// after is the instant d from now; not ok where there is none in bounds.
func (w *World) after(d time.Duration) (_ algorithm.Instant, ok bool) {
	at := w.now + algorithm.Instant(d/time.Microsecond)
	return at, d != algorithm.Never && at >= w.now && at <= algorithm.MaxInstant
}

// record adds a Step to the transcript.
func (w *World) record(by algorithm.Algorithm, at algorithm.Instant, r algorithm.Request, o algorithm.Outcome) {
	w.log.Call(at, true, "step", []store.Op{{Slot: store.Slot{Algorithm: by}, Request: r, Outcome: o}})
}

// failf fails the run with the law, its rule and the history so far.
func (w *World) failf(format string, args ...any) {
	w.Fatalf("%s\n  rule:      %s\n  broken by: %s\n  algorithm: %v\n  state:     %q, clock at %v\n%s",
		w.law.Name, w.law.Rule, fmt.Sprintf(format, args...), w.a.Spec(), w.state, w.now, w.log.String())
}

// mustEqual fails unless two states are the same, in value and in text.
func (w *World) mustEqual(got, want algorithm.State, what string) {
	if !got.Equal(want) || !want.Equal(got) || got.String() != want.String() {
		w.failf("%s: the state is %q, not %q", what, got, want)
	}
}

// mustAnswer fails unless two outcomes are the same.
func (w *World) mustAnswer(got, want algorithm.Outcome, what string, args ...any) {
	if got != want {
		w.failf("%s: %s\n  got:       %s\n  want:      %s", fmt.Sprintf(what, args...),
			transcript.Difference(got, want), transcript.Outcome(got), transcript.Outcome(want))
	}
}
