package resilience

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// table holds the slots that are watched, in shards by their key.
type table struct {
	seed   maphash.Seed
	most   int64
	slots  atomic.Int64
	shards [64]shard
}

// shard is some of the slots.
type shard struct {
	mu    sync.Mutex
	slots map[store.SlotID]*leased
	stats LeaseStats
	_     [64]byte // keeps the locks of two shards on different cache lines
}

func (t *table) init(most int) {
	t.seed, t.most = maphash.MakeSeed(), int64(most)
	for i := range t.shards {
		t.shards[i].slots = make(map[store.SlotID]*leased)
	}
}

func (t *table) shard(key string) *shard {
	return &t.shards[maphash.String(t.seed, key)%uint64(len(t.shards))]
}

// longestKey is the longest key, in bytes, that is watched.
const longestKey = 1024

// slot returns the slot of an op, and makes it where there is room. nil: there is none.
func (t *table) slot(sh *shard, op *store.Op, spec *algorithm.Spec) *leased {
	id := store.SlotID{Key: op.Key, Limit: op.Limit, Kind: spec.Kind, Identity: spec.Identity}
	if s := sh.slots[id]; s != nil {
		return s
	}
	if len(id.Key) > longestKey || t.slots.Load() >= t.most {
		return nil
	}
	t.slots.Add(1)
	id.Key, id.Limit = strings.Clone(id.Key), strings.Clone(id.Limit) // some callers use the memory of a key again
	s := &leased{id: id, stats: &sh.stats, room: -1}
	sh.slots[id] = s
	return s
}

// epoch returns the epoch of a slot that is there.
func (sh *shard) epoch(id store.SlotID) int64 {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.slots[id].epoch
}

// end notes the end of the call on its way, of a slot that is there.
func (sh *shard) end(id store.SlotID) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.slots[id].end()
}

// wait returns what is closed at the end of the call on its way; nil: there is none.
func (sh *shard) wait(id store.SlotID) <-chan struct{} {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if s := sh.slots[id]; s != nil {
		return s.wait()
	}
	return nil
}

// forget removes the slots that are cold and hold nothing.
func (t *table) forget(now time.Time, tick time.Duration) {
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		for id, s := range sh.slots {
			if idle := now.Sub(s.last).Abs(); idle >= 2*tick && !s.busy && s.held() == 0 && len(s.stale) == 0 {
				delete(sh.slots, id)
				t.slots.Add(-1)
			}
		}
		sh.mu.Unlock()
	}
}

// ids returns the slots that select accepts, in one order.
func (t *table) ids(choose func(*leased) bool) (all []store.SlotID) {
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		for id, s := range sh.slots {
			if choose(s) {
				all = append(all, id)
			}
		}
		sh.mu.Unlock()
	}
	slices.SortFunc(all, store.SlotID.Compare)
	return all
}

// LeaseStats are counts of a Lease, in units of cost but for Keys and Local.
type LeaseStats struct {
	Keys     int   // slots that are watched
	Local    int64 // decisions without the store
	Taken    int64 // units taken for leases
	Used     int64 // units of leases that were handed out
	Returned int64 // units given back
	Lost     int64 // units neither used nor given back: grants and returns with unknown outcome, units whose window was over, and units that a rate had regained
	Held     int64 // units that leases hold: Taken − Used − Returned − Lost
}

// Stats returns the counts since the Lease was made. It locks each shard in turn.
func (l *Lease) Stats() LeaseStats {
	total := LeaseStats{Keys: int(l.table.slots.Load())}
	for i := range l.table.shards {
		sh := &l.table.shards[i]
		sh.mu.Lock()
		s := &sh.stats
		total.Local += s.Local
		total.Taken += s.Taken
		total.Used += s.Used
		total.Returned += s.Returned
		total.Lost += s.Lost
		sh.mu.Unlock()
	}
	total.Held = total.Taken - total.Used - total.Returned - total.Lost
	return total
}
