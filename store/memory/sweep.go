package memorystore

import (
	"hash/maphash"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Sweep drops the slots that became fresh, and the IDs whose time was over, at least
// store.Grace before now, and returns how many. No decision depends on it, it only frees memory. With the
// default clock the store does this by itself; with a clock of the user's it is
// for the user to call, with a reading of that clock. A now that is earlier
// than some slots were used keeps them.
//
// It looks at every slot and holds each lock for 128 of them at a time, and,
// where most of the memory of a shard is unused then, for a copy of what is left.
// It is safe for concurrent use.
func (s *Store) Sweep(now algorithm.Instant) (dropped int) {
	for i := range s.shards {
		dropped += s.shards[i].sweep(now)
	}
	return dropped
}

func (sh *shard) sweep(now algorithm.Instant) (dropped int) {
	for n := swept; n == swept; dropped += n {
		n = sh.sweepIDs(now)
	}
	for from, more := uint32(0), true; more; from += swept {
		var n int
		n, more = sh.sweepFrom(from, now)
		dropped += n
	}
	return dropped
}

// swept is how many records, or IDs, are swept under a lock.
const swept = 128

// sweepFrom drops from a number of records, and after the last gives memory back.
func (sh *shard) sweepFrom(from uint32, now algorithm.Instant) (dropped int, more bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if from >= sh.table.used {
		if sh.table.sparse() {
			sh.compact()
		}
		return 0, false
	}
	for number := from; number < min(from+swept, sh.table.used); number++ {
		if r := sh.table.record(number); r.held() && r.expiry <= now {
			sh.drop(number)
			dropped++
		}
	}
	return dropped, true
}

// sweepIDs forgets some IDs.
func (sh *shard) sweepIDs(now algorithm.Instant) (dropped int) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.forgetUntil(now, swept)
}

// drop removes a record that was found by other means than its key.
func (sh *shard) drop(number uint32) {
	key, n := sh.table.key(number), sh.table.nameOf(number)
	hash := maphash.String(sh.store.seed, key) ^ sh.store.nameHash(n.Value()) // as decide works it out
	sh.remove(hash, key, n)
}

func (sh *shard) compact() {
	sh.table = sh.table.compacted()
	if sh.store.most > 0 {
		sh.queue.rebuild(&sh.table)
	}
}

// sweeper keeps the default clock near the wall clock and goes through all
// shards once in every period, a few at a time, until the store is closed.
func (s *Store) sweeper(m *monotonic, every time.Duration) {
	defer close(s.done)
	tick := min(every, time.Second)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	next, due := 0, time.Duration(0) // a shard is due for each every/shards
	for {
		select {
		case <-s.stop:
			return
		case wall := <-ticker.C:
			m.catchUp(wall)
			for due += shards * tick; due >= every; due -= every {
				s.shards[next].sweep(m.now())
				next = (next + 1) % shards
			}
		}
	}
}
