package resilience

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// maxKey is the most bytes of key and limit of a slot whose denial is remembered.
const maxKey = 1000

// ways is how many entries a hash may have.
const ways = 8

// denials are the denials that a DenyCache remembers, by slot, and the calls that are under
// way. An entry is found without a lock. Which of the entries of one hash makes room does not
// depend on chance, so that the simulator can run the cache: the one that ends first.
type denials struct {
	entries []atomic.Pointer[denial] // sets of ways
	ways    uint64
	count   atomic.Int64 // entries
	denied  atomic.Int64
	asked   atomic.Int64
	closed  atomic.Bool
	shards  [64]flights
}

// denial is the answer to a take that was denied. It does not change.
type denial struct {
	key, limit  string
	spec        algorithm.Spec
	cost        int64
	sent, until algorithm.Instant // on the clock of the cache
	ahead       algorithm.Instant // how far the clock of the store is ahead of it
	at          algorithm.Instant // of the answer, on the clock of the store
	outcome     algorithm.Outcome
}

// flights are the slots for which calls are under way. Slots of one key are in one.
type flights struct {
	mu    sync.Mutex
	slots map[store.SlotID]flight
}

// flight is what is known of a slot while calls for it are under way.
type flight struct {
	calls    int
	changing int    // those of them that may make the slot better
	changes  uint64 // ends of calls that may have changed the slot
}

func newDenials(entries int) *denials {
	t := &denials{ways: min(ways, uint64(entries))}
	t.entries = make([]atomic.Pointer[denial], uint64(entries)/t.ways*t.ways)
	for i := range t.shards {
		t.shards[i].slots = make(map[store.SlotID]flight)
	}
	return t
}

// hash mixes the bytes of a key, eight at a time. It is the same in every process. Keys that
// were chosen to share a hash cost each other their entries, and so a call to the store.
func hash(key string) uint64 {
	const prime = 0x9e3779b97f4a7c15
	h := uint64(len(key)+1) * prime
	for ; len(key) >= 8; key = key[8:] {
		word := uint64(key[0]) | uint64(key[1])<<8 | uint64(key[2])<<16 | uint64(key[3])<<24 |
			uint64(key[4])<<32 | uint64(key[5])<<40 | uint64(key[6])<<48 | uint64(key[7])<<56
		h = (h ^ word) * prime
		h ^= h >> 32
	}
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * prime
	}
	return h ^ h>>29 ^ h>>32
}

// set returns the entries of a hash.
func (t *denials) set(h uint64) []atomic.Pointer[denial] {
	first := h % (uint64(len(t.entries)) / t.ways) * t.ways
	return t.entries[first : first+t.ways]
}

func (t *denials) shard(h uint64) *flights { return &t.shards[h>>8%uint64(len(t.shards))] }

// find returns the answer to an op, where it is known to be denied now.
func (t *denials) find(op *store.Op, now algorithm.Instant) (at algorithm.Instant, o algorithm.Outcome, found bool) {
	set := t.set(hash(op.Key))
	for i := range set {
		d := set[i].Load()
		if d == nil || d.key != op.Key || d.limit != op.Limit || d.spec != op.Algorithm.Spec() {
			continue
		}
		if now >= d.until {
			t.drop(&set[i], d)
			return 0, o, false
		}
		if now < d.sent || op.Request.Cost < d.cost {
			return 0, o, false
		}
		at, o = d.now(now)
		if op.Request.Cost > o.Limit {
			o.RetryAfter = algorithm.Never
		}
		return at, o, true
	}
	return 0, o, false
}

// now is the answer at another instant of the clock of the cache.
func (d *denial) now(now algorithm.Instant) (at algorithm.Instant, o algorithm.Outcome) {
	at, o = now+d.ahead, d.outcome
	passed := time.Duration(at-d.at) * time.Microsecond
	o.RetryAfter -= passed
	o.ResetAfter = max(0, o.ResetAfter-passed)
	return at, o
}

// isOf reports whether it is the denial of a slot, with whatever parameters.
func (d *denial) isOf(id store.SlotID) bool {
	return d.key == id.Key && d.limit == id.Limit && d.spec.Kind == id.Kind && d.spec.Identity == id.Identity
}

func (t *denials) drop(entry *atomic.Pointer[denial], d *denial) {
	if entry.CompareAndSwap(d, nil) {
		t.count.Add(-1)
	}
}

// forget drops the denial of a slot.
func (t *denials) forget(id store.SlotID, h uint64) {
	set := t.set(h)
	for i := range set {
		if d := set[i].Load(); d != nil && d.isOf(id) {
			t.drop(&set[i], d)
		}
	}
}

// begin notes a call for a slot. improves reports whether it may make the slot better for
// others: then nothing is known of it until the call has ended.
func (t *denials) begin(id store.SlotID, improves bool) (changes uint64) {
	h := hash(id.Key)
	s := t.shard(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.slots[id]
	f.calls++
	if improves {
		f.changing++
		t.forget(id, h)
	}
	s.slots[id] = f
	return f.changes
}

// end notes the end of a call that began with changes. changed reports whether the slot may
// be another than before; d is what to remember, unless a call that may have made the slot
// better was under way together with this one.
func (t *denials) end(id store.SlotID, began uint64, improves, changed bool, d *denial) {
	h := hash(id.Key)
	s := t.shard(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.slots[id]
	f.calls--
	if improves {
		f.changing--
	}
	if d != nil && f.changing == 0 && f.changes == began && !t.closed.Load() {
		t.remember(id, h, d)
	}
	if changed || improves {
		f.changes++
		t.forget(id, h)
	}
	if f.calls == 0 {
		delete(s.slots, id)
		return
	}
	s.slots[id] = f
}

// remember keeps the denial of the least cost: it answers for all larger ones. Its caller
// has the lock of the slot; other slots of the set may come and go.
func (t *denials) remember(id store.SlotID, h uint64, d *denial) {
	set := t.set(h)
	room := &set[0]
	for i := range set {
		old := set[i].Load()
		if old != nil && old.isOf(id) {
			if old.spec == d.spec && old.cost < d.cost && d.sent < old.until {
				return
			}
			room = &set[i]
			break
		}
		if least := room.Load(); least != nil && (old == nil || old.until < least.until) {
			room = &set[i]
		}
	}
	d.key, d.limit = strings.Clone(d.key), strings.Clone(d.limit) // some callers use the memory of a key again
	if room.Swap(d) == nil {
		t.count.Add(1)
	}
}

func (t *denials) stats() DenyCacheStats {
	return DenyCacheStats{Entries: int(t.count.Load()), Denied: t.denied.Load(), Asked: t.asked.Load()}
}

// close forgets everything; a store that is closed answers for itself.
func (t *denials) close() error {
	t.closed.Store(true)
	for i := range t.entries {
		if d := t.entries[i].Load(); d != nil {
			t.drop(&t.entries[i], d)
		}
	}
	return nil
}
