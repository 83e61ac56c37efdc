package memorystore

import (
	"container/heap"
	"context"
	"hash/maphash"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// idOf is an ID with the hash tag that it belongs to.
type idOf struct{ tag, id string }

// made is a step that was made under an ID.
type made struct {
	idOf
	digest   string // of its ops
	at       algorithm.Instant
	until    algorithm.Instant // the ID is remembered before it
	outcomes []algorithm.Outcome
	place    int // among ends
}

// onceCall is a step that is asked for with an ID.
type onceCall struct {
	idOf
	digest string
	ttl    time.Duration
	hash   uint64 // of the tag and the ID
}

// once is store.OnceFunc: the ID is looked up, and the step is made, under the same locks.
func (s *Store) once(ctx context.Context, o store.Once, ops []store.Op) (algorithm.Instant, bool, error) {
	if err := store.ValidateOnce(o, ops); err != nil {
		return 0, false, err
	}
	if err := s.open(ctx); err != nil {
		return 0, false, err
	}
	if !store.Takes(ops) {
		return s.several(ctx, ops, true, nil)
	}
	c := &onceCall{idOf: idOf{store.OnceTag(ops), o.ID}, digest: store.OnceDigest(ops), ttl: o.TTL}
	c.hash = maphash.String(s.seed, c.tag) ^ maphash.String(s.seed, c.id)<<1
	return s.several(ctx, ops, true, c)
}

// answer answers a step that was made under the ID of c before, if there is one.
func (m *made) answer(c *onceCall, at algorithm.Instant, ops []store.Op) (known bool, err error) {
	if m == nil || m.until <= at {
		return false, nil
	}
	if m.digest != c.digest {
		return true, store.ErrIDReused
	}
	for i := range ops {
		ops[i].Outcome = m.outcomes[i]
	}
	return true, nil
}

// remember notes the step that was made of ops, for which room was reserved. The texts are
// copied, as those of a slot are: see hold.
func (sh *shard) remember(c *onceCall, at algorithm.Instant, ops []store.Op) {
	m := sh.ids[c.idOf]
	if m == nil {
		if sh.store.closed.Load() {
			sh.store.release(1) // Close has emptied this shard, or is about to
			return
		}
		if sh.ids == nil {
			sh.ids = make(map[idOf]*made)
		}
		m = &made{idOf: idOf{strings.Clone(c.tag), strings.Clone(c.id)}}
		sh.ids[m.idOf] = m
	} else {
		heap.Remove(&sh.ends, m.place)
	}
	m.digest, m.at, m.until = c.digest, at, at+algorithm.Instant(c.ttl/time.Microsecond)
	m.outcomes = m.outcomes[:0]
	for i := range ops {
		m.outcomes = append(m.outcomes, ops[i].Outcome)
	}
	heap.Push(&sh.ends, m)
}

// forget drops the ID that is remembered the shortest.
func (sh *shard) forget() {
	m := heap.Pop(&sh.ends).(*made)
	delete(sh.ids, m.idOf)
	if len(sh.ids) == 0 {
		sh.ids, sh.ends = nil, nil // a map does not shrink
	}
	sh.store.release(1)
}

// forgetUntil drops up to most IDs whose time was over store.Grace before now.
func (sh *shard) forgetUntil(now algorithm.Instant, most int) (dropped int) {
	for dropped < most && len(sh.ends) > 0 && sh.ends[0].expiry() <= now {
		sh.forget()
		dropped++
	}
	return dropped
}

// expiry is when an ID may be dropped.
func (m *made) expiry() algorithm.Instant {
	return m.until + algorithm.Instant(store.Grace/time.Microsecond)
}

// ends is a heap of what is remembered, by when it ends.
type ends []*made

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].until < e[j].until }
func (e ends) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	e[i].place, e[j].place = i, j
}
func (e *ends) Push(x any) {
	m := x.(*made)
	m.place = len(*e)
	*e = append(*e, m)
}
func (e *ends) Pop() any {
	last := len(*e) - 1
	m := (*e)[last]
	(*e)[last] = nil
	*e = (*e)[:last]
	return m
}
