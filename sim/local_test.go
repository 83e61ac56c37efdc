package sim

import (
	"testing"
)

// TestLocalLimitOutlivesItsClient: a node whose clock is slow still counts what the true
// time has forgotten, and with it the client, of whom there are many. Its limit is no
// new one then.
func TestLocalLimitOutlivesItsClient(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: more keys than are remembered, some seconds")
	}
	s := parsed(t, `
name: slow node
duration: 120s
seed: 3
limits: [{name: gcra, spec: "gcra:5/100s"}]
nodes: {on_failure: local, drift: 100000}
faults: [{kind: down, at: 0s}]
traffic:
  - {name: first, process: {kind: constant, rate: 100/1ms}, count: 100, keys: {kind: spray, name: first}}
  - {name: all at once, start: 1s, process: {kind: constant, rate: 5/1us}, count: 5, keys: {kind: one, name: late}}
  - {name: others, start: 102s, process: {kind: constant, rate: 70000/1s}, count: 70000, keys: {kind: spray, name: other}}
  - {name: and again, start: 104s, process: {kind: constant, rate: 5/1us}, count: 5, keys: {kind: one, name: late}}
`)
	r := ran(t, s, nil)[0]
	if c := r.Traffic[3].Counts; c.Arrivals != 5 || c.Denied == 0 || !r.Fairness.Partial {
		t.Errorf("the clock is not slow enough, or nobody was forgotten: %t, %+v", r.Fairness.Partial, c)
	}
}
