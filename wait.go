package weir

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/store"
)

// WaitError says why a Wait ended early. It matches the error of the context where
// waiting would have outlasted it (context.DeadlineExceeded) or where it ended, and
// ErrNeverAdmitted, ErrQueueFull or ErrMaxDelay where those are why.
type WaitError struct {
	// Decision is the last answer of the limit, of the binding one where there are
	// several; zero if no limit was asked, as where the turn of a caller behind others
	// cannot come in time. It is Allowed, and the units are taken, only where ctx ended
	// or the limiter was closed during the Delay of a leaky bucket.
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
	// ErrMaxDelay: the leaky bucket has room, but the Delay would exceed Ask.MaxDelay.
	ErrMaxDelay = errors.New("the delay exceeds the maximum of the ask")
)

// Wait is WaitN for one unit.
func (l *Limiter) Wait(ctx context.Context, key string) (Decision, error) {
	return l.WaitN(ctx, key, 1)
}

// WaitN takes n units as soon as they are admitted, and blocks until then. It
// never returns early, and returns immediately when it cannot succeed: with a
// *WaitError where n exceeds the limit, or where the deadline of ctx comes
// first; nothing is taken then. A ctx that has ended is honoured before anything
// is taken. 0 is a look, and waits for nothing. Other errors are those of AllowN.
//
// The calls that wait in this process for one key form a queue, first come first
// served: only the first asks the store, so a thousand of them cost about a
// thousand calls. A small cost waits behind a large one. Across processes there
// is no order. AllowN does not queue and may come between.
//
// On a leaky bucket, and any algorithm.Queue, the queue is the limit's own:
// WaitN asks once, with the time left as MaxDelay, and then waits its Delay.
// Where ctx ends during that, the units stay taken, and the Decision of the
// *WaitError says so.
//
// Waiting counts on the clock of this process, from the answer of the store:
// with a store on an injected clock that stands still, it waits forever.
func (l *Limiter) WaitN(ctx context.Context, key string, n int64) (Decision, error) {
	if l.observer == nil {
		return l.wait(ctx, key, n)
	}
	start := time.Now()
	d, err := l.wait(ctx, key, n)
	l.observe(ctx, KindWait, key, algorithm.Request{Cost: n}, &d, err, time.Since(start))
	return d, err
}

func (l *Limiter) wait(ctx context.Context, key string, n int64) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, &WaitError{Cause: err}
	}
	r := algorithm.Request{Cost: n}
	var d Decision
	if n == 0 { // a look waits for nothing
		err := l.decide(ctx, key, r, true, &d)
		return d, err
	}
	if isQueue(l.slot.Algorithm) {
		return l.waitDelay(ctx, key, n)
	}
	// What is refused in any case must not have to queue for it.
	if err := store.ValidateRequest(key, l.slot.Algorithm, r); err != nil {
		return Decision{}, err
	}
	if n > l.capacity {
		if err := l.decide(ctx, key, r, true, &d); err != nil || d.Allowed {
			return d, err
		}
		return d, &WaitError{d, ErrNeverAdmitted}
	}
	slot := l.slot
	slot.Key = key
	me, err := l.queues.join(ctx, l.done, slot.ID())
	if err != nil {
		return Decision{}, &WaitError{Cause: err}
	}
	defer l.queues.leave(me)
	for {
		d = Decision{}
		if err := l.decide(ctx, key, r, true, &d); err != nil || d.Allowed {
			return d, err
		}
		if d.RetryAfter == Never {
			return d, &WaitError{d, ErrNeverAdmitted}
		}
		if err := l.queues.sleep(ctx, l.done, d.RetryAfter, me); err != nil {
			return d, &WaitError{d, err}
		}
	}
}

// waitDelay waits on a limit that is a queue itself.
func (l *Limiter) waitDelay(ctx context.Context, key string, n int64) (Decision, error) {
	r := algorithm.Request{Cost: n, MaxDelay: timeLeft(ctx)}
	var d Decision
	if err := l.decide(ctx, key, r, true, &d); err != nil {
		return d, err
	}
	if !d.Allowed {
		return d, &WaitError{d, queueError(d, n)}
	}
	if err := deadline.Sleep(ctx, d.Delay, l.done); err != nil {
		taken := &WaitError{d, err}
		d.Allowed = false
		return d, taken
	}
	return d, nil
}

// isQueue reports whether an algorithm is a queue itself.
func isQueue(a algorithm.Algorithm) bool {
	_, is := a.(algorithm.Queue)
	return is
}

// timeLeft returns the MaxDelay of a caller who waits: the time until its deadline,
// at least 1 ns (no delay), and 0 (no bound) where it has none.
func timeLeft(ctx context.Context) time.Duration {
	deadline, has := ctx.Deadline()
	if !has {
		return 0
	}
	return max(time.Until(deadline), 1)
}

// queueError says why a limit that is a queue denied a cost.
func queueError(d Decision, cost int64) error {
	switch {
	case d.RetryAfter == Never:
		return ErrNeverAdmitted
	case cost <= d.Remaining:
		return errTooLate // there is room, but not in time
	}
	return ErrQueueFull
}

// Wait takes what all asks ask for as soon as every limit admits it, all or nothing,
// and blocks until then. It is WaitN of a Limiter for several limits: it never
// returns early, and returns immediately, with a *WaitError and with nothing taken,
// when it cannot succeed. The calls that wait in this process form a queue for each
// key and limit that they name, and ask when they are the first in all of theirs. A
// limit that is an algorithm.Queue, as the leaky bucket is, has no such queue: its
// Delay is waited for in the end, and where it is full or its turn would come after
// the deadline of ctx or the MaxDelay of its Ask, Wait returns immediately.
func (m *MultiLimiter) Wait(ctx context.Context, asks ...Ask) (Result, error) {
	if m.observer == nil {
		return m.wait(ctx, asks)
	}
	start := time.Now()
	r, err := m.wait(ctx, asks)
	m.observe(ctx, KindWait, asks, &r, err, time.Since(start))
	return r, err
}

func (m *MultiLimiter) wait(ctx context.Context, asks []Ask) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, &WaitError{Cause: err}
	}
	ops, err := opsOf(asks)
	for i := range ops {
		if asks[i].ID != "" {
			return Result{}, &store.InputError{Op: i, Field: "Ask.ID", Value: "an ID", Allowed: "none: a Wait asks until it is admitted"}
		}
		if v := ops[i].Request.Verb; v != algorithm.Take {
			return Result{}, &store.InputError{Op: i, Field: "Ask.Verb", Value: v.String(), Allowed: "take: a charge and a refund wait for nothing"}
		}
	}
	if err == nil {
		err = store.Validate(ops)
	}
	if err != nil {
		return Result{}, err
	}
	mine, err := m.queues.joinAll(ctx, m.done, waitingFor(ops))
	if err != nil {
		return Result{}, &WaitError{Cause: err}
	}
	r, err := m.waitTurn(ctx, asks, ops, mine)
	if err != nil || !r.Allowed {
		return r, err
	}
	if err := deadline.Sleep(ctx, r.Delay, m.done); err != nil {
		r.Allowed = false
		return r, &WaitError{r.Decisions[r.Binding], err}
	}
	return r, nil
}

// waitingFor returns the slots of ops that have a queue here, in order; none where
// an op can never be admitted, which must not have to queue for its answer.
func waitingFor(ops []store.Op) (ids []store.SlotID) {
	for i := range ops {
		if _, fresh := ops[i].Algorithm.Step(algorithm.State{}, 0, algorithm.Request{}); ops[i].Request.Cost > fresh.Limit {
			return nil
		}
		if !isQueue(ops[i].Algorithm) && ops[i].Request.Cost > 0 {
			ids = append(ids, ops[i].ID())
		}
	}
	slices.SortFunc(ids, store.SlotID.Compare)
	return ids
}

// waitTurn asks until the limits admit, or cannot. It leaves the queues also where a store
// panics, and before the Delay: the next waiters may ask meanwhile.
func (m *MultiLimiter) waitTurn(ctx context.Context, asks []Ask, ops []store.Op, mine []*waiter) (Result, error) {
	defer m.queues.leaveAll(mine)
	for {
		for i := range ops {
			if left := timeLeft(ctx); left > 0 && isQueue(ops[i].Algorithm) && ops[i].Request.Cost > 0 {
				own := asks[i].MaxDelay
				if own == 0 || left < own {
					own = left
				}
				ops[i].Request.MaxDelay = own
			}
		}
		r, err := m.decideOps(ctx, "", ops, true)
		if err != nil || r.Allowed {
			return r, err
		}
		for i, d := range r.Decisions {
			if !d.Allowed && (isQueue(ops[i].Algorithm) || d.RetryAfter == Never) {
				err := queueError(d, ops[i].Request.Cost)
				if err == errTooLate && ops[i].Request.MaxDelay == asks[i].MaxDelay {
					err = ErrMaxDelay
				}
				return r, &WaitError{d, err}
			}
		}
		if err := m.queues.sleep(ctx, m.done, r.RetryAfter, mine...); err != nil {
			return r, &WaitError{r.Decisions[r.Binding], err}
		}
	}
}
