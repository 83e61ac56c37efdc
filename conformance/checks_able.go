package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// ableChecks are about what Config declares: each thing that a store cannot do
// must be refused, or be, as it was declared.
func ableChecks() []Check {
	return []Check{
		checkOf("able/own-clock", "C1 C8 H2 H3",
			"a store with a clock of its own takes no notice of callers' clocks, and its instants pass as real time does", ableOwnClock).needing(needsOwnClock),
		checkOf("able/one-key", "X7",
			"a store that takes one key a call refuses others with ErrCrossNode, whatever the order, and charges nothing", ableOneKey).needing(needsOneKey),
		checkOf("able/one-op", "X7",
			"a store that takes one op a call refuses others with an InputError about their number, and charges nothing", ableOneOp).needing(needsOneOp),
		checkOf("able/built-in-only", "I1",
			"a store that runs built-in algorithms only refuses others with an InputError that names the kind, and charges nothing", ableBuiltIn).needing(needsBuiltInOnly),
		checkOf("able/never-forgets", "T1 T5",
			"a store that never forgets meets every state again with a clock that returns from far ahead, and sees by its value that it has become fresh",
			ableNeverForgets).needing(needsNeverForgets | needsClock),
	}
}

// ableOwnClock compares what the store says with the time that passes here. A
// clock that is set while it looks would be a false alarm: it must be seen twice.
func ableOwnClock(w *checkWorld) {
	var found error
	for range 2 {
		if found = w.ownClock(); found == nil {
			return
		}
	}
	w.fail(found)
}

func (w *checkWorld) ownClock() error {
	// A year is more than any clock is wrong by, and less than a wrong unit is.
	const year, slack = 365 * 24 * time.Hour, 50 * time.Millisecond
	a := w.limit("gcra:1000000/1s")
	ask := func() (time.Time, time.Time, error) {
		before := time.Now()
		at, _, err := w.store.Apply(context.Background(), []store.Op{checkOp("a", "l", a, 1)})
		if err != nil {
			return before, before, fault{"Apply failed, and must not", err.Error(), "no error"}
		}
		w.answered = at
		return before, at.Time(), nil
	}
	began, first, err := ask()
	if err != nil {
		return err
	}
	if off := first.Sub(began); off < -year || off > year {
		return fault{"the store's clock", fmt.Sprint(first.UTC()), fmt.Sprintf("about %v", began.UTC())}
	}
	last := first
	// Beyond a whole second, or a clock whose parts are put together wrongly
	// may be right all the time.
	end := began.Add(1100 * time.Millisecond)
	for n := 0; time.Now().Before(end); n++ {
		time.Sleep(time.Millisecond)                                 // it is real time that is looked at
		w.clock.set(checkStart + algorithm.Instant(n)*1_000_000_000) // to be ignored
		sent, at, err := ask()
		if err != nil {
			return err
		}
		answered := time.Now()
		passed := at.Sub(first)
		if at.Before(last) || passed < sent.Sub(began)-slack || passed > answered.Sub(began)+slack {
			w.note("call %d was sent %v after the first and answered %v after it", n, sent.Sub(began), answered.Sub(began))
			return fault{"the instant of a call, counted from that of the first",
				fmt.Sprintf("%v, and %v for the call before", passed, last.Sub(first)), "the time that has passed, and never back"}
		}
		last = at
	}
	return nil
}

func ableOneKey(w *checkWorld) {
	slots := w.slots("{x}a", "l")
	other := w.slots("{y}b", "l")
	for i := range slots {
		same := []store.Op{{Slot: slots[0]}, {Slot: slots[len(slots)-1]}}
		w.mustBe(true, same...)
		ops := []store.Op{{Slot: slots[i]}, {Slot: other[0]}}
		if i%2 == 1 {
			ops[0], ops[1] = ops[1], ops[0]
		}
		for j := range ops {
			ops[j].Request.Cost = 1
		}
		w.mustRefuse("ops of two keys", store.ErrCrossNode, ops...)
		ends := w.slots("{x}a", "m")
		w.mustRefuse("ops of two keys among others", store.ErrCrossNode, store.Op{Slot: ends[0]}, ops[0], ops[1], store.Op{Slot: ends[1]})
	}
	for _, s := range append(slots, other...) {
		w.mustRemain(s, checkCapacity(s.Algorithm))
	}
}

func ableOneOp(w *checkWorld) {
	slots := append(w.slots("a key", "l"), w.slots("b key", "m")...)
	for n := 2; n <= len(slots); n++ {
		ops := make([]store.Op, n)
		for i := range ops {
			ops[i] = store.Op{Slot: slots[i], Request: algorithm.Request{Cost: 1}}
		}
		w.mustRefuse(fmt.Sprintf("%d ops", n), store.ErrInvalid, ops...)
		_, _, err := w.store.Apply(context.Background(), ops)
		w.mustNameField(err, "Apply", store.InputError{Op: -1, Field: "number of ops", Value: fmt.Sprint(n)})
	}
	for _, s := range slots {
		w.mustRemain(s, checkCapacity(s.Algorithm))
	}
}

func ableBuiltIn(w *checkWorld) {
	a := w.limit("gcra:5/1s")
	custom := checkOp("a key", "l", checkPause{capacity: 5, each: 1}, 1)
	w.mustRefuse("an algorithm written elsewhere", store.ErrInvalid, custom)
	_, _, err := w.store.Apply(context.Background(), []store.Op{custom})
	w.mustNameField(err, "Apply", store.InputError{Op: 0, Value: checkPause{}.Spec().Kind})
	if w.can(needsOps) {
		w.mustRefuse("one beside a built-in one", store.ErrInvalid, checkOp("a key", "l", a, 1), custom)
	}
	w.mustRemain(store.Slot{Key: "a key", Limit: "l", Algorithm: a}, 5)
	if bind := store.FeaturesOf(w.store).Bind; bind != nil {
		_, err := bind("l", custom.Algorithm)
		w.mustBeError("Bind of an algorithm written elsewhere", err, store.ErrInvalid, nil)
	}
}

// mustNameField fails unless err is an InputError with the parts that are given
// and no part empty.
func (w *checkWorld) mustNameField(err error, what string, want store.InputError) {
	w.Helper()
	var got *store.InputError
	if !errors.As(err, &got) {
		w.wrong(fmt.Sprintf("%T: %v", err, err), "a *store.InputError", "the error of %s", what)
	}
	same := got.Op == want.Op && (want.Field == "" || got.Field == want.Field) && (want.Value == "" || got.Value == want.Value || got.Value == fmt.Sprintf("%q", want.Value))
	if !same || got.Field == "" || got.Value == "" || got.Allowed == "" {
		w.wrong(fmt.Sprintf("%+v", *got), fmt.Sprintf("%+v, and what is allowed", want), "the parts of the error of %s", what)
	}
}

func ableNeverForgets(w *checkWorld) {
	for _, k := range w.kinds() {
		for _, a := range k.limits {
			w.startAt(checkStart)
			capacity := checkCapacity(a)
			ops := []store.Op{checkOp("a", "l", a, capacity)}
			w.mustBe(true, ops...)
			fresh := w.now() + algorithm.Instant(ops[0].Outcome.ResetAfter/time.Microsecond)
			for _, ahead := range []algorithm.Instant{fresh, fresh + 2_000_000, fresh + 400*24*3600*1_000_000} {
				w.setClock(ahead)
				w.peek(ops...)
				if !ops[0].Outcome.Allowed {
					w.wrong(checkOutcomeText(ops[0].Outcome), "allowed", "a key that has become fresh, and is still kept")
				}
				if w.config().Sweep != nil {
					w.config().Sweep(w.TB, w.store)
				}
				w.setClock(fresh - 1)
				w.mustBe(false, ops...)
			}
		}
	}
}
