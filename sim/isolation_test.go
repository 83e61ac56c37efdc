package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/world"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// islands is three servers, and callers whose keys lie on all of them.
const islands = `
name: islands
duration: 20s
seed: 4
limits:
  - {name: gcra, spec: "gcra:20/1s,burst=10"}
nodes: {count: 2}
network: {delay: {kind: exponential, mean: 1ms}}
server: {count: 3, service: {kind: exponential, mean: 100us}, lag: 100ms}
traffic:
  - name: users
    process: {kind: poisson, rate: 300/1s}
    keys: {kind: uniform, n: 30}
    retry: {kind: full-jitter, attempts: 3}
  - name: loop
    closed: {callers: 6, think: {kind: exponential, mean: 20ms}}
    keys: {kind: client}
    costs: {kind: geometric, mean: 2}
    retry: {kind: obey, jitter: 10ms}
`

// TestFaultsOfAServerStayThere: whatever happens to one server, requests for keys of
// another end in the same way at the same time, also where faults of all servers act.
func TestFaultsOfAServerStayThere(t *testing.T) {
	for n, fault := range []string{
		"{kind: freeze, at: 5s, for: 5s, servers: [1]}",
		"{kind: dead, at: 5s, servers: [1]}",
		"{kind: down, at: 5s, for: 5s, servers: [1]}",
		"{kind: partition, at: 5s, for: 5s, servers: [0, 1]}",
		"{kind: slow, at: 5s, for: 5s, delay: 50ms, servers: [2]}",
		"{kind: restart, at: 5s, for: 1s, data: lost, servers: [1]}",
		"{kind: failover, at: 5s, for: 1s, servers: [1]}",
		"{kind: clock, at: 5s, step: -3s, servers: [1]}",
		"{kind: loss, at: 5s, for: 5s, rate: 50%, servers: [1]}",
		"{kind: eviction, at: 5s, for: 5s, every: 10ms, servers: [1]}",
		"{kind: duplication, at: 5s, for: 5s, rate: 50%, servers: [1]}",
		"{kind: reordering, at: 5s, for: 5s, rate: 50%, delay: 20ms, servers: [1]}",
	} {
		if testing.Short() && n%4 > 0 {
			continue
		}
		for i, mode := range []string{"closed", "local"} {
			s := parsed(t, islands+"faults:\n  - "+fault+"\n"+[]string{"", `
  - {kind: loss, rate: 5%}
  - {kind: duplication, rate: 5%}
  - {kind: reordering, rate: 5%, delay: 10ms}
  - {kind: crash, at: 7s, for: 1s, nodes: [1]}
  - {kind: clock, of: nodes, at: 7s, step: 1s}
`}[i])
			s.Nodes.OnFailure = mode
			r := ran(t, s, nil)[0]
			if f := r.Faults[0]; f.Attempts == 0 {
				t.Errorf("%s: nothing is asked in its time", fault)
			}
			if goalOf(r, check.Spared) == 0 {
				t.Errorf("%s: nothing was compared", fault)
			}
		}
	}
}

// TestFrozenServersAndDeadConnections: what callers of the server see, and for how long.
func TestFrozenServersAndDeadConnections(t *testing.T) {
	for kind, want := range map[string]check.Goal{"freeze, for: 5s": check.Frozen, "dead": check.ConnectionDead} {
		s := parsed(t, islands+fmt.Sprintf("faults:\n  - {kind: %s, at: 5s, servers: [1]}\n", kind))
		s.Traffic = s.Traffic[:1]
		r := ran(t, s, nil)[0]
		lost := func(c *result.Counts) int64 { return c.Unknown + c.Errors }
		if goalOf(r, want) == 0 || lost(&r.Totals) == 0 {
			t.Errorf("%s: nothing happened: %+v", kind, r.Totals)
		}
		if len(r.Servers) != 3 || lost(&r.Servers[0])+lost(&r.Servers[2]) != 0 || lost(&r.Servers[1]) != lost(&r.Totals) {
			t.Errorf("%s: %+v", kind, r.Servers)
		}
		// A third of 300 requests a second are for keys of the server. A dead connection lasts
		// until its first call is given up, after 3 s.
		if lost(&r.Totals) > 4*100*8 {
			t.Errorf("%s: %d attempts failed", kind, lost(&r.Totals))
		}
		failed := r.Series.Failed
		if last := failed[len(failed)/2+len(failed)/20:]; sum(last) != 0 {
			t.Errorf("%s: attempts fail long after it", kind)
		}
	}
}

// failsIsolation runs a scenario with clients that do not tell servers apart, and returns
// how it violates the rule.
func failsIsolation(t *testing.T, s *scenario.Scenario) *result.Failure {
	t.Helper()
	one := *s
	one.Checks = []string{check.Isolation}
	size := 1
	if s.Together {
		size = len(s.Limits)
	}
	r, err := world.Run(t.Context(), &one, s.Limits[:size], world.Options{OneNode: true})
	if err != nil {
		t.Fatal(err)
	}
	return r.Failure
}

// TestCallsHeldUpBehindAFrozenServerAreCaught: where the calls to all servers have one
// bound, those to a frozen server take the places of the others. The rule isolation sees
// it, also in scenarios of exploration, and what is left after shrinking shows it.
func TestCallsHeldUpBehindAFrozenServerAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a scenario is made smaller, and seeds are searched")
	}
	s := parsed(t, islands+"faults:\n  - {kind: freeze, at: 5s, for: 5s, servers: [1]}\n  - {kind: loss, rate: 1%}\n")
	f := failsIsolation(t, s)
	if f == nil || f.Rule != check.Isolation || len(f.Last) == 0 || f.Micros < 5_000_000 || f.Micros > 6_000_000 {
		t.Fatalf("%+v", f)
	}
	if !strings.Contains(f.Text, "without the faults of other servers") {
		t.Error(f.Text)
	}
	violates := func(s *scenario.Scenario) bool { return failsIsolation(t, s) != nil }
	small := scenario.Shrink(s, violates)
	text, err := small.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if !violates(small) || len(small.Faults) != 1 || len(small.Traffic) != 1 || small.Nodes.Count > 1 || small.Server.Count > 3 || len(small.Faults[0].Servers) != 1 {
		t.Errorf("this is left:\n%s", text)
	}
	for seed := uint64(100); ; seed++ {
		if seed == 300 {
			t.Fatal("200 seeds do not see it")
		}
		if s := scenario.Generate(seed); violates(s) {
			break
		}
	}
}
