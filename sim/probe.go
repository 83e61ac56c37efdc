package sim

import (
	"context"
	"fmt"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/random"
)

// mostProbed is how many slots of a limit are looked at after the end: the first.
const mostProbed = 1000

// probe checks liveness: the traffic is over and every fault is healed.
func (w *world) probe(ctx context.Context) error {
	for _, n := range w.nodes {
		if n.batcher.InFlight() > 0 || n.batcher.Waiting() > 0 {
			w.fail(ruleLiveness, "node %d has %d calls in flight, and nothing is under way any more", n.index, n.batcher.InFlight())
		}
	}
	if busy := len(w.fibers) - len(w.idle); busy > 0 {
		w.fail(ruleLiveness, "%d callers wait, and nothing is under way any more", busy)
	}
	w.rest()
	probed := make([]int, len(w.limits))
	for _, s := range w.slots() {
		if probed[s.limit.index]++; probed[s.limit.index] > mostProbed || w.failure != nil {
			continue
		}
		if err := w.look(ctx, s); err != nil {
			return fmt.Errorf("sim: look after the end: %w", err)
		}
	}
	return nil
}

// rest lets so much time pass that every slot must be fresh, on the clock that decides.
func (w *world) rest() {
	fresh := max(w.lastAt, w.epoch) + w.settles
	for {
		shows := w.server.clock.read(w.now)
		if w.nodeTime {
			shows = w.nodes[0].clock.read(w.now)
		}
		if shows >= min(fresh, int64(algorithm.MaxInstant)) {
			return
		}
		w.now += fresh - shows
	}
}

// look looks at a slot through the first node.
func (w *world) look(ctx context.Context, s *slot) error {
	n := w.nodes[0]
	var d weir.Decision
	var err error
	if w.together {
		var r weir.Result
		if r, err = n.multi.Peek(ctx, s.limit.named().ForN(s.key, 0)); err == nil {
			d = r.Decisions[0]
		}
	} else {
		d, err = n.limiter.Peek(ctx, s.key)
	}
	if err != nil {
		return err
	}
	e := w.journal.next()
	e.Kind, e.Micros, e.Node, e.Limit = Probed, w.now, n.index, s.limit.index
	e.Key, e.hash, e.Allowed, e.Remaining, e.ResetMicros = s.key, s.hash, d.Allowed, d.Remaining, micros(d.ResetAfter)
	w.journal.add(e)
	if !d.Allowed || d.Remaining != s.limit.law.capacity || d.ResetAfter != 0 {
		w.fail(ruleLiveness, "%d of %d remain and %v to reset, long after a slot was last used", d.Remaining, s.limit.law.capacity, d.ResetAfter)
	}
	return nil
}

// sweepEvery is how often, in µs, the store in memory gives back what became fresh.
const sweepEvery = 10 * random.Million

type sweeping struct{}

// plan plans the next sweep, not beyond the end: what shows nowhere must not move the
// time at which the world comes to rest.
func (s sweeping) plan(w *world) {
	if w.now+sweepEvery < w.end {
		w.queue.plan(w.now+sweepEvery, s)
	}
}

func (s sweeping) happen(w *world) {
	w.server.sweep(w.reading())
	s.plan(w)
}
