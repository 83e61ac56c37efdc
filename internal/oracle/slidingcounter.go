package oracle

import (
	"fmt"
	"math/big"
)

// SlidingCounter is the sliding window counter.
const SlidingCounter Kind = "sliding-counter"

func slidingCounter() family {
	return family{kind: SlidingCounter, windowed: true, start: func() model { return &counter{} }}
}

// counter is the state of a sliding counter: where its window starts, the count
// of it and of the window before. A key that was never used has none of them.
//
//	e = max(now, start), s = ⌊e/W⌋·W; the counts are carried while start ≥ s; cur
//	becomes prev when start ≥ s − W; estimate = ⌈prev·(W − (e − s))/W⌉; admitted
//	iff estimate + cur + n ≤ L; then start = max(start, s)
type counter struct {
	start, cur, prev int64
	used             bool
}

// view is a counter as it is seen at an instant.
type view struct{ start, cur, prev, estimate int64 }

func (w *counter) view(p *parameters, now int64) view {
	e := now
	if w.used {
		e = max(now, w.start)
	}
	start := windowStart(p, e)
	v := view{start: start}
	switch {
	case !w.used:
	case w.start >= start:
		v = view{start: w.start, cur: w.cur, prev: w.prev}
	case w.start >= start-p.period:
		v.prev = w.cur
	}
	left := p.period - (e - start)
	v.estimate = ceilDivide(times(v.prev, big.NewInt(left)), big.NewInt(p.period)).Int64()
	return v
}

func (w *counter) admits(p *parameters, now, cost int64) bool {
	v := w.view(p, now)
	return fits(p, big.NewInt(v.estimate+v.cur), cost)
}

func (w *counter) take(p *parameters, now, cost int64) {
	v := w.view(p, now)
	w.start, w.cur, w.prev, w.used = v.start, v.cur+cost, v.prev, true
}

// refund: from the count of the window that holds at, where it still counts.
func (w *counter) refund(p *parameters, now, at, cost int64) {
	v := w.view(p, now)
	switch window, current := windowStart(p, at), windowStart(p, v.start); {
	case !w.used:
	case window == current && v.cur > 0:
		w.start, w.cur, w.prev = v.start, max(0, v.cur-cost), v.prev
	case window == current-p.period && v.prev > 0:
		w.start, w.cur, w.prev = v.start, v.cur, max(0, v.prev-cost)
	}
}

func (w *counter) fresh(p *parameters, now int64) bool {
	v := w.view(p, now)
	return v.cur == 0 && v.prev == 0 && windowStart(p, v.start) <= now
}

func (w *counter) turn(*parameters, int64) *big.Rat { return new(big.Rat) }

func (w *counter) clone() model { c := *w; return &c }

func (w *counter) String() string {
	return fmt.Sprintf("%d and %d before, from %d", w.cur, w.prev, w.start)
}
