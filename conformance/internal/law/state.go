package law

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weirgo/weir/algorithm"
)

// These laws are about what a state is: a value that a pure function takes and
// returns, with a text that loses nothing.

func function(w *World) {
	w.reach()
	r := w.any()
	before, at := w.state, w.now
	next, o := w.a.Step(before, at, r)
	for range w.Number("steps in between", 0, 3) {
		w.step()
	}
	again, same := w.a.Step(before, at, r)
	w.mustAnswer(same, o, "asked twice of %q at %v for %+v", before, at, r)
	w.mustEqual(again, next, "asked twice")
}

// values keeps states with their text and with an answer that they gave; steps go on
// from any of them.
func values(w *World) {
	type kept struct {
		state, next  algorithm.State
		text, nextTo string // of state and next, as they were
		at           algorithm.Instant
		request      algorithm.Request
		outcome      algorithm.Outcome
	}
	var all []kept
	keep := func() {
		r := w.any()
		next, o := w.a.Step(w.state, w.now, r)
		all = append(all, kept{w.state, next, w.state.String(), next.String(), w.now, r, o})
	}
	keep()
	for range w.Number("branches", 1, 20) {
		if w.Number("from", 0, 2) == 2 {
			old := all[w.Number("an older state", 0, len(all)-1)]
			w.state, w.now = old.state, old.at
		}
		w.step()
		keep()
	}
	for i, k := range all {
		next, o := w.a.Step(k.state, k.at, k.request)
		w.mustAnswer(o, k.outcome, "state %d of %d (%q) asked again at %v for %+v", i, len(all), k.text, k.at, k.request)
		if k.state.String() != k.text || k.next.String() != k.nextTo || next.String() != k.nextTo {
			w.failf("state %d of %d was %q, led to %q, and has become %q, which leads to %q", i, len(all), k.text, k.nextTo, k.state, next)
		}
	}
}

// concurrent steps from one state on three goroutines, for the race detector as well.
func concurrent(w *World) {
	w.reach()
	requests := make([][]algorithm.Request, 3)
	for i := range requests {
		for range w.Number("requests", 1, 3) {
			requests[i] = append(requests[i], w.any())
		}
	}
	run := func(requests []algorithm.Request) (texts []string) {
		s := w.state
		var o algorithm.Outcome
		for _, r := range requests {
			s, o = w.a.Step(s, w.now, r)
			texts = append(texts, fmt.Sprintf("%+v, state %q", o, s))
		}
		return texts
	}
	together := make([][]string, len(requests))
	var wait sync.WaitGroup
	for i := range requests {
		wait.Go(func() { together[i] = run(requests[i]) })
	}
	wait.Wait()
	for i := range requests {
		if alone := run(requests[i]); !slices.Equal(alone, together[i]) {
			w.failf("goroutine %d of %d is answered with %q, and alone with %q", i, len(requests), together[i], alone)
		}
	}
}

func text(w *World) {
	w.reach()
	read := w.reread(w.state)
	w.mustEqual(read, w.state, "read back from text")
	for range w.Number("requests", 1, 4) {
		r := w.any()
		var want algorithm.Outcome
		read, want = w.a.Step(read, w.now, r)
		w.state, w.last = w.a.Step(w.state, w.now, r)
		w.mustAnswer(want, w.last, "read back from text, asked at %v for %+v", w.now, r)
		w.mustEqual(read, w.state, "read back from text and stepped")
		w.now = w.tick()
	}
}

func bounds(w *World) {
	for range w.Number("steps", 0, 12) {
		w.mustBeInBounds()
		w.step()
	}
}

// mustBeInBounds fails unless the state is one that a store can keep.
func (w *World) mustBeInBounds() {
	w.Helper()
	if checker, checks := w.a.(algorithm.StateChecker); checks {
		if err := checker.CheckState(w.state); err != nil {
			w.failf("CheckState refuses a state that Step returned: %v", err)
		}
	}
	for field := range strings.FieldsFuncSeq(w.state.String(), func(r rune) bool { return r == ' ' || r == ':' }) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil || n > algorithm.MaxWord || n < -algorithm.MaxWord {
			w.failf("the word %s is beyond 2^53 - 1", field)
		}
	}
}

// damage wants some state to be refused: a checker that accepts one word and four, a
// log, and negative words has not looked.
func damage(w *World) {
	w.reach()
	checker, checks := w.a.(algorithm.StateChecker)
	if !checks {
		return
	}
	texts := []string{"1", "1 2", "1 2 3", "1 2 3 4", "1 2 3 4 5", "+1 1:2 3", "-1", "-1 -1", "1 -1", "-1 -1 -1", "-1 -1 -1 -1"}
	for _, text := range texts {
		if s, err := algorithm.ParseState(text); err == nil && checker.CheckState(s) != nil {
			return
		}
	}
	w.failf("CheckState accepts all of %q", texts)
}

func kind(w *World) {
	spec := w.a.Spec()
	if len(spec.Kind) < 1 || len(spec.Kind) > 64 || strings.Trim(spec.Kind, "abcdefghijklmnopqrstuvwxyz0123456789-./") != "" {
		w.failf("the kind is %q", spec.Kind)
	}
	w.reach()
	if now := w.a.Spec(); now != spec {
		w.failf("the spec was %+v and is %+v", spec, now)
	}
}

// E13. Trivial for an algorithm without the optional interface.
func inPlace(w *World) {
	a, ok := w.a.(algorithm.InPlace)
	if !ok {
		w.reach()
		return
	}
	w.reach()
	place := w.state
	var copies []algorithm.State
	var texts []string
	for range w.Number("requests", 1, 8) {
		copies, texts = append(copies, place), append(texts, place.String())
		r := w.any()
		next, want := w.a.Step(w.state, w.now, r)
		got := w.last // StepInPlace must not build on what it finds
		a.StepInPlace(&place, w.now, r, &got)
		w.mustAnswer(got, want, "in place at %v for %+v", w.now, r)
		w.mustEqual(place, next, "in place")
		w.state, w.last = next, want
		w.now = w.tick()
	}
	for i, c := range copies {
		if c.String() != texts[i] {
			w.failf("a copy made before in-place step %d was %q and has become %q", i+1, texts[i], c)
		}
	}
}

// C2, in the form that can be proved: with the admissions held fixed. (With
// decisions made anew, a cost that was denied can let a later one in.)
func clockBack(w *World) {
	var latest algorithm.Instant
	var straight algorithm.State
	for range w.Number("requests", 1, 12) {
		at := w.tick()
		r := algorithm.Request{Cost: w.Cost(w.last)}
		var o algorithm.Outcome
		w.state, o = w.a.Step(w.state, at, r)
		w.record(w.a, at, r, o)
		w.last, w.now = o, at
		if !o.Allowed || r.Cost == 0 {
			continue // not recorded, so neither is its instant
		}
		latest = max(latest, at)
		straight, o = w.a.Step(straight, latest, r)
		if !o.Allowed {
			w.failf("cost %d passed at %v, and is denied at %v, the latest reading so far", r.Cost, at, latest)
		}
		w.now = latest
		probe := w.at(w.Wait(w.last))
		w.now = at
		back, there := w.try(w.state, probe, 0), w.try(straight, probe, 0)
		if back.Remaining > there.Remaining {
			w.failf("at %v, %d remain; %d would, had each admission come at the latest reading so far (%q)",
				probe, back.Remaining, there.Remaining, straight)
		}
		if back.ResetAfter < there.ResetAfter {
			w.failf("at %v the key is fresh in %v; in %v, had each admission come at the latest reading so far (%q)",
				probe, back.ResetAfter, there.ResetAfter, straight)
		}
	}
}
