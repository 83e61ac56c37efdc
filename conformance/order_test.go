package conformance_test

import (
	"cmp"
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
	if testing.Short() {
		t.Skip("-short: every check of every mistake; those that are meant for it run in TestEachBrokenStoreIsCaughtByTheCheckMeantForIt")
	}
	var golden strings.Builder
	for _, m := range mutants() {
		if m.cfg.OwnClock {
			continue // which check is the first depends on the time of day
		}
		first := firstFailure(m, m.cfg)
		if slices.Contains(m.meant, first) {
			first = "* " + first
		}
		fmt.Fprintf(&golden, "%s\n\t%s\n", m.name, cmp.Or(first, "(none but those of concurrent callers)"))
	}
	mustBeGolden(t, "testdata/first-failures.golden", golden.String())
}

// firstFailure is the first check to fail, of those that do not depend on what happens
// at the same time: some mistakes do not survive concurrent callers.
func firstFailure(m mutant, cfg *conformance.Config) string {
	for _, c := range cfg.Checks() {
		if byChance(c) {
			continue
		}
		if err := c.Verify(m.open); err != nil && !errors.Is(err, conformance.ErrSkipped) {
			return c.Name
		}
	}
	return ""
}

// hooksTable shows what is seen of mistakes that a hook of Config shows, without it.
func hooksTable() string {
	var b strings.Builder
	b.WriteString("| mistake | seen by, with hooks | and without |\n|---|---|---|\n")
	for _, m := range mutants() {
		if part, _, _ := strings.Cut(m.meant[0], "/"); !slices.Contains([]string{"stored", "corrupt"}, part) && m.meant[0] != "expiry/swept" {
			continue
		}
		bare, without := *m.cfg, "nothing"
		bare.Inspect, bare.Corrupt, bare.Sweep = nil, nil, nil
		if m.cfg.OwnClock {
			without = "depends on the time of day"
		} else if first := firstFailure(m, &bare); first != "" {
			without = "`" + first + "`"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", m.name, m.meant[0], without)
	}
	return b.String()
}
