package checks

import (
	"slices"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

func clockOutOfBounds(w *world.World) {
	a := world.Limit("gcra:2/1h")
	first := world.Take("a", "l", a, 1)
	w.MustCommit(first)
	for _, bad := range []time.Time{time.Unix(-1, 0), time.UnixMicro(-1), time.Unix(0, -(1 << 62)), time.UnixMicro(int64(algorithm.MaxInstant) + 1)} {
		good := w.Now()
		w.Clock.SetTime(bad)
		mustFail := func(call string, err error, op *store.Op) {
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

// expiryKeeps drains short-lived keys and asks 1 µs before they are fresh, with
// other keys used in between, so that a store has reason to clean up.
func expiryKeeps(w *world.World) {
	rates := []string{"1/1ms", "1/7us", "1/1500us", "7/3s", "1/1h", "1/999us", "1/1001us", "1/1999us", "1/2500ms", "1/61s", "2/90s", "1/333us"}
	starts := []algorithm.Instant{0, world.Start + 999, world.Start + 123_457, world.Start}
	for i, f := range algorithm.Families() {
		for j, rate := range rates {
			if (i+j)%3 > 0 {
				continue // for another family
			}
			for n, start := range starts {
				if w.Quick() && n != 1+(i+j/3)%3 {
					continue
				}
				w.StartAt(start)
				s, other := world.SlotOf("a", "l", world.Limit(f.Name+":"+rate)), world.SlotOf("c", "m", world.Limit(f.Name+":"+rate))
				capacity := world.Capacity(s.Algorithm)
				fresh := w.Drain(s)
				for _, at := range []algorithm.Instant{w.Now() + (fresh-w.Now())/2, fresh - 1} {
					w.SetClock(at)
					w.MustCommit(world.Op(other, 1))
					w.MustDeny(world.Op(s, capacity))
					w.Reset(other)
				}
				w.SetClock(fresh)
				w.MustCommit(world.Op(s, capacity))
			}
		}
	}
}

// expiryAmongMany writes so many other keys that a store cleans up which does so
// after a number of writes, while the watched keys are fresh for nearly a second.
func expiryAmongMany(w *world.World) {
	const writes = 1000
	watched := w.Slots("a", "l")
	w.MustTakeAll(watched, world.Capacities(watched))
	fresh := make([]algorithm.Instant, len(watched))
	for i, s := range watched {
		fresh[i] = w.Now() + world.Micros(w.Look(s).ResetAfter)
	}
	first := slices.Min(fresh)
	for i, at := range []algorithm.Instant{first - 1, first + world.Second - 1} {
		w.SetClock(at)
		w.WriteOthers(strconv.Itoa(i), writes)
		w.SetClock(first - 1)
		for _, s := range watched {
			w.MustDeny(world.Op(s, world.Capacity(s.Algorithm)))
		}
	}
}

func expiryBehind(w *world.World) {
	for s, capacity := range w.SomeLimits() {
		fresh, other := w.Drain(s), world.SlotOf("b", "l", s.Algorithm)
		for _, ahead := range []algorithm.Instant{fresh, fresh + world.Second/2, fresh + world.Second - 1} {
			w.SetClock(ahead)
			w.MustCommit(world.Op(other, 1)) // somebody else is served then
			w.Reset(other)
			w.SetClock(max(fresh-1, ahead-world.Second))
			w.Must(ahead-world.Second >= fresh, world.Op(s, capacity))
			w.Look(s)
		}
	}
}

// expiryOfDenied asks for what is denied, and for nothing, until a key is fresh.
func expiryOfDenied(w *world.World) {
	expirySteady(w)
	expiryPatient(w)
}

func expirySteady(w *world.World) {
	for s, capacity := range w.SomeLimits() {
		fresh := w.Drain(s)
		const parts = 8
		start, step := w.Now(), max(1, (fresh-w.Now())/parts)
		for n := range algorithm.Instant(parts) {
			at := start + n*step
			if at >= fresh || w.Quick() && n > 1 && n != parts-2 {
				continue
			}
			w.SetClock(at)
			w.MustDeny(world.Op(s, capacity))
			w.MustCommit(world.Op(s, 0))
			w.Peek(world.Op(s, capacity))
		}
		w.SetClock(fresh)
		w.MustCommit(world.Op(s, capacity))
	}
}

// expiryPatient has a client keep trying, who must be admitted at the end of the
// first RetryAfter.
func expiryPatient(w *world.World) {
	for s := range w.SomeLimits() {
		w.Drain(s)
		due := w.Now() + world.Micros(w.One(s, 1).RetryAfter)
		step := max(1, (due-w.Now())/algorithm.Instant(w.Often(10, 3)))
		for w.Now() < due {
			w.MustDeny(world.Op(s, 1))
			w.SetClock(min(due, w.Now()+step))
		}
		w.MustCommit(world.Op(s, 1))
	}
}

// expiryForgotten drops each state by a Reset once a store may have dropped it,
// and goes on. The model, which drops nothing, must give the same answers.
func expiryForgotten(w *world.World) {
	for s, capacity := range w.SomeLimits() {
		w.StartAt(world.Start + 123_457)
		for n, cost := range []int64{1, capacity, 1, capacity/2 + 1, 1, 1, capacity}[:w.Often(7, 4)] {
			w.Apply(world.Op(s, cost))
			held := w.Model.Of(s)
			for _, beyond := range []algorithm.Instant{0, algorithm.Instant(n) * 1_000_003} {
				w.SetClock(max(w.Now(), held.Until) + beyond)
				w.NoError("Reset", w.Store.Reset(background, []store.Slot{s}))
				w.Note("dropped  %s", transcript.Slot(s))
				w.Peek(world.Op(s, 1))
				w.Peek(world.Op(s, capacity))
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
				w.MustDeny(world.Op(s, 1))
				w.Advance(behind)
				w.MustDeny(world.Op(s, 1))
			}
		}
	}
}
