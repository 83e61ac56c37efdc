package conformance_test

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
)

// plainStore is a store as somebody else might write one first: a map behind a
// lock, with what package store offers. It drops nothing and offers no Bind.
type plainStore struct {
	clock store.Clock

	mu     sync.Mutex
	states map[place]algorithm.State // nil when closed
}

type place struct{ key, limit, kind string }

var _ store.Store = (*plainStore)(nil)

func newPlainStore(clk store.Clock) *plainStore {
	return &plainStore{clock: clk, states: map[place]algorithm.State{}}
}

func placeOf(s store.Slot) place { return place{s.Key, s.Limit, s.Algorithm.Spec().StoredKind()} }

func (p *plainStore) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	return p.decide(ctx, ops, func(after map[place]algorithm.State) { maps.Copy(p.states, after) })
}

func (p *plainStore) Peek(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
	at, _, err := p.decide(ctx, ops, func(map[place]algorithm.State) {})
	return at, err
}

// decide calls keep with the states that a committed step has changed.
func (p *plainStore) decide(ctx context.Context, ops []store.Op, keep func(map[place]algorithm.State)) (algorithm.Instant, bool, error) {
	if err := store.Validate(ops); err != nil {
		return 0, false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.usable(ctx); err != nil {
		return 0, false, err
	}
	at, err := algorithm.InstantOf(p.clock.Now())
	if err != nil {
		return 0, false, err
	}
	before, after := make([]algorithm.State, len(ops)), make([]algorithm.State, len(ops))
	for i := range ops {
		before[i] = p.states[placeOf(ops[i].Slot)]
	}
	committed := store.Decide(at, ops, before, after)
	changed := map[place]algorithm.State{}
	for i := range ops {
		if committed && store.Changes(&ops[i]) {
			changed[placeOf(ops[i].Slot)] = after[i]
		}
	}
	keep(changed)
	return at, committed, nil
}

func (p *plainStore) usable(ctx context.Context) error {
	if p.states == nil {
		return store.ErrClosed
	}
	return ctx.Err()
}

func (p *plainStore) Reset(ctx context.Context, slots []store.Slot) error {
	if err := store.ValidateSlots(slots); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.usable(ctx); err != nil {
		return err
	}
	for _, s := range slots {
		delete(p.states, placeOf(s))
	}
	return nil
}

func (p *plainStore) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.states = nil
	return nil
}

// This is all that the test of a third-party store takes.
func TestPlainStoreConforms(t *testing.T) {
	t.Parallel()
	conformance.TestStore(t, func(_ testing.TB, clk clock.Clock) store.Store { return newPlainStore(clk) }, nil)
}
