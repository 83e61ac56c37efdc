package model

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/weirgo/weir/internal/oracle"
)

// generic is the model of any kind that has an oracle. It is slow: each question is a
// search over the oracle, in rationals.
type generic struct {
	limit   *Limit
	state   *oracle.Oracle
	base    *oracle.Oracle // the state before the first charge of history
	history []charge       // since the slot was fresh, at most maxHistory
}

// maxHistory bounds how many charges a Refund and Excess look back.
const maxHistory = 1024

// oracleOf returns the oracle kind of a family.
func oracleOf(name string) (oracle.Kind, error) {
	if k := oracle.Kind(name); slices.Contains(oracle.Kinds(), k) {
		return k, nil
	}
	return "", fmt.Errorf("sim: algorithm %q has no model: internal/oracle must have one", name)
}

func (l *Limit) oracle() *oracle.Oracle {
	k, err := oracleOf(l.name)
	if err != nil {
		panic(err)
	}
	o := oracle.New(k, l.Units, l.Period, l.Capacity)
	if k.ByCalendar() {
		o.Follow(oracle.NewCalendar(l.spec.Identity))
	}
	return o
}

func newGeneric(l *Limit) Model { return &generic{limit: l, state: l.oracle(), base: l.oracle()} }

// fullByOracle measures the time from the largest debt to fresh at some instants of a
// period, and returns twice the largest, plus a period.
func fullByOracle(l *Limit) int64 {
	longest := int64(0)
	start := 1_790_000_000_000_000 / l.Period * l.Period
	for _, at := range []int64{start, start + l.Period/2, start + l.Period - 1} {
		o := l.oracle()
		o.Charge(at, l.Capacity)
		longest = max(longest, o.Decide(at, 0, 0).ResetAfter)
	}
	return 2*longest + l.Period
}

func (g *generic) Room(at, cost int64) bool { return g.state.Admits(at, cost) }

func (g *generic) Retry(at, cost int64) int64 {
	room := func(d int64) bool { return g.state.Admits(at+d, cost) }
	high := int64(1)
	for !room(high) {
		high *= 2
	}
	return bisect(high/2, high, room)
}

func (g *generic) Delay(at int64) int64 {
	turn := g.state.Turn(at)
	ceil := new(big.Int).Add(turn.Num(), new(big.Int).Sub(turn.Denom(), big.NewInt(1)))
	return ceil.Div(ceil, turn.Denom()).Int64()
}

func (g *generic) Charge(at, cost int64) {
	switch n := len(g.history); {
	case n > 0 && at >= g.history[n-1].at && g.state.Fresh(at):
		g.base, g.history = g.state.Clone(), g.history[:0]
	case n == maxHistory:
		for _, c := range g.history[:n/2] {
			g.base.Charge(c.at, c.cost)
		}
		g.history = append(g.history[:0], g.history[n/2:]...)
	}
	if cost > 0 {
		g.state.Charge(at, cost)
		g.history = append(g.history, charge{at, cost})
	}
}

// Excess compares every interval that ends with the last charge with the bound of the
// limit.
func (g *generic) Excess() (units int64, full bool) {
	last := int64(0)
	for _, c := range g.history {
		last = max(last, c.at)
	}
	sum := int64(0)
	for _, c := range slices.Backward(g.history) {
		sum += c.cost
		bound := g.limit.Bound(last - c.at)
		units, full = max(units, sum-bound), full || sum == bound
	}
	return units, full && units == 0
}

func (g *generic) Debt(at int64) int64 {
	if g.state.Admits(at, g.limit.Capacity) {
		return 0
	}
	return bisect(0, g.limit.Capacity, func(debt int64) bool { return g.state.Admits(at, g.limit.Capacity-debt) })
}

func (g *generic) Fresh(at int64) bool { return g.state.Fresh(at) }

// Refund computes the state anew, without the cost.
func (g *generic) Refund(at, cost int64) {
	for i := len(g.history) - 1; i >= 0 && cost > 0; i-- {
		if c := &g.history[i]; c.at <= at {
			back := min(cost, c.cost)
			c.cost, cost = c.cost-back, cost-back
		}
	}
	g.history = slices.DeleteFunc(g.history, func(c charge) bool { return c.cost == 0 })
	g.state = g.base.Clone()
	for _, c := range g.history {
		g.state.Charge(c.at, c.cost)
	}
}

func (g *generic) Clone() Model {
	return &generic{g.limit, g.state.Clone(), g.base.Clone(), slices.Clone(g.history)}
}
