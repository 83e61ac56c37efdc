package world

import (
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/batch"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/store"
)

// group is what one caller asks the server: ops that are decided all or nothing.
type group struct {
	batched   batch.Group[*group]
	ops       []store.Op
	once      *store.Once // nil: the step has no ID
	slots     []*check.Slot
	reserved  *reservation // that it is of; nil for none
	coroutine *coroutine   // that waits for it
	try       *check.Try   // that it is of; nil for none

	answered bool // the caller has gone on, with or without an answer
	left     bool // it went without
	executed bool

	remembered bool // it was not executed: its ID was known

	at        algorithm.Instant
	committed bool
	err       error
}

// leave lets the caller go on without an answer; now is the instant of true time.
func (g *group) leave(now int64, err error) {
	g.answered, g.left, g.err = true, true, err
	if g.executed && g.committed {
		undelivered(g.ops, g.slots, g.at, now)
		if g.once == nil { // or a repeat is told
			g.coroutine.world.Unanswered(g.try, g.slots)
		}
	}
	g.coroutine.resume()
}

// awaited returns the try whose caller may be told of a decision; nil for none.
func (g *group) awaited() *check.Try {
	if g.left && g.once == nil {
		return nil
	}
	return g.try
}

// undelivered notes for each slot that the answer to a commit never reaches its caller.
func undelivered(ops []store.Op, slots []*check.Slot, at algorithm.Instant, now int64) {
	for i := range ops {
		if store.Changes(&ops[i]) && ops[i].Request.Verb != algorithm.Refund {
			slots[i].Undelivered(int64(at), now, ops[i].Request.Cost)
		}
	}
}

// call is groups that are sent together, as one message there and one back.
type call struct {
	batch.Call[*group]
	node    *node
	server  *server
	life    int   // of the server that received it
	instant int64 // on the clock of the node, when it was sent
	done    bool  // the node does not wait for it any more
	refused bool
	// outlives are the faults that have ended while it was under way.
	outlives []*fault
}

// end ends a call: it is answered, or its node does not wait for it any more.
func (c *call) end() {
	c.done = true
	w := c.node.world
	for _, f := range c.outlives {
		f.open--
		f.actsUntil(w, w.Now)
	}
}

// The steps of a call on its way. They are the call itself under other names, so that
// none has to be made.
type (
	delivery  call // of the request at the server
	duplicate call // of the request, once more
	execution call // at the server
	response  call // at the node
)

func (d *delivery) happen(*world)  { d.server.receive((*call)(d)) }
func (d *duplicate) happen(*world) { d.server.receiveAgain((*call)(d)) }
func (e *execution) happen(*world) { e.server.execute((*call)(e)) }
func (r *response) happen(*world)  { r.node.receive((*call)(r)) }
