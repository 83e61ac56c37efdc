package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// burst is n requests of one key within a millisecond.
func burst(name string, n int, at string) string {
	return fmt.Sprintf("  - {name: %s, start: %s, count: %d, process: {kind: constant, rate: %d/1ms}, keys: {kind: one}}\n", name, at, n, n)
}

// limitsOf are limits with their specs for names.
func limitsOf(specs ...string) string {
	var b strings.Builder
	for _, spec := range specs {
		fmt.Fprintf(&b, "  - {name: %q, spec: %q}\n", spec, spec)
	}
	return b.String()
}

// TestTwoBurstsPassApproximateWindows: a burst late in a minute and one late in the next
// are nearly twice the limit for a sliding counter, and at the turn twice for a fixed
// window; only the log keeps to it.
func TestTwoBurstsPassApproximateWindows(t *testing.T) {
	for _, c := range []struct {
		second string
		spec   string
		most   int64
	}{
		{"119980ms", "sliding-log:100/1m", 100},
		{"119980ms", "sliding-counter:100/1m", 199},
		{"60s", "fixed-window:100/1m", 200},
	} {
		s := parsed(t, "name: edge\nduration: 3m\nlimits:\n"+limitsOf(c.spec)+"traffic:\n"+burst("first", 150, "59990ms")+burst("second", 150, c.second))
		r := ran(t, s, nil)[0]
		if got := r.Limits[0].Worst.Units; got != c.most {
			t.Errorf("%s: %d in the worst minute, want %d", c.spec, got, c.most)
		}
	}
}

// TestBurstIsOnTopOfTheRate: what comes in steadily at twice the rate for one period.
func TestBurstIsOnTopOfTheRate(t *testing.T) {
	s := parsed(t, "name: pairs\nduration: 30s\nlimits:\n"+
		limitsOf("token-bucket:17/30s", "gcra:17/30s", "gcra:17/30s,burst=1", "sliding-log:17/30s")+`traffic:
  - {name: whole, count: 30, process: {kind: constant, rate: 1/1s}, keys: {kind: one}}
  - {name: quarter, start: 250ms, count: 30, process: {kind: constant, rate: 1/1s}, keys: {kind: one}}
`)
	for i, want := range []int64{33, 33, 15, 17} {
		if r := ran(t, s, nil)[i]; r.Totals.Admitted != want || r.Totals.Arrivals != 60 {
			t.Errorf("%s: %d of %d admitted, want %d of 60", r.Limit, r.Totals.Admitted, r.Totals.Arrivals, want)
		}
	}
}

// TestObedientCallersComeBackTogether: a thousand callers of a limit of a hundred obey
// RetryAfter. All that are left come at each turn of the minute, unless they add jitter.
func TestObedientCallersComeBackTogether(t *testing.T) {
	const shape = `name: herd
duration: 10m
limits:
  - {name: window, spec: fixed-window:100/1m}
traffic:
  - {name: herd, start: 1s, count: 1000, process: {kind: constant, rate: 1000/1s}, keys: {kind: one}, retry: {kind: obey%s}}
`
	r := ran(t, parsed(t, fmt.Sprintf(shape, "")), nil)[0]
	if r.Totals.Admitted != 1000 || r.Totals.Attempts != 5500 { // 1000 + 900 + … + 100
		t.Errorf("%d admitted in %d attempts, want 1000 in 5500", r.Totals.Admitted, r.Totals.Attempts)
	}
	for minute := int64(1); minute <= 9; minute++ {
		if got := r.Series.Offered[minute*60_000_000/r.Series.BucketMicros]; got != 1000-100*minute {
			t.Errorf("minute %d: %d come, want %d", minute, got, 1000-100*minute)
		}
	}
	if last := 540_000_000 / r.Series.BucketMicros; sum(r.Series.Offered[last+1:]) != 0 {
		t.Errorf("some come after 540 s")
	}
	spread := ran(t, parsed(t, fmt.Sprintf(shape, ", jitter: 30s")), nil)[0]
	if peak := slices.Max(spread.Series.Offered[30_000_000/r.Series.BucketMicros:]); peak > 120 || spread.Totals.Admitted != 1000 {
		t.Errorf("with a jitter of 30 s %d come within %d µs, and %d are admitted", peak, spread.Series.BucketMicros, spread.Totals.Admitted)
	}
}

func sum(all []int64) (n int64) {
	for _, one := range all {
		n += one
	}
	return n
}
