package checks

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// unknownTTL is the TTL of what is stored where Inspect cannot know it.
const unknownTTL time.Duration = math.MinInt64

// stored is what is kept for a slot.
func stored(w *world.World, s store.Slot) (world.Stored, bool) {
	return w.Inspect(w.TB, w.Store, s)
}

// mustKeepNothing fails unless nothing is kept for a slot.
func mustKeepNothing(w *world.World, s store.Slot, format string, args ...any) {
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
			mustKeepAsIs(w, s, before, "looks and denials")
		}
	}
	if w.Can(world.NeedsOps) {
		storedUntouchedBeside(w)
	}
}

// mustKeepAsIs fails unless what is kept for a slot is as it was, for no longer.
func mustKeepAsIs(w *world.World, s store.Slot, before world.Stored, after string) {
	if now, _ := stored(w, s); now.Text != before.Text || now.TTL > before.TTL {
		w.Wrong(storedLine(now), storedLine(before)+" or less", "what is kept for %s after %s", transcript.Slot(s), after)
	}
}

// storedUntouchedBeside makes calls of several ops that change nothing of a slot: one
// op of a refused call, and a look in a call that is committed.
func storedUntouchedBeside(w *world.World) {
	slots := w.Slots("b", "l")
	before := make([]world.Stored, len(slots))
	for i, s := range slots {
		w.MustCommit(world.Op(s, 1))
		before[i], _ = stored(w, s)
	}
	w.Advance(time.Microsecond) // a TTL that is set anew is rounded up to another end
	refused := append(world.Ops(slots, 1), world.Take("b", "other", w.Limit("gcra:5/1s"), 6))
	w.MustDeny(refused...)
	looks := append(world.Ops(slots, 0), world.Take("b", "other", w.Limit("gcra:5/1s"), 1))
	w.MustCommit(looks...)
	if !w.OwnClock {
		w.SetClock(world.Start)
	}
	for i, s := range slots {
		mustKeepAsIs(w, s, before[i], "a refused call and a look beside other ops")
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
		if _, is := s.Algorithm.(algorithm.Charger); is {
			w.MustCommit(verb(s, algorithm.Refund, 1, w.Now()))
			mustKeepNothing(w, s, "after a refund")
		}
		w.MustCommit(world.Op(s, 1))
		w.Reset(s)
		mustKeepNothing(w, s, "after a reset")
	}
	if !w.Can(world.NeedsOps) {
		return
	}
	slots, other := w.Slots("b", "l"), world.SlotOf("b", "other", w.Limit("gcra:5/1s"))
	w.MustDeny(append(world.Ops(slots, 1), world.Op(other, 6))...)
	w.MustCommit(append(world.Ops(slots, 0), world.Op(other, 1))...)
	for _, s := range slots {
		mustKeepNothing(w, s, "after a refused call and a look beside other ops")
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
	MustLive(w, s, got, found, reset, least-slack, most)
	return got.TTL, found
}

// MustLive fails unless what is kept for a slot, which is fresh in reset, is there and
// lives from least to most.
func MustLive(w *world.World, s store.Slot, got world.Stored, found bool, reset, least, most time.Duration) {
	want := fmt.Sprintf("%v to %v", least.Round(time.Microsecond), most)
	switch {
	case !found:
		w.Wrong("nothing", "a state, for "+want, "what is kept for %s, of which something was taken", transcript.Slot(s))
	case got.TTL == unknownTTL:
	case w.NeverForgets:
		if got.TTL != algorithm.Never {
			w.Wrong(ttlText(got.TTL), "never", "the end of a state in a store that never forgets")
		}
	case got.TTL < least || got.TTL > most:
		w.Wrong(ttlText(got.TTL), want, "the TTL of a state that is fresh in %v", reset)
	}
}

// countsByOurClock moves the clock a little, and reports whether the TTL of what
// was stored has become shorter by exactly that, or is over.
func countsByOurClock(w *world.World, s store.Slot, before world.Stored) bool {
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

// corruptTexts are texts that no algorithm like a writes: damaged ones, and those
// of other kinds.
func corruptTexts(a algorithm.Algorithm) []string {
	texts := []string{
		"x", " ", "-", "+", ".", "nil", "1.5", "1e3", "0x10", "01", "+1", "1 ", " 1", "1  2", "1 x", "1\n", "1\x00", "١",
		"9007199254740992", "-9007199254740993", "99999999999999999999", "1,2", "1:0", "1:-1", "{}", "\xff",
		"1 2 3 4 5", "1 2 3 4", "1 2 3", "5 -1", "-5", "1:2", "5 4 3 2 1",
	}
	checker, offered := a.(algorithm.StateChecker)
	return slices.DeleteFunc(texts, func(text string) bool {
		s, err := algorithm.ParseState(text)
		return err == nil && (!offered || checker.CheckState(s) == nil)
	})
}

// damage replaces what is stored for a slot, of which a unit is taken before.
func damage(w *world.World, s store.Slot, text string) {
	w.MustCommit(world.Op(s, 1))
	w.Corrupt(w.TB, w.Store, s, text)
	w.Note("what is stored for %s is now %q", transcript.Slot(s), text)
}

// mustRecover resets a slot, which must then be fresh.
func mustRecover(w *world.World, s store.Slot) {
	w.Reset(s)
	w.MustBeFresh(s)
}

func corruptError(w *world.World) {
	slots := w.Slots("somebody", "l")
	for n, s := range slots {
		DamageIsAnError(w, s, func(i int) bool { return !w.Quick() || i%len(slots) == n }) // others for another kind
	}
}

// DamageIsAnError replaces what is kept for a slot with texts that are no state of its
// algorithm, of which some are wanted, and fails unless each gives ErrCorrupt, stays,
// and is gone after Reset.
func DamageIsAnError(w *world.World, s store.Slot, wanted func(i int) bool) {
	for i, text := range corruptTexts(s.Algorithm) {
		if !wanted(i) {
			continue
		}
		damage(w, s, text)
		for _, cost := range []int64{0, 1, world.Capacity(s.Algorithm) + 1}[:w.Often(3, 1+i%2)] {
			w.MustRefuse(fmt.Sprintf("cost %d of a slot with the state %q", cost, text), store.ErrCorrupt, world.Op(s, cost))
		}
		if w.Can(world.NeedsInspect) {
			if got, found := stored(w, s); !found || got.Text != text {
				w.Wrong(fmt.Sprintf("%q, found %t", got.Text, found), fmt.Sprintf("%q", text), "what is stored after an error about it")
			}
		}
		mustRecover(w, s)
	}
}

func corruptTogether(w *world.World) {
	slots := w.Slots("a", "l")
	for _, s := range slots {
		damage(w, s, "x")
		w.MustRefuse("several slots, one of them damaged", store.ErrCorrupt, world.Ops(slots, 1)...)
		mustRecover(w, s)
		w.MustBeFresh(slots...)
	}
}

func corruptOthers(w *world.World) {
	slots := append(w.Slots("a", "l"), w.Slots("b", "l")...)
	bad, good := slots[0], slots[1:]
	damage(w, bad, "x")
	w.MustRefuse("a slot that is damaged", store.ErrCorrupt, world.Op(bad, 0))
	w.MustBeFresh(good...)
	w.Concurrently(8, func(i int) error {
		for range w.Often(20, 5) {
			op := world.Op(good[i%len(good)], 0)
			if i%4 == 0 {
				op.Slot = bad
			}
			if _, err := w.Store.Peek(background, []store.Op{op}); (err == nil) == (i%4 == 0) {
				return world.Failure{What: "a look at " + transcript.Slot(op.Slot), Got: fmt.Sprint(err), Want: "an error for the slot that is damaged, and for no other"}
			}
		}
		return nil
	})
	for _, s := range good {
		w.MustCommit(world.Op(s, 1))
	}
	mustRecover(w, bad)
}
