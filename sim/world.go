package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/sim/random"
)

// world is one run.
type world struct {
	scenario *Scenario
	opts     *Options
	label    string // of the limits
	streams  random.Streams

	now     int64 // true time, µs since the start
	end     int64 // of the traffic
	epoch   int64 // instant of the start
	settles int64 // the longest time from full debt to fresh
	queue   queue
	journal journal

	limits   []*limited
	together bool
	nodes    []*node
	server   *server
	loads    []*load
	faults   []*fault
	faulty   []*fault // those whose effects are not over
	states   []*state // to close
	known    map[string]*client
	order    []*client // as they came
	asks     []weir.Ask
	clients  int64 // numbers given to clients so far

	// Settings of nodes.
	mode                 weir.FailureMode
	timeout, callTimeout int64
	share, inFlight      int
	nodeTime             bool
	overall              bool // true time is measured apart
	instant              bool // messages and calls take no time
	blind                bool // a debt now says little of one later: clocks may go back

	calls     slab[call]
	flights   slab[flight]
	disturbed int // faults that act on messages
	fibers    []*fiber
	idle      []*fiber
	running   *fiber
	asking    *attempt // where no fiber runs
	over      bool
	broken    error

	checks  map[string]bool // nil is all
	failure *Failure
	goals   [goals]int64
	retries RetryAfter
	series  series
	waits   waits
	fair    fairness

	lastAt           int64 // the latest instant of a decision
	latest, earliest int64 // how far the clocks of decisions were ahead
}

func newWorld(s *Scenario, limits []Limit, opts *Options) (*world, error) {
	w := &world{
		scenario: s, opts: opts, streams: random.New(s.Seed),
		end: micros(s.Duration), together: s.Together,
		known: make(map[string]*client), journal: journal{trace: opts.Trace},
		series: newSeries(micros(s.Duration)),
	}
	start := s.Start
	if start.IsZero() {
		start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	w.epoch = start.UnixMicro()
	names := make([]string, len(limits))
	for i, l := range limits {
		limit, err := newLimited(i, l, w.end)
		if err != nil {
			return nil, fmt.Errorf("sim: limit %s: %w", l.Name, err)
		}
		names[i] = l.Name
		w.limits = append(w.limits, limit)
		w.settles = max(w.settles, limit.law.full, limit.law.period)
	}
	w.label = strings.Join(names, "+")
	w.settings()
	if err := w.populate(); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// settings fills in what was left out.
func (w *world) settings() {
	s := w.scenario
	or := func(n, usual int64) int64 {
		if n == 0 {
			return usual
		}
		return n
	}
	w.mode = map[string]weir.FailureMode{"open": weir.FailOpen, "local": weir.FailLocal}[s.Nodes.OnFailure]
	w.timeout = or(micros(s.Nodes.Timeout), 100_000)
	w.callTimeout = or(micros(s.Nodes.CallTimeout), 3_000_000)
	w.share = int(or(s.Nodes.Share, 128))
	w.inFlight = int(or(s.Nodes.InFlight, 2))
	w.nodeTime = s.Server.Clock == ofNode
	noTime := func(kind string, d time.Duration) bool { return (kind == "" || kind == "fixed") && d == 0 }
	w.instant = noTime(s.Network.Delay.Kind, s.Network.Delay.Mean) && noTime(s.Server.Service.Kind, s.Server.Service.Mean) &&
		(s.Network.Reply == nil || noTime(s.Network.Reply.Kind, s.Network.Reply.Mean))
	w.blind = w.nodeTime
	for _, f := range s.Faults {
		w.blind = w.blind || f.Kind == faultClock
	}
	w.overall = w.blind || w.mode != weir.FailClosed
	if len(s.Checks) > 0 {
		w.checks = make(map[string]bool)
		for _, name := range s.Checks {
			w.checks[name] = true
		}
	}
}

// populate makes what the world consists of, and plans what it begins with.
func (w *world) populate() error {
	s := w.scenario
	var err error
	for i := range max(s.Nodes.Count, 1) {
		n, err := newNode(w, int(i))
		if err != nil {
			return err
		}
		w.nodes = append(w.nodes, n)
	}
	if w.server, err = newServer(w); err != nil {
		return err
	}
	w.queue.plan(w.end, healing{})
	for i := range s.Faults {
		f := newFault(w, i)
		w.faults = append(w.faults, f)
		w.queue.plan(f.from, (*beginning)(f))
	}
	for i := range s.Traffic {
		l := newLoad(w, i)
		w.loads = append(w.loads, l)
		if err := l.begin(); err != nil {
			return err
		}
	}
	if w.server.sweeps {
		sweeping{}.plan(w)
	}
	return nil
}

// run lets everything happen.
func (w *world) run(ctx context.Context) error {
	for n := 0; len(w.queue.heap) > 0 && w.failure == nil && w.broken == nil; n++ {
		if n&4095 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.progress()
		}
		next := w.queue.pop()
		w.now = next.at
		next.what.happen(w)
	}
	if w.failure == nil && w.broken == nil {
		w.broken = w.probe(ctx)
	}
	return w.broken
}

// act notes an error that ends the run.
func (w *world) act(err error) {
	if err != nil && w.broken == nil {
		w.broken = err
	}
}

func (w *world) progress() {
	if w.opts.Progress == nil {
		return
	}
	p := Progress{Limit: w.label, Micros: min(w.now, w.end), DurationMicros: w.end}
	for _, l := range w.loads {
		p.Requests += l.result.Attempts
	}
	w.opts.Progress(p)
}

// close ends what waits, and closes the stores.
func (w *world) close() error {
	w.over = true
	for _, f := range w.fibers {
		f.stop()
	}
	var errs []error
	for _, l := range w.loads {
		errs = append(errs, l.close())
	}
	for _, s := range w.states {
		errs = append(errs, s.store.Close())
	}
	for _, n := range w.nodes {
		if n.local != nil {
			errs = append(errs, n.local.Close())
		}
	}
	return errors.Join(errs...)
}

// current is the attempt that is being decided.
func (w *world) current() *attempt {
	if w.running != nil {
		return w.running.asks
	}
	return w.asking
}

// reading is the instant at which the server would decide now.
func (w *world) reading() int64 {
	if w.nodeTime {
		return max(w.lastAt, 0)
	}
	return w.server.clock.read(w.now)
}

// debt is how much would be lost with a slot.
func (w *world) debt(s *slot) int64 {
	switch {
	case !s.charged:
		return 0
	case w.blind:
		return s.limit.law.capacity
	}
	return s.model.debt(w.reading())
}

// fail notes the first violation of a rule.
func (w *world) fail(rule, format string, args ...any) {
	if w.failure != nil || w.checks != nil && !w.checks[rule] {
		return
	}
	w.failure = &Failure{
		Scenario: w.scenario.Name, Seed: w.scenario.Seed, Limit: w.label,
		Rule: rule, Text: fmt.Sprintf(format, args...),
		Micros: w.now, Event: w.journal.count, Columns: EventColumns, Last: w.journal.lines(),
	}
}
