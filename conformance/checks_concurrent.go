package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// concurrentChecks let many callers in at once while the clock stands still, so
// that what comes out is known without knowing who was first.
func concurrentChecks() []Check {
	var checks []Check
	for _, k := range checkKinds() {
		checks = append(checks, checkOf("concurrent/exactly-the-capacity/"+k.name, "H4",
			"concurrent callers of one slot at one instant take exactly its capacity", func(w *checkWorld) {
				concurrentCapacity(w, k)
			}).needing(k.needs))
	}
	return append(checks,
		checkOf("concurrent/ten-thousand", "H4",
			"of 10,000 callers of one slot at one instant, a thousand in the quick profile, as many as its capacity are admitted",
			concurrentCrowd),
		checkOf("concurrent/takes-in-opposite-orders", "H1",
			"concurrent Applies that name the same slots in different orders all come to an end, and each unit is counted once",
			concurrentOrders).needing(needsKeys),
		checkOf("concurrent/takes-are-whole", "H1 X1",
			"what concurrent callers see of slots that are always taken together is equal", concurrentWhole).needing(needsKeys),
	)
}

func concurrentCapacity(w *checkWorld, k checkKind) {
	callers, calls := 32, often(12, 5)
	limit, admits := k.limits[0], int64(1)
	if _, custom := limit.(checkPause); !custom { // which admits once
		limit = w.limit(k.name + ":100/1h")
		admits = checkCapacity(limit)
	} else if w.config().OwnClock {
		limit = checkPause{capacity: 5, each: 24 * 3600 * 1_000_000}
	}
	for range max(1, scaled(3)) {
		w.startAt(checkStart)
		var taken, most atomic.Int64
		w.together(callers, func(int) error {
			for range calls {
				left, admitted, err := w.takeOne("a", limit)
				if err != nil {
					return err
				}
				if admitted {
					most.Add(left)
					taken.Add(1)
				}
			}
			return nil
		})
		w.note("%d callers have asked %d times each for a unit of %s", callers, calls, checkSlotText(store.Slot{Key: "a", Limit: "l", Algorithm: limit}))
		if got := taken.Load(); got != admits {
			w.wrong(got, admits, "how many units were taken")
		}
		// Each saw another number remaining: capacity − 1 down to 0.
		if got, sum := most.Load(), admits*(admits-1)/2; got != sum {
			w.wrong(got, sum, "the sum of what each saw remaining")
		}
		w.mustBeLeft(store.Slot{Key: "a", Limit: "l", Algorithm: limit}, 0)
	}
}

func concurrentCrowd(w *checkWorld) {
	callers := often(10_000, 1000)
	capacity := int64(callers / 10)
	limit := w.limit(fmt.Sprintf("gcra:%d/24h", capacity))
	var bound store.Bound
	if bind := store.FeaturesOf(w.store).Bind; bind != nil {
		var err error
		if bound, err = bind("l", limit); err != nil {
			w.wrong(err, "no error", "Bind failed, and must not")
		}
	}
	var taken atomic.Int64
	w.together(callers, func(i int) error {
		if bound != nil && i%2 == 1 {
			o, _, err := bound.Apply(context.Background(), "a", algorithm.Request{Cost: 1})
			if err == nil && o.Allowed {
				taken.Add(1)
			}
			if !errors.Is(err, store.ErrContention) {
				return err
			}
		}
		_, admitted, err := w.takeOne("a", limit)
		if admitted {
			taken.Add(1)
		}
		return err
	})
	w.note("%d callers have asked for a unit each", callers)
	if got := taken.Load(); got != capacity {
		w.wrong(got, capacity, "how many callers of %d were admitted", callers)
	}
	w.mustBeLeft(store.Slot{Key: "a", Limit: "l", Algorithm: limit}, 0)
}

func concurrentOrders(w *checkWorld) {
	const callers, slots = 16, 6
	calls := max(15, scaled(40))
	a := w.limit("gcra:100/1h")
	slot := func(i int) store.Slot {
		return store.Slot{Key: string(rune('a' + i%slots)), Limit: "l", Algorithm: a}
	}
	var taken [slots]atomic.Int64
	w.together(callers, func(i int) error {
		for n := range calls {
			// Two or three slots, forwards or backwards, from another place each time.
			ops := make([]store.Op, 2+n%2)
			for j := range ops {
				place := i + n + j
				if i%2 == 1 {
					place = i + n + len(ops) - 1 - j
				}
				ops[j] = store.Op{Slot: slot(place), Request: algorithm.Request{Cost: int64(1 + i%3)}}
			}
			_, committed, err := w.persist(context.Background(), ops)
			if err != nil {
				return fault{"a concurrent Apply of several ops", err.Error(), "no error"}
			}
			for j := range ops {
				if committed {
					taken[ops[j].Key[0]-'a'].Add(ops[j].Request.Cost)
				}
			}
		}
		return nil
	})
	w.note("%d callers have made %d calls each", callers, calls)
	for i := range slots {
		units := taken[i].Load()
		if units > 100 {
			w.wrong(units, "100 at most", "how many units of 100 were taken from %s", checkSlotText(slot(i)))
		}
		w.mustBeLeft(slot(i), 100-units)
	}
}

func concurrentWhole(w *checkWorld) {
	const callers, slots = 8, 8
	calls := max(30, scaled(100))
	a, b := w.limit("fixed-window:1000000/1h"), w.limit("token-bucket:1000000/1h")
	w.together(callers, func(i int) error {
		for n := range calls {
			cost := int64(1 + n%3)
			var ops []store.Op
			for j := range slots / 2 {
				key := string(rune('a' + j))
				ops = append(ops, checkOp(key, "l", a, cost), checkOp(key, "l", b, cost))
			}
			if i%2 == 1 {
				slices.Reverse(ops)
			}
			var err error
			if i%4 < 2 {
				_, _, err = w.persist(context.Background(), ops)
			} else {
				_, err = w.store.Peek(context.Background(), ops)
			}
			if err != nil {
				return fault{"a concurrent call of several ops", err.Error(), "no error"}
			}
			for _, op := range ops {
				if got, first := op.Outcome.Remaining, ops[0].Outcome.Remaining; got != first {
					return fault{"slots that are always taken together", fmt.Sprintf("%d and %d left", first, got), "as much left of one as of another"}
				}
			}
		}
		return nil
	})
}
