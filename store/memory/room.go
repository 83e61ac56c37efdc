package memorystore

import (
	"container/heap"

	"github.com/weirgo/weir/algorithm"
)

// reserve takes room for n slots, or none. It never counts what it does not
// take, not even for a moment: others would find the store full.
func (s *Store) reserve(n int) bool {
	if s.most == 0 || n == 0 {
		return true
	}
	for {
		held := s.held.Load()
		if held+int64(n) > s.most {
			return false
		}
		if s.held.CompareAndSwap(held, held+int64(n)) {
			return true
		}
	}
}

// release gives room back.
func (s *Store) release(n int) {
	if s.most > 0 {
		s.held.Add(-int64(n))
	}
}

// makeRoom drops slots that have become fresh, or, where that is wanted and
// there are none, the one that would have been next. It reports whether it
// dropped any. It takes every lock, one after the other; the caller holds none.
func (s *Store) makeRoom() bool {
	latest := s.latest()
	dropped := 0
	var next *shard
	var soonest algorithm.Instant
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		at, found := sh.dropUntil(latest, &dropped)
		sh.mu.Unlock()
		if found && (next == nil || at < soonest) {
			next, soonest = sh, at
		}
	}
	if dropped > 0 {
		return true
	}
	return s.evict && next != nil && next.evict()
}

// dropUntil drops the slots and IDs that expired by an instant and returns when the
// next one will.
func (sh *shard) dropUntil(latest algorithm.Instant, dropped *int) (next algorithm.Instant, found bool) {
	*dropped += sh.forgetUntil(latest, len(sh.ends))
	defer func() {
		if len(sh.ends) > 0 && (!found || sh.ends[0].expiry() < next) {
			next, found = sh.ends[0].expiry(), true
		}
	}()
	for {
		first, found := sh.queue.first(&sh.table)
		if !found || first.expiry > latest {
			return first.expiry, found
		}
		sh.drop(first.number)
		*dropped++
	}
}

// evict drops the slot of sh that would have become fresh first, or the ID that would
// have been forgotten before it.
func (sh *shard) evict() bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	first, found := sh.queue.first(&sh.table)
	if len(sh.ends) > 0 && (!found || sh.ends[0].expiry() < first.expiry) {
		sh.forget()
		sh.store.evicted.Add(1)
		return true
	}
	if found {
		sh.drop(first.number)
		sh.store.evicted.Add(1)
	}
	return found
}

// expiries is a heap of records by expiry. A decision does not touch it: an
// expiry only moves back, so an entry is at worst too early, and is put right
// when it comes to the top. Entries of records that were freed or reused are
// dropped there.
type expiries []expiryOf

type expiryOf struct {
	expiry algorithm.Instant
	number uint32
}

// add enters a record that was just inserted.
func (q *expiries) add(t *table, number uint32, expiry algorithm.Instant) {
	if len(*q) > 2*t.count+slack {
		q.rebuild(t) // what Reset left behind
		return
	}
	heap.Push(q, expiryOf{expiry, number})
}

// first returns the record that expires first, without taking it out.
func (q *expiries) first(t *table) (first expiryOf, found bool) {
	for len(*q) > 0 {
		top := &(*q)[0]
		r := t.record(top.number)
		if r.held() && r.expiry <= top.expiry {
			return expiryOf{r.expiry, top.number}, true
		}
		if !r.held() {
			heap.Pop(q)
			continue
		}
		top.expiry = r.expiry
		heap.Fix(q, 0)
	}
	return expiryOf{}, false
}

// rebuild makes the heap anew from the table.
func (q *expiries) rebuild(t *table) {
	*q = (*q)[:0]
	for number := range t.used {
		if r := t.record(number); r.held() {
			*q = append(*q, expiryOf{r.expiry, number})
		}
	}
	heap.Init(q)
}

func (q expiries) Len() int           { return len(q) }
func (q expiries) Less(i, j int) bool { return q[i].expiry < q[j].expiry }
func (q expiries) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *expiries) Push(x any)        { *q = append(*q, x.(expiryOf)) }
func (q *expiries) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}
