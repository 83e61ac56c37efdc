package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
)

const quiet = `
name: quiet
duration: 20s
seed: 3
limits:
  - {name: gcra, spec: "gcra:20/1s,burst=10"}
nodes: {count: 2}
network: {delay: {kind: fixed, mean: 1ms}}
traffic:
  - name: users
    process: {kind: poisson, rate: 100/1s}
    keys: {kind: uniform, n: 3}
    retry: {kind: obey, attempts: 1}
`

// TestEachFaultHasItsEffect, and none other than its own where it has ended.
func TestEachFaultHasItsEffect(t *testing.T) {
	for _, c := range []struct {
		name, faults, more string
		sees               func(r *result.Result) bool
	}{
		{"none", "", "", func(r *result.Result) bool {
			return r.Totals.Unknown+r.Totals.Errors == 0 && r.Limits[0].ForgottenUnits == 0
		}},
		{"partition", "{kind: partition, at: 5s, for: 2s}", "", func(r *result.Result) bool {
			// Two calls of each node are under way and get lost; those behind them wait.
			return goalOf(r, check.RequestLost) > 0 && goalOf(r, check.ReplyLost) <= 4 && r.Totals.Unknown > 0 && r.Totals.Errors > r.Totals.Unknown
		}},
		{"partition of replies", "{kind: partition, at: 5s, for: 2s, direction: replies}", "", func(r *result.Result) bool {
			return goalOf(r, check.ReplyLost) > 0 && goalOf(r, check.RequestLost) == 0 && r.Totals.Unknown > 0
		}},
		{"partition of a node", "{kind: partition, at: 5s, for: 2s, nodes: [1]}", "", func(r *result.Result) bool {
			lost := r.Totals.Unknown + r.Totals.Errors
			return lost > 80 && lost < 350 // of 150 in the time until a call is given up, and repeats
		}},
		{"loss", "{kind: loss, at: 5s, for: 5s, rate: 10%}", "", func(r *result.Result) bool {
			return goalOf(r, check.RequestLost) > 0 && goalOf(r, check.ReplyLost) > 0 && goalOf(r, check.RetriedUnknown) > 0
		}},
		{"duplication is dropped", "{kind: duplication, rate: 50%}", "", func(r *result.Result) bool {
			return goalOf(r, check.Duplicate) > 500 && r.Limits[0].Executed == r.Totals.Attempts && goalOf(r, check.FalseDenial) == 0
		}},
		{"duplication is executed", "{kind: duplication, rate: 50%}", "repeats", func(r *result.Result) bool {
			return r.Limits[0].Executed > r.Totals.Attempts+500 && goalOf(r, check.FalseDenial) > 0
		}},
		{"reordering", "{kind: reordering, rate: 20%, delay: 50ms}", "", func(r *result.Result) bool { return goalOf(r, check.Reordered) > 0 && r.Totals.Unknown < 10 }},
		{"slow", "{kind: slow, at: 5s, for: 2s, delay: 60ms}", "", func(r *result.Result) bool {
			return goalOf(r, check.Shared) > 0 && goalOf(r, check.LateReply) > 0 && goalOf(r, check.FalseDenial) > 0
		}},
		{"down", "{kind: down, at: 5s, for: 2s}", "", func(r *result.Result) bool {
			return goalOf(r, check.ServerRefused) > 0 && r.Totals.Errors > 150 && r.Limits[0].ForgottenUnits == 0
		}},
		{"restart", "{kind: restart, at: 5s, for: 1s}", "", func(r *result.Result) bool {
			return goalOf(r, check.ServerRefused) > 0 && r.Limits[0].ForgottenUnits == 0
		}},
		{"restart without data", "{kind: restart, at: 5s, for: 10ms, data: lost}", "", func(r *result.Result) bool {
			// Each of three keys in debt for 10 units at most.
			l := r.Limits[0]
			return l.ForgottenUnits > 20 && l.ForgottenUnits <= 30 && l.OverUnits > 5 && l.OverUnits <= 10
		}},
		{"failover", "{kind: failover, at: 5s, for: 10ms}", "server: {lag: 200ms}\n", func(r *result.Result) bool {
			l := r.Limits[0] // 200 ms of 60 units a second
			return goalOf(r, check.FailoverLost) > 0 && l.ForgottenUnits >= 6 && l.ForgottenUnits <= 20 && l.OverUnits > 0
		}},
		{"failover without a lag", "{kind: failover, at: 5s, for: 100ms}", "", func(r *result.Result) bool {
			return r.Limits[0].ForgottenUnits == 0 && goalOf(r, check.ServerRefused) > 0
		}},
		{"two failovers", "{kind: failover, at: 5s}\n  - {kind: failover, at: 5100ms}", "server: {lag: 200ms}\n", func(r *result.Result) bool {
			return r.Limits[0].ForgottenUnits > 6 && r.Limits[0].OverUnits > 3
		}},
		{"eviction", "{kind: eviction, at: 5s, for: 5s, every: 1s}", "", func(r *result.Result) bool {
			return goalOf(r, check.StateForgotten) >= 4 && goalOf(r, check.StateForgotten) <= 6 && r.Limits[0].OverUnits > 5
		}},
		{"clock of the server", "{kind: clock, at: 5s, step: -2s}", "", func(r *result.Result) bool {
			return goalOf(r, check.ClockBack) > 0 && r.Limits[0].OverUnits == 0 && r.Limits[0].FalseDenials > 0
		}},
		{"clock of the server forward", "{kind: clock, at: 5s, step: 2s}", "", func(r *result.Result) bool {
			l := r.Limits[0] // a jump of 2 s fills a bucket of 10 units
			return l.OverUnits > 5 && l.OverUnits <= 10 && l.OverBoundUnits == 40
		}},
		{"clock of the server drifts", "{kind: clock, drift: 100000}", "", func(r *result.Result) bool {
			l := r.Limits[0] // 10 % of 400 units a key
			return l.OverUnits > 20 && l.OverUnits <= l.OverBoundUnits && l.OverBoundUnits <= 41
		}},
		{"clock of a node", "{kind: clock, of: nodes, nodes: [1], at: 5s, step: 3s}", "server: {clock: node}\n", func(r *result.Result) bool {
			return goalOf(r, check.ClockBack) > 0 && r.Limits[0].FalseDenials > 0
		}},
		{"crash", "{kind: crash, at: 5s, for: 2s, nodes: [1]}", "", func(r *result.Result) bool {
			return r.Totals.Unknown <= 4 && r.Totals.Errors == 0
		}},
		{"crash of all", "{kind: crash, at: 5s, for: 2s}", "", func(r *result.Result) bool { return r.Totals.Errors > 150 }},
		{"open", "{kind: down, at: 5s, for: 2s}", "on_failure: open", func(r *result.Result) bool {
			return r.Totals.Errors == 0 && goalOf(r, check.FallbackAdmitted) > 150 && r.Limits[0].OverUnits > 30
		}},
		{"local", "{kind: down, at: 5s, for: 2s}", "on_failure: local", func(r *result.Result) bool {
			l := r.Limits[0] // two nodes with 10 + 2·20 units a key
			both := goalOf(r, check.BothAdmitted)
			return r.Totals.Errors == 0 && 0 < both && both <= goalOf(r, check.FallbackAdmitted) && l.OverUnits > 30 && l.OverUnits <= 100
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := parsed(t, quiet)
			if c.faults != "" {
				s = parsed(t, quiet+"faults:\n  - "+c.faults+"\n")
			}
			switch c.more {
			case "repeats":
				s.Network.Repeats = true
			case "on_failure: open", "on_failure: local":
				s.Nodes.OnFailure = c.more[len("on_failure: "):]
			case "":
			default:
				s.Server = parsed(t, quiet+c.more).Server
			}
			r := ran(t, s, nil)[0]
			if !c.sees(r) {
				met := []result.Goal{}
				for _, g := range r.Goals {
					if g.Count > 0 {
						met = append(met, g)
					}
				}
				t.Errorf("%+v\n%+v\n%v", r.Totals, r.Limits[0].ForgottenUnits, met)
				t.Errorf("over %d of %d, false denials %d", r.Limits[0].OverUnits, r.Limits[0].OverBoundUnits, r.Limits[0].FalseDenials)
			}
			for _, f := range r.Faults {
				if f.Attempts == 0 || f.UntilMicros < f.ToMicros {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// TestAFaultActsUntilItsBreakersHaveClosed: what nodes decide alone is an effect of the fault
// that opened their breakers, for as long as these are open, and of no other fault.
func TestAFaultActsUntilItsBreakersHaveClosed(t *testing.T) {
	const settles = 1_000_000 // the period
	for _, c := range []struct {
		name, faults string
		opened       []bool // whether each fault has opened breakers
	}{
		{"one", "{kind: down, at: 2s, for: 5s}", []bool{true}},
		{"two in turn", "{kind: partition, at: 1s, for: 3s}, {kind: down, at: 15s, for: 8s}", []bool{true, true}},
		{"a clock, meanwhile", "{kind: down, at: 2s, for: 5s}, {kind: clock, at: 3s, step: 1s}", []bool{true, false}},
		{"of one node", "{kind: partition, at: 2s, for: 8s, nodes: [1]}, {kind: slow, at: 6s, for: 1s, delay: 1ms}", []bool{true, false}},
		{"to the end", "{kind: down, at: 15s, for: 13s}", []bool{true}},
		{"a crash closes them", "{kind: down, at: 2s, for: 5s}, {kind: crash, at: 7500ms, for: 1s}", []bool{false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := parsed(t, quiet+"faults: ["+c.faults+"]\n")
			s.Traffic[0].Process = parsed(t, strings.Replace(quiet, "100/1s", "500/1s", 1)).Traffic[0].Process
			s.Nodes.Breaker, s.Nodes.OnFailure, s.Duration = true, "local", 30*time.Second
			want, over := make([]int64, len(s.Faults)), make([]int64, len(s.Faults))
			for i, f := range s.Faults {
				over[i] = (f.At + f.For).Microseconds() + settles
				want[i] = over[i]
			}
			r := ran(t, s, &Options{Trace: func(e *result.Event) {
				if e.Kind != "breaker" || e.Note != "closed" {
					return
				}
				last := -1 // the latest fault that has opened breakers
				for i, f := range s.Faults {
					if c.opened[i] && e.Micros > f.At.Microseconds() {
						last = i
					}
				}
				if last >= 0 {
					want[last] = max(want[last], e.Micros+settles)
				}
			}})[0]
			byMode := int64(0)
			for i, f := range r.Faults {
				if c.name == "to the end" {
					want[i] = s.Duration.Microseconds()
				}
				if late := f.UntilMicros - want[i]; late < 0 || late > 2000 || c.opened[i] && late != 0 || c.opened[i] != (want[i] > over[i]) {
					t.Errorf("fault %d, from %d to %d, acts until %d, want %d", i, f.FromMicros, f.ToMicros, f.UntilMicros, want[i])
				}
				if c.opened[i] {
					byMode += f.Degraded
				}
			}
			if c.opened[0] && byMode != r.Totals.Degraded || r.Totals.Degraded == 0 {
				t.Errorf("%d decisions of the failure mode are those of faults, want %d", byMode, r.Totals.Degraded)
			}
		})
	}
}

// TestAFaultActsUntilItsCallsAreOver: a call that is sent while a fault lasts may end after it, and the server may still
// execute what came meanwhile.
func TestAFaultActsUntilItsCallsAreOver(t *testing.T) {
	const settles = 1_000_000                  // the period
	for fault, over := range map[string]int64{ // one request at 6.9 s
		"{kind: partition, at: 5s, for: 2s}":                                              9_900_000, // its call_timeout
		"{kind: partition, at: 5s, for: 2s, nodes: [1]}":                                  7_000_000, // it is of node 0
		"{kind: partition, at: 5s, for: 2s, direction: replies}":                          9_900_000,
		"{kind: loss, at: 5s, for: 2s, rate: 100%}":                                       9_900_000,
		"{kind: dead, at: 6s}":                                                            9_900_000,
		"{kind: dead, at: 2s}":                                                            9_900_000, // nobody has used it before
		"{kind: down, at: 5s, for: 2s}":                                                   7_000_000, // it is refused immediately
		"{kind: down, at: 6900500us, for: 99500us}":                                       7_000_000,
		"{kind: restart, at: 5s, for: 1901ms}":                                            6_902_000, // it is refused in the last moment
		"{kind: freeze, at: 5s, for: 2s}":                                                 7_001_000, // it is answered then
		"{kind: slow, at: 5s, for: 2s, delay: 500ms}":                                     7_402_000,
		"{kind: slow, at: 5s, for: 2s, delay: 9s}":                                        15_901_000, // the server executes it, although it is given up
		"{kind: slow, at: 5s, for: 2s, delay: 9s}\n  - {kind: restart, at: 11s, for: 1s}": 11_000_000, // and forgets it
		"{kind: reordering, at: 5s, for: 2s, rate: 100%, delay: 10s}":                     17_000_000, // when its messages come at the latest
		"{kind: crash, at: 5s, for: 2s, nodes: [1]}":                                      7_000_000,
		"{kind: clock, at: 5s, step: 100ms}":                                              5_000_000,
		"{kind: clock, at: 5s, step: -3s}":                                                8_000_000, // the clock shows 5 s again
		"{kind: clock, at: 5s, for: 2s, step: -3s, drift: 1000}":                          10_000_000,
	} {
		s := parsed(t, quiet+"faults:\n  - "+fault+"\n")
		s.Traffic[0].Start, s.Traffic[0].Count = 6900*time.Millisecond, 1
		s.Traffic[0].Process = parsed(t, strings.Replace(quiet, "{kind: poisson, rate: 100/1s}", "{kind: constant, rate: 1/1s}", 1)).Traffic[0].Process
		s.Traffic[0].Retry = scenario.Retries{}
		if f := ran(t, s, nil)[0].Faults[0]; f.UntilMicros != over+settles {
			t.Errorf("%s: it acts until %d, want %d and the time to settle", fault, f.UntilMicros, over)
		}
	}
	// With more traffic no decision without the server comes later than that.
	for _, fault := range []string{
		"{kind: partition, at: 5s, for: 2s}", "{kind: loss, at: 5s, for: 2s, rate: 40%}", "{kind: freeze, at: 5s, for: 2s}", "{kind: dead, at: 7s}",
		"{kind: slow, at: 5s, for: 2s, delay: 60ms}", "{kind: slow, at: 5s, for: 1s, delay: 300ms}", "{kind: restart, at: 5s, for: 2s}",
	} {
		s := parsed(t, quiet+"faults:\n  - "+fault+"\n")
		s.Nodes.OnFailure = "local"
		last := int64(0)
		r := ran(t, s, &Options{Trace: func(e *result.Event) {
			if e.Kind == "fallback" {
				last = e.Micros
			}
		}})[0]
		if f := r.Faults[0]; f.Degraded != r.Totals.Degraded || last == 0 || last > f.UntilMicros-settles+100_000 { // the time-out of callers
			t.Errorf("%s: it acts until %d, the last decision without the server was at %d; %d of %d are its own", fault, f.UntilMicros, last, f.Degraded, r.Totals.Degraded)
		}
	}
}

// TestAClockThatWentBackExplainsEveryFalseDenial: what was charged before the step counts for the length of the step longer.
func TestAClockThatWentBackExplainsEveryFalseDenial(t *testing.T) {
	for _, spec := range []string{"sliding-log:10/2s", "sliding-log:10/3s"} {
		for seed := range uint64(5) {
			s := parsed(t, strings.Replace(quiet, "100/1s", "20/1s", 1)+"faults:\n  - {kind: clock, at: 4s, step: -3s}\n")
			s.Limits[0].Spec, s.Traffic[0].Retry, s.Seed = spec, scenario.Retries{}, seed
			r := ran(t, s, nil)[0]
			if all, own := r.Limits[0].FalseDenials, r.Faults[0].FalseDenials; all == 0 || own != all {
				t.Errorf("%s, seed %d: %d of %d false denials are of the fault", spec, seed, own, all)
			}
		}
	}
}

// TestFailoverThatLosesMoreIsCaught: a replica that misses a step explains no more than
// the lag does.
func TestFailoverThatLosesMoreIsCaught(t *testing.T) {
	s := parsed(t, quiet+"faults:\n  - {kind: failover, at: 5s}\n")
	made := 0
	newStore := func(c store.Clock) (store.Store, error) {
		made++
		if made == 1 { // the primary
			return mutant((*mutated).right)(c)
		}
		return mutant(func(m *mutated, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
			if m.clock.Now().UnixMicro() < 1_767_225_605_000_000 && m.count%3 == 0 {
				return 0, true, nil
			}
			return m.right(ops)
		})(c)
	}
	results, err := Run(t.Context(), s, &Options{NewStore: newStore})
	if err != nil {
		t.Fatal(err)
	}
	if f := results[0].Failure; f == nil || f.Rule != check.Admission && f.Rule != check.Outcome && f.Rule != check.Retry && f.Rule != check.Reset {
		t.Errorf("%+v", f)
	}
}

// TestFailoverOfAForgottenClient: what a replica does not have yet may be of clients that
// have come to rest since.
func TestFailoverOfAForgottenClient(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a table of 65,536 slots fills")
	}
	s := parsed(t, `
name: spray
duration: 60s
limits:
  - {name: gcra, spec: "gcra:10/1s"}
server: {lag: 50s}
traffic:
  - {name: spray, process: {kind: constant, rate: 2000/1s}, keys: {kind: spray, name: made-up}}
faults:
  - {kind: failover, at: 45s}
`)
	if r := ran(t, s, nil)[0]; goalOf(r, check.FailoverLost) < 65536 {
		t.Errorf("%d slots lost an admission", goalOf(r, check.FailoverLost))
	}
}
