package law

import (
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/draw"
)

// These laws are about time: waits that are promised and must be kept, and
// clocks that jump.

// denied leads to a request that is denied for a while, and returns it and what
// its outcome; not ok where the drawn one is admitted, or denied for ever.
func (w *World) denied() (r algorithm.Request, o algorithm.Outcome, ok bool) {
	w.reach()
	r = w.Request(w.last)
	if w.Number("ask for more than remains", 0, 1) == 1 {
		look := w.try(w.state, w.now, 0)
		r.Cost = min(w.Capacity, look.Remaining+max(1, r.Cost))
	}
	o = w.ask(w.state, w.now, r)
	return r, o, !o.Allowed && o.RetryAfter != algorithm.Never
}

func admittedAtRetry(w *World) {
	r, o, ok := w.denied()
	if !ok {
		return
	}
	if at, in := w.after(o.RetryAfter); in {
		if then := w.ask(w.state, at, r); !then.Allowed {
			w.failf("%+v at %v is to be retried after %v; then it is denied again, until another %v",
				r, w.now, o.RetryAfter, then.RetryAfter)
		}
	}
}

func deniedBeforeRetry(w *World) {
	r, o, ok := w.denied()
	if !ok || o.RetryAfter <= 0 {
		return
	}
	if at, in := w.after(o.RetryAfter - time.Microsecond); in {
		if then := w.ask(w.state, at, r); then.Allowed || then.RetryAfter != time.Microsecond {
			w.failf("%+v at %v is to be retried after %v; 1 µs earlier: allowed %t, retry after %v",
				r, w.now, o.RetryAfter, then.Allowed, then.RetryAfter)
		}
	}
}

// L3: every instant where the wait is short, else those at its ends and some
// between.
func shortestWait(w *World) {
	r, o, ok := w.denied()
	if !ok {
		return
	}
	wait := draw.Micros(o.RetryAfter)
	probe := func(d int64) {
		at, in := w.after(time.Duration(d) * time.Microsecond)
		if d < 0 || d >= wait || !in {
			return
		}
		then := w.ask(w.state, at, r)
		if left := o.RetryAfter - time.Duration(d)*time.Microsecond; then.Allowed || then.RetryAfter != left {
			w.failf("%+v at %v is to be retried after %v; %d µs later: allowed %t, retry after %v",
				r, w.now, o.RetryAfter, d, then.Allowed, then.RetryAfter)
		}
	}
	if wait <= 200 {
		for d := range wait {
			probe(d)
		}
		return
	}
	for _, d := range []int64{0, 1, wait / 2, wait - w.Unit - 1, wait - w.Unit, wait - 2, wait - 1} {
		probe(d)
	}
	for range 4 {
		probe(w.NumberOf("probe", 0, wait-1))
	}
}

func eventually(w *World) {
	w.reach()
	for _, cost := range w.costs() {
		r := algorithm.Request{Cost: cost, MaxDelay: w.MaxDelay(w.last)}
		if o := w.ask(w.state, w.now, r); cost <= w.Capacity && o.RetryAfter > o.ResetAfter {
			w.failf("%+v is to be retried after %v, and the key is fresh after %v", r, o.RetryAfter, o.ResetAfter)
		}
	}
}

func never(w *World) {
	w.reach()
	n := w.Capacity + w.NumberOf("above by", 1, algorithm.MaxUnits)
	far := w.tick()
	for _, s := range []algorithm.State{w.state, {}} {
		for _, at := range []algorithm.Instant{w.now, far, 0, algorithm.MaxInstant} {
			if o := w.try(s, at, n); o.Allowed || o.RetryAfter != algorithm.Never {
				w.failf("cost %d at %v in state %q: allowed %t, retry after %v", n, at, s, o.Allowed, o.RetryAfter)
			}
		}
	}
}

func fresh(w *World) {
	w.reach()
	reset := w.try(w.state, w.now, 0).ResetAfter
	at, in := w.after(reset)
	if !in {
		return
	}
	asked := w.now
	kept, fresh := w.state, algorithm.State{}
	w.now = at
	for range w.Number("requests", 1, 5) {
		w.now = w.at(w.Wait(w.last))
		r := w.Request(w.last)
		var got, want algorithm.Outcome
		kept, got = w.a.Step(kept, w.now, r)
		fresh, want = w.a.Step(fresh, w.now, r)
		w.mustAnswer(got, want, "at %v the key is said to be fresh after %v; at %v, asked for %+v, against a fresh key",
			asked, reset, w.now, r)
		w.last = got
	}
}

// L6, the other half.
func notFreshBefore(w *World) {
	w.reach()
	reset := w.try(w.state, w.now, 0).ResetAfter
	at, in := w.after(reset)
	if in && reset > 0 && w.looksFresh(at-1) {
		w.failf("at %v the key is said to be fresh after %v; 1 µs earlier no request is answered otherwise than on a fresh key",
			w.now, reset)
	}
}

// looksFresh reports whether no decision at the instant at tells the state from
// a fresh one.
func (w *World) looksFresh(at algorithm.Instant) bool {
	for _, r := range []algorithm.Request{
		{}, {Cost: 1}, {Cost: w.Capacity}, {Cost: 1, MaxDelay: 1},
		{Cost: w.NumberOf("another cost", 1, w.Capacity)},
	} {
		got, want := w.ask(w.state, at, r), w.ask(algorithm.State{}, at, r)
		if r.Cost == 0 {
			// That a look reports the wait in question proves nothing.
			got.ResetAfter, want.ResetAfter = 0, 0
		}
		if got != want {
			return false
		}
	}
	return true
}

func steadyReset(w *World) {
	w.reach()
	first := w.now
	reset := w.try(w.state, first, 0).ResetAfter
	for range w.Number("looks", 1, 4) {
		w.now = w.tick()
		again := w.try(w.state, w.now, 0).ResetAfter
		shift := time.Duration(w.now-first) * time.Microsecond
		steady := again == max(0, reset-shift)
		if reset == 0 && shift < 0 {
			steady = again <= -shift // it became fresh somewhere in between
		}
		if !steady {
			w.failf("at %v the key is fresh after %v, at %v after %v", first, reset, w.now, again)
		}
	}
}

// M1, with M2 and M3: also across the edge of a window.
func patience(w *World) {
	w.reach()
	r := w.Request(w.last)
	for range w.Number("pairs", 1, 4) {
		sooner := w.tick()
		w.now = sooner
		later := w.at(w.Wait(w.last))
		o, p := w.ask(w.state, sooner, r), w.ask(w.state, later, r)
		look, last := w.try(w.state, sooner, 0), w.try(w.state, later, 0)
		if look.Remaining > last.Remaining {
			w.failf("%d remain at %v, and %d at %v", look.Remaining, sooner, last.Remaining, later)
		}
		if o.Allowed && !p.Allowed {
			w.failf("%+v is admitted at %v, and denied at %v", r, sooner, later)
		}
		w.last = p
	}
}

func jump(w *World) {
	w.reach()
	from := w.now
	w.now = w.at(w.NumberOf("jump", 0, int64(algorithm.MaxInstant)))
	to := w.now
	r := w.Request(w.last)
	next, want := w.a.Step(w.state, to, r)
	w.mustBeWellFormed(want, r)
	if fresh := w.try(algorithm.State{}, to, 0); w.try(w.state, to, 0).Remaining > fresh.Remaining {
		w.failf("after a jump from %v to %v more than fresh remains", from, to)
	}

	waiting := w.state
	for range w.Number("steps of waiting", 0, 5) {
		w.now = algorithm.Instant(w.NumberOf("waiting at", int64(from), int64(to)))
		var o algorithm.Outcome
		// A look or a denial; what it answers does not matter.
		waiting, o = w.a.Step(waiting, w.now, algorithm.Request{Cost: w.Capacity + 1})
		waiting, _ = w.a.Step(waiting, w.now, algorithm.Request{})
		if o.Remaining < w.Capacity {
			waiting, _ = w.a.Step(waiting, w.now, algorithm.Request{Cost: o.Remaining + 1})
		}
	}
	same, got := w.a.Step(waiting, to, r)
	w.mustAnswer(got, want, "after waiting in steps from %v to %v, against a jump", from, to)
	w.mustEqual(same, next, "after waiting in steps")
}

func setBack(w *World) {
	r, o, _ := w.denied()
	right := w.now
	w.now = w.at(-w.NumberOf("back by", 0, int64(algorithm.MaxInstant)))
	jump := time.Duration(right-w.now) * time.Microsecond
	back := w.ask(w.state, w.now, r)
	if back.RetryAfter == o.RetryAfter || back.Allowed {
		return // no longer than before, which may be Never
	}
	if back.RetryAfter > jump+o.RetryAfter {
		w.failf("%+v at %v: retry after %v; with the clock set back by %v: after %v", r, right, o.RetryAfter, jump, back.RetryAfter)
	}
	if before := w.try(w.state, right, 0).ResetAfter; back.ResetAfter > jump+before {
		w.failf("at %v the key is fresh after %v; with the clock set back by %v: after %v", right, before, jump, back.ResetAfter)
	}
}
