package traffic

import (
	"math"
	"testing"
	"time"

	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

func TestDelayHasItsMeanAndBounds(t *testing.T) {
	for _, c := range []struct {
		d          scenario.Distribution
		mean, off  float64 // µs
		least, top int64
	}{
		{scenario.Distribution{}, 0, 0, 0, 0},
		{scenario.Distribution{Mean: 5 * ms}, 5000, 0, 5000, 5000},
		{scenario.Distribution{Kind: "uniform", Low: ms, High: 3 * ms}, 2000, 10, 1000, 3000},
		{scenario.Distribution{Kind: "uniform", Low: ms, High: ms}, 1000, 0, 1000, 1000},
		{scenario.Distribution{Kind: "exponential", Mean: ms}, 1000, 20, 0, 40_000},
		{scenario.Distribution{Kind: "exponential", Mean: ms, Max: ms}, 1000 * (1 - 1/math.E), 10, 0, 1000},
		{scenario.Distribution{Kind: "pareto", Mean: 3 * ms, Alpha: 3 * one}, 3000, 50, 2000, 1_000_000},
		{scenario.Distribution{Kind: "pareto", Mean: ms, Max: ms}, 567, 10, 285, 1000},
		{scenario.Distribution{Kind: "log-normal", Median: ms}, 1000 * math.Exp(0.5), 30, 0, 200_000},
		{scenario.Distribution{Kind: "log-normal", Median: longest, Sigma: 10 * one}, 1.8646e13, 2e11, 0, micros(longest)},
	} {
		delay := NewDelay(c.d)
		draw := random.New(1).Stream("delay")
		var sum float64
		const n = 100_000
		for range n {
			x := delay(draw)
			if x < c.least || x > c.top {
				t.Fatalf("%+v: %d µs, outside %d to %d", c.d, x, c.least, c.top)
			}
			sum += float64(x)
		}
		if mean := sum / n; math.Abs(mean-c.mean) > c.off {
			t.Errorf("%+v: mean %v µs, want %v ± %v", c.d, mean, c.mean, c.off)
		}
	}
}

func TestFixedDelayDrawsNothing(t *testing.T) {
	delay := NewDelay(scenario.Distribution{Kind: "fixed", Mean: time.Second})
	if got := delay(nil); got != 1_000_000 {
		t.Errorf("%d µs", got)
	}
}
