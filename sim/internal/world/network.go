package world

import (
	"slices"

	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/internal/traffic"
)

// connection is the way between a node and a server.
type connection struct {
	requests, replies link
	killed            []*fault // the faults because of which it is dead, without notice
	used              bool     // a message was lost since it is dead
	callers           timeouts[*group]
	calls             timeouts[*call]
}

func (c *connection) dead() bool { return len(c.killed) > 0 }

// revive lets a dead connection be made anew.
func (c *connection) revive(w *world) {
	for _, f := range c.killed {
		c.outlive(f)
		f.actsUntil(w, w.Now)
	}
	c.killed, c.used = nil, false
}

// outlive notes that the calls that are under way outlive a fault.
func (c *connection) outlive(f *fault) {
	for _, one := range c.calls.left() {
		if call := one.item; !call.done {
			f.open++
			call.outlives = append(call.outlives, f)
		}
	}
}

// link is one direction of it.
type link struct {
	of     *connection
	world  *world
	node   int32
	server int
	delay  traffic.Delay
	draw   *random.Stream
	last   int64 // when the latest message arrives that keeps its place
	cut    int   // partitions
	// Faults that act on it now, in their order.
	loss, repeat, reorder faultList
}

// send sends a message on its way. duplicate is planned as well where the message is
// duplicated; nil is a message that is not.
func (l *link) send(message, duplicate action) {
	w := l.world
	took := l.delay(l.draw)
	// All draw, whatever the outcome, so that one fault does not move the draws of
	// another.
	lost, late, again := l.loss.chosen(l.server), l.reorder.chosen(l.server), (*fault)(nil)
	if duplicate != nil {
		again = l.repeat.chosen(l.server)
	}
	if l.of.dead() {
		l.of.used = true
		for _, f := range l.of.killed {
			f.wake(w)
		}
		w.Goals[check.ConnectionDead]++
	}
	if l.of.dead() || l.cut > 0 || lost != nil {
		w.noteCall(check.Lost, l.node, 0)
		if duplicate == nil {
			w.Goals[check.ReplyLost]++
		} else {
			w.Goals[check.RequestLost]++
		}
		return
	}
	arrives := w.Now + took
	if late != nil {
		w.Goals[check.Reordered]++
		arrives += late.draws[l.server].Uniform(1, max(1, micros(late.Delay)))
	} else {
		arrives = max(arrives, l.last)
		l.last = arrives
	}
	w.queue.plan(arrives, message)
	if again != nil {
		w.queue.plan(arrives, duplicate)
	}
}

// faultList is faults that act on a link.
type faultList []*fault

func (l *faultList) set(f *fault, on bool) {
	if on {
		*l = append(*l, f)
	} else {
		*l = slices.DeleteFunc(*l, func(g *fault) bool { return g == f })
	}
}

// chosen draws for each of the faults and returns the first that strikes a message to or
// from a server, or nil.
func (l faultList) chosen(server int) (hit *fault) {
	for _, f := range l {
		if f.draws[server].Millionths(int64(f.Rate)) && hit == nil {
			hit = f
		}
	}
	return hit
}
