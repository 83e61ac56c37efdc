package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/result"
)

// five is five requests of one key within a second, each of which the store answers after a caller's time-out.
const five = `
name: five
duration: 10s
limits:
  - {name: log, spec: "sliding-log:5/5s"}
nodes: {on_failure: MODE, timeout: 100ms}
traffic:
  - {name: users, count: 5, start: 1s, process: {kind: constant, rate: 5/1s}, keys: {kind: one}}
faults:
  - {kind: slow, delay: 120ms}
`

// TestARequestIsAdmittedOnce: a request that the store charges after its caller was admitted by the failure mode
// counts once, and one that it charges after its caller got no decision does not count.
func TestARequestIsAdmittedOnce(t *testing.T) {
	for _, c := range []struct {
		mode                    string
		admitted, unknown, most int64
	}{{"open", 5, 0, 5}, {"local", 5, 0, 5}, {"closed", 0, 5, 0}} {
		r := ran(t, parsed(t, strings.Replace(five, "MODE", c.mode, 1)), nil)[0]
		l := r.Limits[0]
		if r.Totals.Admitted != c.admitted || r.Totals.Unknown != c.unknown || l.ExecutedUnits != 5 {
			t.Fatalf("%s: %d admitted, %d unknown and %d charged, want %d, %d and 5", c.mode, r.Totals.Admitted, r.Totals.Unknown, l.ExecutedUnits, c.admitted, c.unknown)
		}
		if l.Worst.Units != c.most || l.OverUnits != 0 || l.Curve[len(l.Curve)-1].Units != c.most {
			t.Errorf("%s: %d in the worst window, %d in the longest interval, over by %d; want %d, and over by 0",
				c.mode, l.Worst.Units, l.Curve[len(l.Curve)-1].Units, l.OverUnits, c.most)
		}
	}
}

// TestARepeatIsAdmittedOnce: what an earlier try charged without an answer does not count, nor does what the network
// repeats.
func TestARepeatIsAdmittedOnce(t *testing.T) {
	s := parsed(t, `
name: repeat
duration: 10s
limits:
  - {name: log, spec: "sliding-log:5/5s"}
network: {delay: {kind: fixed, mean: 1ms}, repeats: true}
traffic:
  - {name: users, count: 1, start: 1s, process: {kind: constant, rate: 1/1s}, keys: {kind: one}, retry: {kind: fixed, attempts: 3, wait: 200ms}}
faults:
  - {kind: partition, at: 500ms, for: 700ms, direction: replies}
  - {kind: duplication, at: 1300ms, rate: 100%}
`)
	r := ran(t, s, nil)[0]
	if l := r.Limits[0]; r.Totals.Unknown < 1 || r.Totals.Admitted != 1 || l.ExecutedUnits < 3 || l.Worst.Units != 1 {
		t.Errorf("%d unknown, %d admitted, %d charged, and %d in the worst window; want at least 1, 1, at least 3, and 1", r.Totals.Unknown, r.Totals.Admitted, l.ExecutedUnits, l.Worst.Units)
	}
}

// TestNothingIsAdmittedToWhoWasToldNo: a rule in shadow charges requests that another rule denies.
func TestNothingIsAdmittedToWhoWasToldNo(t *testing.T) {
	s := parsed(t, `
name: shadow
duration: 10s
policy: |
  version: 1
  attributes: {user: {}}
  rules:
    - {id: narrow, key: [user], limit: "sliding-log:2/5s"}
    - {id: wide, key: [user], limit: "sliding-log:9/5s", mode: shadow}
network: {delay: {kind: fixed, mean: 1ms}}
traffic:
  - name: users
    count: 5
    process: {kind: constant, rate: 5/1s}
    request: {method: GET, path: /, attributes: {user: one}}
`)
	r := ran(t, s, nil)[0]
	for i, charged := range []int64{2, 5} {
		if l := r.Limits[i]; r.Totals.Admitted != 2 || l.ExecutedUnits != charged || l.Worst.Units != 2 {
			t.Errorf("%s: %d charged, %d in the worst window, and %d admitted; want %d, 2 and 2", l.Name, l.ExecutedUnits, l.Worst.Units, r.Totals.Admitted, charged)
		}
	}
}

// told is what callers were told in a run, as a recount takes it from the events: the instant of each admission is that
// of the decision behind it.
type told struct {
	decided map[string][]result.Event // by what a decision and its answer have in common; not yet answered
	all     map[string][]charge
}

func (c *told) event(e *result.Event) {
	of := fmt.Sprint(e.Key, e.Node, e.Cost, e.Remaining, e.ResetMicros)
	switch {
	case !e.Allowed:
	case e.Kind == "decided":
		c.decided[of] = append(c.decided[of], *e)
	case e.Kind == "answered":
		waiting := c.decided[of]
		if len(waiting) == 0 {
			panic("an answer without a decision")
		}
		last := len(waiting) - 1 // those before it were never answered
		c.all[e.Key] = append(c.all[e.Key], charge{waiting[last].Micros, e.Cost})
		c.decided[of] = waiting[:last]
	case e.Kind == "fallback":
		c.all[e.Key] = append(c.all[e.Key], charge{e.Micros, e.Cost})
	}
}

// most returns the most that a key got within a half-open window of a period, and by how much it got more than allowed
// in any closed interval.
func (c *told) most(period int64, allowed func(span int64) int64) (worst, over int64) {
	for _, list := range c.all {
		for _, last := range list {
			for _, first := range list {
				span, sum := last.at-first.at, int64(0)
				for _, one := range list {
					if first.at <= one.at && one.at <= last.at {
						sum += one.cost
					}
				}
				if span >= 0 && span < period {
					worst = max(worst, sum)
				}
				if span >= 0 {
					over = max(over, sum-allowed(span))
				}
			}
		}
	}
	return worst, over
}

// TestLateChargesAreNoAdmissions: with a store that is slow, messages that get lost and a node that crashes, the measure
// is that of a recount of what callers were told, in every failure mode.
func TestLateChargesAreNoAdmissions(t *testing.T) {
	const text = `
name: late
duration: 10s
seed: 4
limits:
  - {name: gcra, spec: "gcra:20/1s,burst=10"}
  - {name: log, spec: "sliding-log:20/1s"}
nodes: {count: 2, on_failure: MODE}
network: {delay: {kind: exponential, mean: 2ms}}
traffic:
  - name: users
    process: {kind: poisson, rate: 40/1s}
    keys: {kind: uniform, n: 2}
    costs: {kind: list, list: [1, 3]}
    retry: {kind: fixed, attempts: 2, wait: 20ms}
faults:
  - {kind: slow, at: 1s, for: 3s, delay: 60ms}
  - {kind: loss, at: 5s, for: 2s, rate: 30%}
  - {kind: crash, at: 8s, for: 500ms, nodes: [1]}
`
	allowed := []func(span int64) int64{
		func(span int64) int64 { return 10 + span*20/1_000_000 },
		func(span int64) int64 {
			if span < 1_000_000 {
				return 20
			}
			return 1 << 40
		},
	}
	for _, mode := range []string{"open", "local", "closed"} {
		s := parsed(t, strings.Replace(text, "MODE", mode, 1))
		for i := range s.Limits {
			one := copyOf(t, s)
			one.Limits = s.Limits[i : i+1]
			c := &told{decided: map[string][]result.Event{}, all: map[string][]charge{}}
			r := ran(t, one, &Options{Trace: c.event})[0]
			worst, over := c.most(1_000_000, allowed[i])
			answered := 0
			for _, list := range c.all {
				answered += len(list)
			}
			if int64(answered) != r.Totals.Admitted || goalOf(r, check.LateReply) == 0 {
				t.Errorf("%s, %s: the recount has %d admissions, and the run %d; %d late replies", mode, s.Limits[i].Name, answered, r.Totals.Admitted, goalOf(r, check.LateReply))
			}
			if got := r.Limits[0]; got.Worst.Units != worst || got.OverUnits != over || over > got.OverBoundUnits {
				t.Errorf("%s, %s: %d in the worst window, over by %d of %d that are explained, and a recount has %d and %d",
					mode, got.Name, got.Worst.Units, got.OverUnits, got.OverBoundUnits, worst, over)
			}
			if mode == "closed" && over > 0 {
				t.Errorf("%s: over by %d although only the store admits", s.Limits[i].Name, over)
			}
		}
	}
}
