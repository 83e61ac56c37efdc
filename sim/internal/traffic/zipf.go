package traffic

import (
	"slices"

	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

// zipfOne is the weight of the first key. A million keys of that weight stay below
// 2^62, and the weight of the last of them at α = 2 is 4, not 0.
const zipfOne = 1 << 42

// zipfWeights returns zipfOne/i^α in whole numbers, rounded, for i = 1 to n: the busiest
// key first. Popularity on the web has an α of 0.64 to 0.83 (Breslau et al. 1999); the
// sampler of the standard library needs an exponent above 1.
func zipfWeights(n int64, alpha scenario.Decimal) []int64 {
	weights := make([]int64, n)
	for i := range weights {
		share := random.Exp(-float64(float(alpha) * random.Log(float64(i+1))))
		weights[i] = int64(float64(zipfOne*share) + 0.5)
	}
	return weights
}

// weighted chooses among numbers from 0 by their weights, exactly: it draws a whole
// number below the total and looks it up in the sums.
type weighted struct {
	sums []int64 // sums[i] = weights[0] + … + weights[i]
	draw *random.Stream
}

// newWeighted takes weights from 0 whose total is from 1 to below 2^62.
func newWeighted(weights []int64, draw *random.Stream) weighted {
	w := weighted{sums: make([]int64, len(weights)), draw: draw}
	sum := int64(0)
	for i, weight := range weights {
		sum += weight
		w.sums[i] = sum
	}
	return w
}

func (w *weighted) next() int {
	i, _ := slices.BinarySearch(w.sums, w.draw.N(w.sums[len(w.sums)-1])+1)
	return i
}
