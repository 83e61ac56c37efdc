package sim

import (
	"context"
	"fmt"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// replicate sends a step that was made to the replicas, which make it later, at the
// same instant.
func (s *server) replicate(at int64, ops []store.Op, slots []*slot) {
	step := replicated{at: at}
	for i := range ops {
		if store.Changes(&ops[i]) {
			step.ops = append(step.ops, store.Op{Slot: ops[i].Slot, Request: ops[i].Request})
			step.slots = append(step.slots, slots[i])
		}
	}
	if step.ops == nil {
		return
	}
	s.send(step)
	s.world.act(s.catchUp(s.world.now))
}

// send sends a step to the replicas.
func (s *server) send(step replicated) {
	s.underWay.add(s.world.now+micros(s.world.scenario.Server.Lag), step)
}

// catchUp lets the replicas make the steps that have come by a time.
func (s *server) catchUp(now int64) error {
	for {
		step, some := s.underWay.head()
		if !some || step.until > now {
			return nil
		}
		for _, r := range s.replicas {
			if err := step.item.make(r); err != nil {
				return fmt.Errorf("sim: replica: %w", err)
			}
		}
		s.underWay.drop()
	}
}

// make makes the step on a replica.
func (r *replicated) make(on *state) error {
	on.hand.at = r.at
	if r.forgotten != nil {
		return on.store.Reset(context.Background(), r.forgotten)
	}
	_, _, err := on.store.Apply(context.Background(), r.ops)
	return err
}

// failOver turns to the next replica. What is still under way to it is lost: for good,
// since the replicas after it get their steps from it.
func (s *server) failOver() error {
	w := s.world
	if err := s.catchUp(w.now); err != nil {
		return err
	}
	lost := map[*slot]int64{}
	var order []*slot
	for _, step := range s.underWay.left() {
		for i, slot := range step.item.slots {
			if _, known := lost[slot]; !known {
				order = append(order, slot)
			}
			lost[slot] += step.item.ops[i].Request.Cost
		}
	}
	for _, slot := range order {
		w.goals[goalFailoverLost]++
		w.forget(slot, lost[slot])
	}
	s.underWay = waitlist[replicated]{}
	s.primary, s.replicas = s.replicas[0], s.replicas[1:]
	return nil
}

// loseAll starts with an empty state.
func (s *server) loseAll() error {
	w := s.world
	fresh, err := s.newState()
	if err != nil {
		return err
	}
	s.primary = fresh
	if len(s.replicas) > 0 { // they follow it
		for i := range s.replicas {
			if s.replicas[i], err = s.newState(); err != nil {
				return err
			}
		}
		s.underWay = waitlist[replicated]{}
	}
	for _, slot := range w.slots() {
		w.forget(slot, w.debt(slot))
	}
	return nil
}

// evict forgets one slot.
func (s *server) evict(slot *slot) error {
	w := s.world
	s.primary.hand.at = w.reading()
	place := []store.Slot{{Key: slot.key, Limit: slot.limit.Name, Algorithm: slot.limit.algorithm}}
	if err := s.primary.store.Reset(context.Background(), place); err != nil {
		return fmt.Errorf("sim: evict: %w", err)
	}
	w.forget(slot, w.debt(slot))
	if len(s.replicas) == 0 {
		return nil
	}
	s.send(replicated{at: w.reading(), forgotten: place})
	return s.catchUp(w.now)
}

// sweep lets the store in memory give back what became fresh.
func (s *server) sweep(now int64) {
	type sweeper interface{ Sweep(algorithm.Instant) int }
	for _, state := range append([]*state{s.primary}, s.replicas...) {
		if store, can := state.store.(sweeper); can {
			store.Sweep(algorithm.Instant(now))
		}
	}
}
