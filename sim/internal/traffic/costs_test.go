package traffic

import (
	"math"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

func TestCostsHaveTheirMean(t *testing.T) {
	for _, c := range []struct {
		costs      scenario.Costs
		mean, off  float64
		least, top int64
	}{
		{scenario.Costs{}, 1, 0, 1, 1},
		{scenario.Costs{Cost: 7}, 7, 0, 7, 7},
		{scenario.Costs{Kind: "geometric", Mean: 4 * one}, 4, 0.05, 1, 100},
		{scenario.Costs{Kind: "geometric", Mean: 4 * one, Max: 2}, 1.75, 0.01, 1, 2},
		{scenario.Costs{Kind: "log-normal", Median: 500, Sigma: one}, 500 * math.Exp(0.5), 15, 1, 100_000},
		{scenario.Costs{Kind: "log-normal", Median: 500, Max: 500}, 380, 10, 1, 500},
		{scenario.Costs{Kind: "list", List: []int64{0, 10}}, 5, 0.1, 0, 10},
		{scenario.Costs{Kind: "list", List: []int64{0, 10, 99}, Weights: []int64{9, 1, 0}}, 1, 0.05, 0, 10},
		{scenario.Costs{Kind: "mix", Large: 101}, 11, 0.4, 1, 101},
		{scenario.Costs{Kind: "mix", Cost: 2, Large: 4, Share: one / 2}, 3, 0.02, 2, 4},
	} {
		p := NewCosts(c.costs, random.New(1).Stream("costs"))
		var sum int64
		const n = 100_000
		for range n {
			cost := p.Cost()
			if cost < c.least || cost > c.top {
				t.Fatalf("%+v: cost %d, outside %d to %d", c.costs, cost, c.least, c.top)
			}
			sum += cost
		}
		if mean := float64(sum) / n; math.Abs(mean-c.mean) > c.off {
			t.Errorf("%+v: mean %v, want %v ± %v", c.costs, mean, c.mean, c.off)
		}
	}
}

func TestCostsHoldTheirBoundsAtTheExtremes(t *testing.T) {
	for _, c := range []scenario.Costs{
		{Kind: "geometric", Mean: 1_000_000 * one},
		{Kind: "log-normal", Median: algorithm.MaxUnits, Sigma: 10 * one},
		{Kind: "log-normal", Median: 1, Sigma: 10 * one},
	} {
		p := NewCosts(c, random.New(1).Stream("costs"))
		for range 100_000 {
			if cost := p.Cost(); cost < 1 || cost > algorithm.MaxUnits {
				t.Fatalf("%+v: cost %d", c, cost)
			}
		}
	}
}

func TestListedCostsAreACopy(t *testing.T) {
	list := []int64{5}
	p := NewCosts(scenario.Costs{Kind: "list", List: list}, random.New(1).Stream("costs"))
	list[0] = -1
	if got := p.Cost(); got != 5 {
		t.Errorf("cost %d after the caller changed its list", got)
	}
}
