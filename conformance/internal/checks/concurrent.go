package checks

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

func concurrentCapacity(w *world.World, k world.Kind) {
	callers, calls := 32, w.Often(12, 5)
	s := world.SlotOf("a", "l", w.OfKind(k, "100/1h"))
	admits := world.Capacity(s.Algorithm)
	if k.Name == world.Custom { // which admits once
		admits = 1
	}
	for range w.Scaled(3) {
		w.StartAt(world.Start)
		var taken, sum atomic.Int64
		w.Concurrently(callers, func(int) error {
			for range calls {
				left, admitted, err := w.TakeOne(s)
				if err != nil {
					return err
				}
				if admitted {
					sum.Add(left)
					taken.Add(1)
				}
			}
			return nil
		})
		w.Note("%d callers have asked %d times each for a unit of %s", callers, calls, transcript.Slot(s))
		if got := taken.Load(); got != admits {
			w.Wrong(got, admits, "how many units were taken")
		}
		// Each saw another number remaining: capacity − 1 down to 0.
		if got, want := sum.Load(), admits*(admits-1)/2; got != want {
			w.Wrong(got, want, "the sum of what each saw remaining")
		}
		w.MustHaveLeft(s, 0)
	}
}

// concurrentSettled keeps a unit taken, so that nothing is given back beyond fresh.
func concurrentSettled(w *world.World, k world.Kind) {
	callers, calls := 16, w.Often(10, 4)
	s := world.SlotOf("a", "l", w.OfKind(k, "1000/9600h"))
	for range w.Scaled(2) {
		w.StartAt(world.Start)
		w.MustCommit(world.Op(s, 1))
		var sum atomic.Int64
		w.Concurrently(callers, func(i int) error {
			for n := range calls {
				estimate, actual := 1+(i*7+n*3)%5, (i*5+n*11)%9
				ops := []store.Op{world.Op(s, int64(estimate))}
				at, committed, err := w.Retry(background, ops)
				if err != nil || !committed {
					return err
				}
				if actual < estimate {
					ops[0] = verb(s, algorithm.Refund, int64(estimate-actual), at)
				} else {
					ops[0] = verb(s, algorithm.Charge, int64(actual-estimate), 0)
				}
				if _, committed, err = w.Retry(background, ops); err != nil || !committed {
					return world.Failure{What: "a concurrent Apply", Got: fmt.Sprintf("committed %t, error %v", committed, err), Want: "a charge or a refund that is committed"}
				}
				sum.Add(int64(actual))
			}
			return nil
		})
		w.Note("%d callers have settled %d units of %s", callers, sum.Load(), transcript.Slot(s))
		w.MustHaveLeft(s, 999-sum.Load())
	}
}

func tenThousand(w *world.World) {
	callers := w.Often(10_000, 1000)
	capacity := int64(callers / 10)
	s := world.SlotOf("a", "l", w.Limit(fmt.Sprintf("gcra:%d/24h", capacity)))
	b := w.Bind("l", s.Algorithm)
	var taken atomic.Int64
	w.Concurrently(callers, func(i int) error {
		if b != nil && i%2 == 1 {
			o, _, err := b.Apply(background, s.Key, world.Op(s, 1).Request)
			if err == nil && o.Allowed {
				taken.Add(1)
			}
			if !errors.Is(err, store.ErrContention) {
				return err
			}
		}
		_, admitted, err := w.TakeOne(s)
		if admitted {
			taken.Add(1)
		}
		return err
	})
	w.Note("%d callers have asked for a unit each", callers)
	if got := taken.Load(); got != capacity {
		w.Wrong(got, capacity, "how many callers of %d were admitted", callers)
	}
	w.MustHaveLeft(s, 0)
}

func concurrentOrders(w *world.World) {
	const callers, slots = 16, 6
	calls := max(15, w.Scaled(40))
	a := w.Limit("gcra:100/1h")
	slot := func(i int) store.Slot { return world.SlotOf(string(rune('a'+i%slots)), "l", a) }
	var taken [slots]atomic.Int64
	w.Concurrently(callers, func(i int) error {
		for n := range calls {
			// Two or three slots, forwards or backwards, from another place each time.
			ops := make([]store.Op, 2+n%2)
			for j := range ops {
				ops[j] = world.Op(slot(i+n+j), int64(1+i%3))
			}
			if i%2 == 1 {
				slices.Reverse(ops)
			}
			_, committed, err := w.Retry(background, ops)
			if err != nil {
				return world.Failure{What: "a concurrent Apply of several ops", Got: err.Error(), Want: "no error"}
			}
			for _, op := range ops {
				if committed {
					taken[op.Key[0]-'a'].Add(op.Request.Cost)
				}
			}
		}
		return nil
	})
	w.Note("%d callers have made %d calls each", callers, calls)
	for i := range slots {
		units := taken[i].Load()
		if units > 100 {
			w.Wrong(units, "100 at most", "how many units of 100 were taken from %s", transcript.Slot(slot(i)))
		}
		w.MustHaveLeft(slot(i), 100-units)
	}
}

func concurrentWhole(w *world.World) {
	const callers, slots = 8, 8
	calls := max(30, w.Scaled(100))
	a, b := w.Limit("fixed-window:1000000/1h"), w.Limit("token-bucket:1000000/1h")
	w.Concurrently(callers, func(i int) error {
		for n := range calls {
			cost := int64(1 + n%3)
			var ops []store.Op
			for j := range slots / 2 {
				key := string(rune('a' + j))
				ops = append(ops, world.Take(key, "l", a, cost), world.Take(key, "l", b, cost))
			}
			if i%2 == 1 {
				slices.Reverse(ops)
			}
			var err error
			if i%4 < 2 {
				_, _, err = w.Retry(background, ops)
			} else {
				_, err = w.Store.Peek(background, ops)
			}
			if err != nil {
				return world.Failure{What: "a concurrent call of several ops", Got: err.Error(), Want: "no error"}
			}
			for _, op := range ops {
				if got, first := op.Outcome.Remaining, ops[0].Outcome.Remaining; got != first {
					return world.Failure{What: "slots that are always taken together", Got: fmt.Sprintf("%d and %d left", first, got), Want: "as much left of one as of another"}
				}
			}
		}
		return nil
	})
}
