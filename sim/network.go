package sim

import (
	"github.com/weirgo/weir/sim/random"
	"github.com/weirgo/weir/sim/traffic"
)

// link is one direction between a node and the server.
type link struct {
	world *world
	node  int32
	delay traffic.Delay
	draw  *random.Stream
	last  int64 // when the latest message arrives that keeps its place
	cut   int   // partitions
	// Faults that act on it now, in their order.
	loss, repeat, reorder []*fault
}

// send sends a message on its way. twice is planned as well where it is duplicated; nil
// is a message that is not.
func (l *link) send(message, twice action) {
	w := l.world
	took := l.delay.Micros(l.draw)
	// All draw, whatever comes of it, so that one fault does not move the draws of
	// another.
	lost, late, again := chosen(l.loss), chosen(l.reorder), (*fault)(nil)
	if twice != nil {
		again = chosen(l.repeat)
	}
	if l.cut > 0 || lost != nil {
		w.note(Vanished, l.node)
		w.goals[goalReplyLost] += int64(truth(twice == nil))
		w.goals[goalRequestLost] += int64(truth(twice != nil))
		return
	}
	arrives := w.now + took
	if late != nil {
		w.goals[goalReordered]++
		arrives += late.draw.Uniform(1, max(1, micros(late.Delay)))
	} else {
		arrives = max(arrives, l.last)
		l.last = arrives
	}
	w.queue.plan(arrives, message)
	if again != nil {
		w.queue.plan(arrives, twice)
	}
}

// chosen draws for each of the faults and returns the first that strikes, or nil.
func chosen(faults []*fault) (hit *fault) {
	for _, f := range faults {
		if f.draw.Millionths(int64(f.Rate)) && hit == nil {
			hit = f
		}
	}
	return hit
}
