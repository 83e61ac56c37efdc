package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/sim/scenario"
)

// TestSwarm: no scenario that a seed chooses violates a rule, and together they meet every
// goal.
func TestSwarm(t *testing.T) {
	seeds := 400
	if testing.Short() {
		seeds = 10
	}
	met := map[string]int64{}
	for seed := range uint64(seeds) {
		s := scenario.Generate(1 + seed)
		for _, r := range ran(t, s, nil) {
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
				reserved := slices.ContainsFunc(s.Traffic, func(t scenario.Traffic) bool { return t.Reserve != nil }) // charges go into debt
				if len(s.Faults) == 0 && !reserved && s.Server.Clock != "node" && s.Network == (scenario.Network{}) && s.Server.Service == (scenario.Distribution{}) && l.OverUnits+l.FalseDenials > 0 {
					t.Errorf("seed %d, limit %s: over by %d and %d false denials without a fault", s.Seed, l.Name, l.OverUnits, l.FalseDenials)
				}
			}
		}
	}
	for name, count := range met {
		if count == 0 && !testing.Short() {
			t.Errorf("never: %s", name)
		}
	}
}
