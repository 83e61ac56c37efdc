package traffic

import (
	"math/bits"

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
		share := random.Exp(-float64(alpha.Float() * random.Log(float64(i+1))))
		weights[i] = int64(float64(zipfOne*share) + 0.5)
	}
	return weights
}

// weighted chooses among numbers from 0 by their weights, exactly: it draws a whole
// number below the total and looks it up in the sums.
type weighted struct {
	sums  []int64 // sums[i] = weights[0] + … + weights[i]
	guide []int32 // where the search for a number starts, by its highest bits
	shift int     // drops its other bits
	draw  *random.Stream
}

// guideBits makes the guide as large as a table may be that a processor keeps near.
const guideBits = 12

// newWeighted takes weights from 0 whose total is from 1 to below 2^62.
func newWeighted(weights []int64, draw *random.Stream) weighted {
	w := weighted{sums: make([]int64, len(weights)), draw: draw}
	var sum int64
	for i, weight := range weights {
		sum += weight
		w.sums[i] = sum
	}
	w.shift = max(bits.Len64(uint64(sum-1))-guideBits, 0)
	// One more than there are parts: the end of the last.
	w.guide = make([]int32, (sum-1)>>w.shift+2)
	for part := range w.guide {
		w.guide[part] = int32(w.search(int64(part)<<w.shift, 0, len(w.sums)-1))
	}
	return w
}

func (w *weighted) next() int {
	at := w.draw.N(w.sums[len(w.sums)-1])
	part := at >> w.shift
	return w.search(at, int(w.guide[part]), int(w.guide[part+1]))
}

// search returns the first index from low to high whose sum is above at, or high.
func (w *weighted) search(at int64, low, high int) int {
	for low < high {
		if middle := int(uint(low+high) / 2); w.sums[middle] > at {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}
