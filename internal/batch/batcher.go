// Package batch decides which groups of ops share a call to a server, and when a call
// leaves.
package batch

// Batcher is the state machine of a dispatcher. It has no goroutine, no lock and no
// clock of its own: a store, a test or a simulator drives it, under a lock where
// several do. T is what a group stands for, such as a caller who waits.
//
// Groups wait in queues, one for each tag; only groups of one queue share a call. A
// group that arrives while its queue may make a call leaves immediately, alone. Groups
// that arrive while calls are in flight wait, and leave together with the next one:
// there is no timer. Groups of a queue leave in the order in which they came, and
// queues take turns.
//
// An event is Enqueue, Cancel or Done; after each, Next returns the calls to make now.
type Batcher[T any] struct {
	limits   Limits
	queues   map[string]*queue[T] // with a group or a call
	ready    list[*queue[T]]      // queues that may make a call
	spare    []*queue[T]          // queues to be used again
	inFlight int
	waiting  int
}

// Limits bound the calls of a Batcher. All are at least 1.
type Limits struct {
	Groups, Keys int // in one call; a group alone may have more keys
	InFlight     int // calls of one queue at the same time
	Total        int // calls of all queues at the same time
}

// Group is the part of a call that is decided all or nothing.
type Group[T any] struct {
	Value T
	keys  int
	queue *queue[T] // in which it waits, or nil
	place link[*Group[T]]
	sent  bool
}

// Init makes g a group with this number of keys that is in no queue.
func (g *Group[T]) Init(keys int) { g.keys, g.queue, g.sent = keys, nil, false }

// Sent reports whether the group has left in a call.
func (g *Group[T]) Sent() bool { return g.sent }

// Call is the groups that share a call to the server.
type Call[T any] struct {
	Groups []*Group[T]
	queue  *queue[T]
}

// queue is where the groups of one tag wait.
type queue[T any] struct {
	tag      string
	waiting  list[*Group[T]]
	inFlight int
	place    link[*queue[T]] // in Batcher.ready
}

// New returns a batcher with nothing waiting and nothing in flight.
func New[T any](limits Limits) *Batcher[T] {
	return &Batcher[T]{limits: limits, queues: make(map[string]*queue[T])}
}

// Enqueue lets a group wait in the queue of a tag. It waits nowhere else.
func (b *Batcher[T]) Enqueue(tag string, g *Group[T]) {
	q := b.queues[tag]
	if q == nil {
		q = b.newQueue(tag)
	}
	g.queue = q
	q.waiting.push(&g.place, g)
	b.waiting++
	b.update(q)
}

// Next fills c with the next call to make now, counts it as in flight, and reports
// whether there is one.
func (b *Batcher[T]) Next(c *Call[T]) bool {
	q, some := b.ready.first()
	if !some || b.inFlight >= b.limits.Total {
		return false
	}
	c.queue, c.Groups = q, c.Groups[:0]
	keys := 0
	for {
		g, some := q.waiting.first()
		if !some || len(c.Groups) > 0 && (len(c.Groups) == b.limits.Groups || keys+g.keys > b.limits.Keys) {
			break
		}
		b.takeOut(g)
		g.sent = true
		c.Groups, keys = append(c.Groups, g), keys+g.keys
	}
	q.inFlight++
	b.inFlight++
	b.ready.remove(&q.place) // to the end, if it may make another one
	b.update(q)
	return true
}

// Done says that a call has come back, with an answer or an error.
func (b *Batcher[T]) Done(c *Call[T]) {
	q := c.queue
	c.queue = nil
	q.inFlight--
	b.inFlight--
	b.update(q)
}

// Cancel takes a group out that has not left, and reports whether it could.
func (b *Batcher[T]) Cancel(g *Group[T]) bool {
	q := g.queue
	if q == nil {
		return false
	}
	b.takeOut(g)
	b.update(q)
	return true
}

// Drain takes out and returns all the groups that wait; groups of one queue are in the
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

// InFlight returns the number of calls in flight.
func (b *Batcher[T]) InFlight() int { return b.inFlight }

// Waiting returns the number of groups that wait.
func (b *Batcher[T]) Waiting() int { return b.waiting }

func (b *Batcher[T]) takeOut(g *Group[T]) {
	g.queue.waiting.remove(&g.place)
	g.queue = nil
	b.waiting--
}

// update puts a queue where it belongs: among the queues that may make a call, or away
// where it has no group and no call. There are as many queues as keys, so none is kept
// but the one without a tag.
func (b *Batcher[T]) update(q *queue[T]) {
	_, waits := q.waiting.first()
	switch may := waits && q.inFlight < b.limits.InFlight; {
	case may && !q.place.listed:
		b.ready.push(&q.place, q)
	case !may && q.place.listed:
		b.ready.remove(&q.place)
	}
	if !waits && q.inFlight == 0 && q.tag != "" {
		delete(b.queues, q.tag)
		if q.tag = ""; len(b.spare) < maxSpare {
			b.spare = append(b.spare, q)
		}
	}
}

// maxSpare is how many queues are kept to be used again.
const maxSpare = 64

func (b *Batcher[T]) newQueue(tag string) (q *queue[T]) {
	if n := len(b.spare); n > 0 {
		q, b.spare = b.spare[n-1], b.spare[:n-1]
	} else {
		q = new(queue[T])
	}
	q.tag, b.queues[tag] = tag, q
	return q
}
