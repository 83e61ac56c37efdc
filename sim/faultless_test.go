package sim

import (
	"testing"

	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/scenario"
)

// crowded is a scenario without faults in which every limit is short of room: ordinary
// users, attackers of windows, and callers who come back exactly when they are told to,
// or a microsecond before.
const crowded = `
name: crowded
duration: 5m
seed: 7
nodes: {count: 3}
traffic:
  - name: users
    process: {kind: poisson, rate: 6/1s}
    keys: {kind: zipf, n: 5, alpha: 1}
    costs: {kind: list, list: [0, 1, 2, 5, 6, 7, 8]}
  - name: edge
    process: {kind: boundary, limit: 7/3s}
    keys: {kind: one, name: edge}
  - name: fade
    process: {kind: counter, limit: 7/3s}
    keys: {kind: one, name: fade}
  - name: exact
    closed: {callers: 1}
    keys: {kind: one, name: exact}
    retry: {kind: obey}
  - name: early
    closed: {callers: 1}
    keys: {kind: one, name: early}
    costs: {kind: list, list: [1, 5]}
    retry: {kind: obey, offset: -1us, attempts: 3}
  - name: at once
    process: {kind: batch, rate: 1/4s, batch: 9, sizes: fixed}
    keys: {kind: one, name: at once}
` + everyLimit

func TestWithoutFaultsNothingIsOver(t *testing.T) {
	networks := map[string]string{
		"straight": "",
		"network":  "network: {delay: {kind: exponential, mean: 3ms}}\nserver: {service: {kind: fixed, mean: 50us}}\n",
	}
	for name, network := range networks {
		t.Run(name, func(t *testing.T) {
			for _, r := range ran(t, parsed(t, crowded+network), nil) {
				l := r.Limits[0]
				if l.OverUnits != 0 || l.FalseDenials != 0 || r.RetryAfter.MaxErrorMicros != 0 || l.ForgottenUnits != 0 {
					t.Errorf("%s: over %d, false denials %d, error of a wait %d µs, forgotten %d",
						r.Limit, l.OverUnits, l.FalseDenials, r.RetryAfter.MaxErrorMicros, l.ForgottenUnits)
				}
				if r.Totals.Errors+r.Totals.Unknown+r.Totals.Degraded+r.Totals.Open != 0 || r.Totals.Admitted == 0 || r.Totals.Denied == 0 {
					t.Errorf("%s: %+v", r.Limit, r.Totals)
				}
				for _, p := range l.Curve {
					if p.Units > p.BoundUnits {
						t.Errorf("%s: %d in %d µs, and at most %d are allowed", r.Limit, p.Units, p.Micros, p.BoundUnits)
					}
				}
				if l.Worst.Units > l.Worst.BoundUnits {
					t.Errorf("%s: worst window %+v", r.Limit, l.Worst)
				}
			}
		})
	}
}

// TestWorstCasesAreReached: the bounds are no more than they must be.
func TestWorstCasesAreReached(t *testing.T) {
	for _, r := range ran(t, parsed(t, crowded), nil) {
		// GCRA and the like: B + ⌊t·L/P⌋ for t = P − 1 µs, which is 5 + 6; the log 7; the
		// fixed window 2·7; the counter 2·7 − 1.
		want := map[string]int64{"gcra": 11, "token bucket": 11, "leaky bucket": 11, "fixed window": 14, "sliding log": 7, "sliding counter": 13}[r.Limit]
		if worst := r.Limits[0].Worst; worst.Units != want || worst.BoundUnits != want {
			t.Errorf("%s: the worst window is %+v, and must be %d", r.Limit, worst, want)
		}
		if r.RetryAfter.Exact == 0 || r.RetryAfter.ByOne == 0 || goalOf(r, check.WholeCapacity) == 0 || goalOf(r, check.AboveCapacity) == 0 {
			t.Errorf("%s: %+v, cost of the capacity %d times, and above by one %d times", r.Limit,
				r.RetryAfter, goalOf(r, check.WholeCapacity), goalOf(r, check.AboveCapacity))
		}
		if r.Limit == "gcra" {
			bounds := 0
			for _, p := range r.Limits[0].Curve {
				if p.Units == p.BoundUnits {
					bounds++
				}
			}
			if bounds < len(r.Limits[0].Curve)/2 {
				t.Errorf("gcra reaches its curve at %d of %d lengths", bounds, len(r.Limits[0].Curve))
			}
		}
	}
}

// TestCountsAddUp: nothing is counted twice or not at all.
func TestCountsAddUp(t *testing.T) {
	scenarios := []*scenario.Scenario{parsed(t, crowded)}
	seeds := uint64(25)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		scenarios = append(scenarios, scenario.Generate(seed))
	}
	for _, s := range scenarios {
		for _, r := range ran(t, s, nil) {
			c := r.Totals
			if ends := c.Admitted + c.Denied + c.Errors + c.Unknown + c.Throttled; c.Attempts != ends || c.Open != 0 {
				t.Errorf("%s: %d attempts, and %d ended", s.Name, c.Attempts, ends)
			}
			if c.Arrivals != c.Admitted+c.GaveUp+c.Waiting {
				t.Errorf("%s: %d arrivals, %d admitted, %d gave up and %d wait", s.Name, c.Arrivals, c.Admitted, c.GaveUp, c.Waiting)
			}
			var sums [5]int64
			for i, counts := range [][]int64{r.Series.Offered, r.Series.Admitted, r.Series.Denied, r.Series.Degraded, r.Series.Failed} {
				if len(counts) > 300 {
					t.Errorf("%s: %d buckets", s.Name, len(counts))
				}
				for _, n := range counts {
					sums[i] += n
				}
			}
			if want := [5]int64{c.Attempts, c.Admitted, c.Denied, c.Degraded, c.Errors + c.Unknown}; sums != want {
				t.Errorf("%s: the series add up to %v, and the totals are %v", s.Name, sums, want)
			}
			waited := int64(0)
			for _, b := range r.Waits {
				waited += b.Count
			}
			if waited != c.Admitted {
				t.Errorf("%s: %d waits of %d admitted", s.Name, waited, c.Admitted)
			}
			if !r.Fairness.Partial {
				if j := r.Fairness.JainMillionths; j < 0 || j > 1_000_000 {
					t.Errorf("%s: a Jain index of %d", s.Name, j)
				}
			}
		}
	}
}
