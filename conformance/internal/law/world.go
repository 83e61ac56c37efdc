package law

import (
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/draw"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

// World is one run of one law: an algorithm, a key's state, and where its
// clock stands. Whatever is not fixed is drawn.
type World struct {
	rapid.TB
	*draw.Limit
	law     Law
	a       algorithm.Algorithm
	earlier []algorithm.Algorithm

	state algorithm.State
	now   algorithm.Instant
	last  algorithm.Outcome
	log   transcript.Log
}

// New returns a World for one run of a law. The algorithms in earlier must be of the
// same kind as a: they decide parts of the history.
func New(t rapid.TB, s draw.Source, l Law, a algorithm.Algorithm, earlier []algorithm.Algorithm) *World {
	w := &World{TB: t, law: l, a: a, earlier: earlier, now: start(s)}
	if w.last = w.try(w.state, w.now, 0); w.last.Limit < 1 {
		w.failf("a look at a fresh key reports Limit %d: a capacity is at least 1", w.last.Limit)
	}
	w.Limit = draw.For(s, a, w.now)
	return w
}

// FromRapid draws from a test of rapid.
type FromRapid struct{ *rapid.T }

// Draw implements draw.Source.
func (r FromRapid) Draw(label string, from, to int64) int64 {
	return rapid.Int64Range(from, to).Draw(r.T, label)
}

// try returns what a would answer to a plain cost; nothing is kept.
func (w *World) try(s algorithm.State, at algorithm.Instant, cost int64) algorithm.Outcome {
	return w.ask(s, at, algorithm.Request{Cost: cost})
}

func (w *World) ask(s algorithm.State, at algorithm.Instant, r algorithm.Request) algorithm.Outcome {
	_, o := w.a.Step(s, at, r)
	return o
}

// reach leads the key to some state, with clocks in any order, and leaves the
// clock at a drawn instant near it.
func (w *World) reach() {
	for range w.Number("steps", 0, 10) {
		w.step()
	}
	w.now = w.tick()
}

// step takes one drawn request, or one kind of it many times over. Now and then
// the state goes through its text, as if a store had kept it.
func (w *World) step() {
	w.now = w.tick()
	r := w.Request(w.last)
	by := w.a
	if n := len(w.earlier); n > 0 {
		if i := w.Number("decided by", 0, n); i > 0 {
			by = w.earlier[i-1]
		}
	}
	times, gap := 1, int64(0)
	switch w.Number("manner", 0, 15) {
	case 14:
		times, gap = w.Number("times", 2, 80), w.NumberOf("gap", 0, w.Unit)
	case 15:
		w.state = w.reread(w.state)
	}
	for i := range times {
		if i > 0 {
			w.now = w.at(gap)
		}
		w.state, w.last = by.Step(w.state, w.now, r)
		w.record(by, w.now, r, w.last)
	}
}

// reread returns s as it comes back from its text.
func (w *World) reread(s algorithm.State) algorithm.State {
	read, err := algorithm.ParseState(s.String())
	if err != nil {
		w.failf("the text %q of a state does not read back: %v", s, err)
	}
	return read
}

// start draws where the clock stands first.
func start(s draw.Source) algorithm.Instant {
	const today = 1_764_277_200_123_456
	latest := int64(algorithm.MaxInstant)
	switch draw.Number(s, "epoch", 0, 4) {
	case 0:
		return algorithm.Instant(s.Draw("start", 0, 1000))
	case 1:
		return today
	case 2:
		return algorithm.Instant(latest - s.Draw("before the last instant", 0, 1000))
	case 3:
		return algorithm.Instant(today - today%3_600_000_000 + s.Draw("past the hour", 0, 10))
	}
	return algorithm.Instant((&draw.Limit{Source: s}).NumberOf("start", 0, latest))
}

// tick draws the next reading of the clock.
func (w *World) tick() algorithm.Instant { return w.Reading(w.now, w.last) }

// at is the instant d µs from now, kept within the bounds.
func (w *World) at(d int64) algorithm.Instant { return draw.After(w.now, d) }

// after is the instant d from now; not ok where there is none in bounds.
func (w *World) after(d time.Duration) (_ algorithm.Instant, ok bool) {
	at := w.now + algorithm.Instant(d/time.Microsecond)
	return at, d != algorithm.Never && at >= w.now && at <= algorithm.MaxInstant
}

// record adds a Step to the transcript.
func (w *World) record(by algorithm.Algorithm, at algorithm.Instant, r algorithm.Request, o algorithm.Outcome) {
	w.log.Call(at, true, "step", []store.Op{{Slot: store.Slot{Algorithm: by}, Request: r, Outcome: o}})
}

// failf fails the run with the law, its rule and the history so far.
func (w *World) failf(format string, args ...any) {
	w.Helper()
	w.Fatalf("%s\n  rule:      %s\n  broken by: %s\n  algorithm: %v\n  state:     %q, clock at %v\n%s",
		w.law.Name, w.law.Rule, fmt.Sprintf(format, args...), w.a.Spec(), w.state, w.now, w.log.String())
}

// mustEqual fails unless two states are the same, in value and in text.
func (w *World) mustEqual(got, want algorithm.State, what string) {
	w.Helper()
	if !got.Equal(want) || !want.Equal(got) || got.String() != want.String() {
		w.failf("%s: the state is %q, not %q", what, got, want)
	}
}

// mustAnswer fails unless two outcomes are the same.
func (w *World) mustAnswer(got, want algorithm.Outcome, what string, args ...any) {
	w.Helper()
	if got != want {
		w.failf("%s: %s\n  got:       %s\n  want:      %s", fmt.Sprintf(what, args...),
			transcript.Difference(got, want), transcript.Outcome(got), transcript.Outcome(want))
	}
}
