package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirgo/weir"
	memorystore "github.com/weirgo/weir/store/memory"
	"github.com/weirgo/weir/store/script"
)

// node is a process that asks the server: the real Limiter or MultiLimiter, the real Batcher,
// and a clock.
type node struct {
	world *world
	index int32
	clock clock
	down  int // crashes that last

	limiter *weir.Limiter      // of a single limit
	multi   *weir.MultiLimiter // of several
	local   *localStore        // of the failure mode local; else nil

	batcher  *script.Batcher
	waiting  []*call // those that wait in batcher, in the same order, and some that left
	first    int     // of waiting
	batch    []*script.Group
	spare    []*script.Group
	requests link
	replies  link
	callers  waitlist[*call]
	flights  waitlist[*flight]
}

// Errors of the simulated client.
var (
	errCrashed       = errors.New("sim: the node has crashed, and what it asked may be charged")
	errCrashedBefore = errors.New("sim: the node has crashed before it sent anything")
)

func newNode(w *world, index int) (*node, error) {
	n := &node{world: w, index: int32(index)}
	name := fmt.Sprintf("nodes/%d", index)
	draw := w.streams.Stream(name + "/clock")
	skew, drift := micros(w.scenario.Nodes.Skew), w.scenario.Nodes.Drift
	n.clock = clock{epoch: w.epoch, off: draw.Uniform(-skew, skew), drift: draw.Uniform(-drift, drift)}
	delay := delayOf(w.scenario.Network.Delay)
	back := delay
	if w.scenario.Network.Reply != nil {
		back = delayOf(*w.scenario.Network.Reply)
	}
	n.requests = link{world: w, node: n.index, delay: delay, draw: w.streams.Stream(name + "/requests")}
	n.replies = link{world: w, node: n.index, delay: back, draw: w.streams.Stream(name + "/replies")}
	return n, n.boot()
}

// boot starts the process.
func (n *node) boot() error {
	w := n.world
	n.batcher = script.NewBatcher(script.BatchLimits{Groups: w.share, Keys: 1000, InFlight: w.inFlight})
	n.waiting, n.first = n.waiting[:0], 0
	opts := &weir.Options{OnFailure: w.mode}
	if w.mode == weir.FailLocal {
		n.local = &localStore{node: n, models: make(map[place]model)}
		inner, err := memorystore.New(&memorystore.Options{Clock: &n.local.hand})
		if err != nil {
			return fmt.Errorf("sim: local store: %w", err)
		}
		n.local.Store = inner
		opts.Local = n.local
	}
	var err error
	if w.together {
		n.multi, err = weir.NewMultiLimiter(&remote{n}, opts)
	} else {
		n.limiter, err = weir.New(&remote{n}, w.limits[0].named(), opts)
	}
	if err != nil {
		return fmt.Errorf("sim: node: %w", err)
	}
	return nil
}

// crash ends the process: those who ask it get an error, and what it remembers is gone.
func (n *node) crash() error {
	for {
		c, some := n.callers.head()
		if !some {
			break
		}
		n.callers.drop()
		if c.item.answered {
			continue
		}
		err := errCrashed
		if c.item.group != nil {
			err = errCrashedBefore
		}
		c.item.leave(n.world.epoch+n.world.now, err)
	}
	for {
		f, some := n.flights.head()
		if !some {
			break
		}
		n.flights.drop()
		f.item.done = true
	}
	if n.local != nil {
		if err := n.local.Close(); err != nil {
			return fmt.Errorf("sim: local store: %w", err)
		}
	}
	return n.boot()
}

// decide runs an attempt through the code under test.
func (n *node) decide(a *attempt) {
	if n.world.together {
		r, err := n.multi.Take(context.Background(), n.world.asksOf(a)...)
		n.world.decidedTogether(a, &r, err)
		return
	}
	d, err := n.limiter.AllowN(context.Background(), a.client.slots[0].key, a.cost)
	n.world.answer(a, &d, err)
}

// plain says that an attempt can be decided at once: messages take no time, and nothing
// is wrong or under way.
func (n *node) plain() bool {
	w := n.world
	return w.instant && w.disturbed == 0 && len(n.callers.left()) == 0
}

// ask starts an attempt.
func (n *node) ask(a *attempt) {
	a.node = n
	if !n.plain() {
		n.world.start(a)
		return
	}
	n.world.asking = a
	n.decide(a)
	n.world.asking = nil
}

// enqueue hands a call to the Batcher, and to the network what it lets go.
func (n *node) enqueue(c *call) {
	if k := len(n.spare); k > 0 {
		c.group, n.spare = n.spare[k-1], n.spare[:k-1]
	} else {
		c.group = script.NewGroup(len(c.ops))
	}
	n.waiting = append(n.waiting, c)
	n.batcher.Enqueue(c.group)
	n.callers.add(n.world.now+n.world.timeout, c)
	if !n.callers.armed {
		n.callers.armed = true
		n.world.queue.plan(n.world.now+n.world.timeout, (*impatience)(n))
	}
	n.flush()
}

// flush sends what may leave now.
func (n *node) flush() {
	for {
		n.batch = n.batcher.Flush(n.batch[:0])
		if len(n.batch) == 0 {
			return
		}
		w := n.world
		f := w.flights.next()
		f.node, f.instant = n, n.clock.read(w.now)
		f.calls = f.few[:0]
		for _, g := range n.batch {
			f.calls = append(f.calls, n.take(g))
		}
		n.spare = append(n.spare, n.batch...)
		if len(f.calls) > 1 {
			w.goals[goalShared]++
		}
		w.noteCall(Sent, n.index, len(f.calls))
		n.flights.add(w.now+w.callTimeout, f)
		if !n.flights.armed {
			n.flights.armed = true
			w.queue.plan(w.now+w.callTimeout, (*oblivion)(n))
		}
		n.requests.send((*arrival)(f), (*repeated)(f))
	}
}

// take returns the call of a group, which leaves in the order in which it came.
func (n *node) take(g *script.Group) *call {
	for {
		c := n.waiting[n.first]
		n.waiting[n.first] = nil
		n.first++
		if n.first == len(n.waiting) {
			n.waiting, n.first = n.waiting[:0], 0
		}
		if c.group == g {
			c.group = nil
			return c
		}
	}
}

// receive takes the answer to a flight.
func (n *node) receive(f *flight) {
	w := n.world
	if f.done {
		w.goals[goalLateReply]++
		return
	}
	f.done = true
	n.batcher.Reply()
	for _, c := range f.calls {
		switch {
		case c.left:
			w.goals[goalLateReply]++
		case f.refused:
			c.answered, c.err = true, errRefused
			c.fiber.resume()
		default:
			c.answered = true
			c.fiber.resume()
		}
	}
	n.flush()
}

// impatience lets callers go whose time is up.
type impatience node

func (i *impatience) happen(w *world) {
	n := (*node)(i)
	n.callers.armed = false
	for {
		c, some := n.callers.head()
		if !some {
			return
		}
		if !c.item.answered {
			if c.until > w.now {
				n.callers.armed = true
				w.queue.plan(c.until, i)
				return
			}
			n.expire(c.item)
		}
		n.callers.drop()
	}
}

// expire is the end of a caller's patience: before its group was sent nothing has
// happened, after it the outcome is unknown.
func (n *node) expire(c *call) {
	if c.group == nil {
		c.leave(n.world.epoch+n.world.now, errLate)
		return
	}
	n.world.goals[goalLeftUnsent]++
	n.batcher.Cancel(c.group)
	c.group = nil
	c.leave(n.world.epoch+n.world.now, errUnsent)
}

// oblivion gives up calls that were not answered.
type oblivion node

func (o *oblivion) happen(w *world) {
	n := (*node)(o)
	n.flights.armed = false
	for {
		f, some := n.flights.head()
		if !some {
			return
		}
		if !f.item.done {
			if f.until > w.now {
				n.flights.armed = true
				w.queue.plan(f.until, o)
				return
			}
			f.item.done = true
			w.goals[goalCallGivenUp]++
			n.batcher.Reply()
			for _, c := range f.item.calls {
				if !c.answered {
					c.leave(n.world.epoch+n.world.now, errLate)
				}
			}
			n.flush()
		}
		n.flights.drop()
	}
}
