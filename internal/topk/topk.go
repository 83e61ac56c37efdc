// Package topk finds the keys that occur most, in bounded memory.
package topk

import (
	"cmp"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

const (
	sets = 64
	// Ways is how many keys each set holds. A key is in the sketch if it is more than 1/Ways
	// of what was counted in its set, which is about 1/(64·Ways) of everything.
	Ways = 16
	// MaxKey is how many bytes of a key are kept.
	MaxKey = 1024
)

// Sketch counts keys of limits: Space-Saving (Metwally, Agrawal, El Abbadi: Efficient
// Computation of Frequent and Top-k Elements in Data Streams, ICDT 2005). A key belongs to one
// of 64 sets by its hash, and each set is a Space-Saving sketch of 16 keys with a lock of its
// own. So a count is a hash, a lock and a look at 16 numbers, and allocates nothing once the
// sketch is full. Keys are told apart by 64 bits of a hash with a random seed.
//
// Counts are of two periods: this one and the one before. Turn begins a new one.
// It is safe for concurrent use.
type Sketch struct {
	seed maphash.Seed
	sets [sets]set
}

type set struct {
	mu      sync.Mutex
	current int // the index of this period
	periods [2]period
}

// period is one Space-Saving sketch. An entry without a count is empty.
type period struct {
	hashes  [Ways]uint64
	counts  [Ways]int64
	excess  [Ways]int64 // of the count, at most: what another key may have had before
	entries [Ways]entry
}

type entry struct {
	limit string
	key   []byte // used again for the next key
}

// Count is how often a key occurred: at least Least, and at most Most.
type Count struct {
	Limit, Key  string
	Least, Most int64
}

// New returns an empty Sketch.
func New() *Sketch { return &Sketch{seed: maphash.MakeSeed()} }

// Add counts a key of a limit once. It copies the first MaxKey bytes of the key where the
// key is new.
func (s *Sketch) Add(limit, key string) {
	h := maphash.String(s.seed, key) ^ bits.RotateLeft64(maphash.String(s.seed, limit), 32)
	in := &s.sets[h%sets]
	in.mu.Lock()
	in.periods[in.current].add(h, limit, key)
	in.mu.Unlock()
}

func (p *period) add(h uint64, limit, key string) {
	for i := range p.hashes {
		if p.hashes[i] == h && p.counts[i] > 0 {
			p.counts[i]++
			return
		}
	}
	least := p.smallest()
	p.hashes[least] = h
	p.excess[least] = p.counts[least]
	p.counts[least]++
	e := &p.entries[least]
	e.limit, e.key = limit, append(e.key[:0], key[:min(len(key), MaxKey)]...)
}

// smallest returns the place of the smallest count: an empty one, where there is one. The
// place goes along in the low bits of the count, so that no branch depends on it.
func (p *period) smallest() int {
	least := int64(math.MaxInt64)
	for i, n := range p.counts {
		least = min(least, n*Ways+int64(i))
	}
	return int(least % Ways)
}

// missing is the most that a key has occurred that has no entry.
func (p *period) missing() int64 { return p.counts[p.smallest()] }

// Turn begins a new period, and forgets the one before the last, with the bytes of its keys.
func (s *Sketch) Turn() {
	for i := range s.sets {
		in := &s.sets[i]
		in.mu.Lock()
		in.current = 1 - in.current
		next := &in.periods[in.current]
		next.hashes, next.counts, next.excess = [Ways]uint64{}, [Ways]int64{}, [Ways]int64{}
		for i := range next.entries {
			e := &next.entries[i]
			clear(e.key[:cap(e.key)])
			e.limit, e.key = "", e.key[:0]
		}
		in.mu.Unlock()
	}
}

// Top returns the n keys with the largest Least for which keep returns true, the largest
// first; fewer where there are fewer. nil keeps all.
func (s *Sketch) Top(n int, keep func(limit string) bool) []Count {
	var all []Count
	for i := range s.sets {
		all = s.sets[i].append(all, keep)
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Least, a.Least), cmp.Compare(b.Most, a.Most), strings.Compare(a.Limit, b.Limit), strings.Compare(a.Key, b.Key))
	})
	return all[:min(n, len(all))]
}

// append appends the keys of both periods.
func (in *set) append(all []Count, keep func(string) bool) []Count {
	in.mu.Lock()
	defer in.mu.Unlock()
	now, before := &in.periods[in.current], &in.periods[1-in.current]
	for _, each := range []struct{ of, other *period }{{now, before}, {before, now}} {
		for i, n := range each.of.counts {
			if n == 0 || keep != nil && !keep(each.of.entries[i].limit) {
				continue
			}
			c := Count{Limit: each.of.entries[i].limit, Key: string(each.of.entries[i].key), Least: n - each.of.excess[i], Most: n}
			j := each.other.find(each.of.hashes[i])
			switch {
			case j < 0:
				c.Most += each.other.missing()
			case each.of == before:
				continue // it is there already
			default:
				c.Least += each.other.counts[j] - each.other.excess[j]
				c.Most += each.other.counts[j]
			}
			all = append(all, c)
		}
	}
	return all
}

// find returns the place of a hash, or -1.
func (p *period) find(h uint64) int {
	for i := range p.hashes {
		if p.hashes[i] == h && p.counts[i] > 0 {
			return i
		}
	}
	return -1
}
