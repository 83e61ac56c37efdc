package script

import "slices"

// Batcher decides which groups of ops travel together. It has no goroutine, no
// lock and no clock of its own: a store, a test or a simulator drives it, under a
// lock where several do.
//
// A group that arrives while fewer than the allowed calls are in flight leaves at
// once, alone. Groups that arrive while calls are in flight wait, and leave
// together with the next one: nobody waits for a timer. They leave in the order in
// which they came.
type Batcher struct {
	limits  BatchLimits
	waiting []*Group
	first   int // of waiting
	gone    int // of waiting, cancelled
	flying  int
}

// BatchLimits bound the calls of a Batcher. All are at least 1.
type BatchLimits struct {
	Groups, Keys int // in one call; a group alone may have more keys
	InFlight     int // calls at once
}

// Group is the part of a call that is decided all or nothing.
type Group struct {
	keys  int
	state groupState
	call  *pending // of the store; nil elsewhere
}

type groupState int

const (
	groupIdle groupState = iota
	groupWaiting
	groupSent
)

// NewGroup returns a group of so many keys.
func NewGroup(keys int) *Group { return &Group{keys: keys} }

// NewBatcher returns a batcher with nothing waiting and nothing in flight.
func NewBatcher(limits BatchLimits) *Batcher { return &Batcher{limits: limits} }

// Enqueue adds a group, which is not waiting already and was never cancelled.
func (b *Batcher) Enqueue(g *Group) {
	g.state = groupWaiting
	b.waiting = append(b.waiting, g)
}

// Flush appends to batch the groups that are to leave now, in one call, and counts
// that call as in flight; it appends nothing if none is. Call it after each Enqueue
// and each Reply.
func (b *Batcher) Flush(batch []*Group) []*Group {
	if b.flying >= b.limits.InFlight {
		return batch
	}
	groups, keys := 0, 0
	for b.first < len(b.waiting) {
		g := b.waiting[b.first]
		if g.state == groupWaiting {
			if groups > 0 && (groups == b.limits.Groups || keys+g.keys > b.limits.Keys) {
				break
			}
			g.state = groupSent
			batch = append(batch, g)
			groups, keys = groups+1, keys+g.keys
		} else {
			b.gone--
		}
		b.waiting[b.first] = nil
		b.first++
	}
	b.compact()
	if groups > 0 {
		b.flying++
	}
	return batch
}

// compact drops the part of waiting that has left.
func (b *Batcher) compact() {
	if b.first == len(b.waiting) {
		b.waiting, b.first = b.waiting[:0], 0
	} else if b.first > len(b.waiting)/2 {
		n := copy(b.waiting, b.waiting[b.first:])
		clear(b.waiting[n:])
		b.waiting, b.first = b.waiting[:n], 0
	}
}

// Reply says that a call has come back, with an answer or an error.
func (b *Batcher) Reply() { b.flying-- }

// Cancel takes a group out that has not left, and reports whether it could.
func (b *Batcher) Cancel(g *Group) bool {
	if g.state != groupWaiting {
		return false
	}
	g.state = groupIdle
	// While calls hang, callers come and give up: what they leave must not pile up.
	if b.gone++; b.gone > len(b.waiting)/2 {
		b.waiting = slices.DeleteFunc(b.waiting, func(g *Group) bool { return g == nil || g.state != groupWaiting })
		b.first, b.gone = 0, 0
	}
	return true
}

// Drain takes out and returns all the groups that wait.
func (b *Batcher) Drain() []*Group {
	var all []*Group
	for _, g := range b.waiting[b.first:] {
		if g.state == groupWaiting {
			g.state = groupIdle
			all = append(all, g)
		}
	}
	clear(b.waiting)
	b.waiting, b.first, b.gone = b.waiting[:0], 0, 0
	return all
}

// Idle reports whether nothing waits and nothing is in flight.
func (b *Batcher) Idle() bool { return b.flying == 0 && len(b.waiting) == b.first+b.gone }

// InFlight returns how many calls are in flight.
func (b *Batcher) InFlight() int { return b.flying }
