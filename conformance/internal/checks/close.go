package checks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// closeChecks are about contexts that end and stores that are closed.
func closeChecks() []world.Check {
	return []world.Check{
		check("context/ended", "D3", 0,
			"a call whose context has ended before gives the error of the context, and charges nothing", contextEnded),
		check("context/ending", "D4 X1", 0,
			"a call whose context ends while it runs is done as a whole or not at all, and not at all where the error is that of the context alone", contextEnding),
		check("close/then-closed", "D3", 0,
			"Close is idempotent, and later calls of every other method return ErrClosed", closeThenClosed),
		check("close/while-in-use", "D3 H1", 0,
			"a call that runs while the store is closed is decided or gets ErrClosed", closeInUse),
	}
}

// mustRefuseAll calls every method of the store, each with one op and with several,
// and every method of a Bound, and fails unless each gives the error.
func mustRefuseAll(ctx context.Context, w *world.World, b store.Bound, what string, target error, ops []store.Op) {
	w.Helper()
	slots := make([]store.Slot, len(ops))
	for i, op := range ops {
		slots[i] = op.Slot
	}
	for n := range ops {
		w.MustRefuseIn(ctx, what, target, ops[:n+1])
		w.MustBeError("Reset "+what, w.Store.Reset(ctx, slots[:n+1]), target, ops)
	}
	if b != nil {
		w.MustRefuseBound(ctx, b, what, target, ops[0])
	}
}

// twoKeys asks for a unit of two keys, or of one where calls have one.
func twoKeys(w *world.World, spec string) []store.Op {
	a := w.Limit(spec)
	ops := []store.Op{world.Take("a", "l", a, 1), world.Take("b", "l", a, 1)}
	if !w.Can(world.NeedsKeys) {
		ops = ops[:1]
	}
	return ops
}

func contextEnded(w *world.World) {
	cancelled, cancel := context.WithCancel(background)
	cancel()
	late, cancelLate := context.WithDeadline(background, time.Unix(0, 0))
	defer cancelLate()
	ops := twoKeys(w, "gcra:3/1h")
	w.MustCommit(ops...)
	b := w.Bind("l", ops[0].Algorithm)
	for _, c := range []struct {
		ctx    context.Context
		target error
	}{{cancelled, context.Canceled}, {late, context.DeadlineExceeded}} {
		mustRefuseAll(c.ctx, w, b, "with an ended context", c.target, ops)
		for _, op := range ops {
			w.MustRemain(op.Slot, 2)
		}
	}
}

func closeThenClosed(w *world.World) {
	ops := twoKeys(w, "gcra:5/1s")
	w.MustCommit(ops...)
	a := ops[0].Algorithm
	b := w.Bind("l", a)
	for range 2 {
		w.NoError("Close", w.Store.Close())
		mustRefuseAll(background, w, b, "after Close", store.ErrClosed, ops)
		w.MustBeError("Reset of slots of all kinds after Close", w.Store.Reset(background, w.Slots("a", "l")), store.ErrClosed, nil)
		if bind := store.FeaturesOf(w.Store).Bind; bind != nil {
			_, err := bind("m", a)
			w.MustBeError("Bind after Close", err, store.ErrClosed, ops)
		}
	}
}

func closeInUse(w *world.World) {
	a := world.Limit("gcra:1000000000000/1h")
	const callers = 8
	var started sync.WaitGroup
	started.Add(callers)
	w.ConcurrentlyWith(callers, func(i int) error {
		begun := sync.OnceFunc(started.Done)
		defer begun() // also where the first call panics
		key := string(rune('a' + i))
		for {
			ops := []store.Op{world.Take(key, "", a, 1), world.Take(key, "all", a, 1)}
			if !w.Can(world.NeedsOps) {
				ops = ops[:1]
			}
			_, committed, err := w.Store.Apply(background, ops)
			begun()
			if errors.Is(err, store.ErrClosed) {
				return nil
			}
			if err != nil || !committed {
				return world.Failure{What: "Apply beside Close", Got: fmt.Sprintf("committed %t, error %v", committed, err), Want: "committed, or ErrClosed"}
			}
		}
	}, func() {
		started.Wait()
		if err := w.Store.Close(); err != nil {
			w.Errorf("Close: %v", err)
		}
	})
}
