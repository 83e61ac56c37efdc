package world

// fifo is items with an instant each, of which the first in is the first out.
type fifo[T any] struct {
	items []timed[T]
	first int
}

type timed[T any] struct {
	until int64
	item  T
}

func (f *fifo[T]) add(until int64, item T) {
	if f.first > 64 && f.first > len(f.items)/2 {
		n := copy(f.items, f.items[f.first:])
		clear(f.items[n:])
		f.items, f.first = f.items[:n], 0
	}
	f.items = append(f.items, timed[T]{until, item})
}

// left returns the items that are left.
func (f *fifo[T]) left() []timed[T] { return f.items[f.first:] }

// head returns the first item, and false where there is none.
func (f *fifo[T]) head() (timed[T], bool) {
	if f.first == len(f.items) {
		return timed[T]{}, false
	}
	return f.items[f.first], true
}

func (f *fifo[T]) drop() {
	f.items[f.first] = timed[T]{}
	f.first++
}

// timeouts ends items that are not done after a time that is the same for all.
type timeouts[T any] struct {
	fifo[T]
	world  *world
	after  int64
	done   func(T) bool
	expire func(T)
	armed  bool // an action is planned for the first
}

func (t *timeouts[T]) add(item T) {
	until := t.world.Now + t.after
	t.fifo.add(until, item)
	if !t.armed {
		t.armed = true
		t.world.queue.plan(until, t)
	}
}

// drain returns the items that are not done, and forgets all.
func (t *timeouts[T]) drain() (open []T) {
	for _, i := range t.left() {
		if !t.done(i.item) {
			open = append(open, i.item)
		}
	}
	t.fifo = fifo[T]{}
	return open
}

// happen expires the items whose time is up. It stays armed meanwhile: who is expired may
// add an item.
func (t *timeouts[T]) happen(w *world) {
	for {
		first, some := t.head()
		if !some {
			t.armed = false
			return
		}
		if !t.done(first.item) {
			if first.until > w.Now {
				w.queue.plan(first.until, t)
				return
			}
			t.expire(first.item)
		}
		t.drop()
	}
}
