package weir

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/store"
)

// errTooLate: the answer cannot come before the deadline of the context.
var errTooLate = fmt.Errorf("the wait would outlast the deadline: %w", context.DeadlineExceeded)

// queues are the queues of the calls that wait, one for each slot.
type queues struct {
	mu  sync.Mutex
	all map[store.SlotID]*queue
}

// queue is the queue for one slot. Its first waiter has the turn.
type queue struct {
	id      store.SlotID
	waiters list.List // of *waiter
	until   time.Time // when the first one asks next; zero while it asks
	// earliest is not after any deadline of those behind the first; zero if
	// they have none. It spares most looks through the queue.
	earliest time.Time
}

type waiter struct {
	queue   *queue
	element *list.Element
	turn    chan struct{} // closed when it is the first
	late    chan struct{} // closed when its turn cannot come in time
	// deadline is that of its context; zero if it has none.
	deadline time.Time
}

// join enters the queue for a slot and waits for the turn. It returns an error,
// and has left again, when ctx ends, when the turn cannot come before its
// deadline, or when the limiter is closed.
func (q *queues) join(ctx context.Context, closed <-chan struct{}, id store.SlotID) (*waiter, error) {
	w := &waiter{turn: make(chan struct{}), late: make(chan struct{})}
	w.deadline, _ = ctx.Deadline()
	q.enter(w, id)
	var err error
	select {
	case <-w.turn: // ctx or the limiter may have ended as it came
		if err = ctx.Err(); err == nil && isClosed(closed) {
			err = store.ErrClosed
		}
		if err == nil {
			return w, nil
		}
	case <-w.late:
		err = errTooLate
	case <-ctx.Done():
		err = ctx.Err()
	case <-closed:
		err = store.ErrClosed
	}
	q.leave(w)
	return nil, err
}

func (q *queues) enter(w *waiter, id store.SlotID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.all[id]
	if l == nil {
		if q.all == nil {
			q.all = map[store.SlotID]*queue{}
		}
		l = &queue{id: id}
		q.all[id] = l
	}
	w.queue, w.element = l, l.waiters.PushBack(w)
	switch {
	case l.waiters.Len() == 1:
		close(w.turn)
	case w.tooLate(l.until):
		close(w.late)
	case !w.deadline.IsZero() && (l.earliest.IsZero() || w.deadline.Before(l.earliest)):
		l.earliest = w.deadline
	}
}

// leave gives up a place, and the turn to the next one.
func (q *queues) leave(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := w.queue
	first := l.waiters.Front() == w.element
	l.waiters.Remove(w.element)
	next := l.waiters.Front()
	if next == nil {
		delete(q.all, l.id)
		return
	}
	if first {
		l.until = time.Time{}
		close(next.Value.(*waiter).turn)
	}
}

// joinAll enters the queues for several slots, one after the other in the order of
// ids, and returns when it has the turn in all of them. Everybody who enters several
// must keep to one order, so that no two wait for each other.
func (q *queues) joinAll(ctx context.Context, closed <-chan struct{}, ids []store.SlotID) ([]*waiter, error) {
	all := make([]*waiter, 0, len(ids))
	for _, id := range ids {
		w, err := q.join(ctx, closed, id)
		if err != nil {
			q.leaveAll(all)
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

func (q *queues) leaveAll(all []*waiter) {
	for _, w := range all {
		q.leave(w)
	}
}

// sleep lets the first of one or more queues wait until it asks again. A waiter
// behind it with an earlier deadline ends immediately.
func (q *queues) sleep(ctx context.Context, closed <-chan struct{}, d time.Duration, own ...*waiter) error {
	until := time.Now().Add(d)
	q.mu.Lock()
	for _, w := range own {
		if w.tooLate(until) {
			q.mu.Unlock()
			return errTooLate
		}
	}
	for _, w := range own {
		w.queue.until = until
		w.queue.endLate(w)
	}
	q.mu.Unlock()
	return deadline.Sleep(ctx, d, closed)
}

// endLate ends the waiters behind the first whose deadline comes before it asks
// next.
func (l *queue) endLate(first *waiter) {
	if l.earliest.IsZero() || !l.earliest.Before(l.until) {
		return
	}
	l.earliest = time.Time{}
	for e := first.element.Next(); e != nil; e = e.Next() {
		behind := e.Value.(*waiter)
		switch {
		case behind.deadline.IsZero() || isClosed(behind.late):
		case behind.tooLate(l.until):
			close(behind.late)
		case l.earliest.IsZero() || behind.deadline.Before(l.earliest):
			l.earliest = behind.deadline
		}
	}
}

// tooLate reports whether the deadline comes before until; a zero until is
// never too late.
func (w *waiter) tooLate(until time.Time) bool {
	return !w.deadline.IsZero() && w.deadline.Before(until)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
