package envoy

import (
	"context"
	"errors"
	"fmt"
	"math"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// ask is a descriptor of a request, its limit and the answer.
type ask struct {
	rule     *rule // nil for no limit
	slot     store.Slot
	cost     int64
	negative bool // the cost is given back

	outcome algorithm.Outcome
	at      algorithm.Instant
	err     error // why there is no outcome, where the others have one
}

// counts reports whether the store is asked.
func (a *ask) counts() bool { return a.rule != nil && !a.rule.unlimited }

// over reports whether the limit is exceeded. Whoever gives back exceeds none.
func (a *ask) over() bool { return a.counts() && !a.negative && a.rule.over(a.outcome) }

// costOf is how many hits a descriptor has. One of its own may be 0, which is a look; the
// 0 of the request is 1. More than an int64 holds is as much as no limit counts.
func costOf(req *pb.RateLimitRequest, d *ratelimit.RateLimitDescriptor) int64 {
	if own := d.GetHitsAddend(); own != nil {
		return int64(min(own.GetValue(), math.MaxInt64))
	}
	return max(1, int64(req.GetHitsAddend()))
}

// limitPrefix keeps these limits apart from others on the same store.
const limitPrefix = "rls."

// chargeEach charges every ask, whatever the others answer. Where several asks have one
// state, the later ones find what the earlier ones left.
func (s *Service) chargeEach(ctx context.Context, asks []*ask) error {
	if len(asks) == 1 {
		return s.chargeRound(ctx, asks)
	}
	for _, round := range roundsOf(asks) {
		for len(round) > 0 {
			n := min(len(round), store.MaxOps)
			if err := s.chargeRound(ctx, round[:n]); err != nil {
				return err
			}
			round = round[n:]
		}
	}
	return nil
}

// roundsOf returns the first ask of each state, the second of each state that has one, and
// so on, in time that grows with the number of asks.
func roundsOf(asks []*ask) [][]*ask {
	var rounds [][]*ask
	before := make(map[store.SlotID]int, len(asks))
	for _, a := range asks {
		id := a.slot.ID()
		n := before[id]
		before[id]++
		if n == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[n] = append(rounds[n], a)
	}
	return rounds
}

// chargeRound charges asks of different states, in one call where the store can.
func (s *Service) chargeRound(ctx context.Context, asks []*ask) error {
	ops := make([]store.Op, len(asks))
	for i, a := range asks {
		ops[i] = store.Op{Slot: a.slot, Request: algorithm.Request{Cost: a.cost, Verb: algorithm.Charge}}
	}
	err := s.dateRefunds(ctx, asks, ops)
	for err == nil && len(ops) > 0 {
		var at algorithm.Instant
		var committed bool
		if at, committed, err = s.store.Apply(ctx, ops); err != nil {
			break
		}
		left := 0
		for i, a := range asks {
			a.outcome, a.at = ops[i].Outcome, at
			// A charge that leaves too large a debt is over its limit and is not counted;
			// the others are.
			if !committed && a.outcome.Allowed {
				asks[left], ops[left] = a, ops[i]
				left++
			}
		}
		if !committed && left == len(ops) {
			return errors.New("envoy: the store refuses a step of which it allows each part")
		}
		asks, ops = asks[:left], ops[:left]
	}
	if errors.Is(err, store.ErrCrossNode) && len(asks) > 1 {
		for i := range asks {
			if err := s.chargeRound(ctx, asks[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	return err
}

// dateRefunds makes refunds of the ops of negative asks. A window gives back only what was
// taken in it, so the instant is the one that the store has now: hits are given back in the
// window in which they are given back.
func (s *Service) dateRefunds(ctx context.Context, asks []*ask, ops []store.Op) error {
	var looks []store.Op
	for _, a := range asks {
		if a.negative {
			looks = append(looks, store.Op{Slot: a.slot})
		}
	}
	if len(looks) == 0 {
		return nil
	}
	now, err := s.store.Peek(ctx, looks)
	if err != nil {
		return err
	}
	for i, a := range asks {
		if a.negative {
			ops[i].Request.Verb, ops[i].Request.At = algorithm.Refund, now
		}
	}
	return nil
}

// group is what asks of one state take together.
type group struct {
	op   store.Op
	asks []*ask
}

// chargeExact charges all of some asks, or nothing. all are those of the request. What gives
// back does so afterwards, whatever the others were answered. Where it fails then, the others
// keep their answer: they may have been charged.
func (s *Service) chargeExact(ctx context.Context, all []ask, asks []*ask) error {
	groups, refunds, err := groupsOf(asks)
	if err != nil {
		return err
	}
	decided := len(groups) > 0
	for len(groups) > 0 {
		ops := make([]store.Op, len(groups))
		for i := range groups {
			ops[i] = groups[i].op
		}
		at, committed, err := s.store.Apply(ctx, ops)
		if err != nil {
			return err
		}
		admitted := groups[:0]
		for i, g := range groups {
			for _, a := range g.asks {
				a.outcome, a.at = ops[i].Outcome, at
			}
			if ops[i].Outcome.Allowed {
				admitted = append(admitted, g)
			}
		}
		if committed || s.isOver(all) {
			break
		}
		if len(admitted) == len(ops) {
			return errors.New("envoy: the store refuses a step of which it allows each part")
		}
		groups = admitted // only shadow or quota mode stood in their way
	}
	if err = s.chargeEach(ctx, refunds); err == nil || !decided {
		return err
	}
	s.storeErrors.Add(1)
	for _, a := range refunds {
		if a.at == 0 { // the others were given back before
			a.err = err
		}
	}
	return nil
}

// groupsOf joins the asks of each state.
func groupsOf(asks []*ask) (groups []group, refunds []*ask, err error) {
	index := make(map[store.SlotID]int, len(asks))
	for n, a := range asks {
		if a.negative {
			refunds = append(refunds, a)
			continue
		}
		cost := a.cost
		if cost > 0 && a.rule.limit.GetRequestsPerUnit() == 0 {
			cost = math.MaxInt64 // its window admits 1
		}
		i, found := index[a.slot.ID()]
		if !found {
			index[a.slot.ID()] = len(groups)
			groups = append(groups, group{store.Op{Slot: a.slot, Request: algorithm.Request{Cost: cost}}, []*ask{a}})
			continue
		}
		g := &groups[i]
		if g.op.Algorithm.Spec() != a.slot.Algorithm.Spec() {
			return nil, nil, fmt.Errorf("descriptor %d counts where an earlier one does, with another limit: an exact charge cannot be under both", n)
		}
		g.op.Request.Cost += min(cost, math.MaxInt64-g.op.Request.Cost)
		g.asks = append(g.asks, a)
	}
	return groups, refunds, nil
}
