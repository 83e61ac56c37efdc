package world

import (
	"fmt"
	"io"
	"math"

	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/internal/traffic"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// load is one traffic of a run.
type load struct {
	*scenario.Traffic
	world     *world
	number    int // in the scenario
	retry     traffic.Retry
	retryDraw []*random.Stream // one for each server: what one draws does not move another
	gate      *traffic.Gate    // of an open stream; nil where it has none
	gateDraw  *random.Stream
	turns     []int64 // attempts at each server so far, to spread them over nodes
	result    result.Traffic
	reserving *reserving // nil: requests cost what they cost

	// Of an open stream.
	stream  *traffic.Stream
	next    traffic.Arrival
	planned int64     // requests of the stream so far
	trace   Recording // nil where it is none
	read    int64     // requests of the trace so far
	ended   bool      // the trace, or it cannot be read on

	// Of a closed loop.
	keys      traffic.Keys
	costs     []traffic.Costs // one for each server, as below
	think     traffic.Delay
	thinkDraw []*random.Stream
	stop      int64
	left      int64
}

// attempt is a request on its way to an answer, repeats included.
type attempt struct {
	load    *load
	caller  *caller // of a closed loop
	client  *client
	node    *node
	cost    int64
	first   int64 // when it was made
	tries   int64
	waited  int64 // before this try
	reached bool  // the server was asked, through the decorators of the node
	doubt   bool  // an earlier try has an unknown outcome

	// Where a policy decides.
	life    int   // of the node
	asked   int   // ops that this try has sent
	locally int64 // when the local store was asked; −1 is never

	// chargedAt is when the server charged this try, on its clock; 0: it did not.
	chargedAt int64

	reservation *reservation // nil where its cost is its cost
	try         *check.Try   // of this try; of all tries of a reservation with an ID
}

// begin begins a try.
func (a *attempt) begin(immediate bool) {
	switch identified := a.reservation.identified(); {
	case identified && a.try != nil:
	case immediate && !identified:
		a.try = &a.load.world.immediate
		a.try.Begin()
	default:
		a.try = new(check.Try)
	}
}

func newLoad(w *world, number int) *load {
	l := &load{Traffic: &w.scenario.Traffic[number], world: w, number: number}
	l.result.Name = l.Name
	return l
}

// begin plans its first requests. Its error is about a file or a trace.
func (l *load) begin() error {
	streams := l.world.streams.Under("traffic").Under(l.Name)
	l.gateDraw = streams.Stream("throttle")
	for i := range l.world.servers {
		l.retryDraw = append(l.retryDraw, streams.Stream(streamOf("retry", i)))
	}
	l.reserving = newReserving(l, streams)
	l.turns = make([]int64, len(l.world.servers))
	l.retry = traffic.NewRetry(l.Retry)
	if l.Closed != nil {
		l.beginClosed(streams)
		return nil
	}
	return l.wrong(l.beginOpen(streams))
}

// wrong names the process in an error: nil where there is none.
func (l *load) wrong(err error) error {
	if err == nil {
		return nil
	}
	path := fmt.Sprintf("traffic[%d].process", l.number)
	if e, is := err.(*scenario.Error); is {
		inner := *e
		inner.Path = path + "." + e.Path
		return &inner
	}
	return &scenario.Error{Path: path, Cause: err}
}

// beginOpen starts an open stream.
func (l *load) beginOpen(streams random.Streams) (err error) {
	w := l.world
	l.gate = l.newGate()
	env := traffic.Env{Streams: streams, Epoch: w.Epoch, End: w.end, Client: w.clients, Files: w.opts.Files}
	if l.Process.Kind == "trace" && w.opts.Traces != nil {
		if l.trace, err = w.opts.Traces(l.Process); err != nil {
			return err
		}
		env.Trace = l.record
	}
	if l.stream, err = traffic.NewStream(l.Traffic, env); err != nil {
		return err
	}
	w.clients += l.stream.Clients()
	l.advance()
	return nil
}

func (l *load) newGate() *traffic.Gate {
	if l.Throttle == nil {
		return nil
	}
	return traffic.NewGate(*l.Throttle)
}

// advance plans the next arrival of an open stream.
func (l *load) advance() {
	var more bool
	if l.next, more = l.stream.Next(); more {
		l.planned++
		l.world.queue.plan(l.next.At, l)
		return
	}
	err := l.stream.Err()
	if err == nil {
		err = l.readOn()
	} else if lines, first := l.trace.Bad(); lines > 0 {
		err = &scenario.Error{Path: "file", Cause: fmt.Errorf("%w (%d lines cannot be used; %s)", err, lines, first)}
	}
	l.world.act(l.wrong(err))
}

// record reads the next request of a trace.
func (l *load) record() (a traffic.Arrival, err error) {
	a.At, a.Key, a.Cost, err = l.trace.Next()
	l.ended = err != nil
	if err == nil {
		l.read++
	}
	return a, err
}

// readOn counts the requests of a trace that come too late.
func (l *load) readOn() error {
	if l.trace == nil {
		return nil
	}
	for !l.ended {
		if _, err := l.record(); err != nil && err != io.EOF {
			return &scenario.Error{Path: "file", Cause: fmt.Errorf("%s: %w", l.Process.File, err)}
		}
	}
	l.result.LeftOut = l.read - l.planned
	return nil
}

// close ends the reading of a trace.
func (l *load) close() error {
	if l.trace == nil {
		return nil
	}
	return l.wrong(l.trace.Close())
}

// happen is the next arrival.
func (l *load) happen(w *world) {
	a := &attempt{load: l, client: w.clientOf(l.next.Key), cost: l.next.Cost, first: w.Now}
	l.advance()
	w.arrive(a)
}

// beginClosed starts the callers of a closed loop. Each thinks first.
func (l *load) beginClosed(streams random.Streams) {
	w := l.world
	l.keys = traffic.NewKeys(l.Keys, streams.Stream("keys"))
	for i := range w.servers {
		l.costs = append(l.costs, traffic.NewCosts(l.Costs, streams.Stream(streamOf("costs", i))))
		l.thinkDraw = append(l.thinkDraw, streams.Stream(streamOf("think", i)))
	}
	l.think = traffic.NewDelay(l.Closed.Think)
	l.stop, l.left = w.end, l.Count
	if l.Stop != 0 {
		l.stop = min(l.stop, micros(l.Stop))
	}
	if l.Count == 0 {
		l.left = math.MaxInt64
	}
	for i := range l.Closed.Callers {
		c := &caller{load: l, number: w.clients + i, gate: l.newGate()}
		if begins := micros(l.Start) + l.think(l.thinkDraw[0]); begins < l.stop {
			w.queue.plan(begins, c)
		}
	}
	w.clients += l.Closed.Callers
}

// caller is a client of a closed loop, who waits for an answer before the next request.
type caller struct {
	load   *load
	number int64
	gate   *traffic.Gate
	attempt
}

// happen is the next request.
func (c *caller) happen(w *world) {
	l := c.load
	if l.left == 0 {
		return
	}
	l.left--
	client := w.clientOf(l.keys.Key(c.number))
	c.attempt = attempt{load: l, caller: c, client: client, cost: l.costs[client.server].Cost(), first: w.Now}
	w.arrive(&c.attempt)
}

// arrive takes a new request into the world.
func (w *world) arrive(a *attempt) {
	for _, c := range w.counts(a) {
		c.Arrivals++
	}
	a.client.open++
	w.reserve(a)
	w.try(a)
}

// happen is a repeat.
func (a *attempt) happen(w *world) {
	w.Goals[check.RetriedUnknown] += check.One(a.doubt)
	w.try(a)
}

// try makes an attempt: the next node that is up is asked.
func (w *world) try(a *attempt) {
	l := a.load
	a.tries++
	a.chargedAt = 0
	w.offered(a)
	if gate := a.throttle(); gate != nil && !gate.Pass(w.Now, l.gateDraw) {
		w.Goals[check.Throttled]++
		w.noteAttempt(check.Dropped, a)
		w.answered(a, answer{class: throttled})
		return
	}
	if n := a.upNode(nil); n != nil {
		a.node = n
		w.noteAttempt(check.Asked, a)
		n.ask(a)
		return
	}
	a.node = nil
	w.noteAttempt(check.Failed, a)
	w.answered(a, answer{class: failed})
}

// upNode returns the node whose turn it is, of those that are up; not other, where there is another one.
// nil: none is up.
func (a *attempt) upNode(other *node) *node {
	nodes := a.load.world.nodes
	for range nodes {
		turn := &a.load.turns[a.client.server]
		n := nodes[*turn%int64(len(nodes))]
		*turn++
		if n.down == 0 && (n != other || len(nodes) == 1) {
			return n
		}
	}
	return nil
}

// done repeats an attempt, or ends the request.
func (w *world) done(a *attempt, o answer) {
	l := a.load
	if o.class == admitted {
		if gate := a.throttle(); gate != nil {
			gate.Accept(w.Now)
		}
		delay := micros(o.delay)
		w.waits.add(w.Now - a.first + delay)
		if a.reservation != nil {
			w.work(a, delay)
		} else if a.caller != nil && delay > 0 {
			w.queue.plan(w.Now+delay, (*turn)(a)) // before it the caller does nothing else
		} else {
			w.leave(a)
		}
		return
	}
	a.doubt = o.class == unknown
	wait, again := l.retry.Next(traffic.Failure{Attempt: a.tries, RetryAfter: o.retryAfter, Waited: a.waited}, l.retryDraw[a.client.server])
	if again && w.Now+wait < w.end {
		a.waited = wait
		w.queue.plan(w.Now+wait, a)
		return
	}
	w.Answered(a.try, false)
	if again { // the end comes first
		l.result.Waiting++
		a.client.open--
		return
	}
	for _, c := range w.counts(a) {
		c.GaveUp++
	}
	w.Goals[check.GaveUp]++
	w.leave(a)
}

// turn is the turn of an admitted caller, who has waited for its Delay.
type turn attempt

func (t *turn) happen(w *world) { w.leave((*attempt)(t)) }

// leave ends a request.
func (w *world) leave(a *attempt) {
	a.client.open--
	if c := a.caller; c != nil {
		// A microsecond at least, or a caller who never waits would stop the time.
		if next := w.Now + max(1, c.load.think(c.load.thinkDraw[a.client.server])); next < c.load.stop {
			w.queue.plan(next, c)
		}
	}
}

// throttle is the gate of the client; nil where it has none.
func (a *attempt) throttle() *traffic.Gate {
	if a.caller != nil {
		return a.caller.gate
	}
	return a.load.gate
}
