package traffic

import (
	"testing"
	"time"

	"github.com/weirgo/weir/sim/scenario"
)

func TestLoadStartsStopsAndCounts(t *testing.T) {
	p := scenario.Process{Kind: "constant", Rate: rate(10, time.Second)}
	for _, c := range []struct {
		load        scenario.Traffic
		first, last int64
		n           int
	}{
		{scenario.Traffic{Process: p, Stop: time.Second}, 0, 900_000, 10},
		{scenario.Traffic{Process: p, Start: time.Second, Stop: 2 * time.Second}, 1_000_000, 1_900_000, 10},
		{scenario.Traffic{Process: p, Start: time.Second, Count: 3}, 1_000_000, 1_200_000, 3},
		{scenario.Traffic{Process: p, Stop: 100 * time.Second, Count: 3}, 0, 200_000, 3},
		{scenario.Traffic{Process: p, Stop: 100 * time.Millisecond, Count: 3}, 0, 0, 1},
	} {
		s := source(t, c.load)
		got := drain(s)
		if len(got) != c.n || got[0].At != c.first || got[len(got)-1].At != c.last {
			t.Errorf("%+v: %v", c.load, got)
		}
		if a, ok := s.Next(); ok {
			t.Errorf("%+v: after its end comes %v", c.load, a)
		}
	}
}

// All sources end where an int64 that is read as a float would lose its digits.
func TestSourceEndsAtTheEndOfTime(t *testing.T) {
	for _, p := range []scenario.Process{
		{Kind: "constant", Rate: rate(1, longest)}, {Kind: "poisson", Rate: rate(1, longest)},
		{Kind: "mmpp", OnRate: rate(1, longest), On: longest, Off: longest},
		{Kind: "pareto", Rate: rate(1, longest), Sources: 3, On: longest, Off: longest},
		{Kind: "batch", Rate: rate(1, longest)}, {Kind: "flash", Rate: rate(1, longest), At: longest, Ramp: longest},
		{Kind: "diurnal", Rate: rate(1, longest)}, {Kind: "counts", Counts: []int64{1, 0}, Step: longest, Repeat: true},
		{Kind: "boundary", Limit: rate(1, longest)}, {Kind: "counter", Limit: rate(1, longest)},
		{Kind: "drip", Gap: longest},
	} {
		s := source(t, scenario.Traffic{Process: p, Start: longest})
		list := drain(s)
		if len(list) < 10 || list[len(list)-1].At > maxAt || list[len(list)-1].At < maxAt/2 {
			t.Errorf("%s: %d arrivals, the last at %v", p.Kind, len(list), list[len(list)-1:])
		}
	}
}
