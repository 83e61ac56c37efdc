package gubernator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/service/gubernator/pb"
	"github.com/weirgo/weir/store"
)

// known are the behaviours that are honoured. Every node decides over the same store, so
// BATCHING, NO_BATCHING and GLOBAL change nothing.
const known = pb.Behavior_NO_BATCHING | pb.Behavior_GLOBAL | pb.Behavior_DURATION_IS_GREGORIAN |
	pb.Behavior_RESET_REMAINING | pb.Behavior_DRAIN_OVER_LIMIT

// limitPrefix keeps these limits apart from others on the same store.
const limitPrefix = "gubernator."

// decide answers one item.
func (s *Service) decide(ctx context.Context, item *pb.RateLimitReq) (*pb.RateLimitResp, error) {
	if err := check(item); err != nil {
		return nil, err
	}
	begin, length, err := s.interval(item)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	q := &query{service: s, item: item, begin: begin, length: length}
	var r *pb.RateLimitResp
	if item.GetLimit() == 0 || length == 0 {
		r = s.withoutState(item)
	} else {
		r, err = q.answer(ctx)
	}
	q.observe(ctx, r, err, time.Since(start))
	return r, err
}

// check refuses what is not valid, and what is not honoured.
func check(item *pb.RateLimitReq) error {
	for _, field := range []struct {
		name  string
		value int64
		least int64
	}{{"hits", item.GetHits(), -algorithm.MaxUnits}, {"limit", item.GetLimit(), 0}, {"burst", item.GetBurst(), 0}} {
		if field.value < field.least || field.value > algorithm.MaxUnits {
			return fmt.Errorf("field '%s' %d is not allowed: must be %d to %d", field.name, field.value, field.least, algorithm.MaxUnits)
		}
	}
	switch {
	case item.GetUniqueKey() == "":
		return errors.New("field 'unique_key' cannot be empty")
	case item.GetName() == "":
		return errors.New("field 'namespace' cannot be empty")
	case item.GetAlgorithm() != pb.Algorithm_TOKEN_BUCKET && item.GetAlgorithm() != pb.Algorithm_LEAKY_BUCKET:
		return fmt.Errorf("field 'algorithm' %d is not allowed: must be TOKEN_BUCKET or LEAKY_BUCKET", item.GetAlgorithm())
	case item.GetBehavior()&pb.Behavior_MULTI_REGION != 0:
		return errors.New("behavior MULTI_REGION is not supported: all nodes decide over one store")
	case item.GetBehavior()&^known != 0:
		return fmt.Errorf("field 'behavior' has unknown bits %d", item.GetBehavior()&^known)
	case item.CreatedAt != nil:
		return errors.New("field 'created_at' is not supported: the clock of the store decides")
	}
	return nil
}

func has(item *pb.RateLimitReq, b pb.Behavior) bool { return item.GetBehavior()&b != 0 }

// withoutState answers where there is nothing to count: a limit of 0, and a window that
// ends immediately.
func (s *Service) withoutState(item *pb.RateLimitReq) *pb.RateLimitResp {
	r := &pb.RateLimitResp{Limit: item.GetLimit(), Remaining: item.GetLimit(), ResetTime: s.opts.Clock.Now().UnixMilli()}
	if item.GetHits() > item.GetLimit() {
		r.Status = pb.Status_OVER_LIMIT
	} else {
		r.Remaining -= item.GetHits()
	}
	return r
}

// query is an item that the store is asked about.
type query struct {
	service *Service
	item    *pb.RateLimitReq
	begin   time.Time // of the calendar interval; zero for none
	length  time.Duration

	decides algorithm.Algorithm // nil where nothing is counted
	outcome algorithm.Outcome
	at      algorithm.Instant
}

func (q *query) answer(ctx context.Context) (*pb.RateLimitResp, error) {
	a, err := q.algorithm(0)
	if err != nil {
		return nil, err
	}
	q.decides = a
	slot := store.Slot{Key: q.item.GetUniqueKey(), Limit: limitPrefix + q.item.GetName(), Algorithm: a}
	leaky := q.item.GetAlgorithm() == pb.Algorithm_LEAKY_BUCKET
	if has(q.item, pb.Behavior_RESET_REMAINING) {
		if err := q.service.store.Reset(ctx, []store.Slot{slot}); err != nil {
			return nil, err
		}
		if !leaky { // the hits do not count
			return &pb.RateLimitResp{Limit: q.item.GetLimit(), Remaining: q.item.GetLimit()}, nil
		}
	}
	if err := q.take(ctx, &slot, leaky); err != nil {
		return nil, err
	}
	r := &pb.RateLimitResp{Limit: q.item.GetLimit(), Remaining: q.outcome.Remaining, ResetTime: q.resetTime(leaky)}
	if !q.outcome.Allowed {
		r.Status = pb.Status_OVER_LIMIT
	}
	return r, nil
}

// algorithm is what decides. give is above 0 for a window that gets back so many units.
func (q *query) algorithm(give int64) (algorithm.Algorithm, error) {
	if q.item.GetAlgorithm() == pb.Algorithm_TOKEN_BUCKET {
		w := window{limit: q.item.GetLimit(), length: q.length.Microseconds(), give: give}
		if !q.begin.IsZero() {
			w.start = q.begin.UnixMicro()
		}
		return w, nil
	}
	burst := q.item.GetBurst()
	if burst == 0 {
		burst = q.item.GetLimit()
	}
	return algorithm.NewTokenBucket(algorithm.Rate{Units: q.item.GetLimit(), Per: q.length}, burst)
}

// take takes the hits, or gives them back where they are negative.
func (q *query) take(ctx context.Context, slot *store.Slot, leaky bool) error {
	hits := q.item.GetHits()
	switch {
	case hits < 0 && leaky:
		return q.apply(ctx, slot, algorithm.Request{Cost: -hits, Verb: algorithm.Refund})
	case hits < 0:
		giving, err := q.algorithm(-hits)
		if err != nil {
			return err
		}
		slot.Algorithm = giving
		if err := q.apply(ctx, slot, algorithm.Request{Cost: 1}); err != nil {
			return err
		}
		if !q.outcome.Allowed {
			return fmt.Errorf("field 'hits' %d is not allowed: more than %d units would be left", hits, algorithm.MaxUnits)
		}
		return nil
	}
	if err := q.apply(ctx, slot, algorithm.Request{Cost: hits}); err != nil {
		return err
	}
	if q.outcome.Allowed || !has(q.item, pb.Behavior_DRAIN_OVER_LIMIT) {
		return nil
	}
	// What is left is taken, too. Others may be first: then less is left, or, after a
	// while, more.
	for try := 0; q.outcome.Remaining > 0; try++ {
		if try == maxDrains {
			return errors.New("DRAIN_OVER_LIMIT: others took and gave back each time")
		}
		if err := q.apply(ctx, slot, algorithm.Request{Cost: q.outcome.Remaining}); err != nil {
			return err
		}
	}
	q.outcome.Allowed = false
	return nil
}

// maxDrains bounds how often what is left is taken.
const maxDrains = 100

// apply asks the store. Where its clock is not in the interval of the calendar in which the
// clock of this process is, nothing was changed, and the interval of the store's clock counts.
func (q *query) apply(ctx context.Context, slot *store.Slot, r algorithm.Request) error {
	for range maxIntervals {
		ops := []store.Op{{Slot: *slot, Request: r}}
		var err error
		if r.Cost == 0 {
			q.at, err = q.service.store.Peek(ctx, ops)
		} else {
			q.at, _, err = q.service.store.Apply(ctx, ops)
		}
		q.outcome = ops[0].Outcome
		w, is := slot.Algorithm.(window)
		if err != nil || !is || w.contains(q.at) {
			return err
		}
		begin, end, err := q.service.calendar.interval(q.at.Time(), q.item.GetDuration())
		if err != nil {
			return err
		}
		q.begin, q.length = begin, end.Sub(begin)
		w.start, w.length = begin.UnixMicro(), q.length.Microseconds()
		slot.Algorithm = w
	}
	return errors.New("DURATION_IS_GREGORIAN: the clock of the store was in another interval each time")
}

// maxIntervals bounds how often an item is tried in another interval.
const maxIntervals = 4

// resetTime is, in ms, when a window ends, and when a leaky bucket has leaked so much that
// its limit remains.
func (q *query) resetTime(leaky bool) int64 {
	if leaky {
		perUnit := q.length.Milliseconds() / q.item.GetLimit()
		return int64(q.at)/1000 + (q.item.GetLimit()-q.outcome.Remaining)*perUnit
	}
	left := q.outcome.ResetAfter
	if left == 0 { // nobody came: as if the window began now
		left = q.length
		if !q.begin.IsZero() {
			left = q.begin.Add(q.length).Sub(q.at.Time())
		}
	}
	return (int64(q.at) + left.Microseconds() + 999) / 1000
}
