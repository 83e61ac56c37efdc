package conformance_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/conformance"
)

// What a reader sees first should lead to the cause. The file shows for each mistake
// which check is the first to fail, with a star if that one is meant for it; a new
// order of the checks is to be judged by it.
func TestFirstFailureLeadsToTheCause(t *testing.T) {
	var golden strings.Builder
	for _, m := range mutants() {
		if m.cfg.OwnClock {
			continue // which check is the first depends on the time of day
		}
		first := "(none but those of concurrent callers)"
		for _, c := range m.cfg.Checks() {
			if byChance(c) { // some of the mistakes do not survive concurrent callers
				continue
			}
			if err := c.Verify(m.open); err != nil && !errors.Is(err, conformance.ErrSkipped) {
				if first = c.Name; slices.Contains(m.meant, c.Name) {
					first = "* " + first
				}
				break
			}
		}
		fmt.Fprintf(&golden, "%s\n\t%s\n", m.name, first)
	}
	mustBeGolden(t, "testdata/first-failures.golden", golden.String())
}
