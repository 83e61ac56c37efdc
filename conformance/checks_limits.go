package conformance

import (
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// limitChecks are about limits whose parameters change while their keys live on.
// The model says what becomes of the state; what they demand beyond it is that
// nobody gains by a change.
func limitChecks() []Check {
	return []Check{
		checkOf("limits/same-again", "K1",
			"a limit that is made anew with the same parameters, however often, goes on as if nothing had been done", limitsSame),
		checkOf("limits/raised", "K2",
			"a raised limit counts at the next call, and what was taken before is not given back by it", limitsRaised).needing(needsClock),
		checkOf("limits/lowered", "K3",
			"a limit lowered below what is used leaves from nothing to its capacity, never less, and then admits as a new one does", limitsLowered).needing(needsClock),
		checkOf("limits/changed-and-back", "K4",
			"a limit that is changed and changed back, with nothing but looks in between, goes on from where it was", limitsBack),
		checkOf("limits/alternating", "K5 K7",
			"two callers with different parameters of one limit admit, at one instant, no more than the sum of both capacities, however often they take turns", limitsTurns),
	}
}

// specs are limits of the kinds of package algorithm with so many units in a
// time.
func limitSpecs(each string) []string {
	var specs []string
	for _, k := range checkKinds() {
		if k.needs == 0 {
			specs = append(specs, k.name+":"+each)
		}
	}
	return specs
}

func limitsSame(w *checkWorld) {
	for _, spec := range limitSpecs("5/1h") {
		w.startAt(checkStart)
		key := func() store.Slot { return store.Slot{Key: "a", Limit: "l", Algorithm: w.limit(spec)} }
		w.mustBe(true, checkOp("a", "l", key().Algorithm, 4))
		w.mustRemain(key(), 1)
		w.mustBe(true, checkOp("a", "l", key().Algorithm, 1))
		for range often(20, 5) {
			w.mustBe(false, checkOp("a", "l", key().Algorithm, 1))
		}
		w.mustRemain(key(), 0)
	}
}

func limitsRaised(w *checkWorld) {
	small, large := limitSpecs("5/1h"), limitSpecs("50/1h")
	for i := range small {
		for _, used := range []int64{1, 5} {
			w.startAt(checkStart)
			before := store.Slot{Key: "a", Limit: "l", Algorithm: w.limit(small[i])}
			after := store.Slot{Key: "a", Limit: "l", Algorithm: w.limit(large[i])}
			w.mustBe(true, store.Op{Slot: before, Request: algorithm.Request{Cost: used}})
			look := []store.Op{{Slot: after}}
			w.peek(look...)
			if got := look[0].Outcome.Limit; got != 50 {
				w.wrong(got, 50, "the Limit after it was raised")
			}
			var admitted int64
			for _, cost := range []int64{1, 4, 40, 2, 2, 1, 1} {
				if w.apply(store.Op{Slot: after, Request: algorithm.Request{Cost: cost}}) {
					admitted += cost
				}
			}
			if used+admitted > 50 {
				w.wrong(used+admitted, "50 at most", "units admitted at one instant, before and after a limit was raised from 5 to 50")
			}
			// Then it fills up as the new one does.
			w.peek(look...)
			w.advance(look[0].Outcome.ResetAfter)
			w.mustBe(true, store.Op{Slot: after, Request: algorithm.Request{Cost: 50}})
		}
	}
}

func limitsLowered(w *checkWorld) {
	large, small := limitSpecs("50/1h"), limitSpecs("5/1h")
	for i := range small {
		for _, used := range []int64{1, 50, 4, 30}[:often(4, 2)] {
			w.startAt(checkStart)
			before := store.Slot{Key: "a", Limit: "l", Algorithm: w.limit(large[i])}
			after := store.Slot{Key: "a", Limit: "l", Algorithm: w.limit(small[i])}
			w.mustBe(true, store.Op{Slot: before, Request: algorithm.Request{Cost: used}})
			look := []store.Op{{Slot: after}}
			w.peek(look...)
			if o := look[0].Outcome; o.Limit != 5 || o.Remaining < 0 || o.Remaining > 5 {
				w.wrong(fmt.Sprintf("%d of %d", o.Remaining, o.Limit), "0 to 5 of 5", "what is left of a limit lowered from 50 to 5")
			}
			if admitted := w.takeUnits(after, 6); admitted > 5 {
				w.wrong(admitted, "5 at most", "units admitted after a limit was lowered from 50 to 5")
			}
			// However far it was over, two hours later at most it is a new one.
			w.peek(look...)
			if reset := look[0].Outcome.ResetAfter; reset > 2*time.Hour {
				w.wrong(reset, "2h0m0s at most", "how long a lowered limit of one hour is told to need")
			}
			w.advance(look[0].Outcome.ResetAfter)
			for range often(3, 1) {
				if admitted := w.takeUnits(after, 6); admitted != 5 {
					w.wrong(admitted, 5, "units admitted in one go by the lowered limit, once it is as new")
				}
				w.advance(2 * time.Hour)
			}
		}
	}
}

func limitsBack(w *checkWorld) {
	mine, others := limitSpecs("7/3h"), []string{}
	for _, each := range []string{"7/1h", "100/3h", "1/2h"} {
		others = append(others, limitSpecs(each)...)
	}
	for i, spec := range mine {
		w.startAt(checkStart)
		s := store.Slot{Key: "a", Limit: "l", Algorithm: w.limit(spec)}
		steps := int64(7)
		if quick() {
			steps = 3
		}
		for left := int64(6); left >= 7-steps; left-- {
			w.mustBe(true, store.Op{Slot: s, Request: algorithm.Request{Cost: 1}})
			for j := i; j < len(others); j += len(mine) { // of the same kind
				if quick() && (j/len(mine)+int(left))%3 > 0 {
					continue // at another step
				}
				other := w.limit(others[j])
				w.peek(checkOp("a", "l", other, 1))
				w.mustBe(true, checkOp("a", "l", other, 0))
				w.mustBe(false, checkOp("a", "l", other, checkCapacity(other)+1))
			}
			w.mustRemain(s, left)
		}
	}
}

func limitsTurns(w *checkWorld) {
	// Periods with different denominators, so that fractions are carried over.
	for i, spec := range limitSpecs("7/3h") {
		w.startAt(checkStart)
		a, b := w.limit(spec), w.limit(limitSpecs("11/5h")[i])
		var admitted int64
		for turn := range often(40, 8) {
			limit := a
			if turn%2 == 1 {
				limit = b
			}
			admitted += w.takeUnits(store.Slot{Key: "a", Limit: "l", Algorithm: limit}, 1+turn%3)
		}
		most := checkCapacity(a) + checkCapacity(b)
		switch a.Spec().Kind {
		case algorithm.KindFixedWindow, algorithm.KindSlidingCounter:
			most = 2 * max(checkCapacity(a), checkCapacity(b))
		}
		if admitted > most {
			w.wrong(admitted, fmt.Sprintf("%d at most", most), "units admitted at one instant by two sets of parameters that take turns")
		}
	}
}
