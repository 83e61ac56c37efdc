package sim

import (
	"fmt"
	"math"
	"testing"
)

// TestCallersOfALeakyBucketWaitTheirTurn: twenty callers share ten turns a second, and
// each waits for twenty of them.
func TestCallersOfALeakyBucketWaitTheirTurn(t *testing.T) {
	s := parsed(t, `
name: turns
duration: 600s
limits: [{name: queue, spec: "leaky-bucket:10/1s,capacity=50"}]
traffic: [{name: loop, closed: {callers: 20}, keys: {kind: one}}]
`)
	r := ran(t, s, nil)[0]
	if n := r.Totals.Arrivals; n < 6000 || n > 6020 || r.Totals.Denied != 0 {
		t.Errorf("%d requests, %d denied, want 6000 and what is in the queue", n, r.Totals.Denied)
	}
	if r.Wait.P50Micros < 1_890_000 || r.Wait.P99Micros > 2_020_000 {
		t.Errorf("%+v, want 20 turns of 100 ms", r.Wait)
	}
}

// TestLeakyBucketIsTheQueueOfTheory: Poisson arrivals at a constant service are M/D/1. The
// mean wait is ρ·T/(2(1 − ρ)) (Pollaczek & Khinchine), and at ρ = 0.9 and T = 100 ms 1 in
// 100 waits longer than 2.17 s.
func TestLeakyBucketIsTheQueueOfTheory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: 40 hours")
	}
	for _, c := range []struct{ rho, p99 float64 }{{0.5, 0.33}, {0.8, 1.05}, {0.9, 2.17}} {
		s := parsed(t, fmt.Sprintf(`
name: md1
duration: 40h
seed: 5
limits: [{name: queue, spec: "leaky-bucket:10/1s,capacity=1000000"}]
traffic: [{name: users, process: {kind: poisson, rate: %d/10s}, keys: {kind: one}}]
`, int(100*c.rho)))
		w := ran(t, s, nil)[0].Wait
		mean := c.rho * 100_000 / (2 * (1 - c.rho))
		if got := float64(w.MeanMicros); math.Abs(got-mean) > 0.03*mean {
			t.Errorf("ρ %v: a mean wait of %v µs, want %v", c.rho, got, mean)
		}
		if got := float64(w.P99Micros) / 1e6; math.Abs(got-c.p99) > 0.05*c.p99 {
			t.Errorf("ρ %v: 1 in 100 waits longer than %v s, want %v", c.rho, got, c.p99)
		}
	}
}
