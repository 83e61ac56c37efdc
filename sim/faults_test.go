package sim

import (
	"slices"
	"testing"

	"github.com/weirgo/weir/algorithm"
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
		sees               func(r *Result) bool
	}{
		{"none", "", "", func(r *Result) bool {
			return r.Totals.Unknown+r.Totals.Errors == 0 && r.Limits[0].ForgottenUnits == 0
		}},
		{"partition", "{kind: partition, at: 5s, for: 2s}", "", func(r *Result) bool {
			// Two calls of each node are under way and get lost; those behind them wait.
			return goalOf(r, goalRequestLost) > 0 && goalOf(r, goalReplyLost) <= 4 && r.Totals.Unknown > 0 && r.Totals.Errors > r.Totals.Unknown
		}},
		{"partition of replies", "{kind: partition, at: 5s, for: 2s, direction: replies}", "", func(r *Result) bool {
			return goalOf(r, goalReplyLost) > 0 && goalOf(r, goalRequestLost) == 0 && r.Totals.Unknown > 0
		}},
		{"partition of a node", "{kind: partition, at: 5s, for: 2s, nodes: [1]}", "", func(r *Result) bool {
			lost := r.Totals.Unknown + r.Totals.Errors
			return lost > 80 && lost < 350 // of 150 in the time until a call is given up, and repeats
		}},
		{"loss", "{kind: loss, at: 5s, for: 5s, rate: 10%}", "", func(r *Result) bool {
			return goalOf(r, goalRequestLost) > 0 && goalOf(r, goalReplyLost) > 0 && goalOf(r, goalRetriedUnknown) > 0
		}},
		{"duplication is dropped", "{kind: duplication, rate: 50%}", "", func(r *Result) bool {
			return goalOf(r, goalDuplicate) > 500 && r.Limits[0].Executed == r.Totals.Attempts && goalOf(r, goalFalseDenial) == 0
		}},
		{"duplication is executed", "{kind: duplication, rate: 50%}", "repeats", func(r *Result) bool {
			return r.Limits[0].Executed > r.Totals.Attempts+500 && goalOf(r, goalFalseDenial) > 0
		}},
		{"reordering", "{kind: reordering, rate: 20%, delay: 50ms}", "", func(r *Result) bool { return goalOf(r, goalReordered) > 0 && r.Totals.Unknown < 10 }},
		{"slow", "{kind: slow, at: 5s, for: 2s, delay: 60ms}", "", func(r *Result) bool {
			return goalOf(r, goalShared) > 0 && goalOf(r, goalLateReply) > 0 && goalOf(r, goalFalseDenial) > 0
		}},
		{"down", "{kind: down, at: 5s, for: 2s}", "", func(r *Result) bool {
			return goalOf(r, goalRefused) > 0 && r.Totals.Errors > 150 && r.Limits[0].ForgottenUnits == 0
		}},
		{"restart", "{kind: restart, at: 5s, for: 1s}", "", func(r *Result) bool { return goalOf(r, goalRefused) > 0 && r.Limits[0].ForgottenUnits == 0 }},
		{"restart without data", "{kind: restart, at: 5s, for: 10ms, data: lost}", "", func(r *Result) bool {
			// Each of three keys in debt for 10 units at most.
			l := r.Limits[0]
			return l.ForgottenUnits > 20 && l.ForgottenUnits <= 30 && l.OverUnits > 5 && l.OverUnits <= 10
		}},
		{"failover", "{kind: failover, at: 5s, for: 10ms}", "server: {lag: 200ms}\n", func(r *Result) bool {
			l := r.Limits[0] // 200 ms of 60 units a second
			return goalOf(r, goalFailoverLost) > 0 && l.ForgottenUnits >= 6 && l.ForgottenUnits <= 20 && l.OverUnits > 0
		}},
		{"failover without a lag", "{kind: failover, at: 5s, for: 100ms}", "", func(r *Result) bool { return r.Limits[0].ForgottenUnits == 0 && goalOf(r, goalRefused) > 0 }},
		{"two failovers", "{kind: failover, at: 5s}\n  - {kind: failover, at: 5100ms}", "server: {lag: 200ms}\n", func(r *Result) bool {
			return r.Limits[0].ForgottenUnits > 6 && r.Limits[0].OverUnits > 3
		}},
		{"eviction", "{kind: eviction, at: 5s, for: 5s, every: 1s}", "", func(r *Result) bool {
			return goalOf(r, goalForgotten) >= 4 && goalOf(r, goalForgotten) <= 6 && r.Limits[0].OverUnits > 5
		}},
		{"clock of the server", "{kind: clock, at: 5s, step: -2s}", "", func(r *Result) bool {
			return goalOf(r, goalClockBack) > 0 && r.Limits[0].OverUnits == 0 && r.Limits[0].FalseDenials > 0
		}},
		{"clock of the server forward", "{kind: clock, at: 5s, step: 2s}", "", func(r *Result) bool {
			l := r.Limits[0] // a jump of 2 s fills a bucket of 10 units
			return l.OverUnits > 5 && l.OverUnits <= 10 && l.OverBoundUnits == 40
		}},
		{"clock of the server drifts", "{kind: clock, drift: 100000}", "", func(r *Result) bool {
			l := r.Limits[0] // 10 % of 400 units a key
			return l.OverUnits > 20 && l.OverUnits <= l.OverBoundUnits && l.OverBoundUnits <= 41
		}},
		{"clock of a node", "{kind: clock, of: nodes, nodes: [1], at: 5s, step: 3s}", "server: {clock: node}\n", func(r *Result) bool {
			return goalOf(r, goalClockBack) > 0 && r.Limits[0].FalseDenials > 0
		}},
		{"crash", "{kind: crash, at: 5s, for: 2s, nodes: [1]}", "", func(r *Result) bool {
			return r.Totals.Unknown <= 4 && r.Totals.Errors == 0
		}},
		{"crash of all", "{kind: crash, at: 5s, for: 2s}", "", func(r *Result) bool { return r.Totals.Errors > 150 }},
		{"open", "{kind: down, at: 5s, for: 2s}", "on_failure: open", func(r *Result) bool {
			return r.Totals.Errors == 0 && goalOf(r, goalStoodIn) > 150 && r.Limits[0].OverUnits > 30
		}},
		{"local", "{kind: down, at: 5s, for: 2s}", "on_failure: local", func(r *Result) bool {
			l := r.Limits[0] // two nodes with 10 + 2·20 units a key
			return r.Totals.Errors == 0 && goalOf(r, goalBothAdmitted) > 0 && l.OverUnits > 30 && l.OverUnits <= 100
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
				met := []Goal{}
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
	if f := results[0].Failure; f == nil || f.Rule != ruleAdmission && f.Rule != ruleOutcome && f.Rule != ruleRetry && f.Rule != ruleReset {
		t.Errorf("%+v", f)
	}
}

// TestTrueTimeAndLocalRules: the two rules that no store of a server can violate.
func TestTrueTimeAndLocalRules(t *testing.T) {
	s := parsed(t, quiet+"faults:\n  - {kind: down, at: 5s, for: 2s}\n")
	s.Nodes.OnFailure = "local"
	for rule, spoil := range map[string]func(w *world){
		ruleLocal: func(w *world) {
			local := w.nodes[0].local
			broken, err := mutant(dropsCharges)(&local.hand)
			if err != nil {
				t.Fatal(err)
			}
			local.Store = broken
		},
		ruleTrueTime: func(w *world) { // what a failure mode admits is not told to the tracker
			for _, c := range []string{"key-0", "key-1", "key-2"} {
				slot := w.clientOf(c).slots[0]
				slot.overall.charge(w.epoch, 20)
			}
		},
	} {
		w, err := newWorld(s, s.Limits, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		spoil(w)
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f := w.failure; f == nil || f.Rule != rule {
			t.Errorf("%s: %+v", rule, f)
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Contains(Rules(), ruleLocal) || !slices.Contains(Rules(), ruleTrueTime) {
		t.Error("the two are not among the rules")
	}
}

// TestFailoverOfAForgottenClient: what a replica does not have yet may be of clients that
// have come to rest since.
func TestFailoverOfAForgottenClient(t *testing.T) {
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
	if r := ran(t, s, nil)[0]; goalOf(r, goalFailoverLost) < 65536 {
		t.Errorf("%d slots lost an admission", goalOf(r, goalFailoverLost))
	}
}

// TestOneFaultDoesNotMoveAnother: a partition leaves the draws of a loss beside it as they
// are.
func TestOneFaultDoesNotMoveAnother(t *testing.T) {
	lost := func(cut int) (which []bool) {
		s := parsed(t, `
name: draws
duration: 1s
limits:
  - {name: gcra, spec: "gcra:1000/1s"}
traffic:
  - {name: users, process: {kind: constant, rate: 50/1s}, keys: {kind: one}}
faults:
  - {kind: loss, rate: 20%}
`)
		w, err := newWorld(s, s.Limits, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		l := link{world: w, delay: delayOf(s.Network.Delay), draw: w.streams.Stream("link"), loss: w.faults}
		for i := range 1000 {
			if l.cut = 0; i < 500 {
				l.cut = cut
			}
			before := w.goals[goalReplyLost]
			l.send(healing{}, nil)
			which = append(which, w.goals[goalReplyLost] > before)
		}
		return which[500:]
	}
	alone, beside := lost(0), lost(1)
	if !slices.Equal(alone, beside) || !slices.Contains(alone, true) || !slices.Contains(alone, false) {
		t.Error("a partition moves what is lost after it")
	}
}
