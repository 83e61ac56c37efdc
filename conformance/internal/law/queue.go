package law

import (
	"time"

	"github.com/weirgo/weir/algorithm"
)

// These laws are about queues, whose callers wait for their turn, and about limits
// whose parameters change.

func backlog(w *World) {
	w.reach()
	look, o := w.try(w.state, w.now, 0), w.ask(w.state, w.now, w.Request(w.last))
	if _, is := w.a.(algorithm.Queue); !is {
		if max(look.Delay, o.Delay) > 0 {
			w.failf("the delay is %v, and the algorithm is no algorithm.Queue", max(look.Delay, o.Delay))
		}
		return
	}
	if look.Delay != look.ResetAfter {
		w.failf("a unit would wait for %v, and the queue is empty after %v", look.Delay, look.ResetAfter)
	}
}

func ownCost(w *World) {
	w.reach()
	look := w.try(w.state, w.now, 0)
	if o := w.try(w.state, w.now, max(1, min(w.Cost(w.last), look.Remaining))); o.Allowed && o.Delay != look.Delay {
		w.failf("a look says that a unit waits for %v, and an admitted cost waits for %v", look.Delay, o.Delay)
	}
}

func turns(w *World) {
	var last time.Duration // the turn of the last one, since the epoch
	for range w.Number("requests", 1, 20) {
		w.now = w.tick()
		r := w.Request(w.last)
		w.state, w.last = w.a.Step(w.state, w.now, r)
		w.record(w.a, w.now, r, w.last)
		if !w.last.Allowed || r.Cost == 0 || w.last.Delay == 0 {
			continue // whoever need not wait has no turn
		}
		turn := time.Duration(w.now)*time.Microsecond + w.last.Delay
		if turn < last {
			w.failf("the turn of cost %d is %v before the turn of a request that was admitted earlier", r.Cost, last-turn)
		}
		last = turn
	}
}

func delayBound(w *World) {
	w.reach()
	r := algorithm.Request{Cost: max(1, w.Cost(w.last))}
	o := w.ask(w.state, w.now, r)
	if _, is := w.a.(algorithm.Queue); !is || !o.Allowed {
		return
	}
	for _, bound := range []time.Duration{time.Nanosecond, o.Delay - time.Microsecond, o.Delay, o.Delay + time.Microsecond} {
		if r.MaxDelay = bound; bound <= 0 {
			continue
		}
		got := w.ask(w.state, w.now, r)
		fits := o.Delay <= bound.Truncate(time.Microsecond)
		if got.Allowed != fits || fits && got != o {
			w.failf("%+v, whose delay is %v: allowed %t, delay %v", r, o.Delay, got.Allowed, got.Delay)
		}
		if want := o.Delay - bound.Truncate(time.Microsecond); !fits && got.RetryAfter != want {
			w.failf("%+v, whose delay is %v, is to be retried after %v, and fits after %v", r, o.Delay, got.RetryAfter, want)
		}
	}
}

// flips has two versions of a limit take turns at one instant.
func flips(w *World) {
	if len(w.earlier) == 0 {
		return
	}
	w.reach()
	other := w.earlier[w.Number("the other", 0, len(w.earlier)-1)]
	if other.Spec().Identity != w.a.Spec().Identity {
		return // two states
	}
	_, look := other.Step(w.state, w.now, algorithm.Request{})
	most, total := 2*max(w.Capacity, look.Limit), int64(0)
	for range w.Number("requests at one instant", 1, 20) {
		by := []algorithm.Algorithm{w.a, other}[w.Number("decided by", 0, 1)]
		_, look := by.Step(w.state, w.now, algorithm.Request{})
		r := algorithm.Request{Cost: look.Remaining}
		if w.Number("all that remains", 0, 2) == 0 {
			r.Cost = w.NumberOf("cost", 0, look.Remaining)
		}
		w.state, w.last = by.Step(w.state, w.now, r)
		w.record(by, w.now, r, w.last)
		if w.last.Allowed {
			total += r.Cost
		}
		if total > most {
			w.failf("two versions of a limit admit %d at one instant; at most %d, twice the larger capacity, are due", total, most)
		}
	}
}

// lookedAt has other versions of a limit look at a key, and deny.
func lookedAt(w *World) {
	w.reach()
	for _, other := range w.earlier {
		if other.Spec().Identity != w.a.Spec().Identity {
			continue
		}
		next, o := other.Step(w.state, w.now, algorithm.Request{})
		w.mustEqual(next, w.state, "after a look of a changed limit")
		next, _ = other.Step(w.state, w.now, algorithm.Request{Cost: o.Limit + 1})
		w.mustEqual(next, w.state, "after a denial of a changed limit")
	}
}
