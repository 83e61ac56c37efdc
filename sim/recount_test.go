package sim

import (
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/result"
)

// charge is a cost and its instant.
type charge struct{ at, cost int64 }

// TestOverAdmissionIsThatOfARecount: what a result says of over-admission is what comes out
// of the events alone, by comparing every interval with its bound.
func TestOverAdmissionIsThatOfARecount(t *testing.T) {
	const text = `
name: recount
duration: 20s
seed: 5
limits:
  - {name: gcra, spec: "gcra:20/1s,burst=10"}
  - {name: log, spec: "sliding-log:20/1s"}
nodes: {count: 3, on_failure: local}
network: {delay: {kind: exponential, mean: 2ms}}
server: {lag: 300ms}
traffic:
  - name: users
    process: {kind: poisson, rate: 60/1s}
    keys: {kind: uniform, n: 2}
    costs: {kind: list, list: [1, 3]}
faults:
  - {kind: failover, at: 5s, for: 1s}
  - {kind: restart, at: 12s, for: 200ms, data: lost}
`
	s := parsed(t, text)
	for i, limit := range s.Limits {
		one := copyOf(t, s)
		one.Limits = s.Limits[i : i+1]
		all := map[string][]charge{}
		r := ran(t, one, &Options{Trace: func(e *result.Event) {
			if e.Allowed && (e.Kind == "decided" || e.Kind == "fallback") {
				all[e.Key] = append(all[e.Key], charge{e.Micros, e.Cost})
			}
		}})[0]
		a, err := algorithm.ParseSpec(limit.Spec)
		if err != nil {
			t.Fatal(err)
		}
		over, worst := int64(0), int64(0)
		for _, list := range all {
			for last := range list {
				sum := int64(0)
				for first := last; first >= 0; first-- {
					span := list[last].at - list[first].at
					sum += list[first].cost
					if limit.Name == "gcra" {
						over = max(over, sum-10-span*20/1_000_000)
					}
					if span < 1_000_000 {
						worst = max(worst, sum)
						if limit.Name == "log" {
							over = max(over, sum-20)
						}
					}
				}
			}
		}
		if got := r.Limits[0]; got.OverUnits != over || got.Worst.Units != worst || over == 0 {
			t.Errorf("%v: over by %d and %d in the worst window, and a recount has %d and %d", a, got.OverUnits, got.Worst.Units, over, worst)
		}
	}
}
