// Package batch decides which groups of ops share a call to a server, and when a call
// leaves.
package batch

import "iter"

// Batcher is the state machine of a dispatcher. It has no goroutine, no lock and no
// clock of its own: a store, a test or a simulator drives it, under a lock where
// several do. T is what a group stands for, such as a caller who waits.
//
// Groups wait in queues, one for each tag; only groups of one queue share a call. A
// group that arrives while its queue may make a call leaves immediately, alone. Groups
// that arrive while calls are in flight wait, and leave together with the next one.
// Groups of a queue leave in the order in which they came, and
// queues take turns.
//
// A queue belongs to the node that has the keys of its tag. Nodes do not wait for each
// other. A call that all of its groups have left is abandoned: it gives its place to
// another one, since nobody knows when a node that does not answer will. The abandoned
// calls of a node have a bound of their own; where it is reached, the queues of the
// node wait.
//
// A call can hold back the next one of its queue, which then leaves when the first one
// has come back, or earlier if it has enough groups. (So does Nagle's algorithm with small
// segments.)
//
// An event is Enqueue, Cancel, Leave, Done, HoldBack or LetGo; after each, Next returns
// the calls to make now.
type Batcher[T any] struct {
	limits    Limits
	untagged  *queue[T]            // that of all groups where there is one server
	queues    map[string]*queue[T] // untagged, and those with something to do
	nodes     map[string]*node[T]  // by name; a few may have nothing to do
	open      list[*node[T]]       // those with a queue that may make a call
	spare     []*queue[T]          // those to be used again
	inFlight  int
	abandoned int
	waiting   int
	calls     uint64 // made so far
}

// Limits bound the calls of a Batcher. All are at least 1, but Enough, which counts only after HoldBack.
type Limits struct {
	Groups, Keys int // in one call; a group alone may have more keys
	Enough       int // groups that leave together although a call holds back the next one
	Queue        int // calls of one queue in flight
	Node         int // calls of one node in flight, and as many that are abandoned
	Abandoned    int // abandoned calls of a node that is not known
}

// Group is the part of a call that is decided all or nothing.
type Group[T any] struct {
	Value  T
	keys   int
	queue  *queue[T] // in which it waits, or nil
	place  link[*Group[T]]
	call   *Call[T] // in which it has left, or nil
	number uint64   // of that call
}

// Init makes a group one of so many keys, which waits nowhere.
func (g *Group[T]) Init(keys int) { g.keys, g.queue, g.call, g.number = keys, nil, nil, 0 }

// Sent reports whether the group has left in a call.
func (g *Group[T]) Sent() bool { return g.call != nil }

// Call is groups that are sent together.
type Call[T any] struct {
	Groups    []*Group[T]
	queue     *queue[T]
	node      *node[T]
	number    uint64 // 0 once it is done
	waiting   int    // groups that have not left
	holdsBack bool
	abandoned bool
	answers   uint64 // of the node, when the call was made
}

// queue is where the groups of one tag wait.
type queue[T any] struct {
	tag      string
	node     *node[T]
	own      node[T] // its node, where nodes are not known
	waiting  list[*Group[T]]
	count    int             // of waiting
	inFlight int             // without those that are abandoned
	calls    int             // with them
	holding  int             // calls in flight that hold back the next one
	place    link[*queue[T]] // in ready of its node
}

// node is a server.
type node[T any] struct {
	name      string          // "" for that of one queue alone
	ready     list[*queue[T]] // queues that have groups, and less in flight than they may
	inFlight  int             // without those that are abandoned
	abandoned int
	users     int    // queues and calls
	answers   uint64 // so far
	place     link[*node[T]]
}

// New returns a batcher with nothing waiting and nothing in flight.
func New[T any](limits Limits) *Batcher[T] {
	b := &Batcher[T]{limits: limits, queues: make(map[string]*queue[T]), nodes: make(map[string]*node[T])}
	b.untagged = b.newQueue("")
	b.move(b.untagged, "")
	return b
}

// Enqueue lets a group wait in the queue of a tag, whose keys lie on a node; "" is a
// node that is not known, and then the queue counts as the only one of a node. The group
// waits nowhere else.
func (b *Batcher[T]) Enqueue(tag, node string, g *Group[T]) {
	q := b.untagged
	if tag != "" {
		if q = b.queues[tag]; q == nil {
			q = b.newQueue(tag)
		}
	}
	b.move(q, node)
	g.queue = q
	q.waiting.push(&g.place, g)
	q.count++
	b.waiting++
	b.update(q)
}

// Ready reports whether there is a call to make now.
func (b *Batcher[T]) Ready() bool {
	_, some := b.open.first()
	return some
}

// Next fills c with the next call to make now, counts it as in flight, and reports
// whether there is one.
func (b *Batcher[T]) Next(c *Call[T]) bool {
	n, some := b.open.first()
	if !some {
		return false
	}
	q, _ := n.ready.first()
	b.calls++
	*c = Call[T]{Groups: c.Groups[:0], queue: q, node: n, number: b.calls, answers: n.answers}
	keys := 0
	for {
		g, some := q.waiting.first()
		if !some || len(c.Groups) > 0 && (len(c.Groups) == b.limits.Groups || keys+g.keys > b.limits.Keys) {
			break
		}
		b.takeOut(g)
		g.call, g.number = c, c.number
		c.Groups, keys = append(c.Groups, g), keys+g.keys
	}
	c.waiting = len(c.Groups)
	q.inFlight++
	q.calls++
	n.inFlight++
	n.users++
	b.inFlight++
	n.ready.remove(&q.place) // to the end, if it may make another one
	b.open.remove(&n.place)
	b.update(q)
	return true
}

// Done says that a call has come back: answered by the node, or without that.
func (b *Batcher[T]) Done(c *Call[T], answered bool) {
	q, n := c.queue, c.node
	if answered {
		n.answers++
	}
	c.letGo()
	if c.abandoned {
		n.abandoned--
		b.abandoned--
	} else {
		q.inFlight--
		n.inFlight--
		b.inFlight--
	}
	q.calls--
	c.number, c.queue, c.node = 0, nil, nil
	b.update(q)
	b.release(n)
}

// Cancel takes a group out that has not left in a call, and reports whether it could.
func (b *Batcher[T]) Cancel(g *Group[T]) bool {
	q := g.queue
	if q == nil {
		return false
	}
	b.takeOut(g)
	b.update(q)
	return true
}

// Leave says that nobody waits any more for a group that has left in a call. It reports
// whether the call is still in flight, and whether it is abandoned with that. A group
// is left once.
func (b *Batcher[T]) Leave(g *Group[T]) (inFlight, abandoned bool) {
	c := g.call
	if c == nil || c.number != g.number {
		return false, false
	}
	if c.waiting--; c.waiting > 0 {
		return true, false
	}
	c.abandoned = true
	c.letGo()
	c.queue.inFlight--
	c.node.inFlight--
	c.node.abandoned++
	b.inFlight--
	b.abandoned++
	b.update(c.queue)
	b.openOrClose(c.node) // the queue may belong to another one by now
	return true, true
}

// HoldBack lets a call in flight hold back the next one of its queue: until the call is done or
// abandoned, or until LetGo. It changes nothing where the call is done or abandoned already.
func (b *Batcher[T]) HoldBack(c *Call[T]) {
	if c.number == 0 || c.abandoned || c.holdsBack {
		return
	}
	c.holdsBack = true
	c.queue.holding++
	b.update(c.queue)
}

// LetGo ends what HoldBack began; it changes nothing where the call holds nothing back.
func (b *Batcher[T]) LetGo(c *Call[T]) {
	if c.letGo() {
		b.update(c.queue)
	}
}

// HoldsBack reports whether the call holds back the next one.
func (c *Call[T]) HoldsBack() bool { return c.holdsBack }

// letGo reports whether the call held back the next one until now.
func (c *Call[T]) letGo() bool {
	if !c.holdsBack {
		return false
	}
	c.holdsBack = false
	c.queue.holding--
	return true
}

// Silent reports whether the node of a call in flight has answered nothing since the
// call was made.
func (b *Batcher[T]) Silent(c *Call[T]) bool { return c.node != nil && c.node.answers == c.answers }

// Drain takes out and returns all the groups that wait: those of one queue in the
// order in which they came.
func (b *Batcher[T]) Drain() (all []*Group[T]) {
	for _, q := range b.queues {
		for g, some := q.waiting.first(); some; g, some = q.waiting.first() {
			b.takeOut(g)
			all = append(all, g)
		}
		b.update(q)
	}
	return all
}

// Waiters are the groups that wait. No event may come meanwhile.
func (b *Batcher[T]) Waiters() iter.Seq[*Group[T]] {
	return func(yield func(*Group[T]) bool) {
		for _, q := range b.queues {
			for at := q.waiting.head; at != nil; at = at.next {
				if !yield(at.value) {
					return
				}
			}
		}
	}
}

// InFlight returns the number of calls in flight that somebody waits for, and of those
// that are abandoned.
func (b *Batcher[T]) InFlight() (calls, abandoned int) { return b.inFlight, b.abandoned }

// Waiting returns the number of groups that wait.
func (b *Batcher[T]) Waiting() int { return b.waiting }

func (b *Batcher[T]) takeOut(g *Group[T]) {
	g.queue.waiting.remove(&g.place)
	g.queue.count--
	g.queue = nil
	b.waiting--
}
