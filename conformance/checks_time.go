package conformance

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// clockChecks are about the clock.
func clockChecks() []Check {
	return []Check{
		checkOf("clock/out-of-bounds", "C7",
			"a clock that shows a time before 1970 or after algorithm.MaxInstant gives an error, and charges nothing", clockOutOfBounds).needing(needsClock),
		checkOf("clock/epoch", "C7",
			"the epoch, instant 0, is a time as any other: a state that was written then is not fresh", clockEpoch).needing(needsClock),
		checkOf("clock/powers-of-two", "C7 T3",
			"a fresh key is fresh at every instant, also beside those at which a number gets longer or a float coarser", clockPowers).needing(needsClock),
		checkOf("clock/no-order-grants", "C1 C2 C5",
			"callers whose clocks differ by up to a second admit, all together, what one caller with the later clock could", clockSkewed).needing(needsClock),
	}
}

// expiryChecks are about life times, which must never show.
func expiryChecks() []Check {
	return []Check{
		checkOf("expiry/never-decides", "T1 T2",
			"a state is kept until its key would be fresh anyway, also where that is less than a millisecond away", expiryKeeps).needing(needsClock),
		checkOf("expiry/clock-behind", "T1 C2",
			"a clock that falls back by up to a second meets every state that it met before", expiryBehind).needing(needsClock),
		checkOf("expiry/among-many", "T1 T7",
			"a store that cleans up as others write, a thousand times before a key is fresh and a thousand times in the second after, drops nothing that a clock a second behind can meet",
			expiryAmongMany).needing(needsClock),
		checkOf("expiry/forgotten", "T1 T3",
			"a state that is dropped as soon as it may be leaves answers as they are: expiry decides nothing", expiryForgotten).needing(needsClock),
		checkOf("expiry/denied-and-looked-at", "T4 T5",
			"a key that is only denied, or only looked at, becomes fresh when it was first said to", func(w *checkWorld) {
				expirySteady(w)
				expiryPatient(w)
			}).needing(needsClock),
	}
}

func clockOutOfBounds(w *checkWorld) {
	a := algorithm.Must(algorithm.ParseSpec("gcra:2/1h"))
	w.mustBe(true, checkOp("a", "l", a, 1))
	for _, bad := range []time.Time{time.Unix(-1, 0), time.UnixMicro(-1), time.Unix(0, -(1 << 62)), time.UnixMicro(int64(algorithm.MaxInstant) + 1)} {
		good := w.now()
		w.clock.nanos.Store(bad.UnixNano())
		ops := []store.Op{checkOp("a", "l", a, 1)}
		_, _, err := w.store.Apply(context.Background(), ops)
		w.note("apply with the clock at %v: error %v", bad.UTC(), err)
		if err == nil {
			w.wrong(checkOutcomeText(ops[0].Outcome), "an error", "Apply with the clock at %v", bad.UTC())
		}
		_, err = w.store.Peek(context.Background(), ops)
		w.note("peek with the clock at %v: error %v", bad.UTC(), err)
		if err == nil {
			w.wrong(checkOutcomeText(ops[0].Outcome), "an error", "Peek with the clock at %v", bad.UTC())
		}
		two := []store.Op{checkOp("a", "l", a, 1), checkOp("b", "l", a, 1)}
		if _, _, err = w.store.Apply(context.Background(), two); err == nil {
			w.wrong("no error", "an error", "Apply of two ops with the clock at %v", bad.UTC())
		}
		w.setClock(good)
		w.mustRemain(ops[0].Slot, 1)
		w.mustRemain(two[1].Slot, 2)
	}
}

func clockEpoch(w *checkWorld) {
	w.startAt(0)
	for _, k := range w.kinds() {
		for i, a := range k.limits {
			limit := string(rune('a' + i))
			capacity := checkCapacity(a)
			w.mustBe(true, checkOp("a", limit, a, capacity))
			w.mustBe(false, checkOp("a", limit, a, 1))
		}
	}
}

// clockPowers takes all of fresh keys around each power of two. A limiter that
// computes with floats may find a key used there that was not, or not find it used.
func clockPowers(w *checkWorld) {
	w.startAt(0)
	whole := w.limit("gcra:10/1s")
	for power := 10; power < 53; power += often(1, 7) {
		limit := "l" + strconv.Itoa(power)
		for i, at := range []algorithm.Instant{1<<power - 1, 1 << power, 1<<power + 1} {
			if at > algorithm.MaxInstant {
				return
			}
			w.setClock(at)
			k := w.kinds()[(power+i)%len(w.kinds())]
			for j, a := range []algorithm.Algorithm{k.limits[1], whole} {
				s := store.Slot{Key: strconv.Itoa(i), Limit: limit + string(rune('a'+j)), Algorithm: a}
				w.mustBe(true, store.Op{Slot: s, Request: algorithm.Request{Cost: 1}})
				w.apply(store.Op{Slot: s, Request: algorithm.Request{Cost: checkCapacity(a) - 1}})
				w.apply(store.Op{Slot: s, Request: algorithm.Request{Cost: 1}})
			}
		}
	}
}

// expiryKeeps empties short-lived keys and asks 1 µs before they are fresh, with
// other keys used in between, so that a store has reason to clean up.
func expiryKeeps(w *checkWorld) {
	limits := checkLimits("gcra:1000/1s,burst=1", "gcra:1/7us", "gcra:1/1500us", "gcra:7/3s", "gcra:1/1h",
		"token-bucket:1/999us", "token-bucket:1/1001us", "leaky-bucket:1/1999us", "leaky-bucket:1/2500ms",
		"fixed-window:1/1ms", "fixed-window:1/1s", "fixed-window:1/61s", "fixed-window:2/7us",
		"sliding-log:1/1ms", "sliding-log:1/1001us", "sliding-log:2/90s",
		"sliding-counter:1/1ms", "sliding-counter:1/333us", "sliding-counter:5/10s")
	starts := []algorithm.Instant{0, checkStart + 999, checkStart + 123_457, checkStart}
	for i, a := range limits {
		for j, start := range starts {
			if quick() && (i+1)%len(starts) != j {
				continue
			}
			w.startAt(start)
			capacity := checkCapacity(a)
			ops := []store.Op{checkOp("a", "l", a, capacity)}
			w.mustBe(true, ops...)
			reset := ops[0].Outcome.ResetAfter
			due := w.now() + algorithm.Instant(reset/time.Microsecond)
			for _, at := range []algorithm.Instant{w.now() + (due-w.now())/2, due - 1} {
				w.setClock(at)
				w.mustBe(true, checkOp("c", "m", a, 1))
				w.mustBe(false, checkOp("a", "l", a, capacity))
				w.reset(store.Slot{Key: "c", Limit: "m", Algorithm: a})
			}
			w.setClock(due)
			w.mustBe(true, checkOp("a", "l", a, capacity))
		}
	}
}

// expiryAmongMany writes so many other keys that a store cleans up which does so
// every so many writes, while the keys that it watches are fresh for nearly a second.
func expiryAmongMany(w *checkWorld) {
	const second, writes = algorithm.Instant(time.Second / time.Microsecond), 1000
	watched := w.slots("a", "l")
	w.mustAllTake(watched, capacities(watched))
	fresh := make([]algorithm.Instant, len(watched))
	for i, s := range watched {
		ops := []store.Op{{Slot: s}}
		w.peek(ops...)
		fresh[i] = w.now() + algorithm.Instant(ops[0].Outcome.ResetAfter/time.Microsecond)
	}
	first := slices.Min(fresh)
	for i, at := range []algorithm.Instant{first - 1, first + second - 1} {
		w.setClock(at)
		w.others(strconv.Itoa(i), writes)
		w.setClock(first - 1)
		for _, s := range watched {
			w.mustBe(false, store.Op{Slot: s, Request: algorithm.Request{Cost: checkCapacity(s.Algorithm)}})
		}
	}
}

func expiryBehind(w *checkWorld) {
	for _, k := range w.kinds() {
		for _, a := range k.some() {
			w.startAt(checkStart)
			capacity := checkCapacity(a)
			ops := []store.Op{checkOp("a", "l", a, capacity)}
			w.mustBe(true, ops...)
			due := w.now() + algorithm.Instant(ops[0].Outcome.ResetAfter/time.Microsecond)
			const second = algorithm.Instant(time.Second / time.Microsecond)
			for _, ahead := range []algorithm.Instant{due, due + second/2, due + second - 1} {
				w.setClock(ahead)
				w.mustBe(true, checkOp("b", "l", a, 1)) // somebody else is served then
				w.reset(store.Slot{Key: "b", Limit: "l", Algorithm: a})
				w.setClock(max(due-1, ahead-second))
				w.mustBe(ahead-second >= due, checkOp("a", "l", a, capacity))
				w.peek(checkOp("a", "l", a, 0))
			}
		}
	}
}

func expirySteady(w *checkWorld) {
	for _, k := range w.kinds() {
		for _, a := range k.some() {
			w.startAt(checkStart)
			capacity := checkCapacity(a)
			ops := []store.Op{checkOp("a", "l", a, capacity)}
			w.mustBe(true, ops...)
			due := w.now() + algorithm.Instant(ops[0].Outcome.ResetAfter/time.Microsecond)
			const parts = 8
			start, step := w.now(), max(1, (due-w.now())/parts)
			for n := range algorithm.Instant(parts) {
				at := start + n*step
				if at >= due || quick() && n > 1 && n != parts-2 {
					continue
				}
				w.setClock(at)
				w.mustBe(false, checkOp("a", "l", a, capacity))
				w.mustBe(true, checkOp("a", "l", a, 0))
				w.peek(ops...)
			}
			w.setClock(due)
			w.mustBe(true, ops...)
		}
	}
}

// expiryPatient has a client keep trying, who must be admitted when it was first told.
func expiryPatient(w *checkWorld) {
	for _, k := range w.kinds() {
		for _, a := range k.some() {
			w.startAt(checkStart)
			w.mustBe(true, checkOp("a", "l", a, checkCapacity(a)))
			ops := []store.Op{checkOp("a", "l", a, 1)}
			w.mustBe(false, ops...)
			due := w.now() + algorithm.Instant(ops[0].Outcome.RetryAfter/time.Microsecond)
			step := max(1, (due-w.now())/algorithm.Instant(often(10, 3)))
			for w.now() < due {
				w.mustBe(false, ops...)
				w.setClock(min(due, w.now()+step))
			}
			w.mustBe(true, ops...)
		}
	}
}

// expiryForgotten drops each state by a Reset once a store may have dropped it,
// and goes on. The model, which drops nothing, must give the same answers.
func expiryForgotten(w *checkWorld) {
	for _, k := range w.kinds() {
		for _, a := range k.some() {
			w.startAt(checkStart + 123_457)
			s := store.Slot{Key: "a", Limit: "l", Algorithm: a}
			capacity := checkCapacity(a)
			for n, cost := range []int64{1, capacity, 1, capacity/2 + 1, 1, 1, capacity}[:often(7, 4)] {
				ops := []store.Op{{Slot: s, Request: algorithm.Request{Cost: cost}}}
				w.apply(ops...)
				held := w.model[checkPlaceOf(s)]
				for _, beyond := range []algorithm.Instant{0, algorithm.Instant(n) * 1_000_003} {
					w.setClock(max(w.now(), held.kept) + beyond)
					if err := w.store.Reset(context.Background(), []store.Slot{s}); err != nil {
						w.wrong(err, "no error", "Reset failed, and must not")
					}
					w.note("dropped  %s", checkSlotText(s))
					for _, cost := range []int64{1, capacity} {
						w.peek(store.Op{Slot: s, Request: algorithm.Request{Cost: cost}})
					}
				}
			}
		}
	}
}

// clockSkewed has two callers take turns, one of them behind by more each time.
// What they take together must be what the one with the later clock could take.
func clockSkewed(w *checkWorld) {
	for _, k := range w.kinds() {
		a := k.limits[0]
		for _, behind := range []time.Duration{time.Microsecond, 300 * time.Millisecond, time.Second} {
			w.startAt(checkStart + 5_000_000)
			s := store.Slot{Key: "a", Limit: "l", Algorithm: a}
			w.mustBe(true, store.Op{Slot: s, Request: algorithm.Request{Cost: checkCapacity(a)}})
			for range often(10, 3) {
				w.advance(-behind)
				if n := w.takeUnits(s, 1); n != 0 {
					w.wrong(n, 0, "units that a caller %v behind was given of what was all taken", behind)
				}
				w.advance(behind)
				if n := w.takeUnits(s, 1); n != 0 {
					w.wrong(n, 0, "units that were given at one instant beyond the capacity, after a caller %v behind", behind)
				}
			}
		}
	}
}
