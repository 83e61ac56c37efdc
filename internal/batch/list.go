package batch

// list is a queue of values from the middle of which one can leave: each brings the
// link that holds it, so a list allocates nothing.
type list[E any] struct{ head, tail *link[E] }

// link is the place of a value in a list.
type link[E any] struct {
	value      E
	prev, next *link[E]
	listed     bool
}

// first returns the value that came first.
func (l *list[E]) first() (value E, some bool) {
	if l.head == nil {
		return value, false
	}
	return l.head.value, true
}

// push adds a value at the end, in a link that is in no list.
func (l *list[E]) push(at *link[E], value E) {
	*at = link[E]{value: value, prev: l.tail, listed: true}
	if l.tail == nil {
		l.head = at
	} else {
		l.tail.next = at
	}
	l.tail = at
}

// remove takes a link of this list out.
func (l *list[E]) remove(at *link[E]) {
	if at.prev == nil {
		l.head = at.next
	} else {
		at.prev.next = at.next
	}
	if at.next == nil {
		l.tail = at.prev
	} else {
		at.next.prev = at.prev
	}
	*at = link[E]{}
}
