package resilience

import (
	"context"
	"errors"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/store"
)

// plan is how an ask is decided.
type plan int

const (
	byStore plan = iota // as it is
	byGrant             // by a call that takes more units
	byUnits             // from the units held: it is answered
)

// apply stands around every decision. timeout is that of next; 0: it has none.
func (l *Lease) apply(ctx context.Context, ops []store.Op, timeout time.Duration, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
	op := &ops[0]
	switch {
	case l.closed.Load():
		return next(ctx, ops)
	case len(ops) > 1 || op.Request.Verb != algorithm.Take:
		return l.pass(ctx, ops, next)
	case op.Request.Cost == 0:
		at, err = l.peek(ctx, ops, func(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
			at, _, err := next(ctx, ops)
			return at, err
		})
		return at, err == nil, err
	}
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	p, at, units, moves := l.plan(op)
	switch p {
	case byUnits:
		return at, true, nil
	case byGrant:
		at, committed, err = l.grant(ctx, ops, units, next)
		if l.closed.Load() { // perhaps after all others were given back
			l.giveBack(ctx, l.table.shard(op.Key), op.ID(), everything, l.refund)
		}
		if committed || err != nil {
			return at, committed, err
		}
	}
	return l.single(ctx, ops, timeout, moves, next)
}

// peek stands around every look. The units that this process holds count as what remains.
func (l *Lease) peek(ctx context.Context, ops []store.Op, next store.PeekFunc) (at algorithm.Instant, err error) {
	at, err = next(ctx, ops)
	if err != nil || len(ops) > 1 || l.closed.Load() {
		return at, err
	}
	o := &ops[0].Outcome
	if held := l.count(&ops[0]); held > 0 && !o.Allowed && ops[0].Request.Cost <= o.Remaining {
		o.Allowed, o.RetryAfter = true, 0
	}
	return at, nil
}

// count adds the units held to what remains after a look or a denial, and returns them.
func (l *Lease) count(op *store.Op) (held int64) {
	now := l.clock()
	sh := l.table.shard(op.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	s := sh.slots[op.ID()]
	if s == nil || op.Request.Verb != algorithm.Take || s.spec != op.Algorithm.Spec() {
		return 0
	}
	now = l.present(s, now)
	s.expire(now, l.opts.Life)
	held = s.held()
	op.Outcome.Remaining = min(op.Outcome.Limit, op.Outcome.Remaining+held)
	return held
}

// present returns a reading of the clock, or a new one where a grant has come since: to that the
// clock would have gone back. Its caller has the lock of the slot.
func (l *Lease) present(s *leased, now time.Time) time.Time {
	if n := len(s.grants); n > 0 && now.Before(s.grants[n-1].received) {
		return l.clock()
	}
	return now
}

// plan decides how an ask is decided, and answers it where units are held. With byGrant
// units is how many to take beyond the cost, and the slot is busy. moves are those of the slot so
// far.
func (l *Lease) plan(op *store.Op) (p plan, at algorithm.Instant, units, moves int64) {
	spec := op.Algorithm.Spec()
	kind, known := l.kinds[spec.Kind]
	if !known {
		return byStore, 0, 0, 0
	}
	leases := l.opts.Only == nil || l.opts.Only(op.Limit)
	now, cost := l.clock(), op.Request.Cost
	sh := l.table.shard(op.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	s := sh.slots[op.ID()] // without leases: what it has held since it had them
	if leases {
		s = l.table.slot(sh, op, &spec)
	}
	if s == nil {
		return byStore, 0, 0, 0
	}
	if s.spec != spec {
		s.change(spec, kind)
	}
	now = l.present(s, now)
	if leases {
		s.note(now, l.tick, cost)
	}
	s.expire(now, l.opts.Life)
	held := s.held()
	scarce := leases && len(s.grants) < 2 && held-cost < s.size/2
	if scarce && !s.busy && !now.Before(s.pause) {
		if units = s.want(cost, &l.opts); units > 0 {
			s.begin()
			return byGrant, 0, units, s.moves
		}
	}
	if held < cost {
		return byStore, 0, 0, s.moves
	}
	return byUnits, s.use(now, cost, &op.Outcome), 0, s.moves
}

// grant takes more units than the caller wants, and keeps the others. Where it is neither
// committed nor an error, nothing was taken.
func (l *Lease) grant(ctx context.Context, ops []store.Op, units int64, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
	op := &ops[0]
	sh, id, cost := l.table.shard(op.Key), op.ID(), op.Request.Cost
	g := grant{units: units, algorithm: op.Algorithm, spec: op.Algorithm.Spec(), sent: l.clock()}
	epoch := sh.epoch(id)
	defer func() { // also of a call that panics
		op.Request.Cost = cost
		sh.end(id)
	}()
	op.Request.Cost += units
	at, committed, err = next(ctx, ops)
	g.at, g.received = at, l.clock()

	sh.mu.Lock()
	defer sh.mu.Unlock()
	s := sh.slots[id] // it is busy, so it is not forgotten
	if err != nil {
		s.pause = g.received.Add(l.tick)
		if errors.Is(err, store.ErrOutcomeUnknown) {
			s.stats.Taken += units
			s.stats.Lost += units
		}
		if s.expire(g.received, l.opts.Life); s.held() >= cost && ctx.Err() == nil && s.spec == g.spec {
			return s.use(g.received, cost, &op.Outcome), true, nil
		}
		return 0, false, err
	}
	s.room = op.Outcome.Remaining
	if !committed {
		return 0, false, nil
	}
	g.limit, g.reset = op.Outcome.Limit, op.Outcome.ResetAfter
	s.stats.Taken += units
	switch {
	case s.epoch != epoch: // a Reset has made the slot fresh
		s.stats.Lost += units
	case s.spec != g.spec:
		s.setAside(g)
	default:
		s.add(g)
		s.answer(g.received, &op.Outcome)
	}
	return at, true, nil
}

// maxAsks is how often one caller asks the store while units move between the store and the
// leases of this process.
const maxAsks = 8

// single asks the store. A denial stands where no unit of the slot was held or on its way:
// what is on its way is waited for, and what is held is given back, before the store is asked again.
func (l *Lease) single(ctx context.Context, ops []store.Op, timeout time.Duration, moves int64, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
	op, id := &ops[0], ops[0].ID()
	sh := l.table.shard(id.Key)
	for range maxAsks {
		at, committed, err = l.pass(ctx, ops, next)
		if err != nil || committed || op.Outcome.RetryAfter == algorithm.Never {
			break
		}
		before := moves
		var used bool
		var wait <-chan struct{}
		if at, used, wait, moves = l.retry(sh, op, at); used {
			return at, true, nil
		}
		if wait != nil && !deadline.Wait(ctx, wait, timeout) {
			break
		}
		if wait == nil && moves == before {
			if returned, _ := l.giveBack(ctx, sh, id, everything, l.refund); returned == 0 {
				break
			}
		}
	}
	if err == nil && !committed {
		l.count(op)
	}
	return at, committed, err
}

// retry looks at the slot of a caller who was denied at an instant: used reports that
// units are held by now, and that the caller is admitted. wait is until the call ends that is
// on its way; nil: there is none.
func (l *Lease) retry(sh *shard, op *store.Op, denied algorithm.Instant) (at algorithm.Instant, used bool, wait <-chan struct{}, moves int64) {
	now := l.clock()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	s := sh.slots[op.ID()]
	if s == nil || s.spec != op.Algorithm.Spec() {
		return denied, false, nil, 0
	}
	now = l.present(s, now)
	s.expire(now, l.opts.Life)
	if s.held() >= op.Request.Cost {
		return s.use(now, op.Request.Cost, &op.Outcome), true, nil, s.moves
	}
	return denied, false, s.wait(), s.moves
}

// pass asks the store, and notes what it says of slots that are watched.
func (l *Lease) pass(ctx context.Context, ops []store.Op, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
	at, committed, err = next(ctx, ops)
	if err == nil {
		l.learn(ops)
	}
	return at, committed, err
}

// once asks the store for a step with an ID.
func (l *Lease) once(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (at algorithm.Instant, committed bool, err error) {
	at, committed, err = next(ctx, o, ops)
	if err == nil && !l.closed.Load() {
		l.learn(ops)
	}
	return at, committed, err
}

// learn notes what the store has answered for slots that are watched.
func (l *Lease) learn(ops []store.Op) {
	for i := range ops {
		op := &ops[i]
		sh := l.table.shard(op.Key)
		sh.mu.Lock()
		if s := sh.slots[op.ID()]; s != nil {
			s.room = op.Outcome.Remaining
			if op.Outcome.Debt > 0 && op.Request.Verb == algorithm.Charge {
				s.setAllAside() // the key is in debt: what it held counts towards it
			}
		}
		sh.mu.Unlock()
	}
}

// reset stands around Reset. Units that were taken before it, or while it is made, are
// dropped.
func (l *Lease) reset(ctx context.Context, slots []store.Slot, next func(context.Context, []store.Slot) error) error {
	l.drop(slots)
	defer l.drop(slots)
	return next(ctx, slots)
}

func (l *Lease) drop(slots []store.Slot) {
	for i := range slots {
		sh := l.table.shard(slots[i].Key)
		sh.mu.Lock()
		if s := sh.slots[slots[i].ID()]; s != nil {
			s.drop()
		}
		sh.mu.Unlock()
	}
}
