package world

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/internal/traffic"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// server is the process that keeps the states. It executes one call after the other.
type server struct {
	world    *world
	index    int
	name     string
	clock    clock
	readings check.Clock
	primary  *state
	// replicas are the states to which coming fail-overs turn, in order; underWay is
	// what they do not have yet.
	replicas []*state
	underWay fifo[replicated]

	service traffic.Delay
	draw    *random.Stream
	busy    int64    // until when it executes
	slow    int64    // µs longer that each call takes
	down    int      // faults that keep it down
	frozen  int      // faults that freeze it
	held    []action // what it is to do when it is no longer frozen
	life    int      // counts the faults that broke its connections
	behind  []*fault // because of which it executes what came earlier
	sweeps  bool
	result  result.Counts

	ids map[string]*remembered // what it remembers; see remember

	// Of the rule isolation.
	spared  bool           // it applies
	answers []loggedAnswer // without the faults of other servers: those still to come
	number  int            // answers so far
}

// state is a store and the clock it was given.
type state struct {
	clock *ManualClock
	store store.Store
}

func newServer(w *world, index int) (*server, error) {
	s := &server{world: w, index: index, name: streamOf("server", index), clock: clock{epoch: w.Epoch}}
	s.readings.Read = s.reading
	s.service = traffic.NewDelay(w.scenario.Server.Service)
	s.draw = w.streams.Stream(s.name + "/service")
	s.sweeps = !w.nodeTime && s.backward() <= grace
	var err error
	if s.primary, err = s.newState(); err != nil {
		return nil, err
	}
	for _, f := range w.scenario.Faults {
		if f.Kind != "failover" || !actsOn(f, s) {
			continue
		}
		replica, err := s.newState()
		if err != nil {
			return nil, err
		}
		s.replicas = append(s.replicas, replica)
	}
	return s, nil
}

// grace is how far, in µs, a clock may go back behind its latest reading before the life
// time of a state may decide.
const grace = 1_000_000

// streamOf names the stream of one of several: the first has no number.
func streamOf(name string, index int) string {
	if index == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, index)
}

// actsOn reports whether a fault is about a server.
func actsOn(f scenario.Fault, s *server) bool {
	return f.Servers == nil || slices.Contains(f.Servers, int64(s.index))
}

// backward returns how far the clock goes back at most, in µs.
func (s *server) backward() (most int64) {
	drift := int64(0)
	for _, f := range s.world.scenario.Faults {
		if f.Kind == "clock" && f.Of != "nodes" && actsOn(f, s) {
			most += max(0, -micros(f.Step))
			drift += max(0, -f.Drift)
		}
	}
	if drift >= 1_000_000 { // it could run backwards
		return math.MaxInt64
	}
	return most
}

func (s *server) newState() (*state, error) {
	clock := &ManualClock{At: s.clock.read(s.world.Now)}
	make := s.world.opts.NewStore
	if make == nil {
		make = func(c store.Clock) (store.Store, error) { return memorystore.New(&memorystore.Options{Clock: c}) }
	}
	made, err := make(clock)
	if err != nil {
		return nil, fmt.Errorf("sim: new store: %w", err)
	}
	state := &state{clock, made}
	s.world.states = append(s.world.states, state)
	return state, nil
}

// freeze stops the server, or lets it go on with what has reached it.
func (s *server) freeze(on bool) {
	if on {
		s.frozen++
		return
	}
	if s.frozen--; s.frozen == 0 {
		held := s.held
		s.held = nil
		for _, a := range held {
			a.happen(s.world)
		}
	}
}

// holds keeps an action for later where the server is frozen.
func (s *server) holds(a action) bool {
	if s.frozen == 0 {
		return false
	}
	s.world.Goals[check.Frozen]++
	s.held = append(s.held, a)
	return true
}

// reading is the instant at which it would decide now.
func (s *server) reading() int64 {
	if s.world.nodeTime {
		return max(s.readings.LastAt, 0)
	}
	return s.clock.read(s.world.Now)
}

// receive takes a call from the network.
func (s *server) receive(c *call) {
	w := s.world
	if s.holds((*delivery)(c)) {
		return
	}
	if s.down > 0 {
		w.noteCall(check.Refused, c.node.index, len(c.Groups))
		w.Goals[check.ServerRefused]++
		c.refused = true
		c.node.links[s.index].replies.send((*response)(c), nil)
		return
	}
	c.life = s.life
	took := s.service(s.draw) + s.slow
	if start := max(w.Now, s.busy); start+took > w.Now {
		s.busy = start + took
		w.queue.plan(s.busy, (*execution)(c))
		return
	}
	s.execute(c)
}

// receiveAgain takes the duplicate of a call, which a transport that repeats executes.
func (s *server) receiveAgain(c *call) {
	w := s.world
	if s.holds((*duplicate)(c)) {
		return
	}
	w.noteCall(check.Repeated, c.node.index, len(c.Groups))
	w.Goals[check.Duplicate]++
	if !w.scenario.Network.Repeats || s.down > 0 {
		return
	}
	for _, b := range c.Groups {
		g := b.Value
		ops := make([]store.Op, len(g.ops))
		for i := range ops {
			ops[i] = store.Op{Slot: g.ops[i].Slot, Request: g.ops[i].Request}
		}
		// The answer is the answer to the first; an error means that nothing was charged.
		again := &group{ops: ops, once: g.once, slots: g.slots, reserved: g.reserved}
		if g.once != nil { // whichever comes first is charged
			again.try = g.try
		}
		at, committed, err := s.decide(c.node.index, c.instant, again)
		if err == nil && committed && !again.remembered {
			undelivered(ops, g.slots, at, w.trueInstant())
			g.reserved.twice(ops)
		}
	}
}

// stop takes the server down: the calls that it was about to execute are lost.
func (s *server) stop() {
	s.down++
	s.life++
	s.busy = s.world.Now
	for len(s.behind) > 0 {
		s.caughtUp(s.behind[0])
	}
}

// execute decides the groups of a call one after the other, at one instant.
func (s *server) execute(c *call) {
	w := s.world
	if s.holds((*execution)(c)) {
		return
	}
	if s.life != c.life { // it went down in between
		w.noteCall(check.Lost, c.node.index, len(c.Groups))
		return
	}
	for _, b := range c.Groups {
		g := b.Value
		g.at, g.committed, g.err = s.decide(c.node.index, c.instant, g)
		g.executed = true
		if g.left && g.committed && !g.remembered {
			undelivered(g.ops, g.slots, g.at, w.trueInstant())
		}
		if w.Failure != nil {
			return
		}
	}
	c.node.links[s.index].replies.send((*response)(c), nil)
}

// decide executes one group; sent is the instant on the clock of its node.
func (s *server) decide(node int32, sent int64, g *group) (at algorithm.Instant, committed bool, err error) {
	instant := s.instant(sent)
	s.primary.clock.At = instant
	known := s.remembers(g, instant)
	at, committed, err = s.primary.apply(g.once, g.ops)
	if known != nil {
		g.remembered = true
		s.checkRemembered(g, known, at, committed, err)
		return at, committed, err
	}
	if err != nil {
		return 0, false, err
	}
	s.world.Verify(&check.Decision{
		Node: node, Given: instant, At: int64(at), Ops: g.ops, Slots: g.slots, Committed: committed, Reserved: g.reserved.known(), Try: g.awaited(),
	})
	if committed && g.once != nil && takes(g.ops) {
		s.remember(g, at)
	}
	if committed && len(s.replicas) > 0 {
		s.replicate(int64(at), g)
	}
	return at, committed, nil
}

// instant is the instant at which a call is decided.
func (s *server) instant(sent int64) int64 {
	if s.world.nodeTime {
		return sent
	}
	return s.clock.read(s.world.Now)
}

func (s *server) peek(ctx context.Context, sent int64, ops []store.Op) (algorithm.Instant, error) {
	s.primary.clock.At = s.instant(sent)
	return s.primary.store.Peek(ctx, ops)
}
