package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/world"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
)

// runLeases runs a scenario with what is planted beneath the leases, each limit by itself, until a rule is
// broken.
func runLeases(t *testing.T, s *scenario.Scenario, beneath func(store.Store) store.Store) (last *result.Result) {
	t.Helper()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	size := 1
	if s.Together {
		size = len(s.Limits)
	}
	for i := 0; i < len(s.Limits); i += size {
		r, err := world.Run(t.Context(), s, s.Limits[i:i+size], world.Options{Beneath: beneath})
		if err != nil {
			t.Fatal(err)
		}
		if last = r; r.Failure != nil {
			return r
		}
	}
	return last
}

// TestLeasesKeepTheRulesInRandomScenarios: G1 to G9, with every fault but those of clocks.
func TestLeasesKeepTheRulesInRandomScenarios(t *testing.T) {
	leased, seeds := int64(0), uint64(8)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		s := scenario.Generate(seed)
		withLeases(s, seed)
		r := runLeases(t, s, nil)
		if r.Failure != nil {
			t.Errorf("seed %d: %s: %s", seed, r.Failure.Rule, r.Failure.Text)
		}
		leased += max(0, r.Totals.Admitted-r.Limits[0].ExecutedAllowed)
	}
	if leased <= 0 {
		t.Error("no decision was made from a lease")
	}
}

// withLeases makes a scenario one with leases.
func withLeases(s *scenario.Scenario, seed uint64) {
	s.Nodes.Lease = &scenario.Lease{
		MaxShare: scenario.Decimal([]int64{10_000, 100_000, 500_000}[seed%3]),
		Life:     []time.Duration{50 * time.Millisecond, time.Second, 10 * time.Second}[seed/3%3],
	}
	s.Network.Repeats, s.Server.Clock = false, ""
	s.Nodes.Breaker, s.Nodes.DenyCache = false, 0
	s.Faults = slices.DeleteFunc(s.Faults, func(f scenario.Fault) bool { return f.Kind == "clock" })
	s.Expect = nil
	s.Nodes.SettleIntoDebt, s.Nodes.IDTTL = false, 0
	for i := range s.Traffic {
		s.Traffic[i].Reserve = nil
	}
}

// TestLeaseOfOneUnitChangesNoAnswer is G9: a run is the same as without leases.
func TestLeaseOfOneUnitChangesNoAnswer(t *testing.T) {
	s, err := scenario.Load("hot-key")
	if err != nil {
		t.Fatal(err)
	}
	s.Duration = 2 * time.Second
	want := runLeases(t, s, nil)
	s.Nodes.Lease = &scenario.Lease{Units: 1}
	if got := runLeases(t, s, nil); got.Digest != want.Digest || got.Totals != want.Totals {
		t.Errorf("with leases of one unit the digest is %s, and without leases %s", got.Digest, want.Digest)
	}
}

// TestPlantedMistakesOfLeasesAreCaught, each by the rule leases.
func TestPlantedMistakesOfLeasesAreCaught(t *testing.T) {
	type call = func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error)
	for name, apply := range map[string]call{
		// A client that sends a return twice.
		"returned twice": func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
			if ops[0].Request.Verb == algorithm.Refund {
				if at, committed, err := next(ctx, ops); err != nil {
					return at, committed, err
				}
			}
			return next(ctx, ops)
		},
		// A client that takes an error for a grant.
		"granted by an error": func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
			at, committed, err := next(ctx, ops)
			if err != nil && ops[0].Request.Cost > 1 && ops[0].Request.Verb == algorithm.Take {
				ops[0].Outcome = algorithm.Outcome{Allowed: true, Limit: 4000}
				return at, true, nil
			}
			return at, committed, err
		},
		// A client that charges one unit for what it is asked.
		"charged too little": func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
			if cost := ops[0].Request.Cost; cost > 1 && ops[0].Request.Verb == algorithm.Take {
				ops[0].Request.Cost = 1
				defer func() { ops[0].Request.Cost = cost }()
			}
			return next(ctx, ops)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := scenario.Load("hot-key-leases")
			if err != nil {
				t.Fatal(err)
			}
			s.Duration = 5 * time.Second
			s.Expect = nil
			s.Limits = []scenario.Limit{{Name: "window", Spec: "fixed-window:100000/1h"}}
			s.Faults = []scenario.Fault{{Kind: "down", At: 2 * time.Second, For: time.Second}}
			r := runLeases(t, s, func(inner store.Store) store.Store {
				return store.Wrap(inner, store.Hooks{Apply: apply})
			})
			if r.Failure == nil || r.Failure.Rule != "leases" {
				t.Errorf("%+v, want a failure of the rule leases", r.Failure)
			}
		})
	}
}

func TestScenariosRefuseWhatLeasesDoNotSuit(t *testing.T) {
	for name, change := range map[string]func(*scenario.Scenario){
		"policy_file":     func(s *scenario.Scenario) { s.Limits, s.PolicyFile = nil, "p.yaml" },
		"server.clock":    func(s *scenario.Scenario) { s.Server.Clock = "node" },
		"nodes.breaker":   func(s *scenario.Scenario) { s.Nodes.Breaker = true },
		"network.repeats": func(s *scenario.Scenario) { s.Network.Repeats = true },
		"faults[0].kind":  func(s *scenario.Scenario) { s.Faults = []scenario.Fault{{Kind: "clock", Step: time.Second}} },
		"nodes.lease":     func(s *scenario.Scenario) { s.Nodes.Lease.Life = time.Microsecond },
	} {
		s, err := scenario.Load("hot-key-leases")
		if err != nil {
			t.Fatal(err)
		}
		change(s)
		if err := s.Validate(); err == nil || !strings.Contains(fmt.Sprint(err), name) {
			t.Errorf("%s: error %v, want one about it", name, err)
		}
	}
}
