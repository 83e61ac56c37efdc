package script

import (
	"math"
	"sync"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// lane carries groups to the server: those that take on one, looks on another.
type lane struct {
	store *Store
	takes bool
	batch BatchLimits

	mu      sync.Mutex
	places  places
	flying  int // calls in flight, of all places
	closed  bool
	flights sync.WaitGroup
	parked  int          // goroutines that wait for work
	work    chan *flight // closed with the lane

	pendings sync.Pool // of *pending
	idle     sync.Pool // of *flight
}

func (l *lane) init(s *Store, takes bool) {
	l.store, l.takes = s, takes
	l.batch = BatchLimits{Groups: s.opts.Share, Keys: store.MaxOps, InFlight: s.opts.InFlight}
	if s.opts.Share == 1 {
		l.batch.InFlight = math.MaxInt
	}
	l.places.known = make(map[string]*place)
	l.work = make(chan *flight, maxParked)
	l.pendings.New = func() any { return newPending(l) }
	l.idle.New = func() any { return newFlight(l) }
}

// send hands a group to the batcher of its place, and makes the call where it may
// leave at once.
func (l *lane) send(p *pending) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		p.answer(0, false, store.ErrClosed)
		return
	}
	at := l.places.find(p.place, l.batch)
	at.Enqueue(&p.Group)
	f := l.flush(at)
	if f != nil && p.patient() && len(f.groups) == 1 && f.groups[0] == &p.Group {
		l.mu.Unlock()
		f.fly() // nobody else is aboard, and the caller waits anyway
		if f = l.land(f); f == nil {
			return
		}
		l.mu.Lock()
	}
	l.start(f)
	l.mu.Unlock()
}

// start gives a call, if there is one, to a goroutine. The caller holds mu.
func (l *lane) start(f *flight) {
	switch {
	case f == nil:
	case l.parked > 0 && !l.closed:
		l.parked--
		l.work <- f // at once, or as soon as one of those that wait runs
	default:
		go l.carry(f)
	}
}

// maxParked is how many goroutines wait for the next call. One that is new has to
// grow its stack in the client library first.
const maxParked = 4

// carry makes calls, until there is none to make and enough others wait for one.
func (l *lane) carry(f *flight) {
	for {
		for f != nil {
			f.fly()
			f = l.land(f)
		}
		l.mu.Lock()
		if l.closed || l.parked == maxParked {
			l.mu.Unlock()
			return
		}
		l.parked++
		l.mu.Unlock()
		if f = <-l.work; f == nil { // closed
			return
		}
	}
}

// maxFlying is how many calls may be in flight where keys lie on several servers. There
// are as many places as keys, and each has its own InFlight: a crowd on as many keys
// would be as many calls at once, which is more than a client has connections for.
const maxFlying = 64

// flush returns the next call of a place to make, if one is to be made now.
func (l *lane) flush(at *place) *flight {
	if at.tag != "" && l.batch.Groups > 1 && l.flying >= maxFlying {
		l.places.hold(at)
		return nil
	}
	f := l.idle.Get().(*flight)
	f.groups = at.Flush(f.groups[:0])
	if len(f.groups) == 0 {
		l.idle.Put(f)
		return nil
	}
	f.place = at
	l.flying++
	l.flights.Add(1)
	return f
}

// land counts a call as answered and returns the next one: of a place that was held
// up, or of its own.
func (l *lane) land(f *flight) (next *flight) {
	l.mu.Lock()
	l.flying--
	own := f.place
	own.Reply()
	switch {
	case own.Idle():
		l.places.leave(own)
	case len(l.places.held) > 0:
		l.places.hold(own)
	default:
		next = l.flush(own)
	}
	for next == nil && len(l.places.held) > 0 {
		first := l.places.release()
		next = l.flush(first)
		l.places.leave(first)
	}
	l.mu.Unlock()
	f.place = nil
	l.idle.Put(f)
	l.flights.Done()
	return next
}

// wait returns the answer to p and writes the Outcomes to ops. A caller whose time is
// up leaves: before its group was sent nothing has happened, after it the outcome is
// unknown.
func (l *lane) wait(p *pending, ops []store.Op) (algorithm.Instant, bool, error) {
	select {
	case <-p.answered:
		return p.result(ops)
	default:
	}
	late := p.await()
	if late == nil {
		return p.result(ops)
	}
	l.mu.Lock()
	at := l.places.known[p.place]
	waiting := at != nil && at.Cancel(&p.Group)
	if waiting {
		l.places.leave(at)
	}
	drained := !waiting && p.state == groupIdle
	l.mu.Unlock()
	if waiting {
		return 0, false, unsent(l.verb(), late)
	}
	if drained { // Close has the answer
		<-p.answered
		return p.result(ops)
	}
	select {
	case <-p.answered:
		return p.result(ops)
	default:
		return 0, false, explain(l.verb(), late, l.takes)
	}
}

func (l *lane) verb() string {
	if l.takes {
		return "apply"
	}
	return "peek"
}

// close tells those that wait that they were not sent, and waits for those that
// were.
func (l *lane) close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.work)
	}
	var left []*Group
	for _, at := range l.places.known {
		left = append(left, at.Drain()...)
	}
	l.mu.Unlock()
	for _, g := range left {
		g.call.answer(0, false, store.ErrClosed)
	}
	l.flights.Wait()
}
