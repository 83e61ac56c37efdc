package world

import (
	"iter"

	"github.com/weirgo/weir/store"
)

// coroutine runs the code under test where it has to wait: a Limiter calls a store, and
// the answer is a message that comes later. So one thing happens at a time and always in
// the same order. Coroutines are used again.
type coroutine struct {
	world   *world
	next    func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	attempt *attempt
}

func newCoroutine(w *world) *coroutine {
	c := &coroutine{world: w}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		for !w.over {
			c.attempt.node.decide(c.attempt)
			c.attempt = nil
			w.idle = append(w.idle, c)
			if w.over || !yield(struct{}{}) {
				return
			}
		}
	})
	w.coroutines = append(w.coroutines, c)
	return c
}

// start decides an attempt, as far as it gets without waiting.
func (w *world) start(a *attempt) {
	var c *coroutine
	if n := len(w.idle); n > 0 {
		c, w.idle = w.idle[n-1], w.idle[:n-1]
	} else {
		c = newCoroutine(w)
	}
	c.attempt = a
	c.resume()
}

// resume runs the coroutine until it waits again or is done.
func (c *coroutine) resume() {
	w := c.world
	before := w.running
	w.running = c
	c.next()
	w.running = before
}

// wait gives control back until resume. It fails when the world ends instead.
func (c *coroutine) wait() error {
	if c.world.over || !c.yield(struct{}{}) {
		return store.ErrClosed
	}
	return nil
}
