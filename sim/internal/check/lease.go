package check

import (
	"github.com/weirgo/weir/sim/internal/model"
)

// Leased is what the rule leases needs: nodes hand out units that they have taken
// from the server before. nil: they do not.
type Leased struct {
	// Late is how many µs after a unit was taken it may be used at the latest, or given back.
	Late int64
}

// leased is what the checker knows of the units of a slot.
type leased struct {
	taken int64 // by the server, less those given back
	used  int64 // by callers who were admitted
	uses  model.Model
	last  int64 // the latest instant of a use
}

// Used notes that a caller was admitted, at an instant of the server's clock, and checks
// that it was within what the server has charged, and within the bound of the limit for
// units that are used late.
func (c *Checker) Used(s *Slot, at, cost int64) {
	l := &s.leased
	AddUnits(&l.used, cost)
	c.compare(l)
	c.admitted(s, cost, false)
	if l.uses == nil {
		l.uses = s.Limit.StartLate(c.Leased.Late)
	}
	late := s.Limit.IsEarlierWindow(at, l.last) // an answer that was long on its way
	if s.lossy || c.ClocksVary || l.uses == nil || late {
		return
	}
	l.last = max(l.last, at)
	l.uses.Charge(l.last, cost)
	if !l.uses.Room(l.last, 0) {
		c.Fail(Leases, "callers were admitted %d units more than the limit allows where units are used up to %d µs late", l.uses.Debt(l.last)-s.Limit.Capacity, c.Leased.Late)
	}
}

// compare checks that what callers use was charged.
func (c *Checker) compare(l *leased) {
	if l.used > l.taken {
		c.Fail(Leases, "callers were admitted %d units, and the server has charged %d that it was not given back", l.used, l.taken)
	}
}

// refund gives the models of a slot units back that were taken at an instant.
func (c *Checker) refund(s *Slot, d *Decision, taken, cost int64) {
	if s.leased.taken -= cost; c.Leased != nil {
		c.compare(&s.leased)
	} else if d.Reserved == nil || !d.Reserved.closed { // it is given back for the first time
		c.add(s, admission{cost: cost, taken: taken, fate: counts})
		c.measureAnswered()
	}
	s.retryAt, s.freshAt = 0, 0
	for _, m := range []model.Model{s.model, s.delivered} {
		if m != nil {
			m.Charge(d.At, 0)
			m.Refund(taken, cost)
		}
	}
}
