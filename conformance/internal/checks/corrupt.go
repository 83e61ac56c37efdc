package checks

import (
	"fmt"
	"slices"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// corruptChecks damage what is stored, past the store.
func corruptChecks() []world.Check {
	const corrupt = world.NeedsCorrupt
	return []world.Check{
		check("corrupt/is-an-error", "T10 P5", corrupt,
			"what is stored and is no state gives ErrCorrupt, is not written over, and is gone after Reset", corruptError),
		check("corrupt/charges-nobody", "T10 X1", corrupt|world.NeedsOps,
			"an Apply of several slots, one of them damaged, is an error and charges none of the others", corruptTogether),
		check("corrupt/harms-no-other", "T10 J1", corrupt,
			"calls of other slots, at the same time too, do not notice damage", corruptOthers),
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
	w.Helper()
	w.MustCommit(world.Op(s, 1))
	w.Corrupt(w.TB, w.Store, s, text)
	w.Note("what is stored for %s is now %q", transcript.Slot(s), text)
}

// mustRecover resets a slot, which must then be fresh.
func mustRecover(w *world.World, s store.Slot) {
	w.Helper()
	w.Reset(s)
	w.MustBeFresh(s)
}

func corruptError(w *world.World) {
	slots := w.Slots("somebody", "l")
	for n, s := range slots {
		for i, text := range corruptTexts(s.Algorithm) {
			if w.Quick() && i%len(slots) != n {
				continue // for another kind
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
