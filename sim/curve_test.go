package sim

import (
	"testing"

	"github.com/weirgo/weir/sim/result"
)

// many is a scenario with more keys than 16, of which the last to come takes most.
const many = `
name: many
duration: 20s
seed: 3
limits: [{name: l, spec: "fixed-window:20/1s"}]
nodes: {count: 2, on_failure: open}
traffic:
  - {name: users, process: {kind: poisson, rate: 200/1s}, keys: {kind: uniform, n: 50}, costs: {kind: geometric, mean: 3}}
  - {name: abuser, process: {kind: constant, rate: 100/1s}, keys: {kind: one, name: abuser}, start: 5s}
faults:
  - {kind: down, at: 8s, for: 2s}
`

// admissions is what each key was admitted, and when, as the trace of a run has it.
type admissions map[string][]charge

func (a admissions) add(e *result.Event) {
	switch {
	case e.Kind == "decided" && e.Allowed && e.Cost > 0, e.Kind == "fallback" && e.Allowed:
		a[e.Key] = append(a[e.Key], charge{e.Micros, e.Cost})
	}
}

// most counts what was admitted to one key within closed intervals of a length.
func (a admissions) most(length int64) (units int64) {
	for _, all := range a {
		for i, last := range all {
			sum := int64(0)
			for j := i; j >= 0 && all[j].at >= last.at-length; j-- {
				sum += all[j].cost
			}
			units = max(units, sum)
		}
	}
	return units
}

// The curve is exact, whatever order keys come in.
func TestCurveIsOfAllKeys(t *testing.T) {
	all := admissions{}
	r := ran(t, parsed(t, many), &Options{Trace: all.add})[0].Limits[0]
	if r.CurveKeys != 51 || r.CurveOf != 51 || r.CurveLate != 0 || r.Worst.Key != "abuser" || r.OverKey != "abuser" {
		t.Errorf("of %d of %d, %d late, worst %s, over %s", r.CurveKeys, r.CurveOf, r.CurveLate, r.Worst.Key, r.OverKey)
	}
	for _, p := range r.Curve {
		if want := all.most(p.Micros); p.Units != want {
			t.Errorf("in %d µs: %d, want %d", p.Micros, p.Units, want)
		}
	}
	if last := r.Curve[len(r.Curve)-1]; len(r.Curve) < 20 || last.Units <= last.BoundUnits {
		t.Errorf("%d lengths, the longest %+v: the abuser is missing", len(r.Curve), last)
	}
}

// manyBefore is a scenario in which more keys than the curve follows come before the
// one that takes most.
const manyBefore = `
name: many before
duration: 30s
limits: [{name: l, spec: "gcra:20/1s"}]
traffic:
  - {name: many, process: {kind: constant, rate: 1000/1s}, keys: {kind: spray}}
  - {name: abuser, process: {kind: constant, rate: 100/1s}, keys: {kind: one, name: abuser}, start: 15s}
`

// A key that comes late has its part in the curve, with the window that made it the worst.
func TestCurveHoldsTheWorstThatComesLate(t *testing.T) {
	all := admissions{}
	r := ran(t, parsed(t, manyBefore), &Options{Trace: all.add})[0].Limits[0]
	if r.CurveOf != 30_001 || r.CurveKeys != 10_001 || r.CurveLate != 1 || r.Worst.Key != "abuser" {
		t.Errorf("of %d of %d, %d late, worst %s", r.CurveKeys, r.CurveOf, r.CurveLate, r.Worst.Key)
	}
	for _, p := range r.Curve {
		if want := all.most(p.Micros); p.Units != want {
			t.Errorf("in %d µs: %d, want %d", p.Micros, p.Units, want)
		}
	}
}
