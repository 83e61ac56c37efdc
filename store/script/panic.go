package script

import (
	"fmt"
	"runtime/debug"
)

// recovered is a panic in code of the user (an algorithm, a Clock, a hook of the client
// library) while a call was made or answered. That happens for several callers
// concurrently and on a goroutine where nobody could recover it; so each caller that it
// concerns panics with it instead, and the store goes on.
type recovered struct {
	value any
	stack []byte
}

// Error makes it an error, which is how a panic prints it.
func (r *recovered) Error() string { return fmt.Sprintf("%v\n\n%s", r.value, r.stack) }

// Unwrap returns what the panic was called with, if that is an error.
func (r *recovered) Unwrap() error {
	err, _ := r.value.(error)
	return err
}

// recoverFrom runs f, and returns the panic that ended it, or nil.
func recoverFrom(f func()) (r *recovered) {
	defer func() {
		if value := recover(); value != nil {
			r = &recovered{value, debug.Stack()}
		}
	}()
	f()
	return nil
}

// guard runs what answers p.
func (p *pending) guard(answer func()) {
	if r := recoverFrom(answer); r != nil { // the answer is the last that it would have done
		p.panics(r)
	}
}

// panics lets the caller panic.
func (p *pending) panics(r *recovered) {
	p.panicked = r
	p.answer(0, false, nil)
}
