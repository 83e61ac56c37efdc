//go:build unix

package filestore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// Store is a store.Store in a directory, safe for concurrent use, also by other
// Stores and processes that opened the same directory.
type Store struct {
	clock store.Clock

	mu     sync.Mutex // of the callers in this process
	dir    *directory // locks out other processes; nil when closed
	latest algorithm.Instant
}

var _ store.Store = (*Store)(nil)

// Open opens the store in a directory, which it makes where there is none. clock
// nil is the clock of the machine.
func Open(path string, clock store.Clock) (*Store, error) {
	if clock == nil {
		clock = machineClock{}
	}
	dir, err := openDirectory(path)
	if err != nil {
		return nil, err
	}
	return &Store{clock: clock, dir: dir}, nil
}

type machineClock struct{}

func (machineClock) Now() time.Time { return time.Now() }

// Apply implements store.Store.
func (s *Store) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	return s.step(ctx, ops, true)
}

// Peek implements store.Store: it is Apply up to where something is written.
func (s *Store) Peek(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
	at, _, err := s.step(ctx, ops, false)
	return at, err
}

// step is the order of things in every store: what can never be right is refused
// first; then, in one go, the states are read, the instant is taken, the ops are
// decided, and what has changed is written, at one place and all of it.
func (s *Store) step(ctx context.Context, ops []store.Op, write bool) (at algorithm.Instant, committed bool, err error) {
	if err := store.Validate(ops); err != nil {
		return 0, false, err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return 0, false, err
	}
	defer unlock()

	if at, err = s.now(); err != nil {
		return 0, false, err
	}
	before, after := make([]algorithm.State, len(ops)), make([]algorithm.State, len(ops))
	for i := range ops {
		if before[i], err = s.read(&ops[i].Slot); err != nil {
			return 0, false, err
		}
	}
	committed = store.Decide(at, ops, before, after)
	if !write || !committed {
		return at, committed, nil
	}
	var changes []record
	for i := range ops {
		if op := &ops[i]; store.Changes(op) {
			until := at + algorithm.Instant(store.TTL(op.Outcome.ResetAfter)/time.Microsecond)
			changes = append(changes, record{placeOf(&op.Slot), after[i].String(), until})
		}
	}
	if err := s.dir.append(changes, s.latest); err != nil {
		return 0, false, err
	}
	return at, true, nil
}

// Reset implements store.Store. A slot without a state is a fresh one.
func (s *Store) Reset(ctx context.Context, slots []store.Slot) error {
	if err := store.ValidateSlots(slots); err != nil {
		return err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var changes []record
	for i := range slots {
		if p := placeOf(&slots[i]); s.dir.states[p].text != "" {
			changes = append(changes, record{place: p})
		}
	}
	return s.dir.append(changes, s.latest)
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == nil {
		return nil
	}
	err := s.dir.close()
	s.dir = nil
	return err
}

// lock makes this call the only one, here and in other processes, and reads what
// those have written. Nothing was done where it fails. How long it waits does not
// depend on ctx: nobody keeps the lock for longer than a step.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	s.mu.Lock()
	defer func() {
		if err != nil {
			s.mu.Unlock()
		}
	}()
	if s.dir == nil {
		return nil, store.ErrClosed
	}
	if err := s.dir.lock(); err != nil {
		return nil, fmt.Errorf("filestore: lock: %w: %w", store.ErrUnavailable, err)
	}
	if err := ctx.Err(); err != nil { // perhaps while it waited
		s.dir.unlock()
		return nil, err
	}
	return func() { s.dir.unlock(); s.mu.Unlock() }, nil
}

// now reads the clock, and remembers the latest that it has shown: by that, and by
// no other, states may be dropped.
func (s *Store) now() (algorithm.Instant, error) {
	at, err := algorithm.InstantOf(s.clock.Now())
	s.latest = max(s.latest, at)
	return at, err
}

// read returns the state of a slot. What is no state of its kind is an error, and
// stays as it is: taken for a fresh key it would admit what it must not.
func (s *Store) read(slot *store.Slot) (algorithm.State, error) {
	state, err := algorithm.ParseState(s.dir.states[placeOf(slot)].text)
	if checker, offered := slot.Algorithm.(algorithm.StateChecker); offered && err == nil {
		err = checker.CheckState(state)
	}
	if err != nil {
		return algorithm.State{}, fmt.Errorf("filestore: read: %w: %w", store.ErrCorrupt, err)
	}
	return state, nil
}
