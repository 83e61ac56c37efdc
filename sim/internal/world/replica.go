package world

import (
	"context"
	"fmt"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/store"
)

// replicated is a step that the replicas are to make.
type replicated struct {
	at        int64
	ops       []store.Op
	slots     []*check.Slot // of ops
	once      *store.Once   // its ID; nil for none
	forgotten []store.Slot  // nil for a step of ops
}

// replicate sends a step that was made to the replicas, which make it later, at the
// same instant.
func (s *server) replicate(at int64, g *group) {
	step := replicated{at: at, once: g.once}
	for i := range g.ops {
		if store.Changes(&g.ops[i]) || g.once != nil && takes(g.ops) { // an ID is of the whole step
			step.ops = append(step.ops, store.Op{Slot: g.ops[i].Slot, Request: g.ops[i].Request})
			step.slots = append(step.slots, g.slots[i])
		}
	}
	if step.ops != nil {
		s.world.act(s.send(step))
	}
}

// send sends a step to the replicas.
func (s *server) send(step replicated) error {
	s.underWay.add(s.world.Now+micros(s.world.scenario.Server.Lag), step)
	return s.catchUp()
}

// catchUp lets the replicas make the steps that have arrived.
func (s *server) catchUp() error {
	for {
		step, some := s.underWay.head()
		if !some || step.until > s.world.Now {
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
	on.clock.At = r.at
	if r.forgotten != nil {
		return on.store.Reset(context.Background(), r.forgotten)
	}
	_, _, err := on.apply(r.once, r.ops)
	return err
}

// failOver turns to the next replica. The steps that have not reached it are lost for
// good, since the replicas after it get their steps from it.
func (s *server) failOver() error {
	w := s.world
	if err := s.catchUp(); err != nil {
		return err
	}
	lost := map[*check.Slot]int64{}
	var order []*check.Slot
	for _, step := range s.underWay.left() {
		for i, slot := range step.item.slots {
			if _, known := lost[slot]; !known {
				order = append(order, slot)
			}
			if r := step.item.ops[i].Request; r.Verb == algorithm.Refund {
				w.Unrefunded(slot)
			} else {
				lost[slot] += r.Cost
			}
		}
		s.loseID(step.item.once)
	}
	for _, slot := range order {
		w.Goals[check.FailoverLost]++
		w.Forgotten(slot, lost[slot])
	}
	s.underWay = fifo[replicated]{}
	s.primary, s.replicas = s.replicas[0], s.replicas[1:]
	return nil
}

// loseAll starts with an empty state, which the replicas follow.
func (s *server) loseAll() (err error) {
	w := s.world
	if s.primary, err = s.newState(); err != nil {
		return err
	}
	for i := range s.replicas {
		if s.replicas[i], err = s.newState(); err != nil {
			return err
		}
	}
	s.underWay = fifo[replicated]{}
	s.loseIDs()
	for _, slot := range w.slots() {
		if slot.Server != s.index {
			continue
		}
		w.Forgotten(slot, w.Debt(slot))
	}
	return nil
}

// evict forgets one slot.
func (s *server) evict(slot *check.Slot) error {
	w := s.world
	at := s.reading()
	s.primary.clock.At = at
	place := []store.Slot{{Key: slot.Key, Limit: slot.Limit.Name, Algorithm: slot.Limit.Algorithm}}
	if err := s.primary.store.Reset(context.Background(), place); err != nil {
		return fmt.Errorf("sim: evict: %w", err)
	}
	w.Forgotten(slot, w.Debt(slot))
	if len(s.replicas) == 0 {
		return nil
	}
	return s.send(replicated{at: at, forgotten: place})
}

// sweep lets stores that can free the states that became fresh: replicas at the instant
// up to which they have all steps.
func (s *server) sweep() {
	at := s.reading()
	sweepState(s.primary, at)
	if step, some := s.underWay.head(); some {
		at = min(at, step.item.at)
	}
	for _, r := range s.replicas {
		sweepState(r, at)
	}
}

func sweepState(s *state, at int64) {
	if store, can := s.store.(interface{ Sweep(algorithm.Instant) int }); can {
		s.clock.At = at
		store.Sweep(algorithm.Instant(at))
	}
}
