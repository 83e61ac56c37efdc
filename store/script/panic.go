package script

import (
	"fmt"
	"runtime/debug"
)

// crash is a panic in code of the user (an algorithm, a Clock, a hook of the client
// library) while a call was made or answered. That happens for several callers at once
// and on a goroutine where nobody could recover it; so each caller that it concerns
// panics with it instead, and the store goes on.
type crash struct {
	value any
	stack []byte
}

// Error makes a crash an error, which is how a panic prints it.
func (c *crash) Error() string { return fmt.Sprintf("%v\n\n%s", c.value, c.stack) }

// Unwrap returns what the panic was called with, if that is an error.
func (c *crash) Unwrap() error {
	err, _ := c.value.(error)
	return err
}

// caught runs f, and returns the panic that ended it, or nil.
func caught(f func()) (c *crash) {
	defer func() {
		if value := recover(); value != nil {
			c = &crash{value, debug.Stack()}
		}
	}()
	f()
	return nil
}

// guard runs what answers p.
func (p *pending) guard(answer func()) {
	if c := caught(answer); c != nil { // the answer is the last that it would have done
		p.crashed(c)
	}
}

// crashed lets the caller panic.
func (p *pending) crashed(c *crash) {
	p.crash = c
	p.answer(0, false, nil)
}
