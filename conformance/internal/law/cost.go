package law

import (
	"math"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// These laws are about costs at one instant: what is admitted, what is left,
// and what must not leave a trace.

func capacity(w *World) {
	var passed int64
	unitByUnit := w.Number("unit by unit", 0, 1) == 1
	for part := 0; ; part++ {
		left := w.try(w.state, w.now, 0).Remaining
		if left != w.Capacity-passed {
			w.failf("%d of %d have passed and %d remain", passed, w.Capacity, left)
		}
		if left == 0 {
			break
		}
		cost := left // the rest, at the latest as the 41st part
		if unitByUnit && part < 40 {
			cost = 1
		} else if part < 8 {
			cost = w.NumberOf("part", 1, left)
		}
		var o algorithm.Outcome
		w.state, o = w.a.Step(w.state, w.now, algorithm.Request{Cost: cost})
		if !o.Allowed {
			w.failf("%d of %d have passed, and %d more do not", passed, w.Capacity, cost)
		}
		passed += cost
	}
	if o := w.try(w.state, w.now, 1); o.Allowed {
		w.failf("%d have passed, and one more does", passed)
	}
}

func outcome(w *World) {
	for range w.Number("steps", 1, 16) {
		w.now = w.tick()
		r := w.any()
		w.state, w.last = w.a.Step(w.state, w.now, r)
		w.record(w.a, w.now, r, w.last)
		w.mustBeWellFormed(w.last, r)
		if len(w.earlier) > 0 {
			w.step()
		}
	}
}

func (w *World) mustBeWellFormed(o algorithm.Outcome, r algorithm.Request) {
	whole := func(d time.Duration) bool { return d >= 0 && d%time.Microsecond == 0 }
	switch {
	case o.Limit != w.Capacity:
		w.failf("the limit was %d and is %d", w.Capacity, o.Limit)
	case o.Remaining < 0 || o.Remaining > o.Limit:
		w.failf("%d of %d remain", o.Remaining, o.Limit)
	case o.Allowed && o.RetryAfter != 0:
		w.failf("admitted, yet to be retried after %v", o.RetryAfter)
	case !o.Allowed && o.RetryAfter != algorithm.Never && (o.RetryAfter == 0 || !whole(o.RetryAfter)):
		w.failf("denied, to be retried after %v", o.RetryAfter)
	case !whole(o.ResetAfter):
		w.failf("fresh after %v", o.ResetAfter)
	case !whole(o.Delay):
		w.failf("the delay is %v", o.Delay)
	case !o.Allowed && o.Delay != 0:
		w.failf("denied, yet with the delay %v", o.Delay)
	case o.Allowed && r.Cost > 0 && r.MaxDelay > 0 && o.Delay > r.MaxDelay:
		w.failf("admitted with the delay %v, above the bound of %v", o.Delay, r.MaxDelay)
	case o.Debt < 0 || o.Debt > algorithm.MaxUnits || o.Debt > 0 && o.Remaining > 0:
		w.failf("%d remain, and the debt is %d", o.Remaining, o.Debt)
	case o.Allowed && r.Cost > 0 && r.Verb != algorithm.Refund && o.ResetAfter == 0:
		w.failf("cost %d admitted, and the key is said to be fresh", r.Cost)
	case o.Remaining < o.Limit && o.ResetAfter == 0:
		w.failf("%d of %d remain, and the key is said to be fresh", o.Remaining, o.Limit)
	}
}

func smaller(w *World) {
	w.reach()
	r := w.Request(w.last)
	if !w.ask(w.state, w.now, r).Allowed {
		return
	}
	for _, cost := range w.costs() {
		s := algorithm.Request{Cost: cost, MaxDelay: r.MaxDelay}
		if cost < r.Cost && !w.ask(w.state, w.now, s).Allowed {
			w.failf("%+v is admitted, %+v is not", r, s)
		}
	}
}

// costs are costs that an algorithm may take for something special, and some others.
func (w *World) costs() []int64 {
	all := []int64{0, 1, 2, 3, 4, 5, w.Capacity / 2, w.Capacity - 1, w.Capacity, w.Capacity + 1}
	return append(all, w.NumberOf("cost", 0, w.Capacity), w.last.Remaining, w.last.Remaining+1)
}

func larger(w *World) {
	w.reach()
	if w.Number("drained", 0, 1) == 1 {
		w.state, w.last = w.a.Step(w.state, w.now, algorithm.Request{Cost: w.try(w.state, w.now, 0).Remaining})
	}
	r := w.Request(w.last)
	o := w.ask(w.state, w.now, r)
	if o.Allowed {
		return
	}
	for _, cost := range append(w.costs(), r.Cost+1, r.Cost+w.NumberOf("more", 1, 2*w.Capacity)) {
		l := algorithm.Request{Cost: cost, MaxDelay: r.MaxDelay}
		if p := w.ask(w.state, w.now, l); cost > r.Cost && (p.Allowed || p.RetryAfter < o.RetryAfter) {
			w.failf("%+v is denied until %v; %+v: allowed %t, retry after %v", r, o.RetryAfter, l, p.Allowed, p.RetryAfter)
		}
	}
}

func look(w *World) {
	w.reach()
	for range w.Number("looks", 1, 3) {
		r := algorithm.Request{MaxDelay: w.MaxDelay(w.last)}
		next, o := w.a.Step(w.state, w.now, r)
		if !o.Allowed || o.RetryAfter != 0 {
			w.failf("a look at %v is answered with %+v", w.now, o)
		}
		w.mustEqual(next, w.state, "after a look")
		w.last = o
		w.now = w.tick()
	}
}

func denial(w *World) {
	w.reach()
	for range w.Number("requests", 1, 4) {
		r := w.Request(w.last)
		next, o := w.a.Step(w.state, w.now, r)
		if !o.Allowed {
			w.mustEqual(next, w.state, "after a denial")
			look := w.try(w.state, w.now, 0)
			look.Allowed, look.RetryAfter, look.Delay = false, o.RetryAfter, 0
			w.mustAnswer(o, look, "a denial of %+v against a look", r)
		}
		w.last = o
		w.now = w.tick()
	}
}

func remaining(w *World) {
	w.reach()
	s, o := w.a.Step(w.state, w.now, algorithm.Request{Cost: w.Cost(w.last)})
	w.state = s
	k := o.Remaining
	if k > 0 {
		if at := w.try(s, w.now, k); !at.Allowed || at.Remaining != 0 {
			w.failf("%d remain; asking for them is answered with %+v", k, at)
		}
	}
	if w.try(s, w.now, k+1).Allowed {
		w.failf("%d remain, and %d are admitted", k, k+1)
	}
	if k > 50 {
		return
	}
	for n := range k + 1 {
		s, o = w.a.Step(s, w.now, algorithm.Request{Cost: 1})
		if o.Allowed != (n < k) {
			w.failf("%d remain; unit %d, taken alone: allowed %t", k, n+1, o.Allowed)
		}
	}
}

func sum(w *World) {
	w.reach()
	x := w.NumberOf("a", 1, max(1, w.Cost(w.last)))
	y := w.NumberOf("b", 1, max(1, w.Cost(w.last)))
	first, o1 := w.a.Step(w.state, w.now, algorithm.Request{Cost: x})
	second, o2 := w.a.Step(first, w.now, algorithm.Request{Cost: y})
	both, o := w.a.Step(w.state, w.now, algorithm.Request{Cost: x + y})
	if (o1.Allowed && o2.Allowed) != o.Allowed {
		w.failf("%d and then %d: allowed %t and %t; %d: allowed %t", x, y, o1.Allowed, o2.Allowed, x+y, o.Allowed)
	}
	if !o.Allowed {
		return
	}
	w.mustEqual(second, both, "taken in two parts")
	if o2.Remaining != o.Remaining || o2.ResetAfter != o.ResetAfter {
		w.failf("%d and then %d leave %d, fresh after %v; %d leaves %d, fresh after %v",
			x, y, o2.Remaining, o2.ResetAfter, x+y, o.Remaining, o.ResetAfter)
	}
}

func foretold(w *World) {
	times, cost := 1, int64(1)
	if w.Number("many units", 0, 3) == 0 {
		times = 300 // a state that grows with each becomes long
	} else {
		w.reach()
		cost = w.Cost(w.last)
	}
	for range times {
		look := w.try(w.state, w.now, 0)
		next, o := w.a.Step(w.state, w.now, algorithm.Request{Cost: cost})
		if o.Allowed != (cost <= look.Remaining) {
			w.failf("a look reports %d, and cost %d: allowed %t", look.Remaining, cost, o.Allowed)
		}
		if o.Allowed && o.Remaining != look.Remaining-cost {
			w.failf("a look reports %d, and after cost %d there remain %d", look.Remaining, cost, o.Remaining)
		}
		if again := w.try(next, w.now, 0); again.Remaining != o.Remaining {
			w.failf("after cost %d there remain %d, and a look at the state that is left reports %d", cost, o.Remaining, again.Remaining)
		}
		if o.ResetAfter < look.ResetAfter {
			w.failf("cost %d brings the reset forward, from %v to %v", cost, look.ResetAfter, o.ResetAfter)
		}
		w.state, w.now = next, w.at(1)
	}
}

func negative(w *World) {
	w.reach()
	costs := []int64{-1, -w.Capacity, -w.NumberOf("minus", 1, math.MaxInt64), math.MinInt64}
	for _, n := range costs {
		next, o := w.a.Step(w.state, w.now, algorithm.Request{Cost: n})
		if o.Allowed || o.RetryAfter != algorithm.Never {
			w.failf("cost %d: allowed %t, retry after %v", n, o.Allowed, o.RetryAfter)
		}
		w.mustBeWellFormed(o, algorithm.Request{Cost: n})
		w.mustEqual(next, w.state, "after a negative cost")
	}
}

func edges(w *World) {
	_, o := w.a.Step(algorithm.State{}, w.now, algorithm.Request{Cost: w.Capacity})
	if !o.Allowed || o.Remaining != 0 {
		w.failf("the whole capacity of a fresh key: allowed %t, %d remain", o.Allowed, o.Remaining)
	}
	w.reach()
	for _, n := range []int64{w.Capacity + 1, w.NumberOf("above", w.Capacity+1, math.MaxInt64), math.MaxInt64} {
		next, o := w.a.Step(w.state, w.now, algorithm.Request{Cost: n})
		if o.Allowed || o.RetryAfter != algorithm.Never {
			w.failf("cost %d of %d: allowed %t, retry after %v", n, w.Capacity, o.Allowed, o.RetryAfter)
		}
		w.mustEqual(next, w.state, "after a cost above the capacity")
	}
}

func extremeInstants(w *World) {
	w.reach()
	for range w.Number("requests", 1, 4) {
		w.now = []algorithm.Instant{0, algorithm.MaxInstant}[w.Number("at the end", 0, 1)]
		r := w.any()
		w.state, w.last = w.a.Step(w.state, w.now, r)
		w.record(w.a, w.now, r, w.last)
		w.mustBeWellFormed(w.last, r)
		w.mustBeInBounds()
	}
}
