package weir

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// WaitError says why a Wait ended without its units. It matches the error of
// the context where waiting would have outlasted it (context.DeadlineExceeded)
// or where it ended, and ErrNeverAdmitted or ErrQueueFull where those are why.
type WaitError struct {
	// Decision is the last answer of the limit; zero if it was not asked.
	Decision Decision
	// Cause is why.
	Cause error
}

func (e *WaitError) Error() string { return fmt.Sprintf("weir: wait: %v", e.Cause) }

// Unwrap returns the cause.
func (e *WaitError) Unwrap() error { return e.Cause }

var (
	// ErrNeverAdmitted: the cost exceeds the limit, so no wait helps.
	ErrNeverAdmitted = errors.New("the cost exceeds the limit")
	// ErrQueueFull: the leaky bucket holds as much as it can.
	ErrQueueFull = errors.New("the queue is full")
	// errTooLate: the answer cannot come before the deadline of the context.
	errTooLate = fmt.Errorf("the wait would outlast the deadline: %w", context.DeadlineExceeded)
)

// Wait is WaitN for one unit.
func (l *Limiter) Wait(ctx context.Context, key string) (Decision, error) {
	return l.wait(ctx, "Wait", key, 1)
}

// WaitN takes n units as soon as they are admitted, and blocks until then. It
// never returns early, and returns at once when it cannot succeed: with a
// *WaitError where n exceeds the limit, or where the deadline of ctx comes
// first; nothing is taken then. A ctx that has ended is honoured before anything
// is taken. 0 is a look, and waits for nothing. Other errors are those of AllowN.
//
// Those who wait in this process for one key form a queue, first come first
// served: only the first asks the store, so a thousand of them cost about a
// thousand calls. A small cost waits behind a large one. Across processes there
// is no order. AllowN does not queue and may come between.
//
// On a leaky bucket, and any algorithm.Queue, the queue is the limit's own:
// WaitN asks once, with the time left as MaxDelay, and then waits its Delay.
// Where ctx ends during that, the units stay taken.
//
// Waiting counts on the clock of this process, from the answer of the store:
// with a store on an injected clock that stands still, it waits forever.
func (l *Limiter) WaitN(ctx context.Context, key string, n int64) (Decision, error) {
	return l.wait(ctx, "WaitN", key, n)
}

func (l *Limiter) wait(ctx context.Context, verb, key string, n int64) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, &WaitError{Cause: err}
	}
	if n == 0 { // a look waits for nothing
		var d Decision
		err := l.ask(ctx, verb, key, algorithm.Request{}, true, &d)
		return d, err
	}
	if _, queues := l.slot.Algorithm.(algorithm.Queue); queues {
		return l.waitDelay(ctx, verb, key, n)
	}
	// What is refused in any case must not have to queue for it.
	if err := errors.Join(store.ValidateKey(0, key), store.ValidateRequest(0, algorithm.Request{Cost: n})); err != nil {
		return Decision{}, err
	}
	if n > l.most {
		var d Decision
		if err := l.ask(ctx, verb, key, algorithm.Request{Cost: n}, false, &d); err != nil {
			return d, err
		}
		return d, &WaitError{d, ErrNeverAdmitted}
	}
	me, err := l.lines.join(ctx, l.done, key)
	if err != nil {
		return Decision{}, &WaitError{Cause: err}
	}
	defer l.lines.leave(me)
	if err := ctx.Err(); err != nil { // it ended as the turn came
		return Decision{}, &WaitError{Cause: err}
	}
	for {
		var d Decision
		if err := l.ask(ctx, verb, key, algorithm.Request{Cost: n}, true, &d); err != nil || d.Allowed {
			return d, err
		}
		if d.RetryAfter == Never {
			return d, &WaitError{d, ErrNeverAdmitted}
		}
		if err := l.lines.sleep(ctx, l.done, me, d.RetryAfter); err != nil {
			return d, &WaitError{d, err}
		}
	}
}

// waitDelay waits on a limit that is a queue itself.
func (l *Limiter) waitDelay(ctx context.Context, verb, key string, n int64) (Decision, error) {
	r := algorithm.Request{Cost: n}
	if deadline, has := ctx.Deadline(); has {
		r.MaxDelay = max(time.Until(deadline), 1) // 1 ns: no delay at all
	}
	var d Decision
	if err := l.ask(ctx, verb, key, r, true, &d); err != nil {
		return d, err
	}
	switch {
	case d.Allowed:
		if err := sleep(ctx, l.done, d.Delay); err != nil {
			return d, &WaitError{d, err}
		}
		return d, nil
	case d.RetryAfter == Never:
		return d, &WaitError{d, ErrNeverAdmitted}
	case n <= d.Remaining:
		return d, &WaitError{d, errTooLate} // there is room, but not in time
	}
	return d, &WaitError{d, ErrQueueFull}
}

// sleep waits for d, or until ctx ends or the limiter is closed, and returns
// that as an error.
func sleep(ctx context.Context, closed <-chan struct{}, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-closed:
		return store.ErrClosed
	}
}

// lines are the queues of those who wait, one for each key.
type lines struct {
	mu  sync.Mutex
	all map[string]*line
}

// line is the queue for one key. Its first waiter has the turn.
type line struct {
	key     string
	waiters list.List // of *waiter
	until   time.Time // when the first one asks next; zero while it asks
	// earliest is not after any deadline of those behind the first; zero if
	// they have none. It spares most looks through the line.
	earliest time.Time
}

type waiter struct {
	line    *line
	element *list.Element
	turn    chan struct{} // closed when it is the first
	late    chan struct{} // closed when its turn cannot come in time
	// deadline is that of its context; zero if it has none.
	deadline time.Time
}

// join enters the queue for a key and waits for the turn. It returns an error,
// and has left again, when ctx ends, when the turn cannot come before its
// deadline, or when the limiter is closed.
func (q *lines) join(ctx context.Context, closed <-chan struct{}, key string) (*waiter, error) {
	w := &waiter{turn: make(chan struct{}), late: make(chan struct{})}
	w.deadline, _ = ctx.Deadline()
	q.enter(w, key)
	var err error
	select {
	case <-w.turn:
		return w, nil
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

func (q *lines) enter(w *waiter, key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.all[key]
	if l == nil {
		if q.all == nil {
			q.all = map[string]*line{}
		}
		l = &line{key: key}
		q.all[key] = l
	}
	w.line, w.element = l, l.waiters.PushBack(w)
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
func (q *lines) leave(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := w.line
	first := l.waiters.Front() == w.element
	l.waiters.Remove(w.element)
	next := l.waiters.Front()
	if next == nil {
		delete(q.all, l.key)
		return
	}
	if first {
		l.until = time.Time{}
		close(next.Value.(*waiter).turn)
	}
}

// sleep lets the first of a line wait until it asks again. Whoever behind it
// has an earlier deadline is told at once.
func (q *lines) sleep(ctx context.Context, closed <-chan struct{}, w *waiter, d time.Duration) error {
	until := time.Now().Add(d)
	if w.tooLate(until) {
		return errTooLate
	}
	q.mu.Lock()
	w.line.until = until
	w.line.tell(w)
	q.mu.Unlock()
	return sleep(ctx, closed, d)
}

// tell tells those behind the first whose deadline comes before it asks next.
func (l *line) tell(first *waiter) {
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

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
