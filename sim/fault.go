package sim

import (
	"fmt"
	"slices"

	"github.com/weirgo/weir/sim/random"
)

// fault is a fault of the scenario in a run.
type fault struct {
	Fault
	draw   *random.Stream
	from   int64
	to     int64
	until  int64 // when its effects are over
	active bool
	nodes  []*node
	result FaultResult
}

func newFault(w *world, index int) *fault {
	f := &fault{Fault: w.scenario.Faults[index], draw: w.streams.Stream(fmt.Sprintf("faults/%d", index))}
	f.from = micros(f.At)
	f.to = min(f.from+micros(f.For), w.end)
	if f.For == 0 && !f.sudden() {
		f.to = w.end
	}
	f.until = min(f.to+w.settles, w.end)
	for _, n := range w.nodes {
		if f.Nodes == nil || slices.Contains(f.Nodes, int64(n.index)) {
			f.nodes = append(f.nodes, n)
		}
	}
	f.result = FaultResult{Kind: f.Kind, FromMicros: f.from, ToMicros: f.to, UntilMicros: f.until}
	return f
}

// sudden says that the fault is over at once where it is not told to last.
func (f *Fault) sudden() bool {
	return f.Kind == faultRestart || f.Kind == faultFailover || f.Kind == faultClock && f.Drift == 0
}

// The turns in the life of a fault.
type (
	beginning fault
	ending    fault
	aftermath fault
)

func (b *beginning) happen(w *world) {
	f := (*fault)(b)
	f.active = true
	w.noteFault(Began, f)
	w.faulty = append(w.faulty, f)
	w.act(f.begin(w))
	w.queue.plan(f.to, (*ending)(f))
	w.queue.plan(f.until, (*aftermath)(f))
}

func (e *ending) happen(w *world) {
	f := (*fault)(e)
	if !f.active {
		return
	}
	f.active = false
	w.noteFault(Ended, f)
	w.act(f.end(w))
}

func (a *aftermath) happen(w *world) {
	w.faulty = slices.DeleteFunc(w.faulty, func(f *fault) bool { return f == (*fault)(a) })
}

// disturbs says that the fault acts on messages or on the server as it answers them.
func (f *fault) disturbs() bool {
	return !slices.Contains([]string{faultEviction, faultClock, faultCrash}, f.Kind)
}

func (f *fault) begin(w *world) error {
	if f.disturbs() {
		w.disturbed++
	}
	s := w.server
	switch f.Kind {
	case faultPartition:
		f.eachLink(func(l *link) { l.cut++ })
	case faultLoss:
		f.eachLink(func(l *link) { l.loss = append(l.loss, f) })
	case faultDuplication:
		f.eachLink(func(l *link) { l.repeat = append(l.repeat, f) })
	case faultReordering:
		f.eachLink(func(l *link) { l.reorder = append(l.reorder, f) })
	case faultSlow:
		s.slow += micros(f.Delay)
	case faultDown, faultRestart:
		s.stop()
	case faultFailover:
		s.stop()
		return s.failOver()
	case faultEviction:
		w.queue.plan(w.now, (*eviction)(f))
	case faultClock:
		f.eachClock(w, func(c *clock) { c.change(w.now, micros(f.Step), f.Fault.Drift) })
	case faultCrash:
		for _, n := range f.nodes {
			n.down++
			if err := n.crash(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fault) end(w *world) error {
	if f.disturbs() {
		w.disturbed--
	}
	s := w.server
	without := func(all []*fault) []*fault {
		return slices.DeleteFunc(all, func(g *fault) bool { return g == f })
	}
	switch f.Kind {
	case faultPartition:
		f.eachLink(func(l *link) { l.cut-- })
	case faultLoss:
		f.eachLink(func(l *link) { l.loss = without(l.loss) })
	case faultDuplication:
		f.eachLink(func(l *link) { l.repeat = without(l.repeat) })
	case faultReordering:
		f.eachLink(func(l *link) { l.reorder = without(l.reorder) })
	case faultSlow:
		s.slow -= micros(f.Delay)
	case faultDown, faultFailover:
		s.down--
	case faultRestart:
		s.down--
		if f.Data == lost {
			return s.loseAll()
		}
	case faultClock:
		f.eachClock(w, func(c *clock) { c.change(w.now, 0, -f.Fault.Drift) })
	case faultCrash:
		for _, n := range f.nodes {
			n.down--
		}
	}
	return nil
}

// eachLink calls do for the links that the fault is about.
func (f *fault) eachLink(do func(*link)) {
	for _, n := range f.nodes {
		if f.Direction != replies {
			do(&n.requests)
		}
		if f.Direction != requests {
			do(&n.replies)
		}
	}
}

func (f *fault) eachClock(w *world, do func(*clock)) {
	if f.Of != ofNodes {
		do(&w.server.clock)
		return
	}
	for _, n := range f.nodes {
		do(&n.clock)
	}
}

// eviction forgets a slot now and then.
type eviction fault

func (e *eviction) happen(w *world) {
	f := (*fault)(e)
	if !f.active {
		return
	}
	if len(w.order) > 0 && w.server.down == 0 {
		c := w.order[f.draw.N(int64(len(w.order)))]
		w.act(w.server.evict(c.slots[f.draw.N(int64(len(c.slots)))]))
	}
	w.queue.plan(w.now+micros(f.Every), e)
}

// healing ends what still goes on when the scenario does.
type healing struct{}

func (healing) happen(w *world) {
	for _, f := range w.faults {
		(*ending)(f).happen(w)
	}
}
