package world

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/result"
)

// loggedAnswer is an answer, when it came, and for which key.
type loggedAnswer struct {
	at  int64
	key string
	answer
}

func (e loggedAnswer) String() string {
	class := [...]string{"admitted", "denied", "failed", "unknown", "throttled"}[e.class]
	if e.degraded {
		class += " by the failure mode"
	}
	return fmt.Sprintf("%s is %s at %d µs with a retry after %v and a delay of %v", e.key, class, e.at, e.retryAfter, e.delay)
}

// isolates reports whether the rule isolation applies to some server: faults act on other
// servers and not on it, and nothing couples the keys of different servers.
func (w *world) isolates() bool {
	if w.Rules != nil && !slices.Contains(w.Rules, check.Isolation) || !slices.ContainsFunc(w.servers, w.spares) {
		return false
	}
	if w.scenario.Nodes.Breaker || w.scenario.Nodes.DenyCache > 0 {
		return false // one stream for the jitter of all breakers, and one table for all keys
	}
	for _, t := range w.scenario.Traffic {
		shared := false // what the callers of a closed loop have in common
		if t.Closed != nil {
			one := t.Keys.Kind == "" || t.Keys.Kind == "one"
			shared = !one && (t.Keys.Kind != "client" || t.Count > 0)
		}
		if shared || t.Throttle != nil {
			return false
		}
	}
	for _, f := range w.scenario.Faults { // it chooses among the keys of all servers
		if f.Kind == "eviction" && f.Servers == nil {
			return false
		}
	}
	return true
}

// spares reports whether faults act on other servers and not on this one.
func (w *world) spares(s *server) (spared bool) {
	for _, f := range w.scenario.Faults {
		if f.Servers != nil && actsOn(f, s) {
			return false
		}
		spared = spared || f.Servers != nil
	}
	return spared
}

// runApart runs the scenario without the faults of some servers: its answers are what the
// servers that these faults spare must give. Where it violates a rule, failure says so, and
// there is nothing to compare with.
func (w *world) runApart(ctx context.Context) (failure *result.Failure, err error) {
	opts := w.opts
	opts.Trace, opts.Progress = nil, nil
	base, err := newWorld(w.scenario, w.limits, opts, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, base.close()) }()
	for _, s := range base.servers {
		s.spared = w.spares(s)
	}
	if err := base.run(ctx); err != nil || base.Failure != nil {
		return base.Failure, err
	}
	for i, s := range w.servers {
		s.spared, s.answers = base.servers[i].spared, base.servers[i].answers
	}
	return nil, nil
}

// checkIsolation compares an answer of a server with the answer without the faults of
// others. Where these faults do not happen it keeps the answer.
func (s *server) checkIsolation(a *attempt, o answer) {
	w := s.world
	got := loggedAnswer{w.Now, a.client.Key, o}
	switch {
	case !s.spared || w.Failure != nil:
	case w.apart:
		s.answers = append(s.answers, got)
	case len(s.answers) == 0:
		w.Fail(check.Isolation, "answer %d of server %d: %v, and there is no such answer without the faults of other servers", s.number+1, s.index, got)
	case s.answers[0] != got:
		w.Fail(check.Isolation, "answer %d of server %d: %v, and without the faults of other servers %v", s.number+1, s.index, got, s.answers[0])
	default:
		s.answers = s.answers[1:]
		s.number++
		w.Goals[check.Spared] += check.One(slices.ContainsFunc(w.Faulty, func(f *result.Fault) bool { return f.Servers != nil }))
	}
}

// checkMissing fails where a spared server gave fewer answers than without the faults of
// others.
func (w *world) checkMissing() {
	for _, s := range w.servers {
		if s.spared && !w.apart && len(s.answers) > 0 && w.Failure == nil {
			w.Fail(check.Isolation, "server %d gave %d answers, and without the faults of other servers there is one more: %v", s.index, s.number, s.answers[0])
		}
	}
}
