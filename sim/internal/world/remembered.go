package world

import (
	"context"
	"errors"
	"slices"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/store"
)

// remembered is a step with an ID that a server has made, as the rule ids knows it.
type remembered struct {
	at, until int64
	ops       []store.Op // with their outcomes
	of        *reservation
}

// apply makes a step, which has an ID where once is not nil.
func (s *state) apply(once *store.Once, ops []store.Op) (algorithm.Instant, bool, error) {
	if once == nil {
		return s.store.Apply(context.Background(), ops)
	}
	apply := store.FeaturesOf(s.store).Once
	if apply == nil {
		return 0, false, store.ErrUnsupported
	}
	return apply(context.Background(), *once, ops)
}

// takes reports whether a step is one that an ID remembers.
func takes(ops []store.Op) bool {
	return slices.ContainsFunc(ops, func(op store.Op) bool { return op.Request.Cost > 0 || op.Request.Verb == algorithm.Refund })
}

// remembers returns the step that was made with the ID of a group; nil for none.
func (s *server) remembers(g *group, now int64) *remembered {
	if g.once == nil || !takes(g.ops) {
		return nil
	}
	known := s.ids[g.once.ID]
	if known == nil || now < known.until {
		return known
	}
	delete(s.ids, g.once.ID)
	known.of.lose()
	return nil
}

func (s *server) remember(g *group, at algorithm.Instant) {
	if s.ids == nil {
		s.ids = make(map[string]*remembered)
	}
	s.ids[g.once.ID] = &remembered{int64(at), int64(at) + micros(g.once.TTL), slices.Clone(g.ops), g.reserved}
}

// checkRemembered is the rule ids for a step that was made before.
func (s *server) checkRemembered(g *group, known *remembered, at algorithm.Instant, committed bool, err error) {
	w := s.world
	same := slices.EqualFunc(g.ops, known.ops, func(a, b store.Op) bool { return a.Slot == b.Slot && a.Request == b.Request })
	if !same {
		w.Goals[check.RememberedOther]++
		if !errors.Is(err, store.ErrIDReused) {
			w.Fail(check.IDs, "an ID that is remembered for another step was answered with committed %t and the error %v", committed, err)
		}
		return
	}
	w.Goals[check.Remembered]++
	if err != nil || !committed || int64(at) != known.at {
		w.Fail(check.IDs, "a step that was made at %d is answered with committed %t at %d and the error %v when it is made again", known.at, committed, at, err)
		return
	}
	for i := range g.ops {
		if g.ops[i].Outcome != known.ops[i].Outcome {
			w.Fail(check.IDs, "a step that was made before is answered with %+v, and was with %+v", g.ops[i].Outcome, known.ops[i].Outcome)
		}
	}
}

// loseID notes that the server has lost an ID; nil is none.
func (s *server) loseID(once *store.Once) {
	if once == nil {
		return
	}
	if known := s.ids[once.ID]; known != nil {
		delete(s.ids, once.ID)
		known.of.lose()
	}
}

// loseIDs notes that the server has lost all IDs.
func (s *server) loseIDs() {
	for _, known := range s.ids {
		known.of.lose()
	}
	s.ids = nil
}

func (r *reservation) lose() {
	if r != nil {
		r.Lose()
	}
}
