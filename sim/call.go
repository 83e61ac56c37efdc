package sim

import (
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/batch"
	"github.com/weirgo/weir/store"
)

// call is what one caller asks the server: a group of ops.
type call struct {
	group batch.Group[*call]
	ops   []store.Op
	slots []*slot
	fiber *fiber // who waits for it

	answered bool // the caller has gone on, with or without an answer
	left     bool // it went without
	executed bool
	held     [1]store.Op // ops, of a single one

	at        algorithm.Instant
	committed bool
	err       error
}

// leave lets the caller go on without an answer.
func (c *call) leave(now int64, err error) {
	c.answered, c.left, c.err = true, true, err
	if c.executed && c.committed {
		c.unheard(now)
	}
	c.fiber.resume()
}

// unheard says of each slot that its caller will never know.
func (c *call) unheard(now int64) {
	for i := range c.ops {
		if store.Changes(&c.ops[i]) {
			c.slots[i].unheard(int64(c.at), now, c.ops[i].Request.Cost)
		}
	}
}

// flight is calls that travel together, as one message there and one back.
type flight struct {
	node    *node
	server  int // life of the server that received it
	batch   batch.Call[*call]
	few     [3]*batch.Group[*call] // of batch, where they are not more
	instant int64                  // on the clock of the node, when it was sent
	done    bool                   // the node does not wait for it any more
	refused bool
}

// slab makes values in pieces of some dozens, which costs less than one at a time. They
// are given back together, by the garbage collector.
type slab[T any] struct{ free []T }

func (s *slab[T]) next() *T {
	if len(s.free) == 0 {
		s.free = make([]T, 32)
	}
	one := &s.free[0]
	s.free = s.free[1:]
	return one
}

// What happens to a flight on its way. They are the same thing under other names, so
// that none has to be made.
type (
	arrival   flight // of the request at the server
	repeated  flight // of its duplicate
	execution flight // at the server
	response  flight // at the node
)

func (a *arrival) happen(w *world)   { w.server.receive((*flight)(a)) }
func (r *repeated) happen(w *world)  { w.server.receiveAgain((*flight)(r)) }
func (e *execution) happen(w *world) { w.server.execute((*flight)(e)) }
func (r *response) happen(*world)    { r.node.receive((*flight)(r)) }
