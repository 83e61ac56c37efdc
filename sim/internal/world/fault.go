package world

import (
	"fmt"
	"slices"

	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// fault is a fault of the scenario in a run.
type fault struct {
	scenario.Fault
	draw   *random.Stream
	active bool
	nodes  []*node
	result result.Fault
}

func newFault(w *world, index int) *fault {
	f := &fault{Fault: scenario.Complete(w.scenario.Faults[index]), draw: w.streams.Stream(fmt.Sprintf("faults/%d", index))}
	from := micros(f.At)
	to := min(from+micros(f.For), w.end)
	if f.For == 0 && !f.Sudden() {
		to = w.end
	}
	for _, n := range w.nodes {
		if f.Nodes == nil || slices.Contains(f.Nodes, int64(n.index)) {
			f.nodes = append(f.nodes, n)
		}
	}
	f.result = result.Fault{Kind: f.Kind, FromMicros: from, ToMicros: to, UntilMicros: min(to+w.settles, w.end)}
	return f
}

// The actions of a fault.
type (
	beginning fault
	ending    fault
	aftermath fault // the end of its effects
)

func (b *beginning) happen(w *world) {
	f := (*fault)(b)
	f.note(w, check.Began)
	w.Faulty = append(w.Faulty, &f.result)
	w.act(f.turn(w, true))
	w.queue.plan(f.result.ToMicros, (*ending)(f))
	w.queue.plan(f.result.UntilMicros, (*aftermath)(f))
}

func (e *ending) happen(w *world) {
	if f := (*fault)(e); f.active {
		f.note(w, check.Ended)
		w.act(f.turn(w, false))
	}
}

func (a *aftermath) happen(w *world) {
	w.Faulty = slices.DeleteFunc(w.Faulty, func(f *result.Fault) bool { return f == &a.result })
}

func (f *fault) note(w *world, kind check.Kind) {
	e := w.Journal.Next(kind, w.Now, -1)
	e.Note = f.Kind
	w.Journal.Add(e, 0)
}

// turn turns the fault on or off.
func (f *fault) turn(w *world, on bool) error {
	f.active = on
	sign := 1
	if !on {
		sign = -1
	}
	switch f.Kind {
	case "eviction", "clock", "crash":
	default: // it acts on messages, or on the server as it answers them
		w.disturbed += sign
	}
	s := w.server
	switch f.Kind {
	case "partition":
		f.eachLink(func(l *link) { l.cut += sign })
	case "loss":
		f.eachLink(func(l *link) { l.loss.set(f, on) })
	case "duplication":
		f.eachLink(func(l *link) { l.repeat.set(f, on) })
	case "reordering":
		f.eachLink(func(l *link) { l.reorder.set(f, on) })
	case "slow":
		s.slow += int64(sign) * micros(f.Delay)
	case "down", "restart", "failover":
		return f.turnServer(s, on)
	case "eviction":
		if on {
			w.queue.plan(w.Now, (*eviction)(f))
		}
	case "clock":
		f.turnClocks(w, on)
	case "crash":
		for _, n := range f.nodes {
			n.down += sign
			if on {
				if err := n.crash(); err != nil {
					return err
				}
			}
		}
	default:
		panic("sim: no fault " + f.Kind)
	}
	return nil
}

func (f *fault) turnServer(s *server, on bool) error {
	if on {
		s.stop()
		if f.Kind == "failover" {
			return s.failOver()
		}
		return nil
	}
	s.down--
	if f.Kind == "restart" && f.Data == "lost" {
		return s.loseAll()
	}
	return nil
}

// eachLink calls do for the links that the fault acts on.
func (f *fault) eachLink(do func(*link)) {
	for _, n := range f.nodes {
		if f.Direction != "replies" {
			do(&n.requests)
		}
		if f.Direction != "requests" {
			do(&n.replies)
		}
	}
}

func (f *fault) turnClocks(w *world, on bool) {
	clocks := []*clock{&w.server.clock}
	if f.Of == "nodes" {
		clocks = nil
		for _, n := range f.nodes {
			clocks = append(clocks, &n.clock)
		}
	}
	for _, c := range clocks {
		if on {
			if c == &w.server.clock && f.Step < 0 && w.server.sweeps {
				w.server.sweep() // the worst moment to free a state
			}
			c.change(w.Now, micros(f.Step), f.Drift)
		} else {
			c.change(w.Now, 0, -f.Drift)
		}
	}
}

// eviction forgets a slot now and then.
type eviction fault

func (e *eviction) happen(w *world) {
	if !e.active {
		return
	}
	if len(w.order) > 0 && w.server.down == 0 {
		c := w.order[e.draw.N(int64(len(w.order)))]
		w.act(w.server.evict(c.slots[e.draw.N(int64(len(c.slots)))]))
	}
	w.queue.plan(w.Now+micros(e.Every), e)
}

// healing ends the faults that are active at the end of the scenario.
type healing struct{}

func (healing) happen(w *world) {
	for _, f := range w.faults {
		(*ending)(f).happen(w)
	}
}
