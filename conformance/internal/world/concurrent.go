package world

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
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/store"
)

// Concurrently runs n callers at the same time and fails with the first of their
// errors.
func (w *World) Concurrently(n int, caller func(i int) error) {
	w.ConcurrentlyWith(n, caller, func() {})
}

// ConcurrentlyWith is Concurrently, with something else that happens meanwhile.
func (w *World) ConcurrentlyWith(n int, caller func(i int) error, meanwhile func()) {
	var callers sync.WaitGroup
	start, failures := make(chan struct{}), make(chan error, n)
	for i := range n {
		callers.Go(func() {
			<-start
			if err := recovered(func() error { return caller(i) }); err != nil {
				failures <- err
			}
		})
	}
	close(start)
	meanwhile()
	w.mustEnd(&callers)
	close(failures)
	for err := range failures {
		w.Fail(err)
	}
}

// mustEnd waits for callers and fails where they do not come to an end.
func (w *World) mustEnd(callers *sync.WaitGroup) {
	ended := make(chan struct{})
	go func() { callers.Wait(); close(ended) }()
	const patience = 2 * time.Minute
	select {
	case <-ended:
	case <-time.After(patience):
		w.Wrong("callers who wait", "an answer for each", "concurrent calls have not come to an end within %v", patience)
	}
}

// recovered turns a panic, which would end the whole run without a word of the
// check, into an error that says where it came from.
func recovered(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Failure{"a concurrent caller", fmt.Sprintf("panic: %v\n%s", p, bytes.TrimSpace(debug.Stack())), "no panic"}
		}
	}()
	return call()
}

// Retry calls Apply again where others were in the way each time, which charges
// nothing: a store may give up then.
func (w *World) Retry(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	const tries = 1000
	for range tries {
		if at, committed, err = w.Store.Apply(ctx, ops); !errors.Is(err, store.ErrContention) {
			break
		}
		runtime.Gosched()
	}
	return at, committed, err
}

// TakeOne has a concurrent caller take one unit, and returns what remained where it
// was admitted.
func (w *World) TakeOne(s store.Slot) (left int64, admitted bool, err error) {
	ops := []store.Op{Op(s, 1)}
	at, committed, err := w.Retry(context.Background(), ops)
	o := ops[0].Outcome
	if err != nil || committed != o.Allowed || !w.OwnClock && at != Start {
		return 0, false, Failure{"a concurrent Apply", fmt.Sprintf("committed %t at %v, error %v: %s", committed, at, err, transcript.Outcome(o)),
			fmt.Sprintf("an answer at %v, committed where it is allowed", Start)}
	}
	return o.Remaining, committed, nil
}

// MustHaveLeft looks at a slot past the model, which has not seen what concurrent
// callers did. Below 0 it is a debt.
func (w *World) MustHaveLeft(s store.Slot, want int64) {
	ops := []store.Op{Op(s, 0)}
	at, err := w.Store.Peek(context.Background(), ops)
	w.Observe(at, err)
	w.Record("peek", ops, err)
	if got := ops[0].Outcome.Remaining - ops[0].Outcome.Debt; err != nil || got != want {
		w.Wrong(fmt.Sprintf("%d left, error %v", got, err), fmt.Sprintf("%d left", want), "what is left of %s", transcript.Slot(s))
	}
}
