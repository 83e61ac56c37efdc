package world

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
)

// Decorators make the decorators of package resilience. Tests plant mistakes in them; nil is
// the real one.
type Decorators struct {
	Breaker   func(inner store.Store, opts *resilience.BreakerOptions) (store.Store, error)
	DenyCache func(inner store.Store, opts *resilience.DenyCacheOptions) (store.Store, error)
	Share     func(local store.Store, processes func() int64) (store.Store, error)
}

func (d Decorators) breaker(inner store.Store, opts *resilience.BreakerOptions) (store.Store, error) {
	if d.Breaker != nil {
		return d.Breaker(inner, opts)
	}
	return resilience.NewBreaker(inner, opts)
}

func (d Decorators) denyCache(inner store.Store, opts *resilience.DenyCacheOptions) (store.Store, error) {
	if d.DenyCache != nil {
		return d.DenyCache(inner, opts)
	}
	return resilience.NewDenyCache(inner, opts)
}

func (d Decorators) share(local store.Store, processes func() int64) (store.Store, error) {
	if d.Share != nil {
		return d.Share(local, processes)
	}
	return resilience.NewShare(local, processes, nil)
}

// resilient is the way from the limiter of a node to the server: through a deny cache and a
// breaker, where the scenario has them. It checks what they answer by themselves.
type resilient struct {
	store.Store // the outermost decorator
	node        *node
	slow        int64 // µs, from which on the breaker counts a call as failed
	breaker     bool
	states      map[string]resilience.BreakerState // by server
	failed      map[string]int64                   // true time of the latest call that failed, by server
	probes      map[string]int64                   // when the probe was sent that is in flight
}

// decorate returns the way to the server, and remote itself where nothing is on it.
func (n *node) decorate(settings scenario.Nodes) (store.Store, error) {
	if !settings.Breaker && settings.DenyCache == 0 {
		return &remote{n}, nil
	}
	r := &resilient{
		node: n, breaker: settings.Breaker, slow: micros(settings.Timeout / 2),
		states: make(map[string]resilience.BreakerState), failed: make(map[string]int64), probes: make(map[string]int64),
	}
	var err error
	r.Store = &watched{remote{n}, r}
	if settings.Breaker {
		if r.Store, err = n.world.opts.Decorators.breaker(r.Store, &resilience.BreakerOptions{
			SlowCall: max(1, settings.Timeout/2), Clock: wall{n}, Random: n.jitter.N, OnTransition: r.turned,
		}); err != nil {
			return nil, fmt.Errorf("sim: breaker: %w", err)
		}
	}
	if settings.DenyCache > 0 {
		if r.Store, err = n.world.opts.Decorators.denyCache(r.Store, &resilience.DenyCacheOptions{
			MaxEntries: int(settings.DenyCache), Clock: wall{n},
		}); err != nil {
			return nil, fmt.Errorf("sim: deny cache: %w", err)
		}
	}
	return r, nil
}

// wall is the clock of a node, for the code that runs on it.
type wall struct{ node *node }

// Now implements store.Clock.
func (w wall) Now() time.Time { return time.UnixMicro(w.node.clock.read(w.node.world.Now)) }

var _ store.Featured = (*resilient)(nil)

// Features implements store.Featured.
func (r *resilient) Features() store.Features { return store.Features{Owner: r, NoIO: true} }

// Apply implements store.Store.
func (r *resilient) Apply(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	w := r.node.world
	if w.over { // an Enforcer goes on after an error
		return 0, false, store.ErrClosed
	}
	a := w.current()
	a.reached = false
	at, committed, err = r.Store.Apply(ctx, ops)
	switch {
	case w.over:
	case errors.Is(err, resilience.ErrOpen):
		r.refused(w.serverOf(w.slotsOf(ops)).name)
	case err == nil && !a.reached:
		w.Cached(ops, w.slotsOf(ops))
	}
	return at, committed, err
}

// turned notes a change of state of the breaker.
func (r *resilient) turned(t resilience.BreakerTransition) {
	w := r.node.world
	r.states[t.Node] = t.To
	if t.From == resilience.BreakerClosed {
		r.node.circuits[t.Node] = w.Now
	}
	switch t.To {
	case resilience.BreakerOpen:
		w.Goals[check.CircuitOpened]++
		if sent, probing := r.probes[t.Node]; probing && w.Now-sent > leastOpen-leastOpen/10 {
			r.failed[t.Node] = w.Now // a probe without an end has failed
		}
	case resilience.BreakerClosed:
		w.Goals[check.CircuitClosed]++
		r.node.closed(t.Node)
	}
	e := w.Journal.Next(check.Circuit, w.Now, r.node.index)
	e.Note = t.To.String()
	w.Journal.Add(e, 0)
}

// How long, in µs of its own clock, a breaker is open: from a call that has failed to the next
// probe. A clock that drifts is off by a tenth at most.
const leastOpen, longestOpen = 4_000_000, 6_000_000

// refused checks that the breaker does not refuse for ever.
func (r *resilient) refused(server string) {
	w := r.node.world
	w.Goals[check.CircuitRefused]++
	if r.states[server] == resilience.BreakerClosed {
		w.Fail(check.Breaker, "node %d refuses a call while its breaker is closed", r.node.index)
	}
	if since := w.Now - r.failed[server]; r.states[server] == resilience.BreakerOpen && since > longestOpen+longestOpen/10 && !w.ClocksVary {
		w.Fail(check.Breaker, "the breaker of node %d is open %d µs after the last call that failed", r.node.index, since)
	}
}

// watched is the server as the decorators of a node see it.
type watched struct {
	remote
	way *resilient
}

var _ store.Featured = (*watched)(nil)

// Features implements store.Featured.
func (s *watched) Features() store.Features {
	f := store.Features{Owner: s, NoIO: true}
	if len(s.node.world.servers) > 0 {
		f.Node = s.server
	}
	return f
}

// server names the server of the request that is decided now: its keys are of no other.
func (s *watched) server(string) string {
	w := s.node.world
	if w.governed != nil {
		return w.servers[0].name // there is one
	}
	if a := w.current(); a != nil {
		return w.serverOf(a.client.slots).name
	}
	return w.peeked.name
}

// Apply implements store.Store.
func (s *watched) Apply(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	w := s.node.world
	a := w.current()
	a.reached = true
	server := w.serverOf(w.slotsOf(ops)).name
	switch s.way.states[server] {
	case resilience.BreakerOpen:
		w.Fail(check.Breaker, "a call of node %d reaches a server for which its breaker is open", s.node.index)
	case resilience.BreakerHalfOpen:
		w.Goals[check.Probed]++
		s.way.probes[server] = w.Now
	}
	began := w.Now
	at, committed, err = s.remote.Apply(ctx, ops)
	if s.way.probes[server] == began {
		delete(s.way.probes, server)
	}
	if err != nil || w.Now-began > s.way.slow-s.way.slow/10 {
		s.way.failed[server] = w.Now
	}
	return at, committed, err
}
