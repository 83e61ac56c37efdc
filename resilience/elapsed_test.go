package resilience

import (
	"testing"
	"time"
)

// TestElapsedTimeCountsASuspendedMachine: N1. A denial does not last longer for it.
func TestElapsedTimeCountsASuspendedMachine(t *testing.T) {
	var e elapsed
	for _, c := range []struct{ monotonic, wall, want time.Duration }{
		{1 * time.Second, 1 * time.Second, 1 * time.Second},
		{2 * time.Second, 3 * time.Second, 2 * time.Second}, // clocks that differ a little
		{3 * time.Second, time.Hour, time.Hour},             // suspended
		{4 * time.Second, time.Hour + time.Second, time.Hour + time.Second},
		{5 * time.Second, -time.Hour, time.Hour + 2*time.Second}, // the wall clock goes back
		{6 * time.Second, 2 * time.Hour, 2 * time.Hour},
	} {
		if got := e.at(c.monotonic, c.wall); got != c.want {
			t.Errorf("%v of monotonic time and %v of wall time are %v, want %v", c.monotonic, c.wall, got, c.want)
		}
	}
}
