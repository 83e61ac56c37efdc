package sim

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/random"
	"github.com/weirgo/weir/sim/traffic"
)

// load is one traffic of a run.
type load struct {
	Traffic
	world     *world
	retry     traffic.Retry
	retryDraw *random.Stream
	gate      *traffic.Gate // of an open stream; nil where it has none
	gateDraw  *random.Stream
	nodes     int64 // requests so far, to spread them
	result    TrafficResult

	// Of an open stream.
	number  int       // in the scenario
	trace   Recording // nil where it is none
	read    int64     // requests of the trace so far
	ended   bool      // the trace, or it cannot be read on
	planned int64     // requests of the stream so far
	source  traffic.Source
	next    traffic.Arrival
	spare   []*attempt

	// Of a closed loop.
	keys      traffic.KeyPicker
	costs     traffic.CostPicker
	think     traffic.Delay
	thinkDraw *random.Stream
	stop      int64
	left      int64
}

// attempt is a request on its way to an answer, repeats included.
type attempt struct {
	load   *load
	caller *caller // of a closed loop
	client *client
	node   *node
	cost   int64
	first  int64 // when it was made
	tries  int64
	waited int64 // before this try
	doubt  bool  // an earlier try has an unknown outcome
}

func newLoad(w *world, number int) *load {
	l := &load{Traffic: w.scenario.Traffic[number], world: w, number: number}
	l.result.Name = l.Name
	return l
}

// begin plans its first requests.
func (l *load) begin() (err error) {
	streams := l.world.streams.Under("traffic").Under(l.Name)
	l.retryDraw, l.gateDraw = streams.Stream("retry"), streams.Stream("throttle")
	if l.retry, err = traffic.NewRetry(l.Retry); err == nil {
		if l.Closed != nil {
			err = l.beginClosed(streams)
		} else {
			err = l.beginOpen(streams)
		}
	}
	return l.wrong(err)
}

// wrong names the traffic in an error: nil where there is none.
func (l *load) wrong(err error) error {
	path := fmt.Sprintf("traffic[%d]", l.number)
	if l.Closed == nil {
		path += ".process"
	}
	return inside(path, err)
}

// beginOpen starts an open stream.
func (l *load) beginOpen(streams random.Streams) (err error) {
	w := l.world
	if l.gate, err = l.newGate(); err != nil {
		return err
	}
	env := traffic.Env{Streams: streams, Epoch: w.epoch, Client: w.clients, Files: w.opts.Files}
	if l.Process.Kind == "trace" && w.opts.Traces != nil {
		if l.trace, err = w.opts.Traces(l.Process); err != nil {
			return err
		}
		env.Trace = l.record
	}
	source, err := traffic.NewSource(l.Traffic.load(), env)
	if err != nil {
		return err
	}
	w.clients += l.Process.Clients()
	l.source = traffic.Until(source, w.end)
	l.advance()
	return nil
}

func (l *load) newGate() (*traffic.Gate, error) {
	if l.Throttle == nil {
		return nil, nil
	}
	return traffic.NewGate(*l.Throttle)
}

// advance plans the next arrival of an open stream.
func (l *load) advance() {
	var more bool
	if l.next, more = l.source.Next(); more {
		l.planned++
		l.world.queue.plan(l.next.At, l)
		return
	}
	if err := traffic.Err(l.source); err != nil {
		if lines, first := l.trace.Bad(); lines > 0 {
			err = fmt.Errorf("%w (%d lines cannot be used; %s)", err, lines, first)
		}
		l.world.act(l.wrong(err))
		return
	}
	l.world.act(l.wrong(l.readOn()))
}

// record reads the next request of a trace.
func (l *load) record() (traffic.Arrival, error) {
	a, err := l.trace.Next()
	l.ended = err != nil
	if err == nil {
		l.read++
	}
	return a, err
}

// readOn counts what of a trace comes too late.
func (l *load) readOn() error {
	if l.trace == nil {
		return nil
	}
	for !l.ended {
		if _, err := l.record(); err != nil && err != io.EOF {
			return fmt.Errorf("traffic: process trace: file %s: %w", l.Process.File, err)
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
	var a *attempt
	if n := len(l.spare); n > 0 {
		a, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		a = new(attempt)
	}
	*a = attempt{load: l, client: w.clientOf(l.next.Key), cost: l.next.Cost, first: w.now}
	l.advance()
	w.arrive(a)
}

// beginClosed starts the callers of a closed loop. Each thinks first.
func (l *load) beginClosed(streams random.Streams) error {
	w := l.world
	var errs [3]error
	l.keys, errs[0] = traffic.NewKeys(l.Keys, streams.Stream("keys"))
	l.costs, errs[1] = traffic.NewCosts(l.Costs, streams.Stream("costs"))
	l.think, errs[2] = traffic.NewDelay(l.Closed.Think)
	if err := cmp.Or(errs[:]...); err != nil {
		return err
	}
	l.thinkDraw = streams.Stream("think")
	l.stop, l.left = w.end, l.Count
	if l.Stop != 0 {
		l.stop = min(l.stop, micros(l.Stop))
	}
	if l.Count == 0 {
		l.left = random.Max
	}
	for i := range l.Closed.Callers {
		c := &caller{load: l, number: w.clients + i}
		var err error
		if c.gate, err = l.newGate(); err != nil {
			return err
		}
		if begins := micros(l.Start) + l.think.Micros(l.thinkDraw); begins < l.stop {
			w.queue.plan(begins, c)
		}
	}
	w.clients += l.Closed.Callers
	return nil
}

// caller is one who waits for an answer before the next request.
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
	c.attempt = attempt{load: l, caller: c, client: w.clientOf(l.keys.Key(c.number)), cost: l.costs.Cost(), first: w.now}
	w.arrive(&c.attempt)
}

// arrive takes a new request into the world.
func (w *world) arrive(a *attempt) {
	a.load.result.Arrivals++
	for _, f := range w.faulty {
		f.result.Arrivals++
	}
	a.client.open++
	w.try(a)
}

// happen is a repeat.
func (a *attempt) happen(w *world) {
	w.goals[goalRetriedUnknown] += int64(truth(a.doubt))
	w.try(a)
}

// try makes an attempt: the next node that is up is asked.
func (w *world) try(a *attempt) {
	l := a.load
	a.tries++
	w.offered(a)
	if gate := a.throttle(); gate != nil && !gate.Pass(w.now, l.gateDraw) {
		w.goals[goalThrottled]++
		w.noteAttempt(Dropped, a)
		w.tell(a, outcome{class: throttled})
		return
	}
	for range w.nodes {
		n := w.nodes[l.nodes%int64(len(w.nodes))]
		l.nodes++
		if n.down == 0 {
			a.node = n
			w.noteAttempt(Asked, a)
			n.ask(a)
			return
		}
	}
	a.node = nil
	w.noteAttempt(Failed, a)
	w.tell(a, outcome{class: failed})
}

// done lets an attempt be repeated, or ends the request.
func (w *world) done(a *attempt, o outcome) {
	l := a.load
	if o.class == admittedNow {
		if gate := a.throttle(); gate != nil {
			gate.Accept(w.now)
		}
		w.waits.add(w.now - a.first)
		w.leave(a)
		return
	}
	a.doubt = o.class == unknown
	wait, again := l.retry.Next(traffic.Failure{Attempt: a.tries, RetryAfter: o.retryAfter, Waited: time.Duration(a.waited) * time.Microsecond}, l.retryDraw)
	if at := w.now + micros(wait); again && at < w.end {
		a.waited = micros(wait)
		w.queue.plan(at, a)
		return
	}
	if again { // the end comes first
		l.result.Waiting++
		a.client.open--
		return
	}
	l.result.GaveUp++
	for _, f := range w.faulty {
		f.result.GaveUp++
	}
	w.goals[goalGaveUp]++
	w.leave(a)
}

// leave ends a request.
func (w *world) leave(a *attempt) {
	a.client.open--
	if c := a.caller; c != nil {
		// A microsecond at least, or a caller who never waits would stop the time.
		if next := w.now + max(1, c.load.think.Micros(c.load.thinkDraw)); next < c.load.stop {
			w.queue.plan(next, c)
		}
		return
	}
	a.load.spare = append(a.load.spare, a)
}

const neverMicros = int64(algorithm.Never) / 1000

// throttle is that of who asks; nil where there is none.
func (a *attempt) throttle() *traffic.Gate {
	if a.caller != nil {
		return a.caller.gate
	}
	return a.load.gate
}
