package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// corruptChecks damage what is stored, past the store.
func corruptChecks() []Check {
	return []Check{
		checkOf("corrupt/is-an-error", "T10 P5",
			"what is stored and is no state gives ErrCorrupt, is not written over, and is gone after Reset", corruptError).needing(needsCorrupt),
		checkOf("corrupt/charges-nobody", "T10 X1",
			"an Apply of several slots, one of them damaged, is an error and charges none of the others", corruptTogether).needing(needsCorrupt | needsOps),
		checkOf("corrupt/harms-no-other", "T10 J1",
			"calls of other slots, at the same time too, do not notice damage", corruptOthers).needing(needsCorrupt),
	}
}

// damages are texts that are no state of any kind.
var damages = []string{
	"x", " ", "-", "+", ".", "nil", "1.5", "1e3", "0x10", "01", "+1", "1 ", " 1", "1  2", "1 x", "1\n", "1\x00", "١",
	"9007199254740992", "-9007199254740993", "99999999999999999999", "1,2", "1:0", "1:-1", "{}", "\xff",
}

// corruptTexts are damages, and texts that are states of another kind but cannot
// be of a's.
func corruptTexts(a algorithm.Algorithm) (texts []string) {
	others := []string{"1 2 3 4 5", "1 2 3 4", "1 2 3", "5 -1", "-5", "1:2", "5 4 3 2 1"}
	checker, offered := a.(algorithm.StateChecker)
	for _, text := range slices.Concat(damages, others) {
		s, err := algorithm.ParseState(text)
		if err != nil || offered && checker.CheckState(s) != nil {
			texts = append(texts, text)
		}
	}
	return texts
}

// damage replaces what is stored for a slot, of which something was taken.
func (w *checkWorld) damage(s store.Slot, text string) {
	w.Helper()
	w.mustBe(true, store.Op{Slot: s, Request: algorithm.Request{Cost: 1}})
	w.config().Corrupt(w.TB, w.store, s, text)
	w.note("what is stored for %s is now %q", checkSlotText(s), text)
}

// heal resets a slot, which must be fresh then.
func (w *checkWorld) heal(s store.Slot) {
	w.Helper()
	w.reset(s)
	w.mustRemain(s, checkCapacity(s.Algorithm))
}

func corruptError(w *checkWorld) {
	slots := w.slots("somebody", "l")
	for n, s := range slots {
		for i, text := range corruptTexts(s.Algorithm) {
			if quick() && i%len(slots) != n {
				continue // for another kind
			}
			w.damage(s, text)
			for _, cost := range []int64{0, 1, checkCapacity(s.Algorithm) + 1}[:often(3, 1+i%2)] {
				op := store.Op{Slot: s, Request: algorithm.Request{Cost: cost}}
				w.mustRefuse(fmt.Sprintf("cost %d of a slot with the state %q", cost, text), store.ErrCorrupt, op)
			}
			if w.can(needsInspect) {
				if got, found := w.stored(s); !found || got.Text != text {
					w.wrong(fmt.Sprintf("%q, found %t", got.Text, found), fmt.Sprintf("%q", text), "what is stored after an error about it")
				}
			}
			w.heal(s)
		}
	}
}

func corruptTogether(w *checkWorld) {
	slots := w.slots("a", "l")
	for _, s := range slots {
		w.damage(s, "x")
		ops := make([]store.Op, len(slots))
		for i := range slots {
			ops[i] = store.Op{Slot: slots[i], Request: algorithm.Request{Cost: 1}}
		}
		w.mustRefuse("several slots, one of them damaged", store.ErrCorrupt, ops...)
		w.heal(s)
		w.mustAllBeFresh(slots)
	}
}

func corruptOthers(w *checkWorld) {
	slots := append(w.slots("a", "l"), w.slots("b", "l")...)
	bad := slots[0]
	w.damage(bad, "x")
	w.mustRefuse("a slot that is damaged", store.ErrCorrupt, store.Op{Slot: bad})
	w.mustAllBeFresh(slots[1:])
	w.together(8, func(i int) error {
		for range often(20, 5) {
			op := store.Op{Slot: slots[1+i%(len(slots)-1)]}
			if i%4 == 0 {
				op.Slot = bad
			}
			_, err := w.store.Peek(context.Background(), []store.Op{op})
			if (err == nil) == (i%4 == 0) {
				return fault{"a look at " + checkSlotText(op.Slot), fmt.Sprint(err), "an error for the slot that is damaged, and for no other"}
			}
		}
		return nil
	})
	for _, s := range slots[1:] {
		w.mustBe(true, store.Op{Slot: s, Request: algorithm.Request{Cost: 1}})
	}
	w.heal(bad)
}
