package world

import (
	"context"
	"fmt"
	"slices"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/model"
	"github.com/weirgo/weir/store"
)

// remote is the store that a node's Limiter calls: the server, over the network. It
// watches the virtual time by itself, and gives the errors that a store on a server
// gives.
type remote struct{ node *node }

var _ store.Featured = (*remote)(nil)

var (
	errUnsent  = fmt.Errorf("sim: %w: no answer in time, and nothing was sent", store.ErrUnavailable)
	errLate    = fmt.Errorf("sim: %w: no answer in time", store.ErrOutcomeUnknown)
	errRefused = fmt.Errorf("sim: %w: the server refuses", store.ErrUnavailable)
)

// Features implements store.Featured: the Limiter's own time-out would be a real one.
func (r *remote) Features() store.Features {
	return store.Features{Owner: r, NoIO: true, Once: func(_ context.Context, o store.Once, ops []store.Op) (algorithm.Instant, bool, error) {
		return r.apply(&o, ops)
	}}
}

// Apply implements store.Store.
func (r *remote) Apply(_ context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	return r.apply(nil, ops)
}

// apply sends a step, which has an ID where once is not nil.
func (r *remote) apply(once *store.Once, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	n := r.node
	w := n.world
	c := w.running
	slots := w.slotsOf(ops)
	if w.governed != nil {
		a := w.current()
		if a.life != n.life { // the process that asked has crashed
			return 0, false, errCrashedBefore
		}
		a.asked += len(ops)
	}
	reserved := w.reserved()
	var try *check.Try
	if a := w.current(); a != nil { // not a sweep of leases
		try = a.try
	}
	if c == nil {
		g := &group{ops: ops, once: once, slots: slots, reserved: reserved, try: try}
		return w.serverOf(slots).decide(n.index, n.clock.read(w.Now), g)
	}
	g := &group{ops: slices.Clone(ops), once: once, slots: slots, reserved: reserved, coroutine: c, try: try}
	n.enqueue(g)
	for !g.answered {
		if err := c.wait(); err != nil {
			return 0, false, err
		}
	}
	if g.err != nil {
		return 0, false, g.err
	}
	for i := range ops {
		ops[i].Outcome = g.ops[i].Outcome
	}
	return g.at, g.committed, nil
}

// Peek implements store.Store. The simulator peeks only when the world is at rest.
func (r *remote) Peek(ctx context.Context, ops []store.Op) (at algorithm.Instant, err error) {
	n := r.node
	return n.world.peeked.peek(ctx, n.clock.read(n.world.Now), ops)
}

// Reset implements store.Store. No traffic resets.
func (r *remote) Reset(context.Context, []store.Slot) error {
	return fmt.Errorf("sim: reset: %w", store.ErrUnavailable)
}

// Close implements store.Store: the server belongs to the world.
func (r *remote) Close() error { return nil }

// localStore is the store of the failure mode local: one in memory, on the clock of the
// node, and checked by models of its own.
type localStore struct {
	store.Store
	node   *node
	clock  ManualClock
	models map[place]model.Model
	limits map[localState]int32 // the limit that each state was asked with last
	// followed are states that were asked with several limits.
	followed map[localState]bool
	// asked are the ops as they were before a share has scaled them; nil where none does, or where no policy decides.
	asked []store.Op
}

// localState names a state: two limits may have one after the other.
type localState struct{ limit, kind, key string }

// place names a slot. Unlike the slot it stays the same where a client was forgotten and
// comes back: on a slow clock what it was admitted may still count.
type place struct {
	limit int32
	key   string
}

var _ store.Featured = (*localStore)(nil)

// Features implements store.Featured.
func (l *localStore) Features() store.Features { return store.Features{Owner: l, NoIO: true} }

// Apply implements store.Store.
func (l *localStore) Apply(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	w := l.node.world
	l.clock.At = l.node.clock.read(w.Now)
	at, committed, err = l.Store.Apply(ctx, ops)
	if a := w.current(); a != nil && a.locally < 0 {
		a.locally = w.Now
	}
	if err == nil {
		l.check(int64(at), ops, committed)
	}
	return at, committed, err
}

// unscaled stands before the share of a policy's local store.
func (l *localStore) unscaled(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
	l.asked = ops
	defer func() { l.asked = nil }()
	return next(ctx, ops)
}

// check compares the local decisions with the limit.
func (l *localStore) check(at int64, ops []store.Op, committed bool) {
	w := l.node.world
	asked := ops
	if l.asked != nil {
		asked = l.asked
	}
	slots := w.slotsOf(asked)
	for i := range ops {
		s, op := slots[i], &ops[i]
		state := localState{s.Limit.Name, s.Limit.Kind, s.Key}
		before, known := l.limits[state]
		l.limits[state] = s.Limit.Index
		if known && before != s.Limit.Index {
			// A limit that follows another on one state: the models start anew, and only say
			// what is too much.
			l.followed[state] = true
			s.FollowedLocally()
			delete(l.models, place{s.Limit.Index, s.Key})
		}
		cost := op.Request.Cost
		limit := s.Limit.Limit
		if s.Limit.Local != nil {
			limit = s.Limit.Local.Limit
		}
		if cost == 0 || cost > limit.Capacity {
			continue
		}
		where := place{s.Limit.Index, s.Key}
		m := l.models[where]
		if m == nil {
			m = limit.Start()
			l.models[where] = m
		}
		if room := m.Room(at, cost); room != op.Outcome.Allowed && (op.Outcome.Allowed || !l.followed[state]) {
			w.Fail(check.Local, "the local store of node %d answered %t for a cost of %d, and its limit asks for %t",
				l.node.index, op.Outcome.Allowed, cost, room)
			return
		}
		if committed {
			m.Charge(at, cost)
		}
	}
}
