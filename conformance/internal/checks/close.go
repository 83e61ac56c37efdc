package checks

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// mustRefuseAll calls every method of the store, each with one op and with several,
// and every method of a Bound, and fails unless each gives the error.
func mustRefuseAll(ctx context.Context, w *world.World, b store.Bound, what string, target error, ops []store.Op) {
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
		w.CloseStore()
		mustRefuseAll(background, w, b, "after Close", store.ErrClosed, ops)
		const invalid = "what is not valid, after Close"
		bad, nowhere := world.Op(ops[0].Slot, -1), store.Slot{Limit: "l", Algorithm: a}
		w.MustRefuse(invalid, store.ErrInvalid, bad)
		w.MustBeError("Reset of "+invalid, w.Store.Reset(background, []store.Slot{nowhere}), store.ErrInvalid, nil)
		if b != nil {
			w.MustRefuseBound(background, b, "of "+invalid, store.ErrInvalid, bad)
		}
		w.MustBeError("Reset of slots of all kinds after Close", w.Store.Reset(background, w.Slots("a", "l")), store.ErrClosed, nil)
		if bind := store.FeaturesOf(w.Store).Bind; bind != nil {
			_, err := bind("m", a)
			w.MustBeError("Bind after Close", err, store.ErrClosed, ops)
			_, err = bind("m", nil)
			w.MustBeError("Bind of "+invalid, err, store.ErrInvalid, nil)
		}
	}
}

func closeInUse(w *world.World) {
	a := world.Limit("gcra:1000000000000/1h")
	const callers = 8
	var started sync.WaitGroup
	var closed atomic.Bool // Close has returned
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
			late := closed.Load()
			_, committed, err := w.Store.Apply(background, ops)
			begun()
			if errors.Is(err, store.ErrClosed) {
				return nil
			}
			if late && err == nil {
				return world.Failure{What: "Apply after Close has returned", Got: fmt.Sprintf("committed %t", committed), Want: "ErrClosed"}
			}
			runtime.Gosched() // who closes wants a turn too
			if err != nil || !committed {
				return world.Failure{What: "Apply beside Close", Got: fmt.Sprintf("committed %t, error %v", committed, err), Want: "committed, or ErrClosed"}
			}
		}
	}, func() {
		started.Wait()
		defer closed.Store(true) // also where Close hangs: nobody goes on for ever
		w.CloseStore()
	})
}

// contextQueued holds one call in its reading of the clock, and ends the context of
// another, by each method. Where the other call waits for the first, it reads the clock
// after that, and is too late. A call that was about to read the clock may still be
// decided: what is wrong must be seen twice.
func contextQueued(w *world.World) {
	methods := []string{"Apply", "Peek"}
	if store.FeaturesOf(w.Store).Bind != nil {
		methods = append(methods, "Apply by a Bound", "Peek by a Bound")
	}
	for _, method := range methods {
		var found error
		for range 2 {
			w.StartAt(world.Start)
			if found = queuedOnce(w, method); found == nil {
				break
			}
		}
		if found != nil {
			w.Fail(found)
		}
	}
}

func queuedOnce(w *world.World, method string) error {
	op := world.Take("a", "l", w.Limit("gcra:5/1h"), 1)
	b := w.Bind("l", op.Algorithm)
	call := func(ctx context.Context) (err error) {
		switch method {
		case "Apply":
			_, _, err = w.Store.Apply(ctx, []store.Op{op})
		case "Peek":
			_, err = w.Store.Peek(ctx, []store.Op{op})
		case "Apply by a Bound":
			_, _, err = b.Apply(ctx, op.Key, op.Request)
		default:
			_, _, err = b.Peek(ctx, op.Key, op.Request)
		}
		return err
	}
	var reads atomic.Int64
	// The context has ended; a reading after that; the other call has returned. The first
	// call may read the clock again, as one through a decorator does.
	var ended, late, returned atomic.Bool
	held, begun, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	hold := sync.OnceFunc(func() { close(held) })
	w.Clock.OnRead(func() {
		if reads.Add(1) == 1 {
			hold()
			<-release
		} else if ended.Load() && !returned.Load() {
			late.Store(true)
		}
	})
	ending, cancel := context.WithCancel(background)
	defer cancel()
	ctx := &watchedContext{Context: ending, seen: make(chan struct{})}
	var err error
	w.ConcurrentlyWith(2, func(i int) error {
		if i == 0 {
			defer hold() // also where the store panics before it reads the clock
			_, _, err := w.Store.Apply(background, []store.Op{op})
			return err
		}
		<-held
		close(begun)
		err = call(ctx)
		returned.Store(true)
		return nil
	}, func() {
		<-begun
		// A store that checks the context before it waits has begun to wait soon after the
		// check. A store that checks it only after waiting closes nothing: hence the time.
		select {
		case <-ctx.seen:
		case <-time.After(50 * time.Millisecond):
		}
		time.Sleep(2 * time.Millisecond) // until it waits
		cancel()
		ended.Store(true)
		close(release)
	})
	w.Clock.OnRead(nil)
	if late.Load() && !errors.Is(err, context.Canceled) {
		return world.Failure{What: "a call of " + method + " whose context ended while it waited for another", Got: fmt.Sprintf("the error %v", err), Want: "the error of the context"}
	}
	return nil
}

// watchedContext closes seen at the first call of Err or Done.
type watchedContext struct {
	context.Context
	once sync.Once
	seen chan struct{}
}

func (c *watchedContext) Err() error {
	defer c.once.Do(func() { close(c.seen) })
	return c.Context.Err()
}

func (c *watchedContext) Done() <-chan struct{} {
	defer c.once.Do(func() { close(c.seen) })
	return c.Context.Done()
}

// endingCalls makes calls with ending contexts, each for one unit of every slot,
// and counts how many were committed and how many may have been.
type endingCalls struct {
	w                  *world.World
	slots              []store.Slot
	capacity           int64
	committed, unknown atomic.Int64
}

// take makes one call that may end at any time.
func (e *endingCalls) take(ctx context.Context) error {
	_, committed, err := e.w.Store.Apply(ctx, world.Ops(e.slots, 1))
	switch {
	case err == nil && committed:
		e.committed.Add(1)
	case err == nil:
		return world.Failure{What: "an Apply of what is left", Got: "refused", Want: "committed, or an error"}
	case errors.Is(err, store.ErrOutcomeUnknown):
		e.unknown.Add(1)
	case errors.Is(err, context.Canceled), errors.Is(err, store.ErrContention):
		// Nothing was charged.
	default:
		return world.Failure{What: "an Apply whose context ends meanwhile", Got: fmt.Sprintf("the error %v", err),
			Want: "an answer, the error of the context, or ErrOutcomeUnknown"}
	}
	return nil
}

// used looks at the slots and returns how many units of each are taken. At no time
// may one have been charged without the others, nor fewer than were committed.
func (e *endingCalls) used() (used int64, err error) {
	ops, least := world.Ops(e.slots, 0), e.committed.Load()
	if _, err := e.w.Store.Peek(background, ops); err != nil {
		return 0, world.Failure{What: "a look beside calls whose contexts end", Got: fmt.Sprint(err), Want: "no error"}
	}
	used = e.capacity - ops[0].Outcome.Remaining
	for _, op := range ops {
		if got := e.capacity - op.Outcome.Remaining; got != used {
			return used, world.Failure{What: "slots that are always taken together", Got: fmt.Sprintf("%d units of one are taken, and %d of another", used, got),
				Want: "as many of each: a call is no half step"}
		}
	}
	if used < least {
		return used, world.Failure{What: "a slot", Got: fmt.Sprintf("%d units are taken", used), Want: fmt.Sprintf("%d at least, which were answered as committed", least)}
	}
	return used, nil
}

// judge fails where more is taken than calls can have taken.
func (e *endingCalls) judge(when string) {
	e.w.Helper()
	e.w.Note("%s: %d calls were committed, and of %d it is not known", when, e.committed.Load(), e.unknown.Load())
	used, err := e.used()
	if err != nil {
		e.w.Fail(err)
	}
	if most := e.committed.Load() + e.unknown.Load(); used > most {
		e.w.Wrong(used, fmt.Sprintf("%d at most", most), "units taken; a call that gave the error of its context must have taken none")
	}
}

// contextEnding lets contexts end in the middle of calls: in the reading of the
// clock, where a store is at work for certain, and from beside.
func contextEnding(w *world.World) {
	e := endingCalls{w: w, capacity: 1000}
	for i, spec := range world.BuiltIn("1000/24h") {
		e.slots = append(e.slots, world.SlotOf("a", "l", w.Limit(spec)))
		if w.Can(world.NeedsKeys) {
			e.slots = append(e.slots, world.SlotOf("b", fmt.Sprint("m", i%2), w.Limit(spec)))
		}
	}
	if !w.Can(world.NeedsOps) {
		e.slots = e.slots[:1]
	}
	for range 30 {
		ctx, cancel := context.WithCancel(background)
		w.Clock.OnRead(cancel)
		err := e.take(ctx)
		w.Clock.OnRead(nil)
		cancel()
		if err != nil {
			w.Fail(err)
		}
	}
	e.judge("with contexts that ended as the clock was read")
	calls := min(100, max(20, w.Scaled(50)))
	w.Concurrently(8, func(i int) error {
		for n := range calls {
			if i == 0 {
				if _, err := e.used(); err != nil {
					return err
				}
				continue
			}
			ctx, cancel := context.WithCancel(background)
			ended := make(chan struct{})
			go func() {
				for range n % 7 { // sooner or later
					_ = ctx.Err()
				}
				cancel()
				close(ended)
			}()
			err := e.take(ctx)
			<-ended
			if err != nil {
				return err
			}
		}
		return nil
	})
	e.judge("with contexts that ended beside")
}
