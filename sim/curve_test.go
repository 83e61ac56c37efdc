package sim

import (
	"fmt"
	"testing"

	"github.com/weirgo/weir/algorithm"
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
type admissions map[string][]admitted

func (a admissions) add(e *Event) {
	switch {
	case e.Kind == Decided && e.Allowed && e.Cost > 0, e.Kind == Stood && e.Allowed:
		a[e.Key] = append(a[e.Key], admitted{e.Micros, e.Cost})
	}
}

// most counts what was admitted to one key within closed intervals of a length.
func (a admissions) most(length int64) (units int64) {
	for _, all := range a {
		for i, last := range all {
			sum := int64(0)
			for j := i; j >= 0 && all[j].at >= last.at-length; j-- {
				sum += all[j].total
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

// crowdBefore is a scenario in which more keys than the curve follows come before the
// one that takes most.
const crowdBefore = `
name: crowd before
duration: 30s
limits: [{name: l, spec: "gcra:20/1s"}]
traffic:
  - {name: crowd, process: {kind: constant, rate: 1000/1s}, keys: {kind: spray}}
  - {name: abuser, process: {kind: constant, rate: 100/1s}, keys: {kind: one, name: abuser}, start: 15s}
`

// A key that comes late has its part in the curve, with the window that made it the worst.
func TestCurveHoldsTheWorstThatComesLate(t *testing.T) {
	all := admissions{}
	r := ran(t, parsed(t, crowdBefore), &Options{Trace: all.add})[0].Limits[0]
	if r.CurveOf != 30_001 || r.CurveKeys != curveSlots+1 || r.CurveLate != 1 || r.Worst.Key != "abuser" {
		t.Errorf("of %d of %d, %d late, worst %s", r.CurveKeys, r.CurveOf, r.CurveLate, r.Worst.Key)
	}
	for _, p := range r.Curve {
		if want := all.most(p.Micros); p.Units != want {
			t.Errorf("in %d µs: %d, want %d", p.Micros, p.Units, want)
		}
	}
}

// What a slot was admitted before it was forgotten counts when it comes back.
func TestCurveRemembersWhoWasForgotten(t *testing.T) {
	law := newLaw(algorithm.Must(algorithm.ParseSpec("gcra:20/1s")))
	c := newCurve(law, 60_000_000)
	var w window
	w.add(&c, 1_000_000, 7)
	c.keep(&w, "key")
	c.tidy(3_000_000)
	w = c.back("key")
	w.add(&c, 4_000_000, 5)
	if longest := c.most[len(c.most)-1]; longest != 12 || c.all != 1 || c.followed != 1 || c.now != 1 {
		t.Errorf("%d in the longest interval; %d of %d, %d now", longest, c.followed, c.all, c.now)
	}
	c.keep(&w, "key")
	c.tidy(4_000_000 + c.lengths[len(c.lengths)-1])
	if len(c.kept) != 1 {
		t.Error("a window was forgotten that the longest interval reaches")
	}
	c.tidy(4_000_001 + c.lengths[len(c.lengths)-1])
	if len(c.kept) != 0 || c.now != 0 {
		t.Errorf("%d windows are kept, %d followed", len(c.kept), c.now)
	}
}

// The places of those that rest are given to others.
func TestCurveFollowsASpray(t *testing.T) {
	law := newLaw(algorithm.Must(algorithm.ParseSpec("gcra:20/1s")))
	c := newCurve(law, 60_000_000)
	for i := range int64(3 * curveSlots) {
		if i%(curveSlots/2) == 0 {
			c.tidy(i * 10_000)
		}
		var w window
		w.add(&c, i*10_000, 1)
		c.keep(&w, fmt.Sprint(i))
	}
	if c.followed != c.all || c.late != 0 {
		t.Errorf("%d of %d, %d late", c.followed, c.all, c.late)
	}
}
