package conformance

import (
	"fmt"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"pgregory.net/rapid"
)

// lawWorld is one run of one law: an algorithm, a key's state, and where its
// clock stands. Whatever is not fixed is drawn.
type lawWorld struct {
	*rapid.T
	law     Law
	a       algorithm.Algorithm
	earlier []algorithm.Algorithm

	// capacity, full and unit give the drawn costs and times their scale:
	// the Limit, the time from a drained key to a fresh one, and to one
	// more unit.
	capacity, full, unit int64

	state algorithm.State
	now   algorithm.Instant
	last  algorithm.Outcome
	story []lawEvent
}

// lawEvent is one Step of the history, for the failure message.
type lawEvent struct {
	by      algorithm.Algorithm // one of the earlier ones, or nil
	at      algorithm.Instant
	request algorithm.Request
	outcome algorithm.Outcome
}

func newLawWorld(t *rapid.T, l Law, a algorithm.Algorithm, earlier []algorithm.Algorithm) *lawWorld {
	w := &lawWorld{T: t, law: l, a: a, earlier: earlier}
	w.now = w.startInstant()
	look := w.try(w.state, w.now, 0)
	w.capacity = look.Limit
	if w.capacity < 1 {
		w.failf("a look at a fresh key reports Limit %d: a capacity is at least 1", w.capacity)
	}
	drained, o := a.Step(w.state, w.now, algorithm.Request{Cost: w.capacity})
	w.full = wholeMicros(o.ResetAfter)
	w.unit = wholeMicros(w.try(drained, w.now, 1).RetryAfter)
	w.last = look
	return w
}

// wholeMicros is d in µs, kept to what can be added to an instant.
func wholeMicros(d time.Duration) int64 {
	return min(max(0, int64(d/time.Microsecond)), int64(algorithm.MaxInstant))
}

// try returns what a would answer to a plain cost; nothing is kept.
func (w *lawWorld) try(s algorithm.State, at algorithm.Instant, cost int64) algorithm.Outcome {
	return w.ask(s, at, algorithm.Request{Cost: cost})
}

func (w *lawWorld) ask(s algorithm.State, at algorithm.Instant, r algorithm.Request) algorithm.Outcome {
	_, o := w.a.Step(s, at, r)
	return o
}

// reach leads the key to some state, with clocks in any order, and leaves the
// clock at a drawn instant near it.
func (w *lawWorld) reach() {
	for range w.number("steps", 0, 10) {
		w.step()
	}
	w.now = w.tick()
}

// step takes one drawn request, or one kind of it many times over. Now and then
// the state goes through its text, as if a store had kept it.
func (w *lawWorld) step() {
	w.now = w.tick()
	r := w.request()
	by, earlier := w.a, algorithm.Algorithm(nil)
	if n := len(w.earlier); n > 0 {
		if i := w.number("decided by", 0, n); i > 0 {
			by, earlier = w.earlier[i-1], w.earlier[i-1]
		}
	}
	times, gap := 1, int64(0)
	switch w.number("manner", 0, 15) {
	case 14:
		times, gap = w.number("times", 2, 80), w.numberOf("gap", 0, w.unit)
	case 15:
		w.state = w.reread(w.state)
	}
	for i := range times {
		if i > 0 {
			w.now = w.at(gap)
		}
		w.state, w.last = by.Step(w.state, w.now, r)
		w.story = append(w.story, lawEvent{earlier, w.now, r, w.last})
	}
}

// reread returns s as it comes back from its text.
func (w *lawWorld) reread(s algorithm.State) algorithm.State {
	read, err := algorithm.ParseState(s.String())
	if err != nil {
		w.failf("the text %q of a state does not read back: %v", s, err)
	}
	return read
}

// request draws a request: around what remains, around the capacity, small.
func (w *lawWorld) request() algorithm.Request {
	return algorithm.Request{Cost: w.cost(), MaxDelay: w.maxDelay()}
}

func (w *lawWorld) cost() int64 {
	switch w.number("cost", 0, 9) {
	case 0:
		return 1
	case 1:
		return 0
	case 2:
		return 2
	case 3:
		return w.last.Remaining
	case 4:
		return w.last.Remaining + 1
	case 5:
		return w.capacity
	case 6:
		return w.capacity + 1
	case 7:
		return w.capacity / 2
	}
	return w.numberOf("units", 1, w.capacity)
}

// maxDelay draws a bound that only a leaky bucket heeds; mostly none.
func (w *lawWorld) maxDelay() time.Duration {
	switch w.number("bound", 0, 7) {
	case 6:
		return time.Duration(w.number("bound in ns", 1, 2000))
	case 7:
		return time.Duration(w.numberOf("bound in µs", 0, w.full)) * time.Microsecond
	}
	return 0
}

// startInstant draws where the clock stands first.
func (w *lawWorld) startInstant() algorithm.Instant {
	const today = 1_764_277_200_123_456
	latest := int64(algorithm.MaxInstant)
	switch w.number("epoch", 0, 4) {
	case 0:
		return algorithm.Instant(w.numberOf("start", 0, 1000))
	case 1:
		return today
	case 2:
		return algorithm.Instant(latest - w.numberOf("before the last instant", 0, 1000))
	case 3:
		return algorithm.Instant(today - today%3_600_000_000 + w.numberOf("past the hour", 0, 10))
	}
	return algorithm.Instant(w.numberOf("start", 0, latest))
}

// tick draws the next reading of a clock that may go back.
func (w *lawWorld) tick() algorithm.Instant {
	switch w.number("clock goes", 0, 9) {
	case 8:
		return w.at(-w.numberOf("back by", 0, min(2*w.full+1, int64(algorithm.MaxInstant))))
	case 9:
		return w.at(-w.numberOf("back by a few", 0, 2*w.unit+1))
	}
	return w.at(w.wait())
}

// wait draws a time to let pass, mostly near one that matters: when the last
// request is admitted, when the key is fresh, when the next unit is due.
func (w *lawWorld) wait() int64 {
	off := func(d int64) int64 { return max(0, d+int64(w.number("off by", -1, 1))) }
	switch w.number("wait", 0, 7) {
	case 0:
		return 0
	case 1:
		return int64(w.number("µs", 1, 3))
	case 2:
		if w.last.RetryAfter == algorithm.Never {
			return off(w.unit)
		}
		return off(wholeMicros(w.last.RetryAfter))
	case 3:
		return off(wholeMicros(w.last.ResetAfter))
	case 4:
		return off(w.unit)
	case 5:
		return w.numberOf("part of a unit", 0, w.unit)
	case 6:
		return w.numberOf("part of the whole", 0, w.full)
	}
	return w.numberOf("long", 0, min(3*w.full+3, int64(algorithm.MaxInstant)))
}

// at is the instant d µs from now, kept within the bounds.
func (w *lawWorld) at(d int64) algorithm.Instant {
	return min(max(w.now+algorithm.Instant(d), 0), algorithm.MaxInstant)
}

// after is the instant d from now; not ok where there is none in bounds.
func (w *lawWorld) after(d time.Duration) (_ algorithm.Instant, ok bool) {
	at := w.now + algorithm.Instant(d/time.Microsecond)
	return at, d != algorithm.Never && at >= w.now && at <= algorithm.MaxInstant
}

func (w *lawWorld) number(label string, from, to int) int {
	return rapid.IntRange(from, to).Draw(w.T, label)
}

// numberOf draws from a range that may be wide: small numbers, large ones, and
// what lies between.
func (w *lawWorld) numberOf(label string, from, to int64) int64 {
	if width := to - from; width > 1000 {
		switch w.number(label+" is", 0, 3) {
		case 2:
			return to - rapid.Int64Range(0, 1000).Draw(w.T, label+", from the top")
		case 3:
			return from + width/int64(w.number(label+", a part of", 2, 9))
		}
	}
	return rapid.Int64Range(from, max(from, to)).Draw(w.T, label)
}

// failf fails the run with the law, its rule and the history so far.
func (w *lawWorld) failf(format string, args ...any) {
	w.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  rule:      %s\n  broken by: %s", w.law.Name, w.law.Rule, fmt.Sprintf(format, args...))
	fmt.Fprintf(&b, "\n  algorithm: %v\n  state:     %q, clock at %v\n  history:", w.a.Spec(), w.state, w.now)
	for _, e := range w.story {
		fmt.Fprintf(&b, "\n    at %v cost %d", e.at, e.request.Cost)
		if e.request.MaxDelay != 0 {
			fmt.Fprintf(&b, " max delay %v", e.request.MaxDelay)
		}
		fmt.Fprintf(&b, ": allowed %t, %d of %d remaining, retry %v, reset %v",
			e.outcome.Allowed, e.outcome.Remaining, e.outcome.Limit, e.outcome.RetryAfter, e.outcome.ResetAfter)
		if e.by != nil {
			fmt.Fprintf(&b, " (as %v)", e.by.Spec().Params)
		}
	}
	w.Fatal(b.String())
}

// mustEqual fails unless two states are the same, in value and in text.
func (w *lawWorld) mustEqual(got, want algorithm.State, what string) {
	w.Helper()
	if !got.Equal(want) || !want.Equal(got) || got.String() != want.String() {
		w.failf("%s: the state is %q, not %q", what, got, want)
	}
}

// mustAnswer fails unless two outcomes are the same.
func (w *lawWorld) mustAnswer(got, want algorithm.Outcome, what string, args ...any) {
	w.Helper()
	if got != want {
		w.failf("%s: the outcome is\n    %+v, not\n    %+v", fmt.Sprintf(what, args...), got, want)
	}
}
