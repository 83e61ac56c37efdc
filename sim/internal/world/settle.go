package world

import (
	"context"
	"fmt"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/random"
)

// maxPeeked is how many slots of a limit are peeked at after the end: the first.
const maxPeeked = 1000

// settle checks liveness: the traffic is over and every fault is healed.
func (w *world) settle(ctx context.Context) error {
	for _, n := range w.nodes {
		if calls, abandoned := n.batcher.InFlight(); calls+abandoned+n.batcher.Waiting() > 0 {
			w.Fail(check.Liveness, "node %d has %d calls in flight, and no message is on its way any more", n.index, calls+abandoned)
		}
	}
	if busy := len(w.coroutines) - len(w.idle); busy > 0 {
		w.Fail(check.Liveness, "%d callers wait, and no message is on its way any more", busy)
	}
	if n := w.Unmeasured(); n > 0 && w.Failure == nil {
		w.Fail(check.Liveness, "%d admissions are not measured, and no caller waits any more", n)
	}
	w.checkMissing()
	w.checkHeld()
	if err := w.checkReservations(ctx); err != nil {
		return err
	}
	w.rest()
	peeked := make([]int, len(w.Limits))
	for _, s := range w.slots() {
		if peeked[s.Limit.Index]++; peeked[s.Limit.Index] > maxPeeked || w.Failure != nil {
			continue
		}
		if err := w.peek(ctx, s); err != nil {
			return fmt.Errorf("sim: peek after the end: %w", err)
		}
	}
	return nil
}

// rest lets time pass until every slot must be fresh, on the clock that decides.
func (w *world) rest() {
	if w.scenario.Nodes.Breaker {
		w.Now += 2 * longestOpen
	}
	for i, s := range w.servers {
		fresh := max(s.readings.LastAt, w.Epoch) + w.settles + w.indebted(i)
		for {
			shows := s.instant(w.nodes[0].clock.read(w.Now))
			if shows >= min(fresh, int64(algorithm.MaxInstant)) {
				break
			}
			w.Now += fresh - shows
		}
	}
}

// peek peeks at a slot through the first node.
func (w *world) peek(ctx context.Context, s *check.Slot) error {
	n := w.nodes[0]
	w.peeked = w.servers[s.Server]
	var d weir.Decision
	var err error
	if n.multi != nil {
		var r weir.Result
		if r, err = n.multi.Peek(ctx, named(s.Limit).ForN(s.Key, 0)); err == nil {
			d = r.Decisions[0]
		}
	} else {
		d, err = n.limiter.Peek(ctx, s.Key)
	}
	if err != nil {
		return err
	}
	e := w.Journal.Next(check.Peeked, w.Now, n.index)
	e.Limit, e.Key, e.Allowed, e.Remaining, e.ResetMicros = s.Limit.Index, s.Key, d.Allowed, d.Remaining, micros(d.ResetAfter)
	w.Journal.Add(e, s.Hash)
	if !d.Allowed || d.Remaining != s.Limit.Capacity || d.ResetAfter != 0 {
		w.Fail(check.Liveness, "%d of %d remain and %v to reset, long after a slot was last used", d.Remaining, s.Limit.Capacity, d.ResetAfter)
	}
	return nil
}

// sweepEvery is how often, in µs, the store in memory frees the states that became
// fresh.
const sweepEvery = 10 * random.Million

type sweeping struct{}

// plan plans the next sweep, not beyond the end: a sweep shows nowhere, and must not move
// the time at which the world comes to rest.
func (s sweeping) plan(w *world) {
	if w.Now+sweepEvery < w.end {
		w.queue.plan(w.Now+sweepEvery, s)
	}
}

func (s sweeping) happen(w *world) {
	for _, v := range w.servers {
		if v.sweeps {
			v.sweep()
		}
	}
	s.plan(w)
}
