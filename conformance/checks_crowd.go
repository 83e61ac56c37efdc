package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// mustEnd waits for callers and fails where they do not come to an end.
func (w *checkWorld) mustEnd(callers *sync.WaitGroup) {
	w.Helper()
	ended := make(chan struct{})
	go func() { callers.Wait(); close(ended) }()
	const patience = 2 * time.Minute
	select {
	case <-ended:
	case <-time.After(patience):
		w.wrong("callers who wait", "an answer for each", "concurrent calls have not come to an end within %v", patience)
	}
}

// together runs n callers at once and fails with the first of their errors.
func (w *checkWorld) together(n int, caller func(i int) error) {
	w.Helper()
	w.besides(n, caller, func() {})
}

// besides is together with something else that happens meanwhile.
func (w *checkWorld) besides(n int, caller func(i int) error, meanwhile func()) {
	w.Helper()
	var callers sync.WaitGroup
	start, problems := make(chan struct{}), make(chan error, n)
	for i := range n {
		callers.Go(func() {
			<-start
			if err := recovered(func() error { return caller(i) }); err != nil {
				problems <- err
			}
		})
	}
	close(start)
	meanwhile()
	w.mustEnd(&callers)
	close(problems)
	for err := range problems {
		w.fail(err)
	}
}

// recovered turns a panic, which would end the whole run without a word of the
// check, into an error that says where it came from.
func recovered(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault{"a concurrent caller", fmt.Sprintf("panic: %v\n%s", p, bytes.TrimSpace(debug.Stack())), "no panic"}
		}
	}()
	return call()
}

// persist calls Apply again where others were in the way each time, which
// charges nothing: a store may give up then.
func (w *checkWorld) persist(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	const tries = 1000
	for range tries {
		if at, committed, err = w.store.Apply(ctx, ops); !errors.Is(err, store.ErrContention) {
			break
		}
		runtime.Gosched()
	}
	return at, committed, err
}

// takeOne has a concurrent caller take one unit, and returns what remained where
// it was admitted.
func (w *checkWorld) takeOne(key string, a algorithm.Algorithm) (left int64, admitted bool, err error) {
	ops := []store.Op{checkOp(key, "l", a, 1)}
	at, committed, err := w.persist(context.Background(), ops)
	o := ops[0].Outcome
	if err != nil || committed != o.Allowed || !w.config().OwnClock && at != checkStart {
		return 0, false, fault{"a concurrent Apply", fmt.Sprintf("committed %t at %v, error %v: %s", committed, at, err, checkOutcomeText(o)),
			fmt.Sprintf("an answer at %v, committed where it is allowed", checkStart)}
	}
	return o.Remaining, committed, nil
}

// mustBeLeft looks at a slot past the model, which has not seen what concurrent
// callers did.
func (w *checkWorld) mustBeLeft(s store.Slot, want int64) {
	w.Helper()
	ops := []store.Op{{Slot: s}}
	at, err := w.store.Peek(context.Background(), ops)
	w.observe(at, err)
	w.tell("peek", ops, err)
	if got := ops[0].Outcome.Remaining; err != nil || got != want {
		w.wrong(fmt.Sprintf("%d left, error %v", got, err), fmt.Sprintf("%d left", want), "what is left of %s", checkSlotText(s))
	}
}
