// Package race says whether the race detector is on. It makes everything about ten times
// slower, allocates, and empties every sync.Pool at random: a bound that a test holds
// without it may not hold with it.
package race

import "testing"

// SkipAllocations skips a test of allocations where the race detector is on.
func SkipAllocations(tb testing.TB) {
	tb.Helper()
	if Enabled {
		tb.Skip("the race detector allocates")
	}
}
