package traffic

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/random"
)

// Costs is how much requests cost, as data. A field that its kind does not take
// is refused; one that is left out takes the default in brackets.
type Costs struct {
	// Kind is one of
	//   - fixed: each costs Cost [1]; for a cost of 0 use list;
	//   - geometric: 1 and up, with that Mean;
	//   - log-normal: around Median, spread by Sigma [1];
	//   - list: each of List, with the chance of its entry of Weights [all equal];
	//   - mix: Large for a Share [0.1] of the requests, Cost [1] for the others.
	// Left out it is fixed.
	Kind string `yaml:"kind,omitempty"`
	// Cost is a number of units, from 1 to algorithm.MaxUnits.
	Cost int64 `yaml:"cost,omitempty"`
	// Mean is above 1, to 1000000.
	Mean Decimal `yaml:"mean,omitempty"`
	// Median is a number of units, from 1.
	Median int64 `yaml:"median,omitempty"`
	// Sigma is the standard deviation of the logarithm, above 0 to 10.
	Sigma Decimal `yaml:"sigma,omitempty"`
	// Max cuts geometric and log-normal costs off: more counts as Max
	// [algorithm.MaxUnits].
	Max int64 `yaml:"max,omitempty"`
	// List holds 1 to 100000 costs from 0; a cost of 0 takes nothing.
	List []int64 `yaml:"list,omitempty,flow"`
	// Weights are from 0 to 10^12; not all may be 0.
	Weights []int64 `yaml:"weights,omitempty,flow"`
	// Large is a number of units, from 1.
	Large int64 `yaml:"large,omitempty"`
	// Share is above 0 to 1.
	Share Decimal `yaml:"share,omitempty"`
}

// CostPicker names the cost of each request.
type CostPicker interface {
	// Cost returns the cost of the next request, from 0 to algorithm.MaxUnits.
	Cost() int64
}

const (
	maxCost     = algorithm.MaxUnits
	maxList     = 100_000
	maxWeight   = 1_000_000_000_000 // 100_000 of them stay below 2^57
	maxMeanCost = 1_000_000
)

var costKinds = []kind[func(Costs, *random.Stream) (CostPicker, error)]{
	{"fixed", "cost", newFixedCost},
	{"geometric", "mean max", newGeometricCosts},
	{"log-normal", "median sigma max", newLogNormalCosts},
	{"list", "list weights", newListedCosts},
	{"mix", "cost large share", newMixedCosts},
}

// NewCosts returns the picker of costs. It draws from the stream, which is its own. The
// error is an *algorithm.ParameterError.
func NewCosts(c Costs, draw *random.Stream) (CostPicker, error) {
	kindName := cmp.Or(c.Kind, "fixed")
	chosen, err := choose("costs", kindName, costKinds, c)
	if err != nil {
		return nil, err
	}
	c.Kind = kindName
	defaults(&c.Max, maxCost)
	if err := between("costs "+c.Kind, "max", c.Max, 1, maxCost); err != nil {
		return nil, err
	}
	return chosen.build(c, draw)
}

type fixedCost int64

func newFixedCost(c Costs, _ *random.Stream) (CostPicker, error) {
	defaults(&c.Cost, 1)
	return fixedCost(c.Cost), between("costs fixed", "cost", c.Cost, 1, maxCost)
}

func (f fixedCost) Cost() int64 { return int64(f) }

type geometricCosts struct {
	mean, max int64 // mean in millionths
	draw      *random.Stream
}

func newGeometricCosts(c Costs, draw *random.Stream) (CostPicker, error) {
	err := between("costs geometric", "mean", c.Mean, one+1, maxMeanCost*one)
	return &geometricCosts{int64(c.Mean), c.Max, draw}, err
}

func (g *geometricCosts) Cost() int64 { return min(g.draw.Geometric(g.mean), g.max) }

// logNormalCosts are such as the tokens of requests to a language model.
type logNormalCosts struct {
	median, sigma, max int64 // sigma in millionths
	draw               *random.Stream
}

func newLogNormalCosts(c Costs, draw *random.Stream) (CostPicker, error) {
	defaults(&c.Sigma, one)
	err := cmp.Or(between("costs log-normal", "median", c.Median, 1, maxCost),
		between("costs log-normal", "sigma", c.Sigma, 1, 10*one))
	return &logNormalCosts{c.Median, int64(c.Sigma), c.Max, draw}, err
}

func (l *logNormalCosts) Cost() int64 {
	return min(max(l.draw.LogNormal(l.median, l.sigma), 1), l.max)
}

type listedCosts struct {
	list []int64
	pick weighted
}

func newListedCosts(c Costs, draw *random.Stream) (CostPicker, error) {
	const of = "costs list"
	if len(c.List) < 1 || len(c.List) > maxList {
		return nil, refuse(of, "list", strconv.Itoa(len(c.List))+" costs", fmt.Sprintf("1 to %d costs", maxList))
	}
	weights := c.Weights
	if weights == nil {
		weights = slices.Repeat([]int64{1}, len(c.List))
	}
	if len(weights) != len(c.List) {
		return nil, refuse(of, "weights", strconv.Itoa(len(weights))+" weights", fmt.Sprintf("%d, one for each cost", len(c.List)))
	}
	for i := range c.List {
		if err := cmp.Or(between(of, fmt.Sprintf("list[%d]", i), c.List[i], 0, maxCost),
			between(of, fmt.Sprintf("weights[%d]", i), weights[i], 0, maxWeight)); err != nil {
			return nil, err
		}
	}
	if slices.Max(weights) == 0 {
		return nil, refuse(of, "weights", "0 throughout", "above 0 somewhere")
	}
	return &listedCosts{slices.Clone(c.List), newWeighted(weights, draw)}, nil
}

func (l *listedCosts) Cost() int64 { return l.list[l.pick.next()] }

// mixedCosts are mostly small, with some large ones among them.
type mixedCosts struct {
	small, large, share int64 // share in millionths
	draw                *random.Stream
}

func newMixedCosts(c Costs, draw *random.Stream) (CostPicker, error) {
	defaults(&c.Cost, 1)
	defaults(&c.Share, 100_000)
	err := cmp.Or(between("costs mix", "cost", c.Cost, 1, maxCost),
		between("costs mix", "large", c.Large, 1, maxCost),
		between("costs mix", "share", c.Share, 1, one))
	return &mixedCosts{c.Cost, c.Large, int64(c.Share), draw}, err
}

func (m *mixedCosts) Cost() int64 {
	if m.draw.Millionths(m.share) {
		return m.large
	}
	return m.small
}
