// Package rethrow waits for goroutines whose panics are those of whoever waits.
package rethrow

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Group is a group of goroutines. The zero Group is empty. A panic of one does not end the
// program, which nobody could prevent, but goes on where Wait is called.
type Group struct {
	running  sync.WaitGroup
	panicked atomic.Pointer[panicked]
}

// Go runs f on a goroutine.
func (g *Group) Go(f func()) {
	g.running.Go(func() {
		defer func() {
			if value := recover(); value != nil {
				g.panicked.CompareAndSwap(nil, &panicked{value, debug.Stack()})
			}
		}()
		f()
	})
}

// Wait waits for all, and panics with the panic of the first that had one.
func (g *Group) Wait() {
	g.running.Wait()
	if p := g.panicked.Load(); p != nil {
		panic(p)
	}
}

// panicked is an error, which is how a panic prints it.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

// Unwrap returns what the panic was called with, if that is an error.
func (p *panicked) Unwrap() error {
	err, _ := p.value.(error)
	return err
}
