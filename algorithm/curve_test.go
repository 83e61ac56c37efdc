package algorithm_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/oracle"
	"github.com/weirgo/weir/internal/race"
	"pgregory.net/rapid"
)

// attacker finds the most that any caller can get admitted in an interval, by
// trying everything that a caller can do on a clock that goes forward.
type attacker struct {
	limits
	a    algorithm.InPlace
	best map[position]int64
}

// position is a key in a state at an instant, with the interval that is left.
type position struct {
	state    string
	now, end int64
}

// most returns the largest sum of costs admitted from now to end, both included,
// to a key in state s at now.
func (k *attacker) most(s algorithm.State, now, end int64) int64 {
	p := position{s.String(), now, end}
	if n, ok := k.best[p]; ok {
		return n
	}
	n := int64(0)
	if now < end {
		n = k.most(s, now+1, end)
	}
	for cost := int64(1); cost <= k.capacity; cost++ {
		next, o := k.a.Step(s, algorithm.Instant(now), algorithm.Request{Cost: cost})
		if !o.Allowed {
			break // M5: so is every larger one
		}
		n = max(n, cost+k.most(next, now, end))
	}
	k.best[p] = n
	return n
}

// reachable returns every state that some caller can have brought a key into
// before the instant until, starting at from.
func (k *attacker) reachable(from, until int64) map[string]algorithm.State {
	states := map[string]algorithm.State{"": {}}
	for now := from; now < until; now++ {
		todo := make([]algorithm.State, 0, len(states))
		for _, s := range states {
			todo = append(todo, s)
		}
		for len(todo) > 0 {
			s := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for cost := int64(1); cost <= k.capacity; cost++ {
				next, _ := k.a.Step(s, algorithm.Instant(now), algorithm.Request{Cost: cost})
				if _, ok := states[next.String()]; !ok {
					states[next.String()] = next
					todo = append(todo, next)
				}
			}
		}
	}
	return states
}

// run returns, for t from 0 to longest, the most that is ever admitted in a
// closed interval of t µs.
func (k *attacker) run(longest int64) []int64 {
	k.a, k.best = k.algorithm(), map[position]int64{}
	most := make([]int64, longest+1)
	// Two windows of history are all that a state can hold; the intervals
	// start at every phase of the third.
	history := 2 * k.period
	for start := history; start < history+k.period; start++ {
		for _, s := range k.reachable(0, start) {
			for t := range longest + 1 {
				most[t] = max(most[t], k.most(s, start, start+t))
			}
		}
		if !k.kind.Windowed() {
			break // these do not know of phases (E12)
		}
	}
	return most
}

// reduced returns L/P in lowest terms.
func (l limits) reduced() (units, per int64) {
	a, b := l.limit, l.period
	for b != 0 {
		a, b = b, a%b
	}
	return l.limit / a, l.period / a
}

// smooth reports whether a caller who can ask at whole µs only can take all that
// a rate gives: what comes until the next whole µs fits beside a unit less the
// smallest part. With 2 per 3 µs and a burst of 1 it does not: a unit is there
// after 1.5 µs, is asked for after 2, and half a µs is lost.
func (l limits) smooth() bool {
	units, per := l.reduced()
	return (l.capacity-1)*per >= units-1
}

// curve returns the arrival curve at t, and what is reached of it on a clock of
// whole µs; -1 where that is not known.
func (l limits) curve(t int64) (bound, reached int64) {
	n, w := l.limit, l.period
	switch l.kind {
	case oracle.FixedWindow:
		// An interval of a whole number of windows touches one window less
		// than one that is a µs longer.
		return n * (t/w + 2), n * ((t+w-1)/w + 1)
	case oracle.SlidingLog:
		return n * (t/w + 1), n * (t/w + 1)
	case oracle.SlidingCounter:
		// All in the last µs of one window, then as the estimate falls: in
		// a half-open window of W, 2·N − 1; one µs after W, 2·N.
		bound, reached = n+n*t/w, -1
		if t == w-1 {
			bound = min(bound, 2*n-1)
		}
		if t == w-1 && 2*n <= w {
			reached = 2*n - 1
		}
		if t == w+1 && n < w {
			reached = 2 * n
		}
		return bound, reached
	case oracle.GCRA, oracle.TokenBucket, oracle.LeakyBucket:
	default: // what its family states, which need not be reached
		return the(string(l.kind)).Bound(l.algorithm().Spec(), micros(t)), -1
	}
	bound = l.capacity + t*n/w
	switch {
	case l.smooth():
		return bound, bound
	case l.capacity == 1: // a unit each ⌈T⌉
		return bound, 1 + t/((w+n-1)/n)
	}
	return bound, -1
}

// S1 to S4 and S9: the arrival curve is never exceeded, whatever a caller does,
// and a caller who knows how reaches it. Reached curves are in particular not
// too strict.
func TestCurveS1ToS4AreTight(t *testing.T) {
	for _, kind := range oracle.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			for _, v := range [][3]int64{
				{1, 1, 1}, {1, 3, 1}, {1, 3, 2}, {2, 3, 1}, {2, 3, 2}, {3, 2, 2}, {3, 2, 3}, {2, 4, 3}, {3, 4, 3},
				{1, 4, 2}, {3, 5, 2}, {1, 6, 2}, {2, 7, 2},
			} {
				l := limits{kind, v[0], v[1], v[2]}
				if kind.Windowed() {
					l.capacity = l.limit
				}
				if (testing.Short() || race.Enabled) && l.period > 4 {
					continue
				}
				k := attacker{limits: l}
				for t64, most := range k.run(3*l.period + 1) {
					bound, reached := l.curve(int64(t64))
					if most > bound {
						t.Errorf("%v: %d admitted within %d µs, want at most %d", l, most, t64, bound)
					}
					if reached >= 0 && most != reached {
						t.Errorf("%v: at most %d admitted within %d µs, want %d to be reached", l, most, t64, reached)
					}
				}
			}
		})
	}
}

// splits calls visit with every way to write n as an ordered sum.
func splits(n int64, visit func(costs []int64)) {
	var grow func(costs []int64, left int64)
	grow = func(costs []int64, left int64) {
		if left == 0 {
			visit(costs)
		}
		for cost := int64(1); cost <= left; cost++ {
			grow(append(costs, cost), left-cost)
		}
	}
	grow(nil, n)
}

// mustFill takes costs, which add up to the capacity, at one instant.
func mustFill(t interface {
	Helper()
	Fatalf(string, ...any)
}, l limits, at int64, costs []int64) {
	t.Helper()
	a, left := l.algorithm(), l.capacity
	var s algorithm.State
	var o algorithm.Outcome
	for _, cost := range costs {
		s, o = a.Step(s, algorithm.Instant(at), algorithm.Request{Cost: cost})
		if left -= cost; !o.Allowed || o.Remaining != left {
			t.Fatalf("%v: %d of %v at %d: %+v, want %d to remain", l, cost, costs, at, o, left)
		}
	}
	if _, o = a.Step(s, algorithm.Instant(at), algorithm.Request{Cost: 1}); o.Allowed || left != 0 {
		t.Fatalf("%v: one more than %v admitted at %d", l, costs, at)
	}
}

// S6: from fresh, at one instant, exactly the capacity passes, however it is
// split into costs.
func TestCurveS6CapacityPassesInEverySplit(t *testing.T) {
	for _, kind := range oracle.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			for capacity := int64(1); capacity <= 8; capacity++ {
				for _, rate := range [][2]int64{{1, 1}, {7, 3}, {3, 7}, {6, 60_000_000}} {
					l := limits{kind, rate[0], rate[1], capacity}
					if kind.Windowed() {
						l.limit = capacity
					}
					splits(capacity, func(costs []int64) { mustFill(t, l, 1_764_277_200_123_456, costs) })
				}
			}
			rapid.Check(t, func(t *rapid.T) {
				l := drawLimits(t, kind, "limit")
				var costs []int64
				for left := l.capacity; left > 0; {
					cost := left
					if len(costs) < 30 {
						cost = raws.Draw(t, "cost").pick(1, left, left, left/2, left/3, 1)
					}
					costs, left = append(costs, cost), left-cost
				}
				mustFill(t, l, raws.Draw(t, "at").start(l), costs)
			})
		})
	}
}

// S7: whoever takes all there is, for up to 10^9 periods, gets the burst and
// exactly the rate: nothing is lost or won by rounding, at whatever instants it
// is taken. No unit is lost as long as the bucket is not full in between.
func TestCurveS7GreedyNeverDrifts(t *testing.T) {
	tests := []struct {
		limit, period, capacity, periods int64
	}{
		{7, 3_000_000, 10_000_000, 1_000_000_000},
		{3, 7, 10_000_000, 1_000_000_000},
		{10, 3, 100_000_000, 1_000_000_000},
		{1, 1, 10_000_000, 1_000_000_000},
		{999_983, 1_000_003, 2_000_000_000, 1_000_000_000},
		{1_000_003, 86_400_000_000, 100_000_000, 60_000},
		{1_000_000, 2_592_000_000_000, 600_000_000, 2_000},
		{999_999_999_989, 1_000_000, 999_999_999_989, 1_000},
		{1_000_000_000_000, 34_559_999_999_999, 1_000_000_000_000, 150},
		{1, 34_560_000_000_000, 45, 150},
	}
	for _, kind := range []oracle.Kind{oracle.GCRA, oracle.TokenBucket, oracle.LeakyBucket} {
		for _, test := range tests {
			l := limits{kind, test.limit, test.period, test.capacity}
			t.Run(fmt.Sprintf("%s/%d per %d", kind, l.limit, l.period), func(t *testing.T) {
				a, random := l.algorithm(), rand.New(rand.NewPCG(3, 9))
				jump := new(big.Int).Mul(big.NewInt(l.capacity-1), big.NewInt(l.period))
				longest := jump.Quo(jump, big.NewInt(l.limit)).Int64()
				const start = 1_764_277_200_123_456
				var s algorithm.State
				total, steps, end := int64(0), 0, start+test.periods*l.period
				for now := int64(start); ; steps++ {
					_, look := a.Step(s, algorithm.Instant(now), algorithm.Request{})
					var o algorithm.Outcome
					if s, o = a.Step(s, algorithm.Instant(now), algorithm.Request{Cost: look.Remaining}); !o.Allowed || o.Remaining != 0 {
						t.Fatalf("%d units at %d, after a look: %+v", look.Remaining, now, o)
					}
					if total += look.Remaining; now == end {
						break
					}
					now = min(end, now+1+longest/2+random.Int64N(longest/2))
				}
				if want := l.capacity + test.periods*l.limit; total != want {
					t.Errorf("%d units in %d periods and %d requests, want %d", total, test.periods, steps, want)
				}
			})
		}
	}
}
