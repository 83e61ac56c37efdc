package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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
			}))
	}
	return append(checks,
		checkOf("concurrent/takes-in-opposite-orders", "H1",
			"concurrent Applies that name the same slots in different orders all come to an end, and each unit is counted once",
			concurrentOrders),
		checkOf("concurrent/takes-are-whole", "H1 X1",
			"what concurrent callers see of slots that are always taken together is equal", concurrentWhole),
	)
}

// mustEnd waits for callers and fails where they do not come to an end.
func (w *checkWorld) mustEnd(callers *sync.WaitGroup) {
	w.Helper()
	ended := make(chan struct{})
	go func() { callers.Wait(); close(ended) }()
	const patience = time.Minute
	select {
	case <-ended:
	case <-time.After(patience):
		w.failf("the callers have not come to an end within %v", patience)
	}
}

// together runs n callers at once and fails with the first of their errors.
func (w *checkWorld) together(n int, caller func(i int) error) {
	w.Helper()
	var callers sync.WaitGroup
	start, problems := make(chan struct{}), make(chan error, n)
	for i := range n {
		callers.Go(func() {
			<-start
			if err := caller(i); err != nil {
				problems <- err
			}
		})
	}
	close(start)
	w.mustEnd(&callers)
	close(problems)
	for err := range problems {
		w.failf("%v", err)
	}
}

func concurrentCapacity(w *checkWorld, k checkKind) {
	const callers, calls = 32, 12
	limit := k.limits[0]
	if _, custom := limit.(checkPause); !custom { // which admits once
		limit = algorithm.Must(algorithm.ParseSpec(k.name + ":100/1h"))
	}
	capacity := checkCapacity(limit)
	for round := range 3 {
		w.startAt(checkStart)
		var taken, most atomic.Int64
		w.together(callers, func(i int) error {
			for range calls {
				op := []store.Op{checkOp("a", "l", limit, 1)}
				at, committed, err := w.store.Apply(context.Background(), op)
				if err != nil || at != checkStart || committed != op[0].Outcome.Allowed {
					return fmt.Errorf("apply at %v: committed %t, error %v, %s", at, committed, err, checkOutcomeText(op[0].Outcome))
				}
				if committed {
					most.Add(op[0].Outcome.Remaining)
					taken.Add(1)
				}
			}
			return nil
		})
		w.note("%d callers have made %d calls each, round %d", callers, calls, round)
		want := capacity
		if _, custom := limit.(checkPause); custom {
			want = 1
		}
		if got := taken.Load(); got != want {
			w.failf("%d of %d units were taken", got, want)
		}
		// Each saw another number remaining: capacity − 1 down to 0.
		if got, sum := most.Load(), want*(want-1)/2; got != sum {
			w.failf("what each saw remaining adds up to %d, and must to %d", got, sum)
		}
		// The model has not seen this: bring it where the store must be.
		for range want {
			w.model.decide(w.now(), []store.Op{checkOp("a", "l", limit, 1)}, true)
		}
		w.mustBe(false, checkOp("a", "l", limit, 1))
		w.mustRemain(store.Slot{Key: "a", Limit: "l", Algorithm: limit}, 0)
	}
}

func concurrentOrders(w *checkWorld) {
	const callers, calls, slots = 16, 40, 6
	a := algorithm.Must(algorithm.ParseSpec("gcra:100/1h"))
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
			_, committed, err := w.store.Apply(context.Background(), ops)
			if err != nil {
				return fmt.Errorf("apply: %w", err)
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
			w.failf("%d units of 100 were taken from %s", units, checkSlotText(slot(i)))
		}
		if units > 0 {
			w.model.decide(w.now(), []store.Op{{Slot: slot(i), Request: algorithm.Request{Cost: units}}}, true)
		}
		w.mustRemain(slot(i), 100-units)
	}
}

func concurrentWhole(w *checkWorld) {
	const callers, calls, slots = 8, 100, 8
	a := algorithm.Must(algorithm.ParseSpec("fixed-window:1000000/1h"))
	b := algorithm.Must(algorithm.ParseSpec("token-bucket:1000000/1h"))
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
				_, _, err = w.store.Apply(context.Background(), ops)
			} else {
				_, err = w.store.Peek(context.Background(), ops)
			}
			if err != nil {
				return err
			}
			for _, op := range ops {
				if left := ops[0].Outcome.Remaining; op.Outcome.Remaining != left {
					return fmt.Errorf("of slots that are always taken together one has %d left and another %d", left, op.Outcome.Remaining)
				}
			}
		}
		return nil
	})
}
