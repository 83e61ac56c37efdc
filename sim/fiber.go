package sim

import (
	"iter"

	"github.com/weirgo/weir/store"
)

// fiber runs the code under test where it has to wait: a Limiter calls a store, and the
// answer is a message that comes later. It is a coroutine, so one thing happens at a time
// and always in the same order. Fibers are used again.
type fiber struct {
	world *world
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	asks  *attempt
}

func newFiber(w *world) *fiber {
	f := &fiber{world: w}
	f.next, f.stop = iter.Pull(func(yield func(struct{}) bool) {
		f.yield = yield
		for !w.over {
			f.asks.node.decide(f.asks)
			f.asks = nil
			w.idle = append(w.idle, f)
			if w.over || !yield(struct{}{}) {
				return
			}
		}
	})
	w.fibers = append(w.fibers, f)
	return f
}

// start lets an attempt be decided, as far as it gets without waiting.
func (w *world) start(a *attempt) {
	var f *fiber
	if n := len(w.idle); n > 0 {
		f = w.idle[n-1]
		w.idle = w.idle[:n-1]
	} else {
		f = newFiber(w)
	}
	f.asks = a
	f.resume()
}

// resume runs the fiber until it waits again or is done.
func (f *fiber) resume() {
	w := f.world
	before := w.running
	w.running = f
	f.next()
	w.running = before
}

// wait gives control back until resume. It fails when the world ends instead.
func (f *fiber) wait() error {
	if f.world.over || !f.yield(struct{}{}) {
		return store.ErrClosed
	}
	return nil
}

// waitlist is what ends after a time that is the same for all: the first in is the first
// out.
type waitlist[T any] struct {
	items []timed[T]
	first int
	armed bool // an action is planned for the first
}

type timed[T any] struct {
	until int64
	item  T
}

func (l *waitlist[T]) add(until int64, item T) {
	if l.first > 64 && l.first > len(l.items)/2 {
		n := copy(l.items, l.items[l.first:])
		clear(l.items[n:])
		l.items, l.first = l.items[:n], 0
	}
	l.items = append(l.items, timed[T]{until, item})
}

// left returns all that have not been dropped.
func (l *waitlist[T]) left() []timed[T] { return l.items[l.first:] }

// head returns the first, or false.
func (l *waitlist[T]) head() (timed[T], bool) {
	if l.first == len(l.items) {
		return timed[T]{}, false
	}
	return l.items[l.first], true
}

func (l *waitlist[T]) drop() {
	l.items[l.first] = timed[T]{}
	l.first++
}
