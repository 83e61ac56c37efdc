package script

import (
	"context"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// bound is one limit of a Store, with everything found that does not depend on the key: a
// decision in company takes about three quarters of the processor's time of an Apply.
type bound struct {
	store    *Store
	timeout  time.Duration // 0 for none
	slot     store.Slot    // without a key
	prepared *prepared     // nil where the algorithm has no Lua
}

func (s *Store) bind(limit string, a algorithm.Algorithm, timeout time.Duration) (store.Bound, error) {
	if err := store.ValidateLimit(-1, a); err != nil {
		return nil, err
	}
	if s.closed.Load() {
		return nil, store.ErrClosed
	}
	p, err := s.prepare(a)
	if err != nil {
		return nil, err
	}
	return &bound{s, timeout, store.Slot{Limit: limit, Algorithm: a}, p}, nil
}

// Apply implements store.Bound.
func (b *bound) Apply(ctx context.Context, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error) {
	return b.decide(ctx, key, r, &b.store.takes)
}

// Peek implements store.Bound.
func (b *bound) Peek(ctx context.Context, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error) {
	return b.decide(ctx, key, r, &b.store.looks)
}

func (b *bound) decide(ctx context.Context, key string, r algorithm.Request, d *dispatcher) (algorithm.Outcome, algorithm.Instant, error) {
	if b.prepared != nil && b.prepared.moves() {
		return b.decideOp(ctx, key, r, d)
	}
	p, err := b.send(ctx, key, r, d)
	if err == nil && p == nil {
		return b.decideOp(ctx, key, r, d)
	}
	if err == nil {
		err = d.wait(p)
	}
	if err != nil {
		return algorithm.Outcome{}, 0, b.store.counters.failed(err)
	}
	o, at, err := p.outcome()
	return o, at, b.store.counters.failed(err)
}

// send sends the request, or returns nil where no Lua decides it.
func (b *bound) send(ctx context.Context, key string, r algorithm.Request, d *dispatcher) (*pending, error) {
	if err := store.ValidateRequest(key, b.slot.Algorithm, r); err != nil {
		return nil, err
	}
	if err := b.store.ready(ctx); err != nil {
		return nil, err
	}
	if b.prepared == nil {
		return nil, nil
	}
	p := d.pending(ctx, b.timeout, 1)
	op := &p.ops[0]
	op.Slot, op.Key, op.Request = b.slot, key, r
	scripted, err := p.add(op, b.prepared)
	if scripted {
		err = p.locate(b.store)
	}
	if err != nil || !scripted {
		p.release()
		return nil, err
	}
	d.send(p)
	return p, nil
}

// decideOp goes the way of several ops.
func (b *bound) decideOp(ctx context.Context, key string, r algorithm.Request, d *dispatcher) (algorithm.Outcome, algorithm.Instant, error) {
	ops := []store.Op{{Slot: b.slot, Request: r}}
	ops[0].Key = key
	at, _, err := b.store.decide(ctx, b.timeout, ops, d)
	if err != nil {
		return algorithm.Outcome{}, 0, err
	}
	return ops[0].Outcome, at, nil
}
