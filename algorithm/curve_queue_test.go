package algorithm_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/oracle"
	"pgregory.net/rapid"
)

// departure is an admitted caller of a leaky bucket: when its turn is, exactly,
// and when it starts if it waits its Delay.
type departure struct {
	turn  *big.Rat
	start int64
	cost  int64
}

// queue follows the departures of a leaky bucket. The exact turns come from the
// oracle, the starts from the algorithm.
type queue struct {
	*pair
	gone []departure
}

// take makes a request and checks what holds for the new departure and all
// before it: S5 and J3.
func (q *queue) take(r request) error {
	turn := q.o.Turn(r.now)
	if err := q.step(r); err != nil {
		return err
	}
	if !q.last.outcome.Allowed || r.cost == 0 {
		return nil
	}
	d := departure{turn.Add(turn, exactly(r.now)), r.now + q.last.outcome.Delay, r.cost}
	// No earlier than its turn, and less than 1 µs after it.
	if late := new(big.Rat).Sub(exactly(d.start), d.turn); late.Sign() < 0 || late.Cmp(exactly(1)) >= 0 {
		return q.fail("starts at %d, its turn is at %v", d.start, d.turn)
	}
	// The units in the queue, the one in service included, drain within B·T.
	drained := new(big.Rat).Add(d.turn, q.units(d.cost))
	if drained.Sub(drained, exactly(r.now)).Cmp(q.units(q.capacity)) > 0 {
		return q.fail("the queue holds more than its capacity: %v µs", drained)
	}
	q.gone = append(q.gone, d)
	return q.checkSpacing()
}

// checkSpacing checks the newest departure against all before it.
func (q *queue) checkSpacing() error {
	d := q.gone[len(q.gone)-1]
	before := int64(0)
	for i := len(q.gone) - 2; i >= 0; i-- {
		e := q.gone[i]
		before += e.cost
		// Turns are as far apart as the units between them take: with its own
		// cost, n + ⌊t·L/P⌋ in a closed interval of t.
		apart := new(big.Rat).Sub(d.turn, e.turn)
		if apart.Cmp(q.units(before)) < 0 {
			return q.fail("turns at %v and %v with %d units between them", e.turn, d.turn, before)
		}
		// Starts are rounded up, so 1 µs less (exclusive) lies between them.
		if d.start < e.start || q.units(before).Cmp(exactly(d.start-e.start+1)) >= 0 {
			return q.fail("starts at %d and %d with %d units between them", e.start, d.start, before)
		}
	}
	return nil
}

// busy reports whether all departures followed each other without a gap.
func (q *queue) busy() bool {
	first, last, between := q.gone[0], q.gone[len(q.gone)-1], int64(0)
	for _, d := range q.gone[:len(q.gone)-1] {
		between += d.cost
	}
	return new(big.Rat).Sub(last.turn, first.turn).Cmp(q.units(between)) == 0
}

// units returns n·T in µs.
func (q *queue) units(n int64) *big.Rat {
	return new(big.Rat).Mul(exactly(n), big.NewRat(q.period, q.limit))
}

func exactly(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// S5: departures of a leaky bucket under any requests.
func TestCurveS5DeparturesKeepTheirDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := drawLimits
		if rapid.Bool().Draw(t, "small") {
			draw = drawSmallLimits
		}
		l := draw(t, oracle.LeakyBucket, "limit")
		q := queue{pair: newPair(l, raws.Draw(t, "start").start(l))}
		for _, m := range drawMoves(t) {
			r := request{now: m.aim(q.limits, q.last), cost: m.ask(q.limits, q.last), bound: m.within(q.limits, q.last)}
			r.now = max(r.now, q.last.now) // a turn is in the order of the requests either way
			if err := q.take(r); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// S5, S9: while there is always a caller waiting, departures are exactly n·T
// apart: the bound is reached.
func TestCurveS5BusyQueueRunsAtItsRate(t *testing.T) {
	for _, v := range [][3]int64{{2, 3, 3}, {3, 2, 4}, {7, 3_000_000, 5}, {1_000_003, 86_400_000_000, 10}, {10, 1, 40}} {
		l := limits{oracle.LeakyBucket, v[0], v[1], v[2]}
		q := queue{pair: newPair(l, 1_764_277_200_123_456)}
		for i := range int64(200) {
			r := request{now: q.last.now, cost: 1 + i%2}
			if err := q.take(r); err != nil {
				t.Fatal(err)
			}
			for !q.last.outcome.Allowed { // again as soon as it is admitted
				r.now += q.last.outcome.RetryAfter
				if err := q.take(r); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !q.busy() || len(q.gone) != 200 {
			t.Errorf("%v: %d departures, from %v to %v: the queue was empty in between",
				l, len(q.gone), q.gone[0].turn, q.gone[len(q.gone)-1].turn)
		}
	}
}

// Delays counted by hand: 2 per 3 µs start at 0, 1.5 and 3, so at 0, 2 and 3.
// That is 2 starts within 1 µs where 1 + ⌊1·2/3⌋ = 1 turn is: rounding up moves
// a start, never a turn.
func TestCurveS5RoundingMovesStartsOnly(t *testing.T) {
	l := algorithm.Must(algorithm.NewLeakyBucket(algorithm.Rate{Units: 2, Per: 3 * time.Microsecond}, 3))
	var s algorithm.State
	for i, want := range []time.Duration{0, 2 * time.Microsecond, 3 * time.Microsecond} {
		var o algorithm.Outcome
		if s, o = l.Step(s, 0, algorithm.Request{Cost: 1}); !o.Allowed || o.Delay != want {
			t.Errorf("unit %d: %+v, want a delay of %v", i, o, want)
		}
	}
}
