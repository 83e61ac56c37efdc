package sim

import (
	"context"
	"fmt"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/random"
	"github.com/weirgo/weir/sim/traffic"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// server is the process that keeps the states. It executes one call after the other.
type server struct {
	world   *world
	clock   clock
	primary *state
	// replicas are the states to which coming fail-overs turn, in order; under way is
	// what they do not have yet.
	replicas []*state
	underWay waitlist[replicated]

	service traffic.Delay
	draw    *random.Stream
	busy    int64 // until when it executes
	slow    int64 // µs longer that each call takes
	down    int   // faults that keep it down
	life    int   // counts those that broke its connections
	sweeps  bool
}

// state is a store and the clock it was given.
type state struct {
	hand  *hand
	store store.Store
}

// replicated is a step that replicas are to make.
type replicated struct {
	at        int64
	ops       []store.Op
	slots     []*slot      // of ops
	forgotten []store.Slot // nil for a step of ops
}

func newServer(w *world) (*server, error) {
	s := &server{world: w, clock: clock{epoch: w.epoch}}
	s.service = delayOf(w.scenario.Server.Service)
	s.draw = w.streams.Stream("server/service")
	s.sweeps = w.opts.NewStore == nil && !w.nodeTime
	failovers := 0
	for _, f := range w.scenario.Faults {
		if f.Kind == faultFailover {
			failovers++
		}
		s.sweeps = s.sweeps && f.Kind != faultClock
	}
	var err error
	if s.primary, err = s.newState(); err != nil {
		return nil, err
	}
	for range failovers {
		replica, err := s.newState()
		if err != nil {
			return nil, err
		}
		s.replicas = append(s.replicas, replica)
	}
	return s, nil
}

func (s *server) newState() (*state, error) {
	h := &hand{at: s.clock.read(s.world.now)}
	make := s.world.opts.NewStore
	if make == nil {
		make = func(c store.Clock) (store.Store, error) { return memorystore.New(&memorystore.Options{Clock: c}) }
	}
	made, err := make(h)
	if err != nil {
		return nil, fmt.Errorf("sim: new store: %w", err)
	}
	state := &state{h, made}
	s.world.states = append(s.world.states, state)
	return state, nil
}

// receive takes a call from the network.
func (s *server) receive(f *flight) {
	w := s.world
	if s.down > 0 {
		w.noteCall(Refused, f.node.index, len(f.batch.Groups))
		w.goals[goalRefused]++
		f.refused = true
		f.node.replies.send((*response)(f), nil)
		return
	}
	f.server = s.life
	took := s.service.Micros(s.draw) + s.slow
	if start := max(w.now, s.busy); start+took > w.now {
		s.busy = start + took
		w.queue.plan(s.busy, (*execution)(f))
		return
	}
	s.execute(f)
}

// receiveAgain takes the duplicate of a call, which a transport that repeats executes.
func (s *server) receiveAgain(f *flight) {
	w := s.world
	w.noteCall(Repeated, f.node.index, len(f.batch.Groups))
	w.goals[goalDuplicate]++
	if !w.scenario.Network.Repeats || s.down > 0 {
		return
	}
	for _, g := range f.batch.Groups {
		c := g.Value
		ops := make([]store.Op, len(c.ops))
		for i := range ops {
			ops[i] = store.Op{Slot: c.ops[i].Slot, Request: c.ops[i].Request}
		}
		// The answer is that to the first; an error means that nothing was charged.
		at, committed, err := s.decide(f.node.index, f.instant, ops, c.slots)
		if err == nil && committed {
			again := call{ops: ops, slots: c.slots, at: at}
			again.unheard(w.epoch + w.now)
		}
	}
}

// stop takes the server down: what it was about to execute is gone.
func (s *server) stop() {
	s.down++
	s.life++
	s.busy = s.world.now
}

// execute decides the groups of a call one after the other, at one instant.
func (s *server) execute(f *flight) {
	if s.life != f.server { // it went down in between
		s.world.noteCall(Vanished, f.node.index, len(f.batch.Groups))
		return
	}
	for _, g := range f.batch.Groups {
		c := g.Value
		c.at, c.committed, c.err = s.decide(f.node.index, f.instant, c.ops, c.slots)
		c.executed = true
		if c.left && c.committed {
			c.unheard(s.world.epoch + s.world.now)
		}
		if s.world.failure != nil {
			return
		}
	}
	f.node.replies.send((*response)(f), nil)
}

// decide executes one group.
func (s *server) decide(node int32, sent int64, ops []store.Op, slots []*slot) (at algorithm.Instant, committed bool, err error) {
	w := s.world
	instant := sent
	if !w.nodeTime {
		instant = s.clock.read(w.now)
	}
	s.primary.hand.at = instant
	at, committed, err = s.primary.store.Apply(context.Background(), ops)
	if err != nil {
		return 0, false, err
	}
	w.verify(&decision{node: node, given: instant, at: int64(at), ops: ops, slots: slots, committed: committed})
	if committed && len(s.replicas) > 0 {
		s.replicate(int64(at), ops, slots)
	}
	return at, committed, nil
}

func (s *server) peek(ctx context.Context, sent int64, ops []store.Op) (algorithm.Instant, error) {
	s.primary.hand.at = sent
	if !s.world.nodeTime {
		s.primary.hand.at = s.clock.read(s.world.now)
	}
	return s.primary.store.Peek(ctx, ops)
}
