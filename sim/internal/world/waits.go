package world

import (
	"math/bits"

	"github.com/weirgo/weir/internal/exact"
	"github.com/weirgo/weir/sim/result"
)

// waits counts how long requests waited for their turn: in steps of 1, 2 and 5, and in
// steps of less than 1 % for percentiles.
type waits struct {
	coarse [40]int64
	fine   [64 << fineBits]int64
	count  int64
	sum    exact.Wide
	most   int64
}

// fineBits is how many bits of a wait behind its first one its fine step keeps.
const fineBits = 7

// waitBounds are the upper bounds of all coarse steps but the last, in µs: 0, 1, 2, 5, 10, …
var waitBounds = func() (bounds [len(waits{}.coarse) - 1]int64) {
	scale := int64(1)
	for i := 1; i < len(bounds); i++ {
		bounds[i] = scale * [...]int64{1, 2, 5}[(i-1)%3]
		if i%3 == 0 {
			scale *= 10
		}
	}
	return bounds
}()

func (w *waits) add(wait int64) {
	i := 0
	for i < len(waitBounds) && wait > waitBounds[i] {
		i++
	}
	w.coarse[i]++
	shift := max(bits.Len64(uint64(wait))-fineBits-1, 0)
	w.fine[int64(shift)<<fineBits+wait>>shift]++
	w.count++
	w.sum = w.sum.Plus(exact.Product(wait, 1))
	w.most = max(w.most, wait)
}

// buckets returns the coarse steps up to the last that is not empty.
func (w *waits) buckets() []result.WaitBucket {
	var all []result.WaitBucket
	full := 0
	for i, n := range w.coarse {
		bound := int64(-1)
		if i < len(waitBounds) {
			bound = waitBounds[i]
		}
		all = append(all, result.WaitBucket{UpToMicros: bound, Count: n})
		if n > 0 {
			full = len(all)
		}
	}
	return all[:full]
}

// percentiles sums the waits up.
func (w *waits) percentiles() result.Wait {
	if w.count == 0 {
		return result.Wait{}
	}
	return result.Wait{
		MeanMicros: w.sum.Floor(w.count), P50Micros: w.percentile(500), P90Micros: w.percentile(900),
		P99Micros: w.percentile(990), P999Micros: w.percentile(999), MaxMicros: w.most,
	}
}

// percentile returns the upper bound of the fine step that holds it.
func (w *waits) percentile(perMille int64) int64 {
	left := exact.Product(w.count, perMille).Ceil(1000)
	for i, n := range w.fine {
		if left -= n; left <= 0 {
			shift := max(i>>fineBits-1, 0)
			bound := int64(i-shift<<fineBits+1)<<shift - 1
			return min(bound, w.most)
		}
	}
	return w.most
}
