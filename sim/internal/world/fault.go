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
	draws   []*random.Stream // for each server: what one draws does not move another
	active  bool
	nodes   []*node
	servers []*server
	result  result.Fault
	open    int // calls that outlive it, and servers that are behind because of it
}

func newFault(w *world, index int) *fault {
	f := &fault{Fault: scenario.Complete(w.scenario.Faults[index])}
	from := micros(f.At)
	to := min(from+micros(f.For), w.end)
	if f.For == 0 && !f.sudden() {
		to = w.end
	}
	for _, n := range w.nodes {
		if f.Nodes == nil || slices.Contains(f.Nodes, int64(n.index)) {
			f.nodes = append(f.nodes, n)
		}
	}
	for i, s := range w.servers {
		f.draws = append(f.draws, w.streams.Stream(streamOf(fmt.Sprintf("faults/%d", index), i)))
		if actsOn(f.Fault, s) {
			f.servers = append(f.servers, s)
		}
	}
	f.result = result.Fault{Kind: f.Kind, Servers: f.Fault.Servers, FromMicros: from, ToMicros: to}
	f.actsUntil(w, to)
	switch f.Kind {
	case "reordering":
		f.actsUntil(w, to+micros(f.Delay)) // its last message
	case "clock":
		f.actsUntil(w, to-min(0, micros(f.Step))) // the clock shows again what it had shown: states are of that time
	}
	return f
}

// sudden reports whether the fault has no length where For is left out.
func (f *fault) sudden() bool {
	return f.Kind == "restart" || f.Kind == "failover" || f.Kind == "dead" || f.Kind == "clock" && f.Fault.Drift == 0
}

// actsUntil notes that what the fault does is over at a time at the earliest: the states need some time more.
func (f *fault) actsUntil(w *world, over int64) {
	f.result.UntilMicros = max(f.result.UntilMicros, min(over+w.settles, w.end))
}

// disturbs reports whether the fault acts on messages, or on the server as it answers them.
func (f *fault) disturbs() bool {
	return f.Kind != "eviction" && f.Kind != "clock" && f.Kind != "crash"
}

// The actions of a fault.
type (
	beginning fault
	ending    fault
	aftermath fault // the end of its effects, unless a breaker is still open
)

func (b *beginning) happen(w *world) {
	f := (*fault)(b)
	f.note(w, check.Began)
	w.Faulty = append(slices.Clip(w.Faulty), &f.result)
	w.act(f.turn(w, true))
	w.queue.plan(f.result.ToMicros, (*ending)(f))
	w.queue.plan(f.result.UntilMicros, (*aftermath)(f))
}

func (e *ending) happen(w *world) {
	if f := (*fault)(e); f.active {
		f.note(w, check.Ended)
		w.act(f.turn(w, false))
		if f.disturbs() {
			f.eachConnection(func(c *connection) { c.outlive(f) })
		}
		for _, s := range f.servers {
			if (f.Kind == "slow" || f.Kind == "freeze") && s.busy > w.Now { // it executes what came meanwhile
				f.open++
				s.behind = append(s.behind, f)
				w.queue.plan(s.busy, &catchingUp{s, f})
			}
		}
	}
}

// catchingUp is when a server has executed all that it was behind because of a fault.
type catchingUp struct {
	server *server
	fault  *fault
}

func (c *catchingUp) happen(*world) { c.server.caughtUp(c.fault) }

// caughtUp notes that a server is no longer behind because of a fault.
func (s *server) caughtUp(f *fault) {
	if i := slices.Index(s.behind, f); i >= 0 {
		s.behind = slices.Delete(s.behind, i, i+1)
		f.open--
		f.actsUntil(s.world, s.world.Now)
	}
}

func (a *aftermath) happen(w *world) {
	f := (*fault)(a)
	for _, n := range f.nodes {
		for server, since := range n.circuits {
			if f.opened(server, since) { // and it is not closed again
				f.actsUntil(w, w.Now)
			}
		}
	}
	if f.open > 0 || slices.ContainsFunc(f.nodes, func(n *node) bool {
		return slices.ContainsFunc(n.links, func(c *connection) bool { return c.used && slices.Contains(c.killed, f) })
	}) {
		f.actsUntil(w, w.Now)
	}
	if w.Now < f.result.UntilMicros {
		w.queue.plan(f.result.UntilMicros, a)
		return
	}
	w.Faulty = slices.DeleteFunc(slices.Clone(w.Faulty), func(other *result.Fault) bool { return other == &f.result })
}

// wake lets a fault act again whose effects were over: nobody has used a dead connection before.
func (f *fault) wake(w *world) {
	f.actsUntil(w, w.Now)
	if !slices.Contains(w.Faulty, &f.result) {
		w.Faulty = append(slices.Clip(w.Faulty), &f.result)
		w.queue.plan(f.result.UntilMicros, (*aftermath)(f))
	}
}

// opened reports whether the fault explains that a breaker of one of its nodes opened for a
// server at a time: a call may fail some time after it was sent.
func (f *fault) opened(name string, at int64) bool {
	w := f.nodes[0].world
	longest := max(w.timeout, micros(scenario.Complete(w.scenario.Nodes).CallTimeout))
	return f.disturbs() && f.result.FromMicros <= at && at <= f.result.ToMicros+longest &&
		slices.ContainsFunc(f.servers, func(s *server) bool { return s.name == name })
}

// closed prolongs the effects of the faults that had opened a breaker of the node, which
// has closed.
func (n *node) closed(server string) {
	w := n.world
	for _, f := range w.faults {
		if since, open := n.circuits[server]; open && slices.Contains(f.nodes, n) && f.opened(server, since) {
			f.actsUntil(w, w.Now)
		}
	}
	delete(n.circuits, server)
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
	if f.disturbs() {
		w.disturbed += sign
	}
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
		for _, s := range f.servers {
			s.slow += int64(sign) * micros(f.Delay)
		}
	case "down", "restart", "failover":
		for _, s := range f.servers {
			if err := f.turnServer(s, on); err != nil {
				return err
			}
		}
	case "freeze":
		for _, s := range f.servers {
			s.freeze(on)
		}
	case "dead": // until a call is given up
		if on {
			f.eachConnection(func(c *connection) { c.killed = append(c.killed, f) })
		}
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

// eachConnection calls do for the connections that the fault acts on.
func (f *fault) eachConnection(do func(*connection)) {
	for _, n := range f.nodes {
		for _, s := range f.servers {
			do(n.links[s.index])
		}
	}
}

// eachLink calls do for their directions.
func (f *fault) eachLink(do func(*link)) {
	f.eachConnection(func(c *connection) {
		if f.Direction != "replies" {
			do(&c.requests)
		}
		if f.Direction != "requests" {
			do(&c.replies)
		}
	})
}

func (f *fault) turnClocks(w *world, on bool) {
	change := func(c *clock) {
		if on {
			c.change(w.Now, micros(f.Step), f.Drift)
		} else {
			c.change(w.Now, 0, -f.Drift)
		}
	}
	if f.Of == "nodes" {
		for _, n := range f.nodes {
			change(&n.clock)
		}
		return
	}
	for _, s := range f.servers {
		if on && f.Step < 0 && s.sweeps {
			s.sweep() // the worst moment to free a state
		}
		change(&s.clock)
	}
}

// eviction forgets a slot now and then.
type eviction fault

func (e *eviction) happen(w *world) {
	if !e.active {
		return
	}
	if s := w.anySlot(e.draws[0]); s != nil {
		if server := w.servers[s.Server]; server.down == 0 && server.frozen == 0 && slices.Contains(e.servers, server) {
			w.act(server.evict(s))
		}
	}
	w.queue.plan(w.Now+micros(e.Every), e)
}

// anySlot draws a slot; nil where there is none.
func (w *world) anySlot(draw *random.Stream) *check.Slot {
	switch {
	case w.governed != nil && len(w.governed.order) > 0:
		return w.governed.order[draw.N(int64(len(w.governed.order)))]
	case w.governed != nil, len(w.order) == 0:
		return nil
	}
	c := w.order[draw.N(int64(len(w.order)))]
	return c.slots[draw.N(int64(len(c.slots)))]
}

// healing ends the faults that are active at the end of the scenario, and dead connections.
type healing struct{}

func (healing) happen(w *world) {
	for _, f := range w.faults {
		(*ending)(f).happen(w)
	}
	for _, n := range w.nodes {
		for _, c := range n.links {
			c.killed, c.used = nil, false
		}
	}
}
