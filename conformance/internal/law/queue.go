package law

import (
	"slices"
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

// versions are the earlier algorithms that share their states with the one under test.
func (w *World) versions() []algorithm.Algorithm {
	return slices.DeleteFunc(slices.Clone(w.earlier), func(other algorithm.Algorithm) bool {
		return other.Spec().Identity != w.a.Spec().Identity
	})
}

// takenBy has another version of the limit take a cost, and returns its outcome; not ok
// where there is none, or nothing remains.
func (w *World) takenBy(cost func(remaining int64) int64) (o algorithm.Outcome, ok bool) {
	all := w.versions()
	if len(all) == 0 {
		return o, false
	}
	other := all[w.Number("taken by", 0, len(all)-1)]
	_, look := other.Step(w.state, w.now, algorithm.Request{})
	if look.Remaining == 0 {
		return look, false
	}
	r := algorithm.Request{Cost: cost(look.Remaining)}
	w.state, w.last = other.Step(w.state, w.now, r)
	w.record(other, w.now, r, w.last)
	return w.last, w.last.Allowed
}

// raised begins with a fresh key: of a state that was there before, time may be over for
// one of the versions only.
func raised(w *World) {
	w.now = w.tick()
	o, ok := w.takenBy(func(remaining int64) int64 { return w.NumberOf("cost", 1, remaining) })
	if look := w.try(w.state, w.now, 0); ok && w.Capacity >= o.Limit && look.Remaining >= w.Capacity {
		w.failf("a limit of %d has just taken, and leaves %d of %d", o.Limit, look.Remaining, w.Capacity)
	}
}

func lowered(w *World) {
	w.reach()
	if _, ok := w.takenBy(func(remaining int64) int64 { return remaining }); !ok {
		return
	}
	look := w.try(w.state, w.now, 0)
	w.mustBeWellFormed(look, algorithm.Request{})
	r := algorithm.Request{Cost: w.NumberOf("cost", 1, w.Capacity)}
	o := w.ask(w.state, w.now, r)
	if !o.Allowed && o.RetryAfter > look.ResetAfter {
		w.failf("%+v is to be retried after %v, and the key is fresh after %v", r, o.RetryAfter, look.ResetAfter)
	}
	if at, in := w.after(o.RetryAfter); in && !w.ask(w.state, at, r).Allowed {
		w.failf("%+v is to be retried after %v, and denied then", r, o.RetryAfter)
	}
	if at, in := w.after(look.ResetAfter); in {
		w.mustAnswer(w.ask(w.state, at, r), w.ask(algorithm.State{}, at, r), "%+v at ResetAfter, against a fresh key", r)
	}
}

// flips has two versions of a limit take turns at one instant.
func flips(w *World) {
	w.reach()
	all := w.versions()
	if len(all) == 0 {
		return
	}
	other := all[w.Number("the other", 0, len(all)-1)]
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
	for _, other := range w.versions() {
		next, o := other.Step(w.state, w.now, algorithm.Request{})
		w.mustEqual(next, w.state, "after a look of a changed limit")
		next, _ = other.Step(w.state, w.now, algorithm.Request{Cost: o.Limit + 1})
		w.mustEqual(next, w.state, "after a denial of a changed limit")
	}
}
