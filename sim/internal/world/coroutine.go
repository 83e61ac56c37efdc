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
	sweep   *leases // in place of an attempt
}

func newCoroutine(w *world) *coroutine {
	c := &coroutine{world: w}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		for !w.over {
			if c.sweep != nil {
				c.sweep.Sweep(w.context())
				c.sweep.sweeping = false
			} else {
				c.attempt.node.decide(c.attempt)
			}
			c.attempt, c.sweep = nil, nil
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
	c := w.coroutine()
	c.attempt = a
	c.resume()
}

// coroutine returns one that is idle.
func (w *world) coroutine() (c *coroutine) {
	n := len(w.idle)
	if n == 0 {
		return newCoroutine(w)
	}
	c, w.idle = w.idle[n-1], w.idle[:n-1]
	return c
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
