package oracle

import (
	"fmt"
	"math/big"
)

// FixedWindow is the fixed window.
const FixedWindow Kind = "fixed-window"

func fixedWindow() family {
	return family{kind: FixedWindow, windowed: true, start: func() model { return &fixed{} }}
}

// windowStart returns ⌊at/W⌋·W. Instants are not negative.
func windowStart(p *parameters, at int64) int64 { return at / p.period * p.period }

// fits reports used + cost ≤ limit, whatever the size of cost.
func fits(p *parameters, used *big.Int, cost int64) bool {
	total := new(big.Int).Add(used, big.NewInt(cost))
	return total.Cmp(big.NewInt(p.limit)) <= 0
}

// fixed is the state of a fixed window: where its window starts and the count.
// A key that was never used has neither.
//
//	e = max(now, start); the count is carried while start ≥ ⌊e/W⌋·W; admitted
//	iff count + n ≤ L; then start = max(start, ⌊e/W⌋·W)
type fixed struct {
	start, count int64
	used         bool
}

// carry returns where the window of now starts and what is counted in it.
func (c *fixed) carry(p *parameters, now int64) (start, count int64) {
	if !c.used {
		return windowStart(p, now), 0
	}
	start = windowStart(p, max(now, c.start))
	if c.start >= start {
		return c.start, c.count
	}
	return start, 0
}

func (c *fixed) admits(p *parameters, now, cost int64) bool {
	_, count := c.carry(p, now)
	return fits(p, big.NewInt(count), cost)
}

func (c *fixed) take(p *parameters, now, cost int64) {
	start, count := c.carry(p, now)
	c.start, c.count, c.used = start, count+cost, true
}

// refund: from the count of the window that holds at, where it is the current one.
func (c *fixed) refund(p *parameters, now, at, cost int64) {
	if start, count := c.carry(p, now); c.used && count > 0 && windowStart(p, at) == windowStart(p, start) {
		c.start, c.count = start, max(0, count-cost)
	}
}

func (c *fixed) fresh(p *parameters, now int64) bool {
	start, count := c.carry(p, now)
	return count == 0 && windowStart(p, start) <= now
}

func (c *fixed) turn(*parameters, int64) *big.Rat { return new(big.Rat) }

func (c *fixed) clone() model { d := *c; return &d }

func (c *fixed) String() string { return fmt.Sprintf("%d from %d", c.count, c.start) }
