package traffic

import (
	"slices"

	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

// Costs names the cost of each request.
type Costs interface {
	// Cost returns the cost of the next request, from 0 to algorithm.MaxUnits.
	Cost() int64
}

// costs are Costs that one function draws.
type costs func() int64

func (c costs) Cost() int64 { return c() }

// NewCosts returns the Costs of a traffic. They draw from the stream, which is their own.
func NewCosts(c scenario.Costs, draw *random.Stream) Costs {
	c = scenario.Complete(c)
	switch c.Kind {
	case "fixed":
		return costs(func() int64 { return c.Cost })
	case "geometric":
		return costs(func() int64 { return min(draw.Geometric(int64(c.Mean)), c.Max) })
	case "log-normal": // such as the tokens of requests to a language model
		return costs(func() int64 { return min(max(draw.LogNormal(c.Median, int64(c.Sigma)), 1), c.Max) })
	case "list":
		weights := c.Weights
		if weights == nil {
			weights = slices.Repeat([]int64{1}, len(c.List))
		}
		list, pick := slices.Clone(c.List), newWeighted(weights, draw)
		return costs(func() int64 { return list[pick.next()] })
	case "mix": // mostly small, with some large ones among them
		return costs(func() int64 {
			if draw.Millionths(int64(c.Share)) {
				return c.Large
			}
			return c.Cost
		})
	}
	panic("traffic: no costs " + c.Kind)
}
