package checks

import (
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// clockChecks are about the clock.
func clockChecks() []world.Check {
	const moved = world.NeedsClock
	return []world.Check{
		check("clock/out-of-bounds", "C7", moved,
			"a clock that shows a time before 1970 or after algorithm.MaxInstant gives an error, and charges nothing", clockOutOfBounds),
		check("clock/epoch", "C7", moved,
			"the epoch, instant 0, is a time as any other: a state that was written then is not fresh", clockEpoch),
		check("clock/powers-of-two", "C7 T3", moved,
			"a fresh key is fresh at every instant, also beside those at which a number gets longer or a float coarser", clockPowers),
		check("clock/no-order-grants", "C1 C2 C5", moved,
			"callers whose clocks differ by up to a second admit, all together, what one caller with the later clock could", clockSkewed),
	}
}

func clockOutOfBounds(w *world.World) {
	a := world.Limit("gcra:2/1h")
	first := world.Take("a", "l", a, 1)
	w.MustCommit(first)
	for _, bad := range []time.Time{time.Unix(-1, 0), time.UnixMicro(-1), time.Unix(0, -(1 << 62)), time.UnixMicro(int64(algorithm.MaxInstant) + 1)} {
		good := w.Now()
		w.Clock.SetTime(bad)
		mustFail := func(call string, err error, op *store.Op) {
			w.Helper()
			w.Note("%s with the clock at %v: error %v", call, bad.UTC(), err)
			if err == nil {
				w.Wrong(transcript.Outcome(op.Outcome), "an error", "%s with the clock at %v", call, bad.UTC())
			}
		}
		ops := []store.Op{first}
		_, _, err := w.Store.Apply(background, ops)
		mustFail("Apply", err, &ops[0])
		_, err = w.Store.Peek(background, ops)
		mustFail("Peek", err, &ops[0])
		two := []store.Op{first, world.Take("b", "l", a, 1)}
		_, _, err = w.Store.Apply(background, two)
		mustFail("Apply of two ops", err, &two[0])
		w.SetClock(good)
		w.MustRemain(first.Slot, 1)
		w.MustRemain(two[1].Slot, 2)
	}
}

func clockEpoch(w *world.World) {
	w.StartAt(0)
	for _, k := range w.Kinds() {
		for i, a := range k.Limits {
			s := world.SlotOf("a", string(rune('a'+i)), a)
			w.Drain(s)
			w.MustDeny(world.Op(s, 1))
		}
	}
}

// clockPowers takes all of fresh keys around each power of two. A limiter that
// computes with floats may find a key used there that was not, or not find it used.
func clockPowers(w *world.World) {
	w.StartAt(0)
	whole := w.Limit("gcra:10/1s")
	for power := 10; power < 53; power += w.Often(1, 7) {
		limit := "l" + strconv.Itoa(power)
		for i, at := range []algorithm.Instant{1<<power - 1, 1 << power, 1<<power + 1} {
			if at > algorithm.MaxInstant {
				return
			}
			w.SetClock(at)
			k := w.Kinds()[(power+i)%len(w.Kinds())]
			for j, a := range []algorithm.Algorithm{k.Limits[1], whole} {
				s := world.SlotOf(strconv.Itoa(i), limit+string(rune('a'+j)), a)
				w.MustCommit(world.Op(s, 1))
				w.Apply(world.Op(s, world.Capacity(a)-1))
				w.Apply(world.Op(s, 1))
			}
		}
	}
}

// clockSkewed has two callers take turns, one of them behind by more each time.
// What they take together must be what the caller with the later clock could take.
func clockSkewed(w *world.World) {
	for _, k := range w.Kinds() {
		for _, behind := range []time.Duration{time.Microsecond, 300 * time.Millisecond, time.Second} {
			w.StartAt(world.Start + 5*world.Second)
			s := world.SlotOf("a", "l", k.Limits[0])
			w.Drain(s)
			for range w.Often(10, 3) {
				w.Advance(-behind)
				if n := w.TakeUnits(s, 1); n != 0 {
					w.Wrong(n, 0, "units that a caller %v behind was given of what was all taken", behind)
				}
				w.Advance(behind)
				if n := w.TakeUnits(s, 1); n != 0 {
					w.Wrong(n, 0, "units that were given at one instant beyond the capacity, after a caller %v behind", behind)
				}
			}
		}
	}
}
