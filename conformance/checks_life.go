package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// lifeChecks are about contexts that end and stores that are closed.
func lifeChecks() []Check {
	return []Check{
		checkOf("context/ended", "D3",
			"a call whose context has ended before gives the error of the context, and charges nothing", contextEnded),
		checkOf("context/ending", "D4 X1",
			"a call whose context ends while it runs is done as a whole or not at all, and not at all where the error is that of the context alone", contextEnding),
		checkOf("close/then-closed", "D3",
			"Close is idempotent, and later calls of every other method return ErrClosed", closeThenClosed),
		checkOf("close/while-in-use", "D3 H1",
			"a call that runs while the store is closed is decided or gets ErrClosed", closeInUse),
	}
}

func contextEnded(w *checkWorld) {
	a := w.limit("gcra:3/1h")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancelLate := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancelLate()
	slots := []store.Slot{{Key: "a", Limit: "l", Algorithm: a}, {Key: "b", Limit: "l", Algorithm: a}}
	if !w.can(needsKeys) {
		slots = slots[:1]
	}
	for _, s := range slots {
		w.mustBe(true, checkOp(s.Key, "l", a, 1))
	}
	for _, c := range []struct {
		ctx  context.Context
		want error
	}{{cancelled, context.Canceled}, {late, context.DeadlineExceeded}} {
		for n := 1; n <= len(slots); n++ {
			ops := make([]store.Op, n)
			for i := range ops {
				ops[i] = checkOp(slots[i].Key, "l", a, 1)
			}
			_, committed, err := w.store.Apply(c.ctx, ops)
			w.mustBeError("Apply with an ended context", err, c.want, ops)
			if committed {
				w.wrong("committed", "not committed", "Apply with an ended context")
			}
			_, err = w.store.Peek(c.ctx, ops)
			w.mustBeError("Peek with an ended context", err, c.want, ops)
			w.mustBeError("Reset with an ended context", w.store.Reset(c.ctx, slots[:n]), c.want, ops)
		}
		if bind := store.FeaturesOf(w.store).Bind; bind != nil {
			b, err := bind("l", a)
			if err != nil {
				w.wrong(err, "no error", "Bind failed, and must not")
			}
			_, _, err = b.Apply(c.ctx, "a", algorithm.Request{Cost: 1})
			w.mustBeError("Apply by a Bound with an ended context", err, c.want, nil)
			_, _, err = b.Peek(c.ctx, "a", algorithm.Request{Cost: 1})
			w.mustBeError("Peek by a Bound with an ended context", err, c.want, nil)
		}
		for _, s := range slots {
			w.mustRemain(s, 2)
		}
	}
}

func closeThenClosed(w *checkWorld) {
	ctx := context.Background()
	slots := w.slots("a", "l")
	a := slots[0].Algorithm
	ops := []store.Op{checkOp("a", "l", a, 1), checkOp("b", "l", a, 1)}
	if !w.can(needsKeys) {
		ops = ops[:1]
	}
	w.mustBe(true, ops...)
	var bound store.Bound
	bind := store.FeaturesOf(w.store).Bind
	if bind != nil {
		var err error
		if bound, err = bind("l", a); err != nil {
			w.wrong(err, "no error", "Bind failed, and must not")
		}
	}
	for range 2 {
		if err := w.store.Close(); err != nil {
			w.wrong(err, "no error", "Close failed, and must not")
		}
		for n := range ops {
			_, _, err := w.store.Apply(ctx, ops[:n+1])
			w.mustBeError("Apply after Close", err, store.ErrClosed, ops)
			_, err = w.store.Peek(ctx, ops[:n+1])
			w.mustBeError("Peek after Close", err, store.ErrClosed, ops)
		}
		w.mustBeError("Reset after Close", w.store.Reset(ctx, slots), store.ErrClosed, ops)
		if bind != nil {
			_, _, err := bound.Apply(ctx, "a", algorithm.Request{Cost: 1})
			w.mustBeError("Apply by a Bound after Close", err, store.ErrClosed, ops)
			_, _, err = bound.Peek(ctx, "a", algorithm.Request{Cost: 1})
			w.mustBeError("Peek by a Bound after Close", err, store.ErrClosed, ops)
			_, err = bind("m", a)
			w.mustBeError("Bind after Close", err, store.ErrClosed, ops)
		}
	}
}

func closeInUse(w *checkWorld) {
	a := algorithm.Must(algorithm.ParseSpec("gcra:1000000000000/1h"))
	const callers = 8
	var started sync.WaitGroup
	started.Add(callers)
	w.besides(callers, func(i int) error {
		begun := sync.OnceFunc(started.Done)
		defer begun() // also where the first call panics
		key := string(rune('a' + i))
		for {
			ops := []store.Op{checkOp(key, "", a, 1), checkOp(key, "all", a, 1)}
			if !w.can(needsOps) {
				ops = ops[:1]
			}
			_, committed, err := w.store.Apply(context.Background(), ops)
			begun()
			if errors.Is(err, store.ErrClosed) {
				return nil
			}
			if err != nil || !committed {
				return fault{"Apply beside Close", fmt.Sprintf("committed %t, error %v", committed, err), "committed, or ErrClosed"}
			}
		}
	}, func() {
		started.Wait()
		if err := w.store.Close(); err != nil {
			w.Errorf("Close: %v", err)
		}
	})
}
