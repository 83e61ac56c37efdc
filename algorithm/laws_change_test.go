package algorithm_test

import (
	"math/big"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"pgregory.net/rapid"
)

// These laws are about a limit whose parameters change while its keys live on.

// lived is a state after some requests under p, at the instant of the last.
func lived(t *rapid.T, a algorithm.Algorithm, w *walk) (s algorithm.State) {
	for range rapid.IntRange(1, 10).Draw(t, "requests before") {
		now, n := w.next()
		s, w.last = a.Step(s, now, take(n))
	}
	return s
}

// TestLawK1SameLimitAgainChangesNothing rebuilds the limit for every request.
func TestLawK1SameLimitAgainChangesNothing(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.Name, rapid.MakeCheck(func(t *rapid.T) {
			p := drawParams(t)
			a := k.build(p)
			w := newWalk(t, p, k.capacity(p))
			w.backwards = true
			var s, rebuilt algorithm.State
			for range rapid.IntRange(1, 15).Draw(t, "requests") {
				now, n := w.next()
				s, w.last = a.Step(s, now, take(n))
				var o algorithm.Outcome
				rebuilt, o = k.build(p).Step(rebuilt, now, take(n))
				if o != w.last || s.String() != rebuilt.String() {
					t.Fatalf("K1: cost %d at %v: %q %+v, rebuilt %q %+v", n, now, s, w.last, rebuilt, o)
				}
			}
		}))
	}
}

// TestLawK2ChangeTakesEffectAtOnce checks that the first call after a change
// answers with the new limit, and that from the change on no more is admitted
// than the new parameters allow a fresh key.
func TestLawK2ChangeTakesEffectAtOnce(t *testing.T) {
	for _, k := range six {
		t.Run(k.Name, rapid.MakeCheck(func(t *rapid.T) {
			p, q := drawSmall(t), drawSmall(t)
			w := newWalk(t, p, k.capacity(p))
			s := lived(t, k.build(p), w)
			w.p, w.capacity = q, k.capacity(q)
			a := k.build(q)
			change, total := w.now, int64(0)
			for range rapid.IntRange(1, 25).Draw(t, "requests after") {
				now, n := w.next()
				s, w.last = a.Step(s, now, take(n))
				if w.last.Limit != k.capacity(q) {
					t.Fatalf("K2: %v reports the limit %d", a, w.last.Limit)
				}
				if w.last.Allowed {
					total += n
				}
				if most := k.bound(q, int64(change), int64(now)); total > most {
					t.Fatalf("K2: %v admits %d from the change at %v to %v, at most %d are due", a, total, change, now, most)
				}
			}
		}))
	}
}

// TestLawK3ChangeKeepsWhatWasUsed checks what a changed limit keeps: the token
// bucket its whole tokens, GCRA and leaky bucket the instant of their reset, the
// windows what the new window still reaches. All else is granted or lost.
func TestLawK3ChangeKeepsWhatWasUsed(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.Name, rapid.MakeCheck(func(t *rapid.T) {
			p := drawParams(t)
			q := drawNear(t, p)
			a, b := k.build(p), k.build(q)
			w := newWalk(t, p, k.capacity(p))
			s := lived(t, a, w)
			if s.Fresh() {
				return
			}
			now := int64(w.now)
			_, before := a.Step(s, w.now, take(0))
			_, after := b.Step(s, w.now, take(0))
			remain := func(used int64) int64 { return max(0, q.rate.Units-used) }
			e := max(now, s.Word(0))
			start := e - e%q.period()
			want := after
			switch k.Name {
			case "gcra", "leaky-bucket":
				want.ResetAfter = before.ResetAfter
			case "token-bucket":
				if s.Word(0) == now { // nothing gained since, at either rate
					want.Remaining = min(before.Remaining, q.burst)
				}
			case "fixed-window":
				used := int64(0)
				if s.Word(0) >= start {
					used = s.Word(1)
				}
				want.Remaining = remain(used)
			case "sliding-counter":
				cur, prev := int64(0), int64(0)
				if s.Word(0) >= start {
					cur, prev = s.Word(1), s.Word(2)
				} else if s.Word(0) >= start-q.period() {
					prev = s.Word(1)
				}
				weighted := times(whole(prev), ratio(start+q.period()-e, q.period()))
				used := cur + floor(weighted)
				if !weighted.IsInt() {
					used++
				}
				want.Remaining = remain(used)
			case "sliding-log":
				used := int64(0)
				for _, entry := range entries(s) {
					if entry[0] > max(now, kept(s))-q.period() {
						used += entry[1]
					}
				}
				want.Remaining = remain(used)
			}
			if after != want {
				t.Fatalf("K3: %q at %v, %v answers %+v; changed to %v %+v, not %+v", s, now, a, before, b, after, want)
			}
		}))
	}
}

// TestLawK4ChangeAndBackHasNoEffect looks, and is denied, under other parameters
// in between.
func TestLawK4ChangeAndBackHasNoEffect(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.Name, rapid.MakeCheck(func(t *rapid.T) {
			p, q := drawParams(t), drawParams(t)
			w := newWalk(t, p, k.capacity(p))
			s := lived(t, k.build(p), w)
			other := k.build(q)
			between, _ := other.Step(s, w.now, take(0))
			between, _ = other.Step(between, w.now, take(k.capacity(q)+1))
			if between.String() != s.String() {
				t.Fatalf("K4: a look and a denial under %v make %q out of %q", other, between, s)
			}
		}))
	}
}

// TestLawK5FractionsAreRoundedAgainstTheCaller checks what becomes of a fraction
// over another denominator: it costs the caller less than one part of the new
// one, and never gives anything. So k changes to and fro cost less than k parts.
func TestLawK5FractionsAreRoundedAgainstTheCaller(t *testing.T) {
	for _, k := range buckets {
		t.Run(k.Name, rapid.MakeCheck(func(t *rapid.T) {
			p := drawParams(t)
			q := drawNear(t, p)
			w := newWalk(t, p, p.burst)
			s := lived(t, k.build(p), w)
			if s.Fresh() {
				return
			}
			a, now := k.build(q), w.now
			next, o := a.Step(s, now, take(1))
			if !o.Allowed {
				return
			}
			// What the new parameters took the state for, before they
			// charged one unit; and what it was.
			var loss, part *big.Rat
			if k.Name == "token-bucket" {
				now = max(now, algorithm.Instant(s.Word(0)))
				took := sum(level(next, q, now), whole(1))
				loss, part = less(level(s, q, now), took), ratio(1, q.period())
			} else {
				took := less(arrival(next, 0), q.perUnit())
				loss, part = less(took, arrival(s, now)), ratio(1, q.rate.Units)
			}
			// Fractions are held in lowest terms of the rate, and the
			// parts of that are no smaller.
			part = times(part, whole(commonFactor(q)))
			if loss.Sign() < 0 || loss.Cmp(part) >= 0 {
				t.Fatalf("K5: %v takes %q for %v less than it is; it must be from 0 to less than %v", a, s, loss, part)
			}
		}))
	}
}

// commonFactor is what the limit and the period in µs have in common.
func commonFactor(p params) int64 {
	a, b := p.rate.Units, p.period()
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// TestLawK7AlternatingLimitsGrantNothingMore checks two nodes that hold different
// versions of a limit: at one instant, in whatever order they decide, they
// admit at most the sum of the two capacities, or twice the larger where a
// window starts anew.
func TestLawK7AlternatingLimitsGrantNothingMore(t *testing.T) {
	for _, k := range six {
		t.Run(k.Name, rapid.MakeCheck(func(t *rapid.T) {
			p := drawSmall(t)
			q := drawSmall(t)
			nodes := []algorithm.Algorithm{k.build(p), k.build(q)}
			w := newWalk(t, p, k.capacity(p))
			var s algorithm.State
			for range rapid.IntRange(0, 10).Draw(t, "requests before") {
				now, n := w.next()
				s, w.last = nodes[rapid.IntRange(0, 1).Draw(t, "node")].Step(s, now, take(n))
			}
			most := k.capacity(p) + k.capacity(q)
			if k.Name == "fixed-window" || k.Name == "sliding-counter" {
				most = 2 * max(k.capacity(p), k.capacity(q))
			}
			w.now, _ = w.next()
			var total int64
			for range rapid.IntRange(1, 20).Draw(t, "requests at one instant") {
				node := nodes[rapid.IntRange(0, 1).Draw(t, "node")]
				_, look := node.Step(s, w.now, take(0))
				n := rapid.Int64Range(0, look.Remaining).Draw(t, "cost")
				s, _ = node.Step(s, w.now, take(n))
				total += n
			}
			if total > most {
				t.Fatalf("K7: %v and %v admit %d at one instant, at most %d are due", nodes[0], nodes[1], total, most)
			}
		}))
	}
}
