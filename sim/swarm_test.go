package sim

import (
	"strings"
	"testing"
)

// TestSwarm: no scenario that a seed chooses violates a rule, and together they meet every
// goal.
func TestSwarm(t *testing.T) {
	seeds := 400
	if testing.Short() {
		seeds = 60
	}
	met := map[string]int64{}
	ran := 0
	err := Explore(t.Context(), 1, seeds, nil, func(s *Scenario, results []*Result) bool {
		ran++
		for _, r := range results {
			for _, g := range r.Goals {
				met[g.Name] += g.Count
			}
			if f := r.Failure; f != nil {
				t.Errorf("seed %d, limit %s: %s: %s\n%s\n%s", s.Seed, f.Limit, f.Rule, f.Text, f.Columns, strings.Join(f.Last, "\n"))
			}
			for _, l := range r.Limits {
				if l.OverUnits > l.OverBoundUnits {
					t.Errorf("seed %d, limit %s: over by %d, and %d are explained", s.Seed, l.Name, l.OverUnits, l.OverBoundUnits)
				}
				if len(s.Faults) == 0 && s.Server.Clock == "" && s.Network == (Network{}) && l.OverUnits+l.FalseDenials > 0 {
					t.Errorf("seed %d, limit %s: over by %d and %d false denials without a fault", s.Seed, l.Name, l.OverUnits, l.FalseDenials)
				}
			}
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if ran != seeds {
		t.Fatalf("%d of %d seeds", ran, seeds)
	}
	for _, name := range GoalNames() {
		if met[name] == 0 && !testing.Short() {
			t.Errorf("never: %s", name)
		}
	}
}

func TestExploreStopsWhereItIsTold(t *testing.T) {
	looked := 0
	if err := Explore(t.Context(), 1, 10, nil, func(*Scenario, []*Result) bool { looked++; return looked < 3 }); err != nil || looked != 3 {
		t.Errorf("%d looks, %v", looked, err)
	}
}
