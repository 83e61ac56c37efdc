package check

import (
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/exact"
	"github.com/weirgo/weir/sim/internal/model"
)

// reserved is what the checker knows of the reservations of a slot.
type reserved struct {
	debts int64 // units that were charged whatever remained, since the slot was fresh
	// ifActual is charged with what each reservation costs in the end, at the instant of its take; nil
	// for kinds whose states do not know when units were taken.
	ifActual model.Model
	open     int  // reservations that are taken and not settled
	loose    bool // ifActual says nothing any more: states were lost, or calls have counted twice
}

// Reserved is a reservation, as the servers have charged it.
type Reserved struct {
	// Keeps is what it costs in the end, as was drawn for it, where it is settled.
	Keeps int64
	// Never reports that it is never settled: Keeps is the estimate.
	Never bool
	// WithoutIDs reports that its calls count each time.
	WithoutIDs bool
	// Settling is set from the first call that settles it on.
	Settling bool

	// Slots are of its limits, and Net the units that are charged to each, less those given
	// back; nil before the take.
	Slots []*Slot
	Net   []int64

	closed bool
	// Lost reports that the server has lost a part of what it knows of it, or that an ID of it has ended.
	Lost bool
}

// asIf charges the model of the actual costs with an op of a committed step.
func (c *Checker) asIf(s *Slot, d *Decision, r algorithm.Request) {
	if s.ifActual == nil || r.Verb == algorithm.Refund || r.Cost == 0 {
		return // what is given back was never charged to this model
	}
	cost := r.Cost
	if d.Reserved != nil && !d.Reserved.Settling {
		cost = min(cost, d.Reserved.Keeps)
	}
	if cost > 0 {
		s.ifActual.Charge(d.At, cost)
	}
}

// commit notes a step of the reservation that was made.
func (r *Reserved) commit(d *Decision) {
	if r.Net == nil {
		r.Slots, r.Net = d.Slots, make([]int64, len(d.Slots))
		for _, s := range r.Slots {
			s.open++
			s.loose = s.loose || r.WithoutIDs
		}
		if r.Never {
			r.Close()
		}
	}
	for i := range d.Ops {
		q := d.Ops[i].Request
		if q.Verb == algorithm.Refund {
			r.Net[i] -= q.Cost
		} else {
			r.Net[i] += q.Cost
		}
	}
	if r.Settling {
		r.Close()
	}
}

// Close notes that it is settled.
func (r *Reserved) Close() {
	if r.closed || r.Net == nil {
		return
	}
	r.closed = true
	for _, s := range r.Slots {
		s.open--
	}
}

// verifySettled checks that a slot whose reservations are all settled stands as if each had
// cost at first what it costs in the end.
func (c *Checker) verifySettled(s *Slot, at, remaining int64) {
	m := s.ifActual
	if m == nil || s.open > 0 || s.loose || s.lossy || s.carried {
		return
	}
	c.Goals[SettledCompared]++
	if remaining > 0 && !m.Room(at, remaining) || remaining < s.Limit.Capacity && m.Room(at, remaining+1) {
		c.Fail(Reservations, "%d remain where all reservations are settled, and it would be another number if they had cost at first what they cost in the end", remaining)
	}
}

// VerifySettled is verifySettled for what remains of a slot in the end.
func (c *Checker) VerifySettled(s *Slot, at, remaining int64) { c.verifySettled(s, at, remaining) }

// VerifyReserved checks what the servers have charged to each slot of a reservation; what says how it
// stands.
func (c *Checker) VerifyReserved(r *Reserved, what string, allowed func(slot int, net int64) bool) {
	for i, net := range r.Net {
		if !r.Lost && !allowed(i, net) {
			c.Fail(Reservations, "%d units are charged for a reservation %s", net, what)
			return
		}
	}
}

// Lose notes that the server does not know any more what it has done for the reservation, so that it
// may do it again.
func (r *Reserved) Lose() {
	r.Lost = true
	for _, s := range r.Slots {
		s.loose = true
	}
}

// Indebted returns for how many µs the debts of a slot last longer than its capacity.
func (s *Slot) Indebted() int64 {
	return exact.Product(s.debts, s.Limit.Period).Ceil(s.Limit.Units)
}
