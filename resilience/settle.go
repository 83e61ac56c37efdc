package resilience

import (
	"context"
	"errors"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// Settle charges to a shared store what was admitted here in its place, so that keys which
// had their share during an outage do not have the whole limit again after it. Call it
// when the store is back, such as from BreakerOptions.OnTransition on a goroutine of its
// own, with the store that the limiter asks. It does nothing without ShareOptions.Settle.
//
// It is best effort, and bounded: one call at a time to the shared store, one for each slot, and of a
// slot no more than what still counts here: after a long outage that is at most the share of its
// burst or window. What may have been charged is not charged again: where the
// outcome is unknown the slot counts as settled. (A step with an ID that this process answers
// again counts again, within what still counts here.) Where the store fails, or ctx ends, the rest
// stays for the next call, and the error is returned. Limits whose algorithm is no
// algorithm.Charger are left out.
func (s *Share) Settle(ctx context.Context, to store.Store) error {
	if err := checkStore("to", to); err != nil {
		return err
	}
	for range s.Stats().Owed {
		d := s.next()
		if d == nil {
			return nil
		}
		if err := s.settle(ctx, to, d); err != nil {
			return err
		}
	}
	return nil
}

// Stats returns the counts.
func (s *Share) Stats() ShareStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Owed = len(s.owed)
	return stats
}

// note remembers what was committed here.
func (s *Share) note(ops []store.Op) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range ops {
		units := ops[i].Request.Cost
		if _, is := ops[i].Algorithm.(algorithm.Charger); !is || units == 0 {
			continue
		}
		if ops[i].Request.Verb == algorithm.Refund {
			if d := s.owed[ops[i].ID()]; d != nil {
				d.units = max(0, d.units-units)
			}
			continue
		}
		s.owe(ops[i].Slot, units)
	}
}

// owe adds to what a slot owes. Its caller has the lock.
func (s *Share) owe(slot store.Slot, units int64) {
	id := slot.ID()
	d := s.owed[id]
	if d == nil {
		if len(s.owed) >= s.opts.Settle {
			s.stats.Unsettled += units
			return
		}
		d = &debt{}
		s.owed[id] = d
		s.order = append(s.order, id)
	}
	d.slot = slot
	d.units = min(d.units+units, algorithm.MaxUnits)
}

// next takes the oldest slot out; nil: there is none.
func (s *Share) next() *debt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == 0 {
		return nil
	}
	id := s.order[0]
	s.order = s.order[1:]
	d := s.owed[id]
	delete(s.owed, id)
	return d
}

// settle charges one slot.
func (s *Share) settle(ctx context.Context, to store.Store, d *debt) error {
	units, err := s.counting(ctx, d)
	if err == nil && units > 0 {
		ops := []store.Op{{Slot: d.slot, Request: algorithm.Request{Cost: units, Verb: algorithm.Charge}}}
		var committed bool
		_, committed, err = to.Apply(ctx, ops)
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case errors.Is(err, store.ErrOutcomeUnknown):
			s.stats.Unknown += units
		case err != nil:
			s.owe(d.slot, d.units)
		case committed:
			s.stats.Settled += units
		default: // the debt would be too large
			s.stats.Unsettled += units
		}
		return err
	}
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.owe(d.slot, d.units)
	}
	return err
}

// counting returns how many of the units that a slot owes still count here.
func (s *Share) counting(ctx context.Context, d *debt) (int64, error) {
	ops, err := s.scale([]store.Op{{Slot: d.slot}})
	if err != nil {
		return 0, err
	}
	if _, err := s.local.Peek(ctx, ops); err != nil {
		return 0, err
	}
	o := &ops[0].Outcome
	return min(d.units, o.Limit-o.Remaining+o.Debt), nil
}
