package oracle

import (
	"fmt"
	"math/big"
)

// SessionWindow is the session window.
const SessionWindow Kind = "session-window"

func sessionWindow() family {
	return family{kind: SessionWindow, windowed: true, start: func() model { return &session{} }}
}

// session is every cost that was admitted, each with the instant of the first of its
// session.
//
//	a session is over once P has passed since its first; admitted iff what the
//	session holds + n ≤ L
type session struct {
	begun int64
	costs []int64
}

// over reports whether there is no session at now.
func (c *session) over(p *parameters, now int64) bool {
	return len(c.costs) == 0 || now-c.begun >= p.period
}

func (c *session) admits(p *parameters, now, cost int64) bool {
	used := new(big.Int)
	if !c.over(p, now) {
		for _, n := range c.costs {
			used.Add(used, big.NewInt(n))
		}
	}
	return fits(p, used, cost)
}

func (c *session) take(p *parameters, now, cost int64) {
	if c.over(p, now) {
		c.begun, c.costs = now, nil
	}
	c.costs = append(c.costs, cost)
}

func (c *session) fresh(p *parameters, now int64) bool { return c.over(p, now) }

func (c *session) turn(*parameters, int64) *big.Rat { return new(big.Rat) }

func (c *session) clone() model {
	return &session{c.begun, append([]int64(nil), c.costs...)}
}

func (c *session) String() string {
	var used int64
	for _, n := range c.costs {
		used += n
	}
	return fmt.Sprintf("%d from %d", used, c.begun)
}
