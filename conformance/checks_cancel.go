package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// endings counts what calls with ending contexts did to slots that are always
// taken together, one unit each: how often it is known, and how often it is not.
type endings struct{ known, unknown atomic.Int64 }

// take makes one call that may end at any time.
func (e *endings) take(ctx context.Context, w *checkWorld, slots []store.Slot) error {
	ops := make([]store.Op, len(slots))
	for i, s := range slots {
		ops[i] = store.Op{Slot: s, Request: algorithm.Request{Cost: 1}}
	}
	_, committed, err := w.store.Apply(ctx, ops)
	switch {
	case err == nil && committed:
		e.known.Add(1)
	case err == nil:
		return fault{"an Apply of what is left", "refused", "committed, or an error"}
	case errors.Is(err, store.ErrOutcomeUnknown):
		e.unknown.Add(1)
	case errors.Is(err, context.Canceled), errors.Is(err, store.ErrContention):
		// Nothing was charged.
	default:
		return fault{"an Apply whose context ends meanwhile", fmt.Sprintf("the error %v", err),
			"an answer, the error of the context, or ErrOutcomeUnknown"}
	}
	return nil
}

// whole looks at the slots. At no time may one have been charged without the
// other, nor more have been charged than there were calls that can have been.
func (e *endings) whole(w *checkWorld, slots []store.Slot, capacity int64) (fault, bool) {
	ops := make([]store.Op, len(slots))
	for i, s := range slots {
		ops[i] = store.Op{Slot: s}
	}
	least := e.known.Load()
	if _, err := w.store.Peek(context.Background(), ops); err != nil {
		return fault{"a look beside calls whose contexts end", fmt.Sprint(err), "no error"}, false
	}
	used := capacity - ops[0].Outcome.Remaining
	for _, op := range ops {
		if got := capacity - op.Outcome.Remaining; got != used {
			return fault{"slots that are always taken together", fmt.Sprintf("%d units of one are taken, and %d of another", used, got), "as many of each: a call is no half step"}, false
		}
	}
	if used < least {
		return fault{"a slot", fmt.Sprintf("%d units are taken", used), fmt.Sprintf("%d at least, which were answered as committed", least)}, false
	}
	return fault{}, true
}

// contextEnding lets contexts end in the middle of calls: in the reading of the
// clock, where a store is at work for certain, and from beside.
func contextEnding(w *checkWorld) {
	slots := w.slots("a", "l")
	for _, s := range w.slots("b", "m") {
		if w.can(needsKeys) {
			slots = append(slots, s)
		}
	}
	capacity := int64(1000)
	var used []store.Slot
	for i, s := range slots {
		if _, custom := s.Algorithm.(checkPause); !custom {
			s.Algorithm = w.limit([]string{"gcra", "token-bucket", "leaky-bucket", "fixed-window", "sliding-log", "sliding-counter"}[i%len(w.kinds())] + ":1000/24h")
			used = append(used, s)
		}
	}
	if !w.can(needsOps) {
		used = used[:1]
	}
	var e endings
	judge := func(phase string) {
		w.Helper()
		w.note("%s: %d calls were committed, and of %d it is not known", phase, e.known.Load(), e.unknown.Load())
		f, whole := e.whole(w, used, capacity)
		if !whole {
			w.fail(f)
		}
		ops := []store.Op{{Slot: used[0]}}
		if _, err := w.store.Peek(context.Background(), ops); err != nil {
			w.wrong(err, "no error", "Peek failed, and must not")
		}
		if got, most := capacity-ops[0].Outcome.Remaining, e.known.Load()+e.unknown.Load(); got > most {
			w.wrong(got, fmt.Sprintf("%d at most", most), "units taken; a call that gave the error of its context must have taken none")
		}
	}
	for range 30 {
		ctx, cancel := context.WithCancel(context.Background())
		w.clock.reading.Store(&cancel)
		err := e.take(ctx, w, used)
		w.clock.reading.Store(nil)
		cancel()
		if err != nil {
			w.fail(err)
		}
	}
	judge("with contexts that ended as the clock was read")
	const callers = 8
	calls := min(100, max(20, scaled(50)))
	w.together(callers, func(i int) error {
		for n := range calls {
			if i == 0 {
				if f, whole := e.whole(w, used, capacity); !whole {
					return f
				}
				continue
			}
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan struct{})
			go func() {
				for range n % 7 { // sooner or later
					_ = ctx.Err()
				}
				cancel()
				close(ended)
			}()
			err := e.take(ctx, w, used)
			<-ended
			if err != nil {
				return err
			}
		}
		return nil
	})
	judge("with contexts that ended beside")
}
