package conformance

import (
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// storedChecks look past the store at what it keeps, and have it drop what it may.
func storedChecks() []Check {
	return []Check{
		checkOf("stored/for-a-while", "T2 T4",
			"what is kept has a life time: not shorter than ResetAfter and the grace of a second, nor longer, or an hour where the clock is injected", storedLife).needing(needsInspect),
		checkOf("stored/untouched-by-denials-and-looks", "M6 M7 T4",
			"peeks, looks and denials leave what is kept as it is, and keep it no longer", storedUntouched).needing(needsInspect),
		checkOf("stored/nothing-for-a-fresh-key", "T3 T8",
			"nothing is kept for a key of which nothing was taken, nor for one that was reset", storedNothing).needing(needsInspect),
		checkOf("stored/is-the-state", "P3 P5",
			"what is kept for a slot is the text of the state that Step returned, byte for byte", storedText).needing(needsInspect | needsClock),
		checkOf("expiry/swept", "T1 T7",
			"a state that is swept away is met by no clock that is up to a second behind", expirySwept).needing(needsSweep | needsClock),
	}
}

// stored is what is kept for a slot.
func (w *checkWorld) stored(s store.Slot) (Stored, bool) {
	w.Helper()
	return w.config().Inspect(w.TB, w.store, s)
}

func storedText(w *checkWorld) {
	for _, k := range w.kinds() {
		for _, a := range k.some() {
			w.startAt(checkStart)
			s := store.Slot{Key: "a", Limit: "l", Algorithm: a}
			capacity := checkCapacity(a)
			period := time.Duration(max(1, a.Spec().Params[1])) * time.Microsecond
			for n, cost := range []int64{1, 1, 0, capacity, capacity / 2, 2, 1, capacity + 1} {
				w.apply(store.Op{Slot: s, Request: algorithm.Request{Cost: cost}})
				got, found := w.stored(s)
				want, taken := w.model[checkPlaceOf(s)]
				switch {
				case !found && taken && w.latest >= want.kept: // it has been fresh for a second
				case !found && taken:
					w.wrong("nothing is kept", fmt.Sprintf("%q, which may be dropped in %v and not before", want.state, time.Duration(want.kept-w.now())*time.Microsecond),
						"what is kept for %s", checkSlotText(s))
				case found != taken || got.Text != want.state.String():
					w.wrong(fmt.Sprintf("%q, found %t", got.Text, found), fmt.Sprintf("%q, found %t", want.state, taken), "what is kept for %s", checkSlotText(s))
				}
				w.advance((period / time.Duration(1+n%3)).Truncate(time.Microsecond))
			}
		}
	}
}

func storedUntouched(w *checkWorld) {
	for _, s := range w.slots("a", "l") {
		capacity := checkCapacity(s.Algorithm)
		w.apply(store.Op{Slot: s, Request: algorithm.Request{Cost: capacity}})
		before, found := w.stored(s)
		if !found {
			w.wrong("nothing", "a state", "what is kept for %s, all of which was taken", checkSlotText(s))
		}
		for _, by := range []time.Duration{time.Microsecond, -time.Second, 100 * time.Millisecond} {
			w.advance(by)
			for _, cost := range []int64{0, 1, capacity, capacity + 1}[:often(4, 2)] {
				w.peek(store.Op{Slot: s, Request: algorithm.Request{Cost: cost}})
				w.apply(store.Op{Slot: s, Request: algorithm.Request{Cost: cost}})
			}
			w.setClock(checkStart) // a life time counts from what the clock shows
			if after, _ := w.stored(s); after.Text != before.Text || after.Life > before.Life {
				w.wrong(keptText(after), keptText(before)+" or less", "what is kept for %s after looks and denials", checkSlotText(s))
			}
		}
	}
}

func storedNothing(w *checkWorld) {
	nothing := func(s store.Slot, after string) {
		w.Helper()
		if got, found := w.stored(s); found {
			w.wrong(keptText(got), "nothing", "what is kept for %s after %s", checkSlotText(s), after)
		}
	}
	for _, s := range w.slots("a", "l") {
		capacity := checkCapacity(s.Algorithm)
		for _, cost := range []int64{0, 1, capacity + 1} {
			w.peek(store.Op{Slot: s, Request: algorithm.Request{Cost: cost}})
			nothing(s, "a peek")
		}
		w.mustBe(true, store.Op{Slot: s})
		nothing(s, "a look")
		w.mustBe(false, store.Op{Slot: s, Request: algorithm.Request{Cost: capacity + 1}})
		nothing(s, "a denial")
		w.mustBe(true, store.Op{Slot: s, Request: algorithm.Request{Cost: 1}})
		w.reset(s)
		nothing(s, "a reset")
	}
}

func storedLife(w *checkWorld) {
	shown := 0
	for _, k := range w.kinds() {
		for _, a := range k.limits {
			if !w.config().OwnClock {
				w.startAt(checkStart)
			}
			s := store.Slot{Key: "a", Limit: "l", Algorithm: a}
			w.reset(s)
			switch life, found := w.lifeOfAll(s); {
			case !found: // it was a short one, and is over
			case life == NotShown && shown > 0:
				w.wrong("NotShown", "a life time, as for the slots before", "the life time that Config.Inspect returns for %s", checkSlotText(s))
			case life == NotShown:
				w.Skip("needs life times, which Config.Inspect does not show (NotShown)")
			default:
				shown++
			}
		}
	}
}

// lifeOfAll takes all of a slot and fails unless what is then kept lives as long as
// it must. It returns how long that is, and whether anything was there to be seen.
func (w *checkWorld) lifeOfAll(s store.Slot) (life time.Duration, found bool) {
	w.Helper()
	// A server counts by a real clock, in milliseconds, and cannot know an
	// injected one: then it keeps for an hour at least.
	const injected, margin = time.Hour, 10 * time.Millisecond
	ops := []store.Op{{Slot: s, Request: algorithm.Request{Cost: checkCapacity(s.Algorithm)}}}
	began := time.Now()
	w.mustBe(true, ops...)
	got, found := w.stored(s)
	slack := time.Since(began) + margin // of a life time that falls as real time passes
	reset := ops[0].Outcome.ResetAfter
	least, most := reset+store.Grace, store.TTL(reset)
	if !w.config().OwnClock {
		most = max(most, injected)
		if w.countsByOurs(s, got) {
			slack = 0
		}
	}
	if !found && w.config().OwnClock && slack >= least {
		return 0, false
	}
	switch {
	case !found:
		w.wrong("nothing", fmt.Sprintf("a state, for %v to %v", least, most), "what is kept for %s, all of which was taken", checkSlotText(s))
	case got.Life == NotShown:
	case w.config().NeverForgets:
		if got.Life != algorithm.Never {
			w.wrong(lifeText(got.Life), "never", "the end of a state in a store that never forgets")
		}
	case got.Life < least-slack || got.Life > most:
		w.wrong(lifeText(got.Life), fmt.Sprintf("%v to %v%s", least, most, slackText(slack)), "the life time of a state that is fresh in %v", reset)
	}
	return got.Life, found
}

// countsByOurs moves the clock a little, and reports whether the life time of what
// was stored has become shorter by exactly that, or is over.
func (w *checkWorld) countsByOurs(s store.Slot, before Stored) bool {
	w.Helper()
	const step = 100*time.Millisecond + 7*time.Microsecond // no whole milliseconds, as a server counts
	w.advance(step)
	after, found := w.stored(s)
	w.advance(-step)
	return !found || before.Life-after.Life == step
}

func slackText(slack time.Duration) string {
	if slack == 0 {
		return ""
	}
	return fmt.Sprintf(", or %v less, since so much time may have passed", slack)
}

// lifeText shows a Life.
func lifeText(d time.Duration) string {
	if d == NotShown {
		return "not shown"
	}
	return waitText(d)
}

func keptText(s Stored) string { return fmt.Sprintf("%q, for %s", s.Text, lifeText(s.Life)) }

func expirySwept(w *checkWorld) {
	const second = algorithm.Instant(time.Second / time.Microsecond)
	sweep := w.config().Sweep
	for _, k := range w.kinds() {
		for _, a := range k.limits {
			w.startAt(checkStart)
			ops := []store.Op{checkOp("a", "l", a, checkCapacity(a))}
			w.mustBe(true, ops...)
			fresh := w.now() + algorithm.Instant(ops[0].Outcome.ResetAfter/time.Microsecond)
			for _, ahead := range []algorithm.Instant{fresh - 1, fresh, fresh + second - 1} {
				w.setClock(ahead)
				sweep(w.TB, w.store)
				w.setClock(max(fresh-1, ahead-second))
				w.mustBe(false, checkOp("a", "l", a, checkCapacity(a)))
			}
			// Once it is over the state may go, and the key is fresh.
			w.setClock(fresh + 2*second)
			sweep(w.TB, w.store)
			if w.can(needsInspect) && !w.config().NeverForgets {
				if got, found := w.stored(ops[0].Slot); found {
					w.wrong(keptText(got), "nothing", "what is kept of a key two seconds after it has become fresh, and was swept")
				}
			}
			w.mustBe(true, checkOp("a", "l", a, checkCapacity(a)))
		}
	}
}
