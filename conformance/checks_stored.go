package conformance

import (
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// storedChecks look past the store at what it keeps.
func storedChecks() []Check {
	return []Check{
		checkOf("stored/untouched-by-denials-and-looks", "M6 M7 T4",
			"peeks, looks and denials leave what is kept as it is, and keep it no longer", storedUntouched).needing(needsInspect),
		checkOf("stored/nothing-for-a-fresh-key", "T3 T8",
			"nothing is kept for a key of which nothing was taken, nor for one that was reset", storedNothing).needing(needsInspect),
		checkOf("stored/for-a-while", "T2 T4",
			"what is kept has a life time: not shorter than ResetAfter and the grace of a second, nor longer, or an hour where the clock is injected", storedLife).needing(needsInspect),
		checkOf("stored/is-the-state", "P3 P5",
			"what is kept for a slot is the text of the state that Step returned, byte for byte", storedText).needing(needsInspect | needsClock),
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
				gone := !found && w.latest >= want.kept // fresh for a second
				if !gone && (got.Text != want.state.String() || found != taken) {
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
				w.wrong(fmt.Sprintf("%+v", after), fmt.Sprintf("%+v, or less of its life", before), "what is kept for %s after looks and denials", checkSlotText(s))
			}
		}
	}
}

func storedNothing(w *checkWorld) {
	nothing := func(s store.Slot, after string) {
		w.Helper()
		if got, found := w.stored(s); found {
			w.wrong(fmt.Sprintf("%+v", got), "nothing", "what is kept for %s after %s", checkSlotText(s), after)
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
	// A server cannot know an injected clock, and keeps at least so long.
	const injected, slack = time.Hour, 5 * time.Second
	for _, k := range w.kinds() {
		for _, a := range k.limits {
			if !w.config().OwnClock {
				w.startAt(checkStart)
			}
			s := store.Slot{Key: "a", Limit: "l", Algorithm: a}
			w.reset(s)
			ops := []store.Op{{Slot: s, Request: algorithm.Request{Cost: checkCapacity(a)}}}
			w.mustBe(true, ops...)
			got, found := w.stored(s)
			if !found && w.config().OwnClock {
				continue // it was a short one, and is over
			}
			least := ops[0].Outcome.ResetAfter + store.Grace
			most := max(store.TTL(ops[0].Outcome.ResetAfter), injected)
			if w.config().OwnClock {
				least, most = least-slack, store.TTL(ops[0].Outcome.ResetAfter)
			}
			switch {
			case !found:
				w.wrong("nothing", "a state", "what is kept for %s, all of which was taken", checkSlotText(s))
			case got.Life == 0:
				w.Skipf("Config.Inspect shows no life times")
			case w.config().NeverForgets:
				if got.Life != algorithm.Never {
					w.wrong(got.Life, "never", "the end of a state in a store that never forgets")
				}
			case got.Life < least-slack || got.Life > most:
				w.wrong(waitText(got.Life), fmt.Sprintf("%v to %v", least, most), "the life time of a state that is fresh in %v", ops[0].Outcome.ResetAfter)
			}
		}
	}
}

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
					w.wrong(fmt.Sprintf("%+v", got), "nothing", "what is kept of a key two seconds after it has become fresh, and was swept")
				}
			}
			w.mustBe(true, checkOp("a", "l", a, checkCapacity(a)))
		}
	}
}
