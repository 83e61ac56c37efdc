package world

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
)

// leases are the resilience.Lease of a node.
type leases struct {
	*resilience.Lease
	node     *node
	every    int64 // µs from one sweep to the next
	planned  bool  // the next one is
	sweeping bool
	// moving are the slots for which a call is on its way that takes units in advance or gives
	// them back.
	moving map[place]bool
}

// newLeases puts a Lease between a node and states.
func newLeases(n *node, states store.Store, o scenario.Lease) (*leases, error) {
	o = scenario.Complete(o)
	l := &leases{node: n, every: max(1, micros(o.Life)/8), moving: make(map[place]bool)}
	behind := store.Wrap(states, store.Hooks{Apply: l.apply})
	if beneath := n.world.opts.Beneath; beneath != nil {
		behind = beneath(behind)
	}
	inner, err := resilience.NewLease(behind, &resilience.LeaseOptions{
		Units: o.Units, MaxShare: float64(o.MaxShare) / 1e6, Life: o.Life, Timeout: time.Duration(n.world.timeout) * time.Microsecond, Clock: nodeClock{n},
	})
	if err != nil {
		return nil, fmt.Errorf("sim: lease: %w", err)
	}
	l.Lease = inner
	return l, nil
}

// leaseSweep lets a node give back what it does not use. It goes on after the end of the
// traffic until nothing is held, and begins again where a late answer brings units.
type leaseSweep leases

// planSweep plans the next sweep where none is planned.
func (l *leases) planSweep() {
	if !l.planned {
		l.planned = true
		l.node.world.queue.plan(l.node.world.Now+l.every, (*leaseSweep)(l))
	}
}

func (s *leaseSweep) happen(w *world) {
	l := (*leases)(s)
	l.planned = false
	if l.node.leases != l { // the node has crashed since
		return
	}
	if !l.sweeping {
		l.sweeping = true
		w.sweep(l)
	}
	if stats := l.Stats(); w.Now < w.end || stats.Held > 0 || l.sweeping {
		l.planSweep()
	}
}

// sweep runs a sweep, as far as it gets without waiting.
func (w *world) sweep(l *leases) {
	c := w.coroutine()
	c.sweep = l
	c.resume()
}

// apply stands around what the Lease asks the server.
func (l *leases) apply(ctx context.Context, ops []store.Op, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
	w := l.node.world
	a, r := w.current(), &ops[0].Request                                // a is nil in a sweep
	if len(ops) == 1 && (r.Verb != algorithm.Take || r.Cost > a.cost) { // it moves units
		slot := w.leasedSlots(ops)[0]
		where := place{slot.Limit.Index, slot.Key}
		if l.moving[where] {
			w.Fail(check.Leases, "node %d has two calls under way that move units of a slot", l.node.index)
		}
		l.moving[where] = true
		defer delete(l.moving, where)
	}
	at, committed, err = next(ctx, ops)
	if err == nil && committed && r.Verb == algorithm.Take {
		a.chargedAt = int64(at)
		l.planSweep()
	}
	return at, committed, err
}

// used notes what callers were admitted, for the rule leases. A unit that no call was made for is
// used now.
func (w *world) used(a *attempt) {
	for _, s := range a.client.slots {
		at := a.chargedAt
		if at == 0 {
			at = w.servers[s.Server].reading()
		}
		w.Used(s, at, a.cost)
	}
}

// leasedSlots returns the slots of ops, which a sweep asks for, or an attempt.
func (w *world) leasedSlots(ops []store.Op) (slots []*check.Slot) {
	for i := range ops {
		at := slices.IndexFunc(w.Limits, func(l *check.Limit) bool { return l.Name == ops[i].Limit })
		l := w.Limits[at]
		if group := slices.IndexFunc(l.Groups, func(s *check.Slot) bool { return s != nil && s.Key == ops[i].Key }); group >= 0 {
			slots = append(slots, l.Groups[group])
		} else {
			slots = append(slots, w.clientOf(ops[i].Key).slots[at])
		}
	}
	return slots
}

// checkHeld fails where a node holds units in the end.
func (w *world) checkHeld() {
	for _, n := range w.nodes {
		if n.leases == nil {
			continue
		}
		if held := n.leases.Stats().Held; held != 0 {
			w.Fail(check.Leases, "node %d holds %d units, long after the last request", n.index, held)
		}
	}
}

// context is the context of what the nodes do: the world watches the time, and whoever waits for
// another gives control back.
func (w *world) context() context.Context {
	if w.Leased == nil {
		return context.Background()
	}
	return deadline.WithWaiter(context.Background(), w.await)
}

// awaitEvery is how often, in µs, somebody looks whether another is done.
const awaitEvery = 100

// await waits for another coroutine, up to the time-out of callers.
func (w *world) await(done <-chan struct{}) bool {
	c := w.running
	for until := w.Now + w.timeout; c != nil && w.Now < until; {
		select {
		case <-done:
			return true
		default:
		}
		w.queue.plan(w.Now+awaitEvery, (*awakening)(c))
		if c.wait() != nil {
			return false
		}
	}
	return false
}

// awakening resumes a coroutine that waits for another.
type awakening coroutine

func (a *awakening) happen(*world) { (*coroutine)(a).resume() }
