package valkeystore

import (
	"context"
	"sync"
	"time"

	"github.com/weirgo/weir/store/script"
)

// watch is the context of a call, and sees how far the call has come: a connection
// of valkey-go asks first for Err, and only if it goes on to send the command for
// Deadline or Done. So a call that asked for neither after an Err has sent nothing, and
// what is not to be sent any more is held back by its Err.
//
// What is asked for before that is asked by a connection that is being made, up to its
// greeting. It gets no deadline, so that valkey-go takes Dialer.Timeout in a context of
// its own: others wait for the connection too.
//
// It is used again by later calls, and something that the library started may
// still hold it then, such as an attempt to dial that came too late: hence the
// lock. What such a thing may do is ask for Done, which errs on the safe side.
//
// A call that waits behind others on a connection is ended by Done alone, one that has
// the connection to itself by Deadline. So Done is made of the deadline, by the first
// who asks for it: it costs a timer.
type watch struct {
	mu      sync.Mutex
	parent  context.Context
	command *script.Command    // nil for one that nobody withdraws
	checked bool               // asked for Err
	passed  bool               // asked for more after that
	done    context.Context    // nil until somebody asks for Done
	cancel  context.CancelFunc // of done
}

var _ context.Context = (*watch)(nil)

func (w *watch) begin(parent context.Context, command *script.Command) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil {
		w.cancel()
	}
	w.parent, w.command, w.checked, w.passed, w.done, w.cancel = parent, command, false, false, nil, nil
}

// end lets go of the context.
func (w *watch) end() { w.begin(context.Background(), nil) }

// sent reports whether the command may have been sent.
func (w *watch) sent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.passed
}

// leave is called when the parent has ended and the call still runs on another goroutine. A call
// that has not asked for Err yet is not sent: Err returns the error of the parent then. One that
// has asked may be sent. leave returns the error of the parent.
func (w *watch) leave() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passed = w.checked
	return w.parent.Err()
}

// Deadline implements context.Context.
func (w *watch) Deadline() (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.passed = w.checked; !w.passed {
		return time.Time{}, false
	}
	return w.parent.Deadline()
}

// Done implements context.Context.
func (w *watch) Done() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.passed = w.checked; !w.passed {
		return nil
	}
	if w.done == nil {
		until, has := w.parent.Deadline()
		if !has {
			return nil
		}
		w.done, w.cancel = context.WithDeadline(context.WithoutCancel(w.parent), until)
	}
	return w.done.Done()
}

// Err implements context.Context.
func (w *watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done != nil && w.done.Err() != nil {
		return w.done.Err()
	}
	if err := w.parent.Err(); err != nil {
		return err
	}
	if w.command != nil && !w.command.Send() {
		return context.Canceled
	}
	w.checked = true
	return nil
}

// Value implements context.Context.
func (w *watch) Value(key any) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.parent.Value(key)
}
