package algorithm_test

import (
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"pgregory.net/rapid"
)

// Exact readings of states, for the laws that speak about what a state means.

func whole(n int64) *big.Rat       { return new(big.Rat).SetInt64(n) }
func ratio(a, b int64) *big.Rat    { return big.NewRat(a, b) }
func sum(a, b *big.Rat) *big.Rat   { return new(big.Rat).Add(a, b) }
func less(a, b *big.Rat) *big.Rat  { return new(big.Rat).Sub(a, b) }
func times(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }

func larger(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

func smaller(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

// floor is ⌊r⌋ for r ≥ 0.
func floor(r *big.Rat) int64 { return new(big.Int).Quo(r.Num(), r.Denom()).Int64() }

// perUnit is T = P/L in µs, perMicro is L/P.
func (p params) perUnit() *big.Rat  { return ratio(p.period(), p.rate.Units) }
func (p params) perMicro() *big.Rat { return ratio(p.rate.Units, p.period()) }

// fraction is the word at i over the one behind it, 0 where there is none.
func fraction(s algorithm.State, i int) *big.Rat {
	if s.Words() < i+2 {
		return new(big.Rat)
	}
	return ratio(s.Word(i), s.Word(i+1))
}

// arrival is the theoretical arrival time that a GCRA or leaky bucket keeps,
// but not before now.
func arrival(s algorithm.State, now algorithm.Instant) *big.Rat {
	if s.Fresh() {
		return whole(int64(now))
	}
	return larger(whole(int64(now)), sum(whole(s.Word(0)), fraction(s, 1)))
}

// level is what a token bucket holds at now.
func level(s algorithm.State, p params, now algorithm.Instant) *big.Rat {
	if s.Fresh() {
		return whole(p.burst)
	}
	held := sum(whole(s.Word(1)), fraction(s, 2))
	if elapsed := int64(now) - s.Word(0); elapsed > 0 {
		held = sum(held, times(whole(elapsed), p.perMicro()))
	}
	return smaller(whole(p.burst), held)
}

// entries are the (instant, cost) pairs of a log, read from its text.
func entries(s algorithm.State) (all [][2]int64) {
	for field := range strings.FieldsSeq(s.String()) {
		if strings.HasPrefix(field, "+") {
			continue
		}
		at, cost, weighted := strings.Cut(field, ":")
		e := [2]int64{0, 1}
		e[0], _ = strconv.ParseInt(at, 10, 64)
		if weighted {
			e[1], _ = strconv.ParseInt(cost, 10, 64)
		}
		all = append(all, e)
	}
	return all
}

// heading is what the text of a log of these entries has to begin with.
func heading(all [][2]int64) string {
	extra := int64(0)
	for _, e := range all {
		extra += e[1] - 1
	}
	if extra == 0 {
		return ""
	}
	return "+" + strconv.FormatInt(extra, 10)
}

// TestLawM8CostIsChargedOnce checks that an admitted cost is charged exactly once: the state
// moves by the cost and by nothing else, from where it stood, to the fraction.
func TestLawM8CostIsChargedOnce(t *testing.T) {
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
				if o.Allowed {
					mustMoveBy(t, k.Name, p, s, next, now, n)
				}
				s, w.last = next, o
			}
		}))
	}
}

func mustMoveBy(t *rapid.T, kind string, p params, s, next algorithm.State, now algorithm.Instant, n int64) {
	t.Helper()
	wrong := func(what string, got, want any) {
		t.Helper()
		t.Fatalf("M8: cost %d at %v moved %q to %q: %s is %v, not %v", n, now, s, next, what, got, want)
	}
	effective := max(int64(now), s.Word(0))
	start := effective - effective%p.period()
	switch kind {
	case "gcra", "leaky-bucket":
		got, want := arrival(next, 0), sum(arrival(s, now), times(whole(n), p.perUnit()))
		if got.Cmp(want) != 0 {
			wrong("the arrival time", got, want)
		}
	case "token-bucket":
		if next.Word(0) != effective {
			wrong("the instant", next.Word(0), effective)
		}
		got, want := level(next, p, algorithm.Instant(effective)), less(level(s, p, now), whole(n))
		if got.Cmp(want) != 0 {
			wrong("the level", got, want)
		}
	case "fixed-window":
		want := n
		if s.Word(0) == start {
			want += s.Word(1)
		}
		if next.Word(0) != start || next.Word(1) != want {
			wrong("the window", next, algorithm.NewState(start, want))
		}
	case "sliding-counter":
		cur, prev := n, int64(0)
		if !s.Fresh() && s.Word(0) == start {
			cur, prev = n+s.Word(1), s.Word(2)
		} else if !s.Fresh() && s.Word(0) == start-p.period() {
			prev = s.Word(1)
		}
		if next.Word(0) != start || next.Word(1) != cur || next.Word(2) != prev {
			wrong("the counts", next, algorithm.NewState(start, cur, prev))
		}
	case "sliding-log":
		var want [][2]int64
		at := int64(now)
		if all := entries(s); len(all) > 0 {
			at = max(at, all[len(all)-1][0])
			for _, e := range all {
				if e[0] > at-p.period() {
					want = append(want, e)
				}
			}
		}
		if last := len(want) - 1; last >= 0 && want[last][0] == at {
			want[last][1] += n
		} else {
			want = append(want, [2]int64{at, n})
		}
		if got := entries(next); !equalEntries(got, want) {
			wrong("the log", got, want)
		}
		first, _, _ := strings.Cut(next.String(), " ")
		if !strings.HasPrefix(first, "+") {
			first = ""
		}
		if first != heading(want) {
			wrong("the heading", first, heading(want))
		}
	}
}

func equalEntries(a, b [][2]int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
