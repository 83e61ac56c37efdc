package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// trackedStore is a store that remembers what it may have written. When the command
// is interrupted it answers nothing any more, so that the check ends.
type trackedStore struct {
	store.Store
	ctx    context.Context // of the command
	prefix string

	mu         sync.Mutex
	slots      map[store.SlotID]store.Slot
	unanswered bool // a call may yet write
	closed     bool
}

// Apply implements store.Store.
func (t *trackedStore) Apply(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	if err := t.ctx.Err(); err != nil {
		return 0, false, err
	}
	if store.Validate(ops) == nil { // otherwise nothing is sent
		t.remember(ops)
	}
	at, committed, err = t.Store.Apply(ctx, ops)
	// A caller who leaves does not take the call along: Close waits for it.
	if errors.Is(err, store.ErrOutcomeUnknown) && ctx.Err() == nil {
		t.mu.Lock()
		t.unanswered = true
		t.mu.Unlock()
	}
	return at, committed, err
}

func (t *trackedStore) remember(ops []store.Op) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, op := range ops {
		t.slots[op.ID()] = op.Slot
	}
}

// Peek implements store.Store.
func (t *trackedStore) Peek(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
	if err := t.ctx.Err(); err != nil {
		return 0, err
	}
	return t.Store.Peek(ctx, ops)
}

// Reset implements store.Store.
func (t *trackedStore) Reset(ctx context.Context, slots []store.Slot) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	return t.Store.Reset(ctx, slots)
}

// Close implements store.Store.
func (t *trackedStore) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	return t.Store.Close()
}

func (t *trackedStore) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// written returns the slots that may have a state.
func (t *trackedStore) written() (slots []store.Slot, unanswered bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.slots)), t.unanswered
}
