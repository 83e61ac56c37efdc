package world

import (
	"errors"
	"fmt"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/batch"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/model"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/internal/traffic"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	memorystore "github.com/weirgo/weir/store/memory"
)

// node is a process that asks the server: the real Limiter or MultiLimiter, the real
// batcher, and a clock.
type node struct {
	world *world
	index int32
	clock clock
	down  int // crashes that last

	limiter  *weir.Limiter      // of a single limit
	multi    *weir.MultiLimiter // of several, of a policy, or of reservations
	rules    *policy.Enforcer   // of a policy
	life     int                // counts its crashes
	local    *localStore        // of the failure mode local; else nil
	settings scenario.Nodes
	jitter   *random.Stream   // of its breaker
	circuits map[string]int64 // servers for which its breaker is not closed, and since when
	leases   *leases          // nil: there are none

	limits  batch.Limits
	batcher *batch.Batcher[*group]
	links   []*connection // to each server
}

// Errors of the simulated client.
var (
	errCrashed       = errors.New("sim: the node has crashed, and what it asked may be charged")
	errCrashedBefore = errors.New("sim: the node has crashed before it sent anything")
)

func newNode(w *world, index int, settings scenario.Nodes) (*node, error) {
	n := &node{world: w, index: int32(index)}
	name := fmt.Sprintf("nodes/%d", index)
	draw := w.streams.Stream(name + "/clock")
	skew := micros(settings.Skew)
	n.clock = clock{epoch: w.Epoch, off: draw.Uniform(-skew, skew), drift: draw.Uniform(-settings.Drift, settings.Drift)}
	if w.ClocksDiffer || w.ClocksDrift {
		w.clocks = append(w.clocks, result.Clock{AheadMicros: n.clock.off, DriftMicros: n.clock.drift})
	}
	delay := traffic.NewDelay(w.scenario.Network.Delay)
	back := delay
	if w.scenario.Network.Reply != nil {
		back = traffic.NewDelay(*w.scenario.Network.Reply)
	}
	for i := range w.servers {
		c := &connection{}
		c.requests = link{of: c, world: w, node: n.index, server: i, delay: delay, draw: w.streams.Stream(streamOf(name+"/requests", i))}
		c.replies = link{of: c, world: w, node: n.index, server: i, delay: back, draw: w.streams.Stream(streamOf(name+"/replies", i))}
		c.callers = timeouts[*group]{world: w, after: w.timeout, done: func(g *group) bool { return g.answered }, expire: n.expireCaller}
		c.calls = timeouts[*call]{world: w, after: micros(settings.CallTimeout), done: func(c *call) bool { return c.done }, expire: n.expireCall}
		n.links = append(n.links, c)
	}
	inFlight := int(settings.InFlight)
	n.limits = batch.Limits{Groups: int(settings.Share), Keys: 1000, Queue: inFlight, Node: inFlight, Abandoned: inFlight}
	n.settings = settings
	n.jitter = w.streams.Stream(name + "/breaker")
	return n, n.boot()
}

// boot starts the process.
func (n *node) boot() error {
	w := n.world
	n.batcher = batch.New[*group](n.limits)
	n.circuits = make(map[string]int64)
	opts := &weir.Options{OnFailure: w.mode}
	var err error
	if w.mode == weir.FailLocal || w.governed != nil {
		n.local = &localStore{node: n, models: make(map[place]model.Model), limits: make(map[localState]int32), followed: make(map[localState]bool)}
		inner, err := memorystore.New(&memorystore.Options{Clock: &n.local.clock})
		if err != nil {
			return fmt.Errorf("sim: local store: %w", err)
		}
		n.local.Store = inner
		if w.mode == weir.FailLocal {
			opts.Local = n.local
		}
		if w.scenario.Nodes.LocalShare > 0 && w.governed == nil {
			if opts.Local, err = w.opts.Decorators.share(n.local, w.share); err != nil {
				return fmt.Errorf("sim: local share: %w", err)
			}
		}
	}
	if w.governed != nil {
		return n.bootGoverned()
	}
	states, err := n.decorate(n.settings)
	if err != nil {
		return err
	}
	if beneath := w.opts.Beneath; beneath != nil && w.Reserves {
		states = beneath(states)
	}
	if o := w.scenario.Nodes.Lease; o != nil {
		if n.leases, err = newLeases(n, states, *o); err != nil {
			return err
		}
		states = n.leases.Lease
		n.leases.planSweep()
	}
	if w.together || w.Reserves {
		opts.IDTTL, opts.SettleIntoDebt = n.settings.IDTTL, n.settings.SettleIntoDebt
		n.multi, err = weir.NewMultiLimiter(states, opts)
	}
	if err == nil && !w.together {
		n.limiter, err = weir.New(states, named(w.Limits[0]), opts)
	}
	if err != nil {
		return fmt.Errorf("sim: node: %w", err)
	}
	return nil
}

// named is a limit as a Limiter takes it.
func named(l *check.Limit) weir.Limit { return weir.Limit{Name: l.Name, Algorithm: l.Algorithm} }

// crash ends the process: its callers get an error, and its memory is lost.
func (n *node) crash() error {
	n.life++
	for _, link := range n.links {
		for _, g := range link.callers.drain() {
			err := errCrashed
			if !g.batched.Sent() {
				err = errCrashedBefore
			}
			g.leave(n.world.trueInstant(), err)
		}
		for _, c := range link.calls.drain() {
			c.end()
		}
	}
	n.world.Crashes++
	if n.local != nil {
		if err := n.local.Close(); err != nil {
			return fmt.Errorf("sim: local store: %w", err)
		}
	}
	return n.boot()
}

// decide runs an attempt through the code under test.
func (n *node) decide(a *attempt) {
	w := n.world
	if w.governed != nil {
		n.decideGoverned(a)
		return
	}
	if a.reservation != nil && (a.reservation.settling || !a.reservation.WithoutIDs) {
		n.reserve(a)
		return
	}
	if w.together {
		w.asks = w.asks[:0]
		for i, l := range w.Limits {
			w.asks = append(w.asks, named(l).ForN(a.client.slots[i].Key, a.cost))
		}
		r, err := n.multi.Take(w.context(), w.asks...)
		a.reservation.took(&r, err)
		w.decidedTogether(a, &r, err)
		return
	}
	d, err := n.limiter.AllowN(w.context(), a.client.slots[0].Key, a.cost)
	a.reservation.took(&weir.Result{Allowed: d.Allowed, Decisions: []weir.Decision{d}}, err)
	w.decided(a, &d, err)
}

// immediate reports whether an attempt is decided without waiting: messages to the one
// server take no time, no fault acts on them, and no caller waits.
func (n *node) immediate() bool {
	w := n.world
	return w.instant && w.disturbed == 0 && len(n.links[0].callers.left()) == 0
}

// ask starts an attempt.
func (n *node) ask(a *attempt) {
	a.node = n
	immediate := n.immediate()
	if a.begin(immediate); !immediate {
		n.world.start(a)
		return
	}
	n.world.asking = a
	n.decide(a)
	n.world.asking = nil
}

// enqueue adds a group to the batcher, and sends the calls that may leave.
func (n *node) enqueue(g *group) {
	g.batched.Value = g
	g.batched.Init(len(g.ops))
	s := n.world.serverOf(g.slots)
	tag, at := "", "" // with several servers only requests of one key share a call
	if len(n.world.servers) > 1 {
		tag, at = g.slots[0].Key, s.name
		if n.world.opts.OneNode {
			at = "one"
		}
	}
	n.batcher.Enqueue(tag, at, &g.batched)
	n.links[s.index].callers.add(g)
	n.flush()
}

// flush sends the calls that may leave now.
func (n *node) flush() {
	w := n.world
	for {
		c := &call{node: n, instant: n.clock.read(w.Now)}
		if !n.batcher.Next(&c.Call) {
			return
		}
		c.server = w.serverOf(c.Groups[0].Value.slots)
		if len(c.Groups) > 1 {
			w.Goals[check.Shared]++
		}
		w.noteCall(check.Sent, n.index, len(c.Groups))
		link := n.links[c.server.index]
		link.calls.add(c)
		link.requests.send((*delivery)(c), (*duplicate)(c))
	}
}

// receive takes the answer to a call.
func (n *node) receive(c *call) {
	w := n.world
	if c.done {
		w.Goals[check.LateReply]++
		return
	}
	c.end()
	n.batcher.Done(&c.Call, true)
	for _, b := range c.Groups {
		g := b.Value
		if g.left {
			w.Goals[check.LateReply]++
			continue
		}
		g.answered = true
		if c.refused {
			g.err = errRefused
		}
		g.coroutine.resume()
	}
	n.flush()
}

// expireCaller ends the wait of a caller: before its group was sent nothing has happened,
// after it the outcome is unknown.
func (n *node) expireCaller(g *group) {
	if !n.batcher.Cancel(&g.batched) {
		n.batcher.Leave(&g.batched)
		g.leave(n.world.trueInstant(), errLate)
		n.flush()
		return
	}
	n.world.Goals[check.LeftUnsent]++
	g.leave(n.world.trueInstant(), errUnsent)
}

// expireCall gives up a call that was not answered.
func (n *node) expireCall(c *call) {
	c.end()
	n.links[c.server.index].revive(n.world) // the client trusts no connection of that age
	n.world.Goals[check.CallGivenUp]++
	n.batcher.Done(&c.Call, false)
	for _, b := range c.Groups {
		if g := b.Value; !g.answered {
			g.leave(n.world.trueInstant(), errLate)
		}
	}
	n.flush()
}
