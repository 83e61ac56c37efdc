package algorithm_test

import (
	"testing"

	"github.com/weirgo/weir/algorithm"
	"pgregory.net/rapid"
)

// admission is what a run admitted, and when.
type admission struct{ at, cost int64 }

// bound is the largest cost that may be admitted at readings from one instant
// to another, both included.
func (k kind) bound(p params, from, to int64) int64 {
	span := to - from
	switch k.Name {
	case "fixed-window":
		return p.rate.Units * (to/p.period() - from/p.period() + 1)
	case "sliding-log":
		return p.rate.Units * (span/p.period() + 1)
	case "gcra", "token-bucket", "leaky-bucket", "sliding-counter":
		return k.capacity(p) + floor(times(whole(span), p.perMicro()))
	}
	return k.Bound(k.build(p).Spec(), micros(span))
}

// small draws parameters for which bound stays far inside an int64.
func drawSmall(t *rapid.T) params {
	p := params{rate: algorithm.Rate{
		Units: rapid.Int64Range(1, 20).Draw(t, "limit"),
		Per:   micros(rapid.Int64Range(1, 50).Draw(t, "µs")),
	}}
	p.burst = rapid.Int64Range(1, 20).Draw(t, "burst")
	return p
}

// TestLawS1to4StayUnderTheCurve checks the bound of every algorithm over every
// interval between two admissions.
func TestLawS1to4StayUnderTheCurve(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.Name, rapid.MakeCheck(func(t *rapid.T) {
			p := drawSmall(t)
			a := k.build(p)
			w := newWalk(t, p, k.capacity(p))
			var s algorithm.State
			var admitted []admission
			for range rapid.IntRange(1, 40).Draw(t, "requests") {
				now, n := w.next()
				if s, w.last = a.Step(s, now, take(n)); !w.last.Allowed {
					continue
				}
				admitted = append(admitted, admission{int64(now), n})
				var total int64
				for i := len(admitted) - 1; i >= 0; i-- {
					total += admitted[i].cost
					if most := k.bound(p, admitted[i].at, int64(now)); total > most {
						t.Fatalf("S: %v admits %d from %d to %d, at most %d are due", a, total, admitted[i].at, now, most)
					}
				}
			}
		}))
	}
}

// TestLawC1NoOrderOfReadingsCreatesUnits checks the same bound for readings in
// any order: what counts is the interval that the readings span.
func TestLawC1NoOrderOfReadingsCreatesUnits(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.Name, rapid.MakeCheck(func(t *rapid.T) {
			p := drawSmall(t)
			a := k.build(p)
			w := newWalk(t, p, k.capacity(p))
			w.backwards = true
			var s algorithm.State
			var total, first, last int64
			for range rapid.IntRange(1, 40).Draw(t, "requests") {
				now, n := w.next()
				if s, w.last = a.Step(s, now, take(n)); !w.last.Allowed {
					continue
				}
				if total == 0 {
					first, last = int64(now), int64(now)
				}
				total += n
				first, last = min(first, int64(now)), max(last, int64(now))
				if most := k.bound(p, first, last); total > most {
					t.Fatalf("C1: %v admits %d at readings from %d to %d, at most %d are due", a, total, first, last, most)
				}
			}
		}))
	}
}

// TestLawC3StateNeverMovesBack checks that a reading of an older window, or any
// older reading, neither moves back the instant that the state keeps nor lowers
// what it has counted since.
func TestLawC3StateNeverMovesBack(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.Name, rapid.MakeCheck(func(t *rapid.T) {
			p := drawParams(t)
			a := k.build(p)
			w := newWalk(t, p, k.capacity(p))
			w.backwards = true
			var s algorithm.State
			for range rapid.IntRange(1, 20).Draw(t, "requests") {
				now, n := w.next()
				next, o := a.Step(s, now, take(n))
				before, after := kept(s), kept(next)
				if after < before {
					t.Fatalf("C3: cost %d at %v moves %q back to %q", n, now, s, next)
				}
				counts := k.Name == "fixed-window" || k.Name == "sliding-counter"
				if counts && !s.Fresh() && after == before && next.Word(1) < s.Word(1) {
					t.Fatalf("C3: cost %d at %v lowers the count of %q to %q", n, now, s, next)
				}
				s, w.last = next, o
			}
		}))
	}
}

// kept is the instant that a state keeps: the first word, or the last entry of
// a log.
func kept(s algorithm.State) int64 {
	if s.Words() > 0 {
		return s.Word(0)
	}
	if all := entries(s); len(all) > 0 {
		return all[len(all)-1][0]
	}
	return 0
}

// TestLawC4LogCountsEntriesOfTheFuture checks that entries later than the clock
// shows count in full, however far it went back.
func TestLawC4LogCountsEntriesOfTheFuture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawParams(t)
		a := the("sliding-log").build(p)
		w := newWalk(t, p, p.rate.Units)
		var s algorithm.State
		for range rapid.IntRange(1, 12).Draw(t, "requests") {
			now, n := w.next()
			s, w.last = a.Step(s, now, take(n))
		}
		if s.Fresh() {
			return
		}
		last := kept(s)
		back := rapid.Int64Range(0, last).Draw(t, "reading")
		_, there := a.Step(s, algorithm.Instant(last), take(0))
		if _, o := a.Step(s, algorithm.Instant(back), take(0)); o.Remaining != there.Remaining {
			t.Fatalf("C4: %q leaves %d at its last entry and %d at %d", s, there.Remaining, o.Remaining, back)
		}
	})
}

// TestLawS7GreedyGetsExactlyTheRate checks that there is no drift: a caller who
// takes whatever remains, at instants so close that the bucket never fills,
// gets the burst and ⌊t·L/P⌋ to the unit, after any number of requests.
func TestLawS7GreedyGetsExactlyTheRate(t *testing.T) {
	for _, k := range buckets {
		t.Run(k.Name, rapid.MakeCheck(func(t *rapid.T) {
			p := drawParams(t)
			a := k.build(p)
			longest := floor(times(whole(p.burst-1), p.perUnit()))
			start := algorithm.Instant(rapid.Int64Range(0, int64(algorithm.MaxInstant)/2).Draw(t, "start"))
			now, total := start, int64(0)
			var s algorithm.State
			for range 10 {
				gap := rapid.Int64Range(0, longest).Draw(t, "gap")
				for range 20 {
					if now > algorithm.MaxInstant {
						return
					}
					_, look := a.Step(s, now, take(0))
					s, _ = a.Step(s, now, take(look.Remaining))
					total += look.Remaining
					if due := p.burst + floor(times(whole(int64(now-start)), p.perMicro())); total != due {
						t.Fatalf("S7: %v has admitted %d after %d µs, %d are due", a, total, now-start, due)
					}
					now += algorithm.Instant(gap)
				}
			}
		}))
	}
}

// TestLawM9DroppingAnAdmissionNeverHurts checks that without one admission, all
// later decisions held fixed, no less remains at any later time. (With
// decisions made anew that is false: the freed place lets an earlier call in.)
func TestLawM9DroppingAnAdmissionNeverHurts(t *testing.T) {
	for _, k := range six {
		t.Run(k.Name, rapid.MakeCheck(func(t *rapid.T) {
			p := drawParams(t)
			a := k.build(p)
			w := newWalk(t, p, k.capacity(p))
			drop := rapid.IntRange(0, 10).Draw(t, "drop")
			var all, without algorithm.State
			for i := range rapid.IntRange(1, 20).Draw(t, "requests") {
				now, n := w.next()
				all, w.last = a.Step(all, now, take(n))
				if !w.last.Allowed || i == drop {
					n = 0 // looks on
				}
				var o algorithm.Outcome
				if without, o = a.Step(without, now, take(n)); !o.Allowed {
					t.Fatalf("M9: without admission %d, cost %d at %v is denied", drop, n, now)
				}
				if o.Remaining < w.last.Remaining {
					t.Fatalf("M9: without admission %d, %d remain at %v, and with it %d", drop, o.Remaining, now, w.last.Remaining)
				}
			}
		}))
	}
}

// TestLawC7InstantMovesToTheNearestBound checks what a Step makes of an instant
// that no store would hand it: that of the nearest bound.
func TestLawC7InstantMovesToTheNearestBound(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.Name, rapid.MakeCheck(func(t *rapid.T) {
			p := drawParams(t)
			a := k.build(p)
			w := newWalk(t, p, k.capacity(p))
			s := lived(t, a, w)
			_, n := w.next()
			far, bound := algorithm.Instant(-rapid.Int64Min(1).Draw(t, "before the epoch")), algorithm.Instant(0)
			if rapid.Bool().Draw(t, "after the last instant") {
				far, bound = algorithm.Instant(rapid.Int64Min(int64(algorithm.MaxInstant)+1).Draw(t, "at")), algorithm.MaxInstant
			}
			s1, o1 := a.Step(s, far, take(n))
			s2, o2 := a.Step(s, bound, take(n))
			if o1 != o2 || s1.String() != s2.String() {
				t.Fatalf("C7: cost %d at %d: %+v, state %q; at %d: %+v, state %q", n, int64(far), o1, s1, int64(bound), o2, s2)
			}
		}))
	}
}
