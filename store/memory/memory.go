// Package memorystore keeps rate-limiter states in the memory of one process.
//
// It is the fastest store and the measure for all others: nothing between the
// caller and the algorithm but a hash table and a lock. States are lost when
// the process ends, and each process counts for itself.
package memorystore

import (
	"context"
	"hash/maphash"
	"math/bits"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// Options are the optional settings of a Store. nil means all defaults.
type Options struct {
	// Clock replaces the default clock, which is the wall time when the
	// store was made plus monotonic time: it never goes back, and moves
	// forward when it lags the wall clock by more than a second. With a Clock
	// the store starts no goroutine and drops nothing by itself: call Sweep.
	Clock store.Clock

	// MaxKeys bounds the number of slots held, and of IDs remembered. At the bound, slots that have
	// become fresh are dropped to make room for new ones; where there is
	// none, a change to a new slot gets ErrFull: a key that is being limited
	// is never freed by a flood of other keys. 0 is no bound; below 0 is
	// refused. It costs about 20 bytes a slot.
	MaxKeys int

	// EvictLeastDebt makes room at MaxKeys, instead of ErrFull, by dropping
	// the slot that would have become fresh first, or the ID that would have been
	// forgotten first. That slot starts again
	// from fresh, so it may admit up to its capacity too much, and a step with that ID
	// is made again; Stats counts how often that happened. A Take that needs room may so lose a slot of
	// its own.
	EvictLeastDebt bool

	// SweepEvery is how long it takes the default clock's sweeper to go
	// through all slots and drop those that have become fresh. 0 is 10 s;
	// below 1 ms and above 24 h are refused. Ignored with a Clock.
	SweepEvery time.Duration
}

// Stats are counts of a Store.
type Stats struct {
	// Keys is the number of slots held, those included that have become
	// fresh and were not swept yet.
	Keys int
	// IDs is the number of IDs remembered; see store.Features.Once.
	IDs int
	// Evicted is how many slots and IDs were dropped before their time; see
	// Options.EvictLeastDebt.
	Evicted int64
}

// Store is a store.Store in memory, safe for concurrent use. It is a
// store.Featured.
//
// Slots are spread over 64 shards by their key, so all limits of one key share
// one lock; an Apply over several keys takes the locks in one order. A decision
// costs a hash, a lock, a look-up and the step, and allocates nothing for the
// algorithms with a state of fixed size. With the default clock, a key that is denied
// again and again is denied without the lock, by a copy of its state: a shard keeps at
// most 8, and makes at most one for 16 denials.
//
// A slot takes about 80 bytes, and about 32 more where its key has more than 20 bytes. A key of
// more than 52 bytes is an object of its own beside. From 1 s after it has become fresh it
// is free to be dropped, which the sweeper does within SweepEvery. The sweeper
// holds a lock for 128 slots at a time, and for longer, some ms at millions of
// slots, only where most of a shard has become free and is given back.
type Store struct {
	monotonic *monotonic // the default clock, or nil
	injected  *injected  // the user's clock, or nil
	seed      maphash.Seed
	closed    atomic.Bool
	names     store.Names
	evict     bool
	most      int64        // MaxKeys; 0 is no bound
	held      atomic.Int64 // slots held; counted where there is a bound
	evicted   atomic.Int64
	shards    [shards]shard
	batches   sync.Pool // of *batch
	stop      chan struct{}
	done      chan struct{}
}

var _ store.Featured = (*Store)(nil)

// New returns an empty Store. With the default clock it runs one goroutine
// until Close. Options outside their bounds give an error.
func New(opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	if opts.MaxKeys < 0 {
		return nil, refuse("Options.MaxKeys", strconv.Itoa(opts.MaxKeys), "0 (no bound) or more")
	}
	if e := opts.SweepEvery; e != 0 && (e < time.Millisecond || e > 24*time.Hour) {
		return nil, refuse("Options.SweepEvery", e.String(), "0 (10s), or 1ms to 24h")
	}
	s := &Store{seed: maphash.MakeSeed(), evict: opts.EvictLeastDebt, most: int64(opts.MaxKeys)}
	for i := range s.shards {
		s.shards[i].store = s
	}
	s.batches.New = func() any { return new(batch) }
	if opts.Clock != nil {
		s.injected = &injected{Clock: opts.Clock}
		return s, nil
	}
	m, err := newMonotonic()
	if err != nil {
		return nil, err
	}
	s.monotonic = m
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	every := opts.SweepEvery
	if every == 0 {
		every = 10 * time.Second
	}
	go s.sweeper(m, every)
	return s, nil
}

func refuse(field, value, allowed string) error {
	return &store.InputError{Op: -1, Field: field, Value: value, Allowed: allowed}
}

// Apply implements store.Store. Besides the errors of invalid input it returns
// ErrFull, ErrClosed, and the error of a ctx that has ended.
func (s *Store) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	if err := s.check(ctx, ops); err != nil {
		return 0, false, err
	}
	if len(ops) == 1 {
		op := &ops[0]
		l := s.limit(op.Limit, op.Algorithm)
		outcome, at, err := s.decide(ctx, op.Key, &l, op.Request, true)
		if err != nil {
			return 0, false, err
		}
		op.Outcome = outcome
		return at, outcome.Allowed, nil
	}
	return s.several(ctx, ops, true, nil)
}

// Peek implements store.Store.
func (s *Store) Peek(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
	if err := s.check(ctx, ops); err != nil {
		return 0, err
	}
	at, _, err := s.several(ctx, ops, false, nil)
	return at, err
}

// check is what Apply and Peek do before anything else.
func (s *Store) check(ctx context.Context, ops []store.Op) error {
	if err := store.Validate(ops); err != nil {
		return err
	}
	return s.open(ctx)
}

func (s *Store) open(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

// Reset implements store.Store.
func (s *Store) Reset(ctx context.Context, slots []store.Slot) error {
	if err := store.ValidateSlots(slots); err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	for i := range slots {
		id := s.identify(slots[i].Limit, slots[i].Algorithm.Spec())
		hash := maphash.String(s.seed, slots[i].Key)
		sh := &s.shards[hash%shards]
		sh.mu.Lock()
		sh.remove(hash^id.hash, slots[i].Key, id.name)
		sh.mu.Unlock()
	}
	return nil
}

// Close implements store.Store: it stops the sweeper and frees all states. A
// call that runs at the same time may still be decided.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if s.stop != nil {
		close(s.stop)
		<-s.done
	}
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.table, sh.queue, sh.ids, sh.ends = table{}, nil, nil, nil
		sh.denials.clear()
		sh.mu.Unlock()
	}
	return nil
}

// Stats returns the counts of the store. It takes each lock once.
func (s *Store) Stats() Stats {
	keys, ids := 0, 0
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		keys += sh.table.count
		ids += len(sh.ids)
		sh.mu.Unlock()
	}
	return Stats{Keys: keys, IDs: ids, Evicted: s.evicted.Load()}
}

// limitID is the name of a limit and what it adds to the hash of a key.
type limitID struct {
	name unique.Handle[name]
	hash uint64
}

func (s *Store) identify(limit string, spec algorithm.Spec) limitID {
	n := name{limit, spec.Kind, spec.Identity}
	return limitID{unique.Make(n), s.nameHash(n)}
}

// nameHash turns the hash of the name of a limit, or that of a key that is the same text would undo it: with
// a limit for each tenant, all slots would have one hash.
func (s *Store) nameHash(n name) uint64 {
	return bits.RotateLeft64(maphash.String(s.seed, n.limit), 17) ^ maphash.String(s.seed, n.kind)<<1 ^ maphash.String(s.seed, n.identity)<<2
}
