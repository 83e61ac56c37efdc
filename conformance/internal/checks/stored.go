package checks

import (
	"fmt"
	"math"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// storedChecks look past the store at what it keeps, and have it drop what it may.
func storedChecks() []world.Check {
	const inspect = world.NeedsInspect
	return []world.Check{
		check("stored/for-a-while", "T2 T4", inspect,
			"what is kept has a time to live: not shorter than ResetAfter and the grace of a second, nor longer, or an hour where the clock is injected", storedTTL),
		check("stored/untouched-by-denials-and-looks", "M6 M7 T4", inspect,
			"peeks, looks and denials leave what is kept as it is, and keep it no longer", storedUntouched),
		check("stored/nothing-for-a-fresh-key", "T3 T8", inspect,
			"nothing is kept for a key of which nothing was taken, nor for one that was reset", storedNothing),
		check("stored/is-the-state", "P3 P5", inspect|world.NeedsClock,
			"what is kept for a slot is the text of the state that Step returned, byte for byte", storedText),
		check("expiry/swept", "T1 T7", world.NeedsSweep|world.NeedsClock,
			"a state that is swept away is met by no clock that is up to a second behind", expirySwept),
	}
}

// unknownTTL is the TTL of what is stored where Inspect cannot know it.
const unknownTTL time.Duration = math.MinInt64

// stored is what is kept for a slot.
func stored(w *world.World, s store.Slot) (world.Stored, bool) {
	w.Helper()
	return w.Inspect(w.TB, w.Store, s)
}

// mustKeepNothing fails unless nothing is kept for a slot.
func mustKeepNothing(w *world.World, s store.Slot, format string, args ...any) {
	w.Helper()
	if got, found := stored(w, s); found {
		w.Wrong(storedLine(got), "nothing", "what is kept for %s %s", transcript.Slot(s), fmt.Sprintf(format, args...))
	}
}

func storedText(w *world.World) {
	for s, capacity := range w.SomeLimits() {
		period := time.Duration(max(1, s.Algorithm.Spec().Params[1])) * time.Microsecond
		for n, cost := range []int64{1, 1, 0, capacity, capacity / 2, 2, 1, capacity + 1} {
			w.Apply(world.Op(s, cost))
			got, found := stored(w, s)
			want, taken := w.Model[s.ID()]
			switch {
			case !found && taken && w.Latest >= want.Until: // it has been fresh for a second
			case !found && taken:
				w.Wrong("nothing is kept", fmt.Sprintf("%q, which may be dropped in %v and not before", want.State, time.Duration(want.Until-w.Now())*time.Microsecond),
					"what is kept for %s", transcript.Slot(s))
			case found != taken || got.Text != want.State.String():
				w.Wrong(fmt.Sprintf("%q, found %t", got.Text, found), fmt.Sprintf("%q, found %t", want.State, taken), "what is kept for %s", transcript.Slot(s))
			}
			w.Advance((period / time.Duration(1+n%3)).Truncate(time.Microsecond))
		}
	}
}

func storedUntouched(w *world.World) {
	for _, s := range w.Slots("a", "l") {
		capacity := world.Capacity(s.Algorithm)
		w.Apply(world.Op(s, capacity))
		before, found := stored(w, s)
		if !found {
			w.Wrong("nothing", "a state", "what is kept for %s, all of which was taken", transcript.Slot(s))
		}
		for _, by := range []time.Duration{time.Microsecond, -time.Second, 100 * time.Millisecond} {
			w.Advance(by)
			for _, cost := range []int64{0, 1, capacity, capacity + 1}[:w.Often(4, 2)] {
				w.Peek(world.Op(s, cost))
				w.Apply(world.Op(s, cost))
			}
			w.SetClock(world.Start) // a TTL counts from what the clock shows
			if after, _ := stored(w, s); after.Text != before.Text || after.TTL > before.TTL {
				w.Wrong(storedLine(after), storedLine(before)+" or less", "what is kept for %s after looks and denials", transcript.Slot(s))
			}
		}
	}
}

func storedNothing(w *world.World) {
	for _, s := range w.Slots("a", "l") {
		capacity := world.Capacity(s.Algorithm)
		for _, cost := range []int64{0, 1, capacity + 1} {
			w.Peek(world.Op(s, cost))
			mustKeepNothing(w, s, "after a peek")
		}
		w.MustCommit(world.Op(s, 0))
		mustKeepNothing(w, s, "after a look")
		w.MustDeny(world.Op(s, capacity+1))
		mustKeepNothing(w, s, "after a denial")
		w.MustCommit(world.Op(s, 1))
		w.Reset(s)
		mustKeepNothing(w, s, "after a reset")
	}
}

func storedTTL(w *world.World) {
	shown := 0
	for _, k := range w.Kinds() {
		for _, a := range k.Limits {
			if !w.OwnClock {
				w.StartAt(world.Start)
			}
			s := world.SlotOf("a", "l", a)
			w.Reset(s)
			switch ttl, found := mustLiveLongEnough(w, s); {
			case !found: // it was a short one, and is over
			case ttl == unknownTTL && shown > 0:
				w.Wrong("UnknownTTL", "a TTL, as for the slots before", "the TTL that Config.Inspect returns for %s", transcript.Slot(s))
			case ttl == unknownTTL:
				w.Skip("needs TTLs, which Config.Inspect does not show (UnknownTTL)")
			default:
				shown++
			}
		}
	}
}

// mustLiveLongEnough takes all of a slot and fails unless what is then kept lives
// as long as it must. It returns the TTL, and whether anything was there to be seen.
func mustLiveLongEnough(w *world.World, s store.Slot) (ttl time.Duration, found bool) {
	w.Helper()
	// A server counts by a real clock, in milliseconds, and cannot know an
	// injected clock: then it keeps for an hour at least.
	const injected, margin = time.Hour, 10 * time.Millisecond
	ops := []store.Op{world.Op(s, world.Capacity(s.Algorithm))}
	began := time.Now()
	w.MustCommit(ops...)
	got, found := stored(w, s)
	slack := time.Since(began) + margin // of a TTL that falls as real time passes
	reset := ops[0].Outcome.ResetAfter
	least, most := reset+store.Grace, store.TTL(reset)
	if !w.OwnClock {
		most = max(most, injected)
		if countsByOurClock(w, s, got) {
			slack = 0
		}
	}
	if !found && w.OwnClock && slack >= least {
		return 0, false
	}
	switch {
	case !found:
		w.Wrong("nothing", fmt.Sprintf("a state, for %v to %v", least, most), "what is kept for %s, all of which was taken", transcript.Slot(s))
	case got.TTL == unknownTTL:
	case w.NeverForgets:
		if got.TTL != algorithm.Never {
			w.Wrong(ttlText(got.TTL), "never", "the end of a state in a store that never forgets")
		}
	case got.TTL < least-slack || got.TTL > most:
		want := fmt.Sprintf("%v to %v", least, most)
		if slack > 0 {
			want += fmt.Sprintf(", or %v less, since that much time may have passed", slack)
		}
		w.Wrong(ttlText(got.TTL), want, "the TTL of a state that is fresh in %v", reset)
	}
	return got.TTL, found
}

// countsByOurClock moves the clock a little, and reports whether the TTL of what
// was stored has become shorter by exactly that, or is over.
func countsByOurClock(w *world.World, s store.Slot, before world.Stored) bool {
	w.Helper()
	const step = 100*time.Millisecond + 7*time.Microsecond // no whole milliseconds, as a server counts
	w.Advance(step)
	after, found := stored(w, s)
	w.Advance(-step)
	return !found || before.TTL-after.TTL == step
}

func ttlText(d time.Duration) string {
	if d == unknownTTL {
		return "not shown"
	}
	return transcript.Wait(d)
}

func storedLine(s world.Stored) string { return fmt.Sprintf("%q, for %s", s.Text, ttlText(s.TTL)) }

func expirySwept(w *world.World) {
	for s, capacity := range w.EachLimit() {
		fresh := w.Drain(s)
		for _, ahead := range []algorithm.Instant{fresh - 1, fresh, fresh + world.Second - 1} {
			w.SetClock(ahead)
			w.Sweep(w.TB, w.Store)
			w.SetClock(max(fresh-1, ahead-world.Second))
			w.MustDeny(world.Op(s, capacity))
		}
		// Once it is over the state may go, and the key is fresh.
		w.SetClock(fresh + 2*world.Second)
		w.Sweep(w.TB, w.Store)
		if w.Can(world.NeedsInspect) && !w.NeverForgets {
			mustKeepNothing(w, s, "two seconds after it has become fresh, and was swept")
		}
		w.MustCommit(world.Op(s, capacity))
	}
}
