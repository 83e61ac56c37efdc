package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/batch"
	memorystore "github.com/weirgo/weir/store/memory"
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

	batcher  *batch.Batcher[*call]
	next     *flight // for the next batch
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
	n.batcher = batch.New[*call](batch.Limits{Groups: w.share, Keys: 1000, InFlight: w.inFlight, Total: w.inFlight})
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
		if !c.item.group.Sent() {
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
	c.group.Value = c
	c.group.Init(len(c.ops))
	n.batcher.Enqueue("", &c.group)
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
		w := n.world
		if n.next == nil {
			n.next = w.flights.next()
			n.next.batch.Groups = n.next.few[:0]
		}
		f := n.next
		if !n.batcher.Next(&f.batch) {
			return
		}
		n.next = nil
		f.node, f.instant = n, n.clock.read(w.now)
		if len(f.batch.Groups) > 1 {
			w.goals[goalShared]++
		}
		w.noteCall(Sent, n.index, len(f.batch.Groups))
		n.flights.add(w.now+w.callTimeout, f)
		if !n.flights.armed {
			n.flights.armed = true
			w.queue.plan(w.now+w.callTimeout, (*oblivion)(n))
		}
		n.requests.send((*arrival)(f), (*repeated)(f))
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
	n.batcher.Done(&f.batch)
	for _, g := range f.batch.Groups {
		switch c := g.Value; {
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
	if !n.batcher.Cancel(&c.group) {
		c.leave(n.world.epoch+n.world.now, errLate)
		return
	}
	n.world.goals[goalLeftUnsent]++
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
			n.batcher.Done(&f.item.batch)
			for _, g := range f.item.batch.Groups {
				if c := g.Value; !c.answered {
					c.leave(n.world.epoch+n.world.now, errLate)
				}
			}
			n.flush()
		}
		n.flights.drop()
	}
}
