// Package world is the simulated world: processes with limiters, a network, a server,
// the callers, and the faults between them, on one virtual clock.
package world

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/internal/traffic"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
)

// Options are what a run takes from outside; see sim.Options. All fields may be nil.
type Options struct {
	NewStore func(clock store.Clock) (store.Store, error)
	Progress func(limit string, micros, requests int64)
	Trace    func(*result.Event)
	Files    fs.FS
	Traces   func(scenario.Process) (Recording, error)

	// Decorators plant mistakes in the decorators of the nodes, for tests.
	Decorators Decorators

	// Decide, where it is not nil, answers in place of the Enforcer of a node, for tests.
	Decide func(context.Context, *policy.Enforcer, policy.Request) (policy.Verdict, error)
	// OneNode plants a mistake, for tests: clients do not tell servers apart, so that
	// the calls to all of them share the bounds of one.
	OneNode bool

	// Beneath plants a mistake, for tests: it wraps the store that a Lease asks, or that reservations are
	// made in.
	Beneath func(store.Store) store.Store
}

// Recording is an opened trace; see sim.Recording.
type Recording interface {
	Next() (at int64, key string, cost int64, err error)
	Bad() (lines int64, first string)
	Close() error
}

// Run runs a valid scenario with some of its limits.
func Run(ctx context.Context, s *scenario.Scenario, limits []scenario.Limit, opts Options) (r *result.Result, err error) {
	w, err := newWorld(s, limits, opts, false)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := w.close(); err == nil && closed != nil {
			r, err = nil, closed
		}
	}()
	var apart *result.Failure
	if w.isolates() {
		if apart, err = w.runApart(ctx); err != nil {
			return nil, err
		}
	}
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	if w.Failure == nil {
		w.Failure = apart
	}
	return w.result(), nil
}

// world is one run.
type world struct {
	*check.Checker // its Now is the virtual time
	scenario       *scenario.Scenario
	opts           Options
	limits         []scenario.Limit
	label          string // of the limits
	streams        random.Streams

	end     int64 // of the traffic, µs since the start
	settles int64 // the longest time from full debt to fresh
	queue   queue

	nodes   []*node
	clocks  []result.Clock // of nodes at the start, where they differ
	servers []*server
	loads   []*load
	faults  []*fault
	states  []*state // to close

	governed *governed // nil where no policy decides

	reservations []*reservation // in the order in which they were made

	known    map[string]*client
	order    []*client // as they came
	asks     []weir.Ask
	clients  int64 // numbers given to clients so far
	fairness fairness

	mode      weir.FailureMode
	timeout   int64 // of callers
	together  bool
	nodeTime  bool // calls carry the time of their node
	instant   bool // messages and calls take no time
	disturbed int  // faults that act on messages

	coroutines []*coroutine
	idle       []*coroutine
	running    *coroutine
	asking     *attempt  // where no coroutine runs
	immediate  check.Try // of asking
	peeked     *server   // at the end
	apart      bool      // faults of some servers do not happen
	over       bool
	broken     error

	series  series
	waits   waits
	counted []*result.Counts // of counts
}

func newWorld(s *scenario.Scenario, limits []scenario.Limit, opts Options, apart bool) (*world, error) {
	end := micros(s.Duration)
	w := &world{
		scenario: s, limits: limits, opts: opts, streams: random.New(s.Seed),
		end: end, together: s.Together, apart: apart,
		known: make(map[string]*client),
		Checker: &check.Checker{
			Epoch: scenario.Complete(*s).Start.UnixMicro(), Journal: check.Journal{Trace: opts.Trace}, Rules: s.Checks,
		},
	}
	var names []string
	for i, l := range limits {
		limit, err := check.NewLimit(i, l, w.end)
		if err != nil {
			return nil, fmt.Errorf("sim: limit %s: %w", l.Name, err)
		}
		names = append(names, l.Name)
		w.Limits = append(w.Limits, limit)
		w.settles = max(w.settles, limit.Full, limit.Period)
	}
	w.label = strings.Join(names, "+")
	if s.Policy == "" {
		w.series = newSeries(end, w.Limits[0].Period)
	} else if err := w.govern(); err != nil {
		return nil, err
	}
	w.settings()
	if w.mode == weir.FailLocal {
		for _, l := range w.Limits {
			var err error
			if l.Local, err = check.NewLocalLimit(l, w.share()); err != nil {
				return nil, fmt.Errorf("sim: limit %s: a share of it: %w", l.Name, err)
			}
		}
	}
	if err := w.populate(); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *world) settings() {
	s := w.scenario
	nodes := scenario.Complete(s.Nodes)
	w.mode = map[string]weir.FailureMode{"open": weir.FailOpen, "local": weir.FailLocal}[nodes.OnFailure]
	w.timeout = micros(nodes.Timeout)
	w.nodeTime = s.Server.Clock == "node"
	// With several servers the faults of one must not change the order of what happens at
	// another in the same microsecond.
	w.instant = scenario.Complete(s.Server).Count == 1 && traffic.Always(s.Network.Delay, 0) && traffic.Always(s.Server.Service, 0) &&
		(s.Network.Reply == nil || traffic.Always(*s.Network.Reply, 0))
	w.ClocksVary = w.nodeTime || slices.ContainsFunc(s.Faults, func(f scenario.Fault) bool { return f.Kind == "clock" })
	w.Measure = w.ClocksVary || w.mode != weir.FailClosed || w.governed != nil
	w.ClocksDiffer, w.ClocksDrift = nodes.Skew > 0 || nodes.Drift > 0, nodes.Drift > 0
	w.Nodes = nodes.Count
	w.Reserves = slices.ContainsFunc(s.Traffic, func(t scenario.Traffic) bool { return t.Reserve != nil })
	if nodes.Lease != nil {
		w.Leased = &check.Leased{Late: micros(scenario.Complete(*nodes.Lease).Life) + w.timeout}
	}
}

// share is the k of a local store that gives 1/k of each limit.
func (w *world) share() int64 { return max(1, w.scenario.Nodes.LocalShare) }

// populate makes what the world consists of, and plans the first actions.
func (w *world) populate() error {
	s := w.scenario
	for i := range scenario.Complete(s.Server).Count {
		v, err := newServer(w, int(i))
		if err != nil {
			return err
		}
		w.servers = append(w.servers, v)
		w.Servers = append(w.Servers, &v.readings)
	}
	nodes := scenario.Complete(s.Nodes)
	for i := range nodes.Count {
		n, err := newNode(w, int(i), nodes)
		if err != nil {
			return err
		}
		w.nodes = append(w.nodes, n)
	}
	w.queue.plan(w.end, healing{})
	for i := range s.Faults {
		f := newFault(w, i)
		w.faults = append(w.faults, f)
		if f.Servers == nil || !w.apart {
			w.queue.plan(f.result.FromMicros, (*beginning)(f))
		}
	}
	for i := range s.Traffic {
		l := newLoad(w, i)
		w.loads = append(w.loads, l)
		if err := l.begin(); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(w.servers, func(s *server) bool { return s.sweeps }) {
		sweeping{}.plan(w)
	}
	return nil
}

// run performs all actions, each at its time.
func (w *world) run(ctx context.Context) error {
	for n := 0; len(w.queue.heap) > 0 && w.Failure == nil && w.broken == nil; n++ {
		if n&4095 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.progress()
		}
		next := w.queue.pop()
		w.Now = next.at
		next.what.happen(w)
	}
	if w.Failure == nil && w.broken == nil {
		w.broken = w.settle(ctx)
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
	requests := int64(0)
	for _, l := range w.loads {
		requests += l.result.Attempts
	}
	w.opts.Progress(w.label, min(w.Now, w.end), requests)
}

// close ends what waits, and closes the stores.
func (w *world) close() error {
	w.over = true
	for _, c := range w.coroutines {
		c.stop()
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
		return w.running.attempt
	}
	return w.asking
}

// serverOf returns the server that has the states of a request.
func (w *world) serverOf(slots []*check.Slot) *server { return w.servers[slots[0].Server] }

// slotsOf returns the slots of ops that the present attempt asks for.
func (w *world) slotsOf(ops []store.Op) []*check.Slot {
	if w.governed != nil {
		return w.governed.slotsOf(ops)
	}
	if w.Leased != nil {
		return w.leasedSlots(ops)
	}
	return w.current().client.slots
}

// trueInstant is the present instant of true time.
func (w *world) trueInstant() int64 { return w.Epoch + w.Now }

func micros(d time.Duration) int64 { return int64(d / time.Microsecond) }

// noteAttempt adds an event of an attempt to the journal.
func (w *world) noteAttempt(kind check.Kind, a *attempt) {
	w.Journal.Add(w.event(kind, a), a.client.hash)
}

// event begins an event of an attempt.
func (w *world) event(kind check.Kind, a *attempt) *result.Event {
	node := int32(-1)
	if a.node != nil {
		node = a.node.index
	}
	e := w.Journal.Next(kind, w.Now, node)
	e.Key, e.Cost = a.client.Key, a.cost
	return e
}

// noteCall adds an event of a call with that many groups.
func (w *world) noteCall(kind check.Kind, node int32, groups int) {
	e := w.Journal.Next(kind, w.Now, node)
	e.Cost = int64(groups)
	w.Journal.Add(e, 0)
}
