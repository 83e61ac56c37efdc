package algorithm_test

import (
	"strconv"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/internal/race"
	"pgregory.net/rapid"
)

// TestLaws checks the general laws for all algorithms, with parameters
// drawn anew for every history.
func TestLaws(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.Name, func(t *testing.T) {
			for _, l := range conformance.Laws() {
				t.Run("law/"+l.Name, rapid.MakeCheck(func(t *rapid.T) { l.Check(t, k.build(drawParams(t))) }))
			}
		})
	}
}

// TestLawsAfterChange checks them for states that were partly made under other
// parameters of the same kind.
func TestLawsAfterChange(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.Name, func(t *testing.T) {
			for _, l := range conformance.Laws() {
				t.Run("law/"+l.Name, rapid.MakeCheck(func(t *rapid.T) {
					p := drawParams(t)
					l.Check(t, k.build(p), k.build(drawNear(t, p)), k.build(drawParams(t)))
				}))
			}
		})
	}
}

// drawNear draws parameters that differ from p in one thing, as a changed limit
// mostly does.
func drawNear(t *rapid.T, p params) params {
	switch rapid.IntRange(0, 2).Draw(t, "changed") {
	case 0:
		p.rate.Units = drawUnits(t)
	case 1:
		p.rate.Per = drawPeriod(t)
	}
	p.burst = drawBurst(t, p.rate)
	return p
}

// TestLawsOfFamilies checks them for tiny, usual and the largest limits, as they are
// written by hand, where a failure is easiest to read.
func TestLawsOfFamilies(t *testing.T) {
	if testing.Short() && !race.Enabled && strconv.IntSize == 64 {
		t.Skip("-short: many sizes; TestLaws draws some")
	}
	for _, f := range algorithm.Families() {
		t.Run(f.Name, func(t *testing.T) { conformance.TestFamily(t, f) })
	}
}
