package checks

import (
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// ownClock compares the instants of the store with the time that passes here. A
// clock that is set while it looks would be a false alarm: it must be seen twice.
func ownClock(w *world.World) {
	var found error
	for range 2 {
		if found = ownClockOnce(w); found == nil {
			return
		}
	}
	w.Fail(found)
}

func ownClockOnce(w *world.World) error {
	// A year is more than any clock is wrong by, and less than a wrong unit is.
	const year, slack = 365 * 24 * time.Hour, 50 * time.Millisecond
	a := w.Limit("gcra:1000000/1s")
	ask := func() (sent, answered time.Time, at time.Time, err error) {
		sent = time.Now()
		instant, _, err := w.Store.Apply(background, []store.Op{world.Take("a", "l", a, 1)})
		answered = time.Now()
		w.Observe(instant, err)
		if err != nil {
			err = world.Failure{What: "Apply failed, and must not", Got: err.Error(), Want: "no error"}
		}
		return sent, answered, instant.Time(), err
	}
	began, _, first, err := ask()
	if err != nil {
		return err
	}
	if off := first.Sub(began); off < -year || off > year {
		return world.Failure{What: "the store's clock", Got: fmt.Sprint(first.UTC()), Want: fmt.Sprintf("about %v", began.UTC())}
	}
	last := first
	// Beyond a whole second, or a clock whose parts are put together wrongly
	// may be right all the time.
	end := began.Add(1100 * time.Millisecond)
	for n := 0; time.Now().Before(end); n++ {
		time.Sleep(time.Millisecond)                                      // it is real time that is looked at
		w.Clock.Set(world.Start + algorithm.Instant(n)*1000*world.Second) // to be ignored
		sent, answered, at, err := ask()
		if err != nil {
			return err
		}
		passed := at.Sub(first)
		if at.Before(last) || passed < sent.Sub(began)-slack || passed > answered.Sub(began)+slack {
			w.Note("call %d was sent %v after the first and answered %v after it", n, sent.Sub(began), answered.Sub(began))
			return world.Failure{What: "the instant of a call, counted from that of the first",
				Got: fmt.Sprintf("%v, and %v for the call before", passed, last.Sub(first)), Want: "the time that has passed, and never back"}
		}
		last = at
	}
	return nil
}

func oneKey(w *world.World) {
	slots, other := w.Slots("{x}a", "l"), w.Slots("{y}b", "l")
	ends := w.Slots("{x}a", "m")
	for i, s := range slots {
		w.MustCommit(world.Op(slots[0], 0), world.Op(slots[len(slots)-1], 0))
		ops := []store.Op{world.Op(s, 1), world.Op(other[0], 1)}
		if i%2 == 1 {
			ops[0], ops[1] = ops[1], ops[0]
		}
		w.MustRefuse("ops of two keys", store.ErrCrossNode, ops...)
		w.MustRefuse("ops of two keys among others", store.ErrCrossNode, world.Op(ends[0], 0), ops[0], ops[1], world.Op(ends[1], 0))
	}
	for _, s := range append(slots, other...) {
		w.MustBeFresh(s)
	}
}

func oneOp(w *world.World) {
	slots := append(w.Slots("a key", "l"), w.Slots("b key", "m")...)
	for n := 2; n <= len(slots); n++ {
		ops := world.Ops(slots[:n], 1)
		w.MustRefuse(fmt.Sprintf("%d ops", n), store.ErrInvalid, ops...)
		_, _, err := w.Store.Apply(background, ops)
		w.MustNameField(err, "Apply", store.InputError{Op: -1, Field: "number of ops", Value: fmt.Sprint(n)})
	}
	w.MustBeFresh(slots...)
}

func builtInOnly(w *world.World) {
	known := world.SlotOf("a key", "l", w.Limit("gcra:5/1s"))
	custom := world.Take("a key", "l", world.NewCooldown(5, 1), 1)
	w.MustRefuse("an algorithm written elsewhere", store.ErrInvalid, custom)
	_, _, err := w.Store.Apply(background, []store.Op{custom})
	w.MustNameField(err, "Apply", store.InputError{Op: 0, Value: custom.Algorithm.Spec().Kind})
	if w.Can(world.NeedsOps) {
		w.MustRefuse("one beside a built-in one", store.ErrInvalid, world.Op(known, 1), custom)
	}
	w.MustBeFresh(known)
	if bind := store.FeaturesOf(w.Store).Bind; bind != nil {
		_, err := bind("l", custom.Algorithm)
		w.MustBeError("Bind of an algorithm written elsewhere", err, store.ErrInvalid, nil)
	}
}

func neverForgets(w *world.World) {
	for s, capacity := range w.EachLimit() {
		fresh := w.Drain(s)
		for _, ahead := range []algorithm.Instant{fresh, fresh + 2*world.Second, fresh + 400*24*3600*world.Second} {
			w.SetClock(ahead)
			w.Peek(world.Op(s, capacity))
			if w.Sweep != nil {
				w.Sweep(w.TB, w.Store)
			}
			w.SetClock(fresh - 1)
			w.MustDeny(world.Op(s, capacity))
		}
	}
}
