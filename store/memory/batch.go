package memorystore

import (
	"context"
	"hash/maphash"
	"math/bits"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// batch is the working memory of an Apply over several ops, kept for the next.
type batch struct {
	ids           []limitID
	hashes        []uint64 // of the keys
	before, after []algorithm.State
	locks         uint64 // the shards to lock, a bit each
}

func (s *Store) newBatch(ops []store.Op) *batch {
	b := s.batches.Get().(*batch)
	b.locks = 0
	for i := range ops {
		hash := maphash.String(s.seed, ops[i].Key)
		b.hashes = append(b.hashes, hash)
		b.ids = append(b.ids, s.identify(ops[i].Limit, ops[i].Algorithm.Spec()))
		b.locks |= 1 << (hash % shards)
	}
	b.before = append(b.before, make([]algorithm.State, len(ops))...)
	b.after = append(b.after, make([]algorithm.State, len(ops))...)
	return b
}

// release gives b back, without the states and names it refers to.
func (s *Store) releaseBatch(b *batch) {
	clear(b.ids)
	clear(b.before)
	clear(b.after)
	b.ids, b.hashes, b.before, b.after = b.ids[:0], b.hashes[:0], b.before[:0], b.after[:0]
	s.batches.Put(b)
}

// several decides ops at one instant, all or nothing. write is false for a
// peek; once is nil for a step without an ID.
func (s *Store) several(ctx context.Context, ops []store.Op, write bool, once *onceCall) (algorithm.Instant, bool, error) {
	b := s.newBatch(ops)
	defer s.releaseBatch(b)
	if once != nil {
		b.locks |= 1 << (once.hash % shards)
	}
	for {
		at, committed, missing, err := s.attempt(ctx, ops, b, write, once)
		if missing == 0 {
			return at, committed, err
		}
		if s.neverFit(ops, once) || !s.makeRoom() {
			return 0, false, store.ErrFull
		}
	}
}

// neverFit reports whether ops change more slots than there can be at all: then
// nothing is dropped for them. Slots that are held already count, or they would
// be dropped to make room beside themselves.
func (s *Store) neverFit(ops []store.Op, once *onceCall) bool {
	changed := int64(0)
	if once != nil {
		changed = 1
	}
	for i := range ops {
		if creates(ops[i].Request) {
			changed++
		}
	}
	return changed > s.most
}

// attempt decides ops under all their locks. missing is the number of slots for
// which there was no room; then nothing was written.
func (s *Store) attempt(ctx context.Context, ops []store.Op, b *batch, write bool, once *onceCall) (at algorithm.Instant, committed bool, missing int, err error) {
	before := s.before()
	s.lock(b.locks)
	defer s.unlock(b.locks)
	if at, err = s.instant(ctx, b.locks, before); err != nil {
		return 0, false, 0, err
	}
	absent := 0
	if once != nil {
		before := s.shards[once.hash%shards].ids[once.idOf]
		if known, err := before.answer(once, at, ops); err != nil {
			return 0, false, 0, err
		} else if known {
			return before.at, true, 0, nil
		}
		if before == nil {
			absent = 1
		}
	}
	for i := range ops {
		sh := &s.shards[b.hashes[i]%shards]
		rec := sh.table.find(b.hashes[i]^b.ids[i].hash, ops[i].Key, b.ids[i].name)
		b.before[i] = sh.state(rec, at)
		if rec == nil && creates(ops[i].Request) {
			absent++
		}
	}
	committed = store.Decide(at, ops, b.before, b.after)
	if !committed || !write {
		return at, committed, 0, nil
	}
	if !s.reserve(absent) {
		return 0, false, absent, nil
	}
	for i := range ops {
		if store.Changes(&ops[i]) {
			s.keep(&ops[i], b, i, at)
		}
	}
	if once != nil {
		s.shards[once.hash%shards].remember(once, at, ops)
	}
	return at, true, 0, nil
}

// keep writes the state after op i.
func (s *Store) keep(op *store.Op, b *batch, i int, at algorithm.Instant) {
	sh := &s.shards[b.hashes[i]%shards]
	hash, name := b.hashes[i]^b.ids[i].hash, b.ids[i].name
	if rec := sh.table.find(hash, op.Key, name); rec != nil {
		rec.state = b.after[i]
		if sh.renew(rec, hash, expiry(at, &op.Outcome)) {
			sh.requeue(rec, hash, op.Key, name)
		}
		return
	}
	if !creates(op.Request) {
		return
	}
	sh.hold(hash, op.Key, name, b.after[i], expiry(at, &op.Outcome))
}

// instant is shard.instant over several shards.
func (s *Store) instant(ctx context.Context, locks uint64, before algorithm.Instant) (algorithm.Instant, error) {
	for set := locks; set != 0; set &= set - 1 {
		before = max(before, s.shards[bits.TrailingZeros64(set)].latest)
	}
	at, err := s.shards[bits.TrailingZeros64(locks)].instant(ctx, before)
	for set := locks; set != 0 && err == nil; set &= set - 1 {
		s.shards[bits.TrailingZeros64(set)].latest = at
	}
	return at, err
}

// lock takes the locks of a set of shards, always in the same order, so that
// no two callers wait for each other.
func (s *Store) lock(locks uint64) {
	for set := locks; set != 0; set &= set - 1 {
		s.shards[bits.TrailingZeros64(set)].mu.Lock()
	}
}

func (s *Store) unlock(locks uint64) {
	for set := locks; set != 0; set &= set - 1 {
		s.shards[bits.TrailingZeros64(set)].mu.Unlock()
	}
}
