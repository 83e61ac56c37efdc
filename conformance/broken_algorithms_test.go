package conformance_test

import (
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// brokenAlgorithm is a sound one with one mistake, and the law that must notice. build
// makes a new one for each run, so that one with a memory of its own repeats itself.
type brokenAlgorithm struct {
	law, how string
	build    func() algorithm.Algorithm
}

var brokenAlgorithms = []brokenAlgorithm{
	{"P1-equal-arguments-equal-results", "counts its calls", countsCalls},
	{"P2-states-are-values", "remembers states", remembersStates},
	{"P2-concurrent-steps-are-independent", "remembers states", remembersStates},
	{"P5-text-keeps-the-state", "word beyond 2^53", on(soundBucket, largeWord)},
	{"P6-words-are-in-bounds", "word beyond 2^53", on(soundBucket, largeWord)},
	{"P6-words-are-in-bounds", "CheckState refuses what Step wrote", func() algorithm.Algorithm { return strict{soundBucket()} }},
	{"K6-kind-names-the-layout", "kind with a space", func() algorithm.Algorithm { return renamed{soundBucket()} }},
	{"E13-in-place-equals-step", "forgets to store", func() algorithm.Algorithm { return forgetful{soundBucket()} }},
	{"E13-in-place-equals-step", "leaves what the outcome held", func() algorithm.Algorithm { return untidy{soundBucket()} }},

	{"S6-fresh-admits-the-capacity", "charges 3 for 2", on(soundBucket, dearPair)},
	{"S8-outcome-is-well-formed", "ResetAfter with half a microsecond", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		o.ResetAfter += 500
		return next, o
	})},
	{"S8-outcome-is-well-formed", "Limit is what remains", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		o.Limit = max(1, o.Remaining)
		return next, o
	})},
	{"S8-outcome-is-well-formed", "ignores MaxDelay", on(soundQueue, func(a alg, s st, now at, r req) (st, out) {
		return a.Step(s, now, req{Cost: r.Cost})
	})},
	{"M4-smaller-cost-is-admitted", "refuses small change", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		if r.Cost == 1 && !s.Fresh() {
			_, o := a.Step(s, now, req{})
			o.Allowed, o.RetryAfter = false, time.Microsecond
			return s, o
		}
		return a.Step(s, now, r)
	})},
	{"M5-larger-cost-is-denied", "admits one size too much", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if r.Cost == 4 {
			o.Allowed, o.RetryAfter = true, 0
		}
		return next, o
	})},
	{"M5-larger-cost-is-denied", "waits less for more", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if r.Cost == 5 && !o.Allowed {
			o.RetryAfter = time.Microsecond
		}
		return next, o
	})},
	{"M6-look-changes-nothing", "a look writes", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if r.Cost == 0 && next.Fresh() {
			next = algorithm.NewState(int64(now))
		}
		return next, o
	})},
	{"M6-look-changes-nothing", "a look in debt is denied", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if o.Remaining == 0 && r.Cost == 0 {
			o.Allowed, o.RetryAfter = false, time.Microsecond
		}
		return next, o
	})},
	{"M7-denial-changes-nothing", "a denial is charged", on(soundWindow, chargedDenial)},
	{"M7-denial-changes-nothing", "reset 0 on denial", on(soundWindow, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if !o.Allowed {
			o.ResetAfter = 0
		}
		return next, o
	})},
	{"E3-remaining-is-exact", "one less", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		o.Remaining = max(0, o.Remaining-1)
		return next, o
	})},
	{"E4-costs-add-up", "charges 3 for 2", on(soundBucket, dearPair)},
	{"E14-look-foretells-take", "a look flatters", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if r.Cost == 0 {
			o.Remaining = min(o.Limit, o.Remaining+1)
		}
		return next, o
	})},
	{"I1-negative-cost-is-harmless", "refunds", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		if r.Cost < 0 {
			return a.Step(st{}, now, req{})
		}
		return a.Step(s, now, r)
	})},
	{"I1-cost-at-the-edges", "a wait for what cannot pass", on(soundBucket, soonInsteadOfNever)},
	{"C7-first-and-last-instant-are-sound", "panics", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		if now == algorithm.MaxInstant {
			panic("the last instant")
		}
		return a.Step(s, now, r)
	})},
	{"P5-damage-is-refused", "CheckState accepts everything", func() algorithm.Algorithm { return tolerant{soundBucket()} }},

	{"S5-delay-is-the-backlog", "the delay is 0", onQueue(func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		o.Delay = 0
		return next, o
	})},
	{"S5-delay-is-the-backlog", "the delay is 1 µs short", onQueue(func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		o.Delay = max(0, o.Delay-time.Microsecond)
		return next, o
	})},
	{"S5-delay-is-the-backlog", "a delay without a queue", on(soundQueue, alg.Step)},
	{"S5-own-cost-does-not-delay", "the delay has the own service in it", onQueue(func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if o.Allowed {
			o.Delay = o.ResetAfter
		}
		return next, o
	})},
	{"S5-own-cost-does-not-delay", "a look waits for nobody", onQueue(func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if r.Cost == 0 {
			o.Delay = 0
		}
		return next, o
	})},
	{"J3-turns-keep-the-order", "last in, first out", onQueue(func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if o.Delay > 0 {
			o.Delay = max(time.Microsecond, 500*time.Millisecond-o.Delay)
		}
		return next, o
	})},
	{"L3-bound-on-the-delay-is-exact", "a delay as long as its bound is denied", onQueue(func(a alg, s st, now at, r req) (st, out) {
		if next, o := a.Step(s, now, req{Cost: r.Cost}); r.MaxDelay > 0 && o.Delay == r.MaxDelay {
			return a.Step(s, now, req{Cost: r.Cost, MaxDelay: r.MaxDelay - time.Microsecond})
		} else if r.MaxDelay == 0 {
			return next, o
		}
		return a.Step(s, now, r)
	})},
	{"K2-raised-limit-gives-nothing-back", "a raised limit is full", refillsOnChange(9)},
	{"K3-lowered-limit-fills-again", "a limit below what is used denies for ever", stopsOnChange(5)},
	{"K3-lowered-limit-fills-again", "a limit below what is used reports less than nothing", owesOnChange(5)},
	{"K4-looks-of-other-limits-change-nothing", "a look under a changed limit writes", rewritesOnChange(5)},
	{"K7-changes-grant-nothing-more", "the state is ignored when the limit changes", ignoresOnChange(5)},

	{"L1-admitted-at-retry-after", "too early by 1 µs", on(soundBucket, retryOff(-time.Microsecond))},
	{"L1-admitted-at-retry-after", "cut to milliseconds", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if o.RetryAfter != algorithm.Never && o.RetryAfter > time.Millisecond {
			o.RetryAfter = o.RetryAfter.Truncate(time.Millisecond)
		}
		return next, o
	})},
	{"L2-denied-until-retry-after", "too late by 1 µs", on(soundBucket, retryOff(time.Microsecond))},
	{"L3-retry-after-is-the-shortest-wait", "always the time to fresh", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if !o.Allowed && o.RetryAfter != algorithm.Never {
			o.RetryAfter = o.ResetAfter
		}
		return next, o
	})},
	{"L4-capacity-is-admitted-in-the-end", "Never for the capacity", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if !o.Allowed && r.Cost == o.Limit {
			o.RetryAfter = algorithm.Never
		}
		return next, o
	})},
	{"L5-above-capacity-is-never-admitted", "a wait for what cannot pass", on(soundBucket, soonInsteadOfNever)},
	{"L6-fresh-at-reset-after", "too early by 1 µs", on(soundBucket, resetOff(-time.Microsecond))},
	{"L6-not-fresh-before-reset-after", "too late by 1 µs", on(soundBucket, resetOff(time.Microsecond))},
	{"L7-reset-instant-is-steady", "rounded to seconds", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		o.ResetAfter = (o.ResetAfter + time.Second - 1).Truncate(time.Second)
		return next, o
	})},
	{"M1-remaining-never-falls-with-time", "nothing on odd microseconds", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if now%2 == 1 {
			o.Remaining = 0
		}
		return next, o
	})},
	{"C2-clock-going-back-gains-nothing", "moves back with the clock", on(soundWindow, func(a alg, s st, now at, r req) (st, out) {
		if !s.Fresh() && int64(now) < s.Word(0) {
			s = st{}
		}
		return a.Step(s, now, r)
	})},
	{"C5-jump-forward-is-idleness", "a denial is charged", on(soundWindow, chargedDenial)},
	{"C5-jump-forward-is-idleness", "pays interest", on(soundWindow, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if !s.Fresh() && int64(now)-s.Word(0) > 60_000_000 {
			o.Remaining++
		}
		return next, o
	})},
	{"C6-jump-back-costs-only-the-jump", "counts the jump twice", on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if !o.Allowed && o.RetryAfter != algorithm.Never && o.RetryAfter > 10*time.Second {
			o.RetryAfter *= 2
		}
		return next, o
	})},
}

type (
	alg = algorithm.Algorithm
	st  = algorithm.State
	at  = algorithm.Instant
	req = algorithm.Request
	out = algorithm.Outcome
)

// scale is the place of the parameters of the sound algorithms: usual ones, and larger
// ones that hide more.
var scale = 0

var scales = []struct {
	rate  algorithm.Rate
	burst int64
}{
	{algorithm.Rate{Units: 7, Per: 3 * time.Second}, 5},
	{algorithm.Rate{Units: 1_000_003, Per: 24 * time.Hour}, 50},
	{algorithm.Rate{Units: algorithm.MaxUnits, Per: algorithm.MaxPeriod}, algorithm.MaxUnits},
}

func soundBucket() alg {
	return algorithm.Must(algorithm.NewGCRA(scales[scale].rate, scales[scale].burst))
}

func soundQueue() alg {
	return algorithm.Must(algorithm.NewLeakyBucket(scales[scale].rate, scales[scale].burst))
}

func soundWindow() alg { return algorithm.Must(algorithm.NewFixedWindow(scales[scale].rate)) }

// mistakenQueue is mistaken, and a queue.
type mistakenQueue struct{ mistaken }

func (mistakenQueue) Queue() {}

func onQueue(step func(a alg, s st, now at, r req) (st, out)) func() alg {
	return func() alg { return mistakenQueue{mistaken{soundQueue(), step}} }
}

// onChange is a fixed window that keeps its limit as a third word, and does something
// where that is another.
func onChange(limit int64, changed func(a alg, s st, now at, r req) (st, out)) func() alg {
	window := func() alg { return algorithm.Must(algorithm.NewFixedWindow(algorithm.PerSecond(limit))) }
	return on(window, func(a alg, s st, now at, r req) (st, out) {
		known, written := s, limit
		if s.Words() == 3 {
			known, written = algorithm.NewState(s.Word(0), s.Word(1)), s.Word(2)
		}
		step := alg.Step
		if written != limit {
			step = changed
		}
		next, o := step(a, known, now, r)
		if o.Allowed && r.Cost > 0 || next.Fresh() != known.Fresh() {
			return algorithm.NewState(next.Word(0), next.Word(1), limit), o
		}
		return s, o
	})
}

func ignoresOnChange(limit int64) func() alg {
	return onChange(limit, func(a alg, _ st, now at, r req) (st, out) { return a.Step(st{}, now, r) })
}

func refillsOnChange(limit int64) func() alg {
	return onChange(limit, func(a alg, s st, now at, r req) (st, out) {
		if s.Words() == 2 && s.Word(1) < limit {
			s = st{}
		}
		return a.Step(s, now, r)
	})
}

func stopsOnChange(limit int64) func() alg {
	return onChange(limit, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if !o.Allowed && s.Word(1) > limit {
			o.RetryAfter = algorithm.Never
		}
		return next, o
	})
}

func owesOnChange(limit int64) func() alg {
	return onChange(limit, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if o.Remaining == 0 {
			o.Remaining = min(0, limit-s.Word(1))
		}
		return next, o
	})
}

func rewritesOnChange(limit int64) func() alg {
	sound := onChange(limit, alg.Step)
	return func() alg {
		return on(sound, func(a alg, s st, now at, r req) (st, out) {
			next, o := a.Step(s, now, r)
			if s.Words() == 3 && s.Word(2) != limit {
				next = algorithm.NewState(s.Word(0), s.Word(1), limit)
			}
			return next, o
		})()
	}
}

// mistaken steps in its own way.
type mistaken struct {
	algorithm.Algorithm
	step func(a alg, s st, now at, r req) (st, out)
}

func (m mistaken) Step(s st, now at, r req) (st, out) { return m.step(m.Algorithm, s, now, r) }

func on(sound func() alg, step func(a alg, s st, now at, r req) (st, out)) func() alg {
	return func() alg { return mistaken{sound(), step} }
}

func largeWord(a alg, s st, now at, r req) (st, out) {
	next, o := a.Step(st{}, now, r)
	if o.Allowed && r.Cost > 0 {
		next = algorithm.NewState(algorithm.MaxWord + 1)
	}
	return next, o
}

func dearPair(a alg, s st, now at, r req) (st, out) {
	if r.Cost == 2 {
		r.Cost = 3
	}
	return a.Step(s, now, r)
}

func chargedDenial(a alg, s st, now at, r req) (st, out) {
	next, o := a.Step(s, now, r)
	if !o.Allowed && !s.Fresh() {
		next = algorithm.NewState(s.Word(0), s.Word(1)+1)
	}
	return next, o
}

func soonInsteadOfNever(a alg, s st, now at, r req) (st, out) {
	next, o := a.Step(s, now, r)
	if o.RetryAfter == algorithm.Never {
		o.RetryAfter = time.Second
	}
	return next, o
}

func retryOff(d time.Duration) func(a alg, s st, now at, r req) (st, out) {
	return func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if !o.Allowed && o.RetryAfter != algorithm.Never {
			o.RetryAfter = max(time.Microsecond, o.RetryAfter+d)
		}
		return next, o
	}
}

func resetOff(d time.Duration) func(a alg, s st, now at, r req) (st, out) {
	return func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if o.ResetAfter > 0 {
			o.ResetAfter = max(0, o.ResetAfter+d)
		}
		return next, o
	}
}

func countsCalls() alg {
	calls := 0
	return on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if calls++; calls%5 == 0 {
			o.Remaining = 0
		}
		return next, o
	})()
}

func remembersStates() alg {
	var mutex sync.Mutex
	seen := map[string]int64{}
	return on(soundBucket, func(a alg, s st, now at, r req) (st, out) {
		mutex.Lock()
		defer mutex.Unlock()
		next, o := a.Step(s, now, r)
		seen[s.String()]++
		o.Remaining = max(0, o.Remaining-seen[s.String()]/2)
		return next, o
	})()
}

type strict struct{ algorithm.Algorithm }

func (strict) CheckState(s st) error {
	if s.Words() > 1 {
		return &algorithm.ParameterError{Of: "state", Field: "layout", Value: "three words", Allowed: "one word"}
	}
	return nil
}

type tolerant struct{ algorithm.Algorithm }

func (tolerant) CheckState(st) error { return nil }

type renamed struct{ algorithm.Algorithm }

func (renamed) Spec() algorithm.Spec { return algorithm.Spec{Kind: "my kind/1"} }

type forgetful struct{ algorithm.Algorithm }

func (f forgetful) StepInPlace(s *st, now at, r req, o *out) {
	_, *o = f.Step(*s, now, r)
}

type untidy struct{ algorithm.Algorithm }

func (u untidy) StepInPlace(s *st, now at, r req, o *out) {
	before := o.RetryAfter
	if *s, *o = u.Step(*s, now, r); o.Allowed {
		o.RetryAfter = before
	}
}
