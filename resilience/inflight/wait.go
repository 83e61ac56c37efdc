package inflight

import (
	"container/list"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/deadline"
)

// Wait is Acquire that waits for a unit; see WaitN.
func (l *Limiter) Wait(ctx context.Context, key string) (*Hold, error) { return l.WaitN(ctx, key, 1) }

// WaitN waits until cost units of a key are free and takes them, or until ctx ends: give it
// a deadline. The Hold is Allowed. The calls that wait for a key in this process form a
// queue, first come first served, and only the first asks the store: when a hold of this
// Limiter is released, when one expires, and after pauses that double from 5 ms to 250 ms
// with jitter, since other processes release holds, too. Across processes, and against
// callers of Acquire, no order is promised. Where the store fails, all that wait ask it.
//
// An error leaves nothing held: that of ctx, weir.ErrNeverAdmitted for a cost above
// Limit.Units, weir.ErrQueueFull, or that of an Acquire.
func (l *Limiter) WaitN(ctx context.Context, key string, cost int64) (*Hold, error) {
	if cost > l.limit.Units {
		return nil, fmt.Errorf("inflight: wait: %w", weir.ErrNeverAdmitted)
	}
	w, err := l.queues.enter(key, l.maxWaiting)
	if err != nil {
		return nil, fmt.Errorf("inflight: wait: %w", err)
	}
	l.counts.waiting.Add(1)
	defer l.counts.waiting.Add(-1)
	failed := false
	defer func() { l.queues.leave(w, failed) }()
	select {
	case <-w.turn:
	case <-ctx.Done():
		return nil, fmt.Errorf("inflight: wait: %w", ctx.Err())
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		hold, err := l.AcquireN(ctx, key, cost)
		if err != nil || hold.allowed {
			failed = err == nil && hold.cause != nil || weir.IsFailure(err) && deadline.Over(ctx) == nil
			return hold, err
		}
		sleep := pause/2 + rand.N(pause/2)
		if s := hold.standing; s.Next != 0 {
			sleep = min(sleep, time.Duration(s.Next-s.At)*time.Microsecond)
		}
		timer := time.NewTimer(sleep)
		select {
		case <-w.wake:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("inflight: wait: %w", ctx.Err())
		}
		timer.Stop()
	}
}

const (
	firstPause = 5 * time.Millisecond
	lastPause  = 250 * time.Millisecond
)

// queues are the calls that wait, by key.
type queues struct {
	mu  sync.Mutex
	all map[string]*list.List // of *waiter; the first has the turn
}

type waiter struct {
	key     string
	element *list.Element
	turn    chan struct{} // closed when it is the first, or the store has failed
	begun   bool          // turn is closed
	wake    chan struct{} // has room for one: a unit was released
}

func (q *queues) enter(key string, most int) (*waiter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.all[key]
	if queue == nil {
		if q.all == nil {
			q.all = make(map[string]*list.List)
		}
		queue = list.New()
		q.all[key] = queue
	}
	if queue.Len() >= most {
		return nil, weir.ErrQueueFull
	}
	w := &waiter{key: key, turn: make(chan struct{}), wake: make(chan struct{}, 1)}
	w.element = queue.PushBack(w)
	if queue.Front() == w.element {
		w.begin()
	}
	return w, nil
}

// begin is called under the lock.
func (w *waiter) begin() {
	if !w.begun {
		w.begun = true
		close(w.turn)
	}
}

// leave gives the turn to the next, and to all where the store has failed: each would wait
// for its time-out after the other.
func (q *queues) leave(w *waiter, failed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.all[w.key]
	queue.Remove(w.element)
	if queue.Len() == 0 {
		delete(q.all, w.key)
		return
	}
	for e := queue.Front(); e != nil; e = e.Next() {
		e.Value.(*waiter).begin()
		if !failed {
			return
		}
	}
}

// wake lets the first who waits for a key ask.
func (q *queues) wake(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if queue := q.all[key]; queue != nil {
		select {
		case queue.Front().Value.(*waiter).wake <- struct{}{}:
		default: // it will ask already
		}
	}
}
