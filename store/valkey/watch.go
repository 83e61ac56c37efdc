package valkeystore

import (
	"context"
	"sync"
	"time"
)

// watch is the context of a call, and sees how far the call has come: a connection
// of valkey-go asks first for Err, and only if it goes on to send the command for
// Deadline or Done. So a call that asked for neither has sent nothing.
//
// It is used again by later calls, and something that the library started may
// still hold it then, such as an attempt to dial that came too late: hence the
// lock. What such a thing may do is ask for Done, which errs on the safe side.
//
// A call that waits behind others on a connection is ended by Done alone, one that has
// the connection to itself by Deadline. So where the parent has a deadline and no Done,
// one is made, by the first who asks for it: it costs a timer.
type watch struct {
	mu     sync.Mutex
	parent context.Context
	asked  bool
	cancel context.CancelFunc // of a Done that was made; nil for none
}

var _ context.Context = (*watch)(nil)

func (w *watch) begin(parent context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil {
		w.cancel()
	}
	w.parent, w.asked, w.cancel = parent, false, nil
}

// end lets go of the context.
func (w *watch) end() { w.begin(context.Background()) }

// passed says whether the command may have been sent.
func (w *watch) passed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

func (w *watch) ask(passes bool) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = w.asked || passes
	return w.parent
}

// Deadline implements context.Context.
func (w *watch) Deadline() (time.Time, bool) { return w.ask(true).Deadline() }

// Done implements context.Context.
func (w *watch) Done() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = true
	if until, has := w.parent.Deadline(); has && w.parent.Done() == nil {
		w.parent, w.cancel = context.WithDeadline(context.WithoutCancel(w.parent), until)
	}
	return w.parent.Done()
}

// Err implements context.Context.
func (w *watch) Err() error { return w.ask(false).Err() }

// Value implements context.Context.
func (w *watch) Value(key any) any { return w.ask(false).Value(key) }
