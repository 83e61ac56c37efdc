package sim

import (
	"testing"

	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/scenario"
)

// TestShrinkKeepsTheRule: what is left is small, valid, and violates the same rule.
func TestShrinkKeepsTheRule(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: searches for a small scenario")
	}
	opts := &Options{NewStore: mutant(dropsCharges)}
	shrunk := 0
	for seed := uint64(1); shrunk < 3; seed++ {
		if seed > 50 {
			t.Fatal("no seed below 50 makes enough scenarios that violate")
		}
		s := scenario.Generate(seed)
		results, err := Run(t.Context(), s, opts)
		if err != nil {
			t.Fatal(err)
		}
		f := results[0].Failure
		if f == nil || len(s.Faults) < 3 || len(s.Traffic) < 3 {
			continue
		}
		shrunk++
		before, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		violates := Violates(t.Context(), f.Rule, opts)
		small := scenario.Shrink(s, violates)
		if err := small.Validate(); err != nil {
			t.Fatal(err)
		}
		if !violates(small) {
			t.Errorf("seed %d: what is left does not violate %s", seed, f.Rule)
		}
		// Two kinds of traffic may stay: each alone, with as few requests, violates nothing.
		if len(small.Faults) > 0 || len(small.Traffic) > 2 || len(small.Limits) > 1 || small.Nodes.Count > 1 || small.Duration > s.Duration {
			text, err := small.YAML()
			t.Errorf("seed %d: this is left (%v):\n%s", seed, err, text)
		}
		if after, err := s.YAML(); err != nil || string(before) != string(after) {
			t.Errorf("seed %d: the scenario itself has changed: %v", seed, err)
		}
	}
}

// TestShrinkKeepsTheFaultThatMatters: here a fault is the cause.
func TestShrinkKeepsTheFaultThatMatters(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: searches for a small scenario")
	}
	s := parsed(t, disturbed)
	lost := func(s *scenario.Scenario) bool {
		for _, r := range ran(t, s, nil) {
			if goalOf(r, check.FailoverLost) > 0 {
				return true
			}
		}
		return false
	}
	small := scenario.Shrink(s, lost)
	if len(small.Faults) != 1 || small.Faults[0].Kind != "failover" || len(small.Traffic) != 1 || small.Server.Lag == 0 {
		text, err := small.YAML()
		t.Errorf("this is left (%v):\n%s", err, text)
	}
}
