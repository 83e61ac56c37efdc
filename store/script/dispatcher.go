package script

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/weirgo/weir/internal/batch"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/store"
)

// dispatcher sends groups to the server in calls that several share: one dispatcher
// sends what takes, another one what looks. The batcher decides what shares a call.
type dispatcher struct {
	store *Store
	takes bool

	mu       sync.Mutex
	batcher  *batch.Batcher[*pending]
	closed   bool
	live     []*call        // in flight
	inFlight sync.WaitGroup // those
	expiry   expiry
	hold     hold
	parked   int        // goroutines that wait for a call
	work     chan *call // closed with the dispatcher

	pendings sync.Pool // of *pending
	calls    sync.Pool // of *call
}

const (
	// maxParked is how many goroutines wait for the next call. A new one has to grow
	// its stack in the client library first.
	maxParked = 4
	// maxYields bounds how often a worker yields before the next call: each time may take as
	// long as all that is ready to run in the process.
	maxYields = 4
	// maxCalls bounds the calls in flight of one of several servers. There are as many
	// queues as keys, and each has its own InFlight: concurrent callers of as many keys
	// would be as many calls, which is more than a client has connections for.
	maxCalls = 64
	// abandonedFor is how many calls may be abandoned for each that may be in flight,
	// where servers are not told apart.
	abandonedFor = 4
)

func (d *dispatcher) init(s *Store, takes bool) {
	d.store, d.takes = s, takes
	limits := batch.Limits{
		Groups: s.opts.Share, Keys: store.MaxOps, Enough: min(holdUpTo, s.opts.Share),
		Queue: s.opts.InFlight, Node: max(maxCalls, s.opts.InFlight), Abandoned: abandonedFor * s.opts.InFlight,
	}
	if s.opts.Share == 1 {
		limits.Queue, limits.Node, limits.Abandoned = math.MaxInt, math.MaxInt, math.MaxInt
	}
	d.batcher = batch.New[*pending](limits)
	d.work = make(chan *call, maxParked)
	d.expiry.init(d)
	d.hold.dispatcher = d
	d.pendings.New = func() any { return newPending(d) }
	d.calls.New = func() any { return newCall(d) }
}

func (d *dispatcher) verb() string {
	if d.takes {
		return "apply"
	}
	return "peek"
}

// send lets a group wait in the queue of its tag, and makes the call where it may
// leave immediately.
func (d *dispatcher) send(p *pending) {
	until := d.expiry.of(p)
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		p.answer(0, false, store.ErrClosed)
		return
	}
	p.call, p.until = nil, until
	p.state.Store(waiting)
	d.batcher.Enqueue(p.tag, p.node, &p.group)
	d.expiry.arm(until)
	c := d.next()
	if c != nil && len(c.Groups) == 1 && c.Groups[0] == &p.group {
		switch { // for nobody else
		case p.patient(): // and the caller waits anyway
			d.mu.Unlock()
			c.run(nil)
		case d.isDirect(p):
			d.runDirect(c, p)
		default:
			d.start(c)
			d.mu.Unlock()
			return
		}
		if c = d.done(c); c == nil {
			return
		}
		d.mu.Lock()
	}
	d.start(c)
	d.mu.Unlock()
}

// next returns the next call to make now, or nil. The caller holds mu.
func (d *dispatcher) next() *call {
	if !d.batcher.Ready() {
		return nil
	}
	c := d.calls.Get().(*call)
	d.batcher.Next(&c.Call)
	for _, g := range c.Groups {
		g.Value.call = c
	}
	c.begun = time.Now()
	c.command.state.Store(0)
	if c.isWithdrawn {
		c.withdrawn, c.isWithdrawn = make(chan struct{}), false
	}
	c.place = len(d.live)
	d.live = append(d.live, c)
	d.hold.begin(c)
	d.inFlight.Add(1)
	return c
}

// done counts a call as answered and returns the next one, or nil.
func (d *dispatcher) done(c *call) *call {
	d.mu.Lock()
	d.batcher.Done(&c.Call, c.answered)
	d.hold.end(c)
	clear(c.Groups) // they belong to their callers
	last := len(d.live) - 1
	d.live[c.place] = d.live[last]
	d.live[c.place].place, d.live[last] = c.place, nil
	d.live = d.live[:last]
	next := d.next()
	d.startAll()
	d.mu.Unlock()
	d.calls.Put(c)
	d.inFlight.Done()
	return next
}

// start gives a call, if there is one, to a goroutine. The caller holds mu.
func (d *dispatcher) start(c *call) {
	switch {
	case c == nil:
	case d.parked > 0 && !d.closed:
		d.parked--
		d.work <- c // there is room for what each parked goroutine takes
	default:
		go d.worker(c)
	}
}

// startAll starts all calls that may leave now: a call that held back others may have held back
// several, where groups have many keys. The caller holds mu.
func (d *dispatcher) startAll() {
	for c := d.next(); c != nil; c = d.next() {
		d.start(c)
	}
}

// worker makes calls, until there is none to make and enough others wait for one.
func (d *dispatcher) worker(c *call) {
	for {
		for c != nil {
			shared := len(c.Groups) > 1
			c.run(c.withdrawn)
			if shared {
				d.yield() // one caller would need a second goroutine for that
			}
			c = d.done(c)
		}
		d.mu.Lock()
		if d.closed || d.parked == maxParked {
			d.mu.Unlock()
			return
		}
		d.parked++
		d.mu.Unlock()
		if c = <-d.work; c == nil { // closed
			return
		}
	}
}

// yield lets callers that have just got their answers, and ask again, run before the next call is
// formed, so that it has their requests. (64 callers of one key decide 1.2 to 1.35 times as
// fast as without, and 256 callers 1.1 to 1.3 times.) Another thread may run this goroutine before
// them, so it yields again while more come.
func (d *dispatcher) yield() {
	last := -1
	for range maxYields {
		waiting := d.waiting()
		if waiting <= last {
			return
		}
		last = waiting
		runtime.Gosched()
	}
}

// waiting returns the number of groups that wait.
func (d *dispatcher) waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.batcher.Waiting()
}

// wait waits for the answer to p, which result then returns. A caller whose time is up
// leaves with an error, and p is no longer the caller's: before its group was sent
// nothing has happened, after it the outcome is unknown.
//
// The time-out has no case in the select: it is one of the expiry of the dispatcher.
func (d *dispatcher) wait(p *pending) error {
	if done := p.ctx.Done(); done == nil {
		<-p.answered
	} else {
		select {
		case <-p.answered:
		case <-done:
			d.mu.Lock()
			d.giveUp(p, p.ctx.Err())
			d.mu.Unlock()
			<-p.answered
		}
	}
	if p.state.Load() != left {
		return nil
	}
	late := p.late
	if p.cancelled {
		p.release()
	}
	return late
}

// giveUp ends the wait of a caller that has no answer yet. Where why is nil, the time-out of
// the caller has ended. The caller of giveUp holds mu.
func (d *dispatcher) giveUp(p *pending, why error) {
	if !p.state.CompareAndSwap(waiting, left) {
		return // p was answered, and another caller may use it by now: no other field is read
	}
	if why == nil {
		why = deadline.Exceeded(p.timeout)
	}
	p.cancelled = d.batcher.Cancel(&p.group)
	switch {
	case p.cancelled:
		p.late = notSentInTime(d.verb(), why)
	case !p.group.Sent(): // close took it out
		p.late = store.ErrClosed
	case d.leave(p):
		p.late = notSentInTime(d.verb(), why)
	default:
		p.late = explain(d.verb(), why, d.takes)
	}
	p.answered <- struct{}{}
}

// leave lets a caller leave whose group is in a call, and reports whether nothing of the
// call was sent. A call that all have left gives its place to another one. The caller
// holds mu.
func (d *dispatcher) leave(p *pending) (unsent bool) {
	c := p.call
	inFlight, abandoned := d.batcher.Leave(&p.group)
	if !inFlight {
		return false
	}
	unsent = c.command.withdraw()
	p.withdrawn = unsent
	if !abandoned {
		return unsent
	}
	if unsent && !c.isWithdrawn {
		close(c.withdrawn)
		c.isWithdrawn = true
	}
	d.distrust(c, p)
	d.startAll()
	return unsent
}

// distrust closes idle connections to the server of p where it has answered nothing for a
// while, its call among that. The caller holds mu.
func (d *dispatcher) distrust(c *call, p *pending) {
	if d.batcher.Silent(&c.Call) && time.Since(c.begun) >= silence {
		d.store.closeIdle(p.node, p.storedName(0)) // names may be written by the call
	}
}

// drop takes the groups out of a call whose callers have left before anything of it was
// sent, and reports whether there are such: then the call is to be sent for the rest.
func (d *dispatcher) drop(c *call) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.command.state.Load() <= 0 {
		return false
	}
	c.Groups = slices.DeleteFunc(c.Groups, func(g *batch.Group[*pending]) bool { return g.Value.withdrawn })
	c.command.state.Store(0)
	return true
}

// close tells those that wait that they were not sent, and waits for the calls in
// flight.
func (d *dispatcher) close() {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		close(d.work)
	}
	left := d.batcher.Drain()
	d.mu.Unlock()
	for _, g := range left {
		g.Value.answer(0, false, store.ErrClosed)
	}
	d.inFlight.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expiry.stop()
	d.hold.stop()
}
