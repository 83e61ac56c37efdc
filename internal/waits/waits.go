// Package waits counts how long requests wait.
package waits

import (
	"math/bits"

	"github.com/weirgo/weir/internal/exact"
)

// Waits counts waits in steps of less than 1 %, for percentiles. The zero Waits has none.
// It takes 64 KB, and adding a wait allocates nothing.
type Waits struct {
	steps [64 << stepBits]int64
	count int64
	sum   exact.Wide
	most  int64
}

// stepBits is how many bits of a wait behind its first one its step keeps.
const stepBits = 7

// Add counts a wait some times. It is in µs, and not below 0.
func (w *Waits) Add(wait, times int64) {
	shift := max(bits.Len64(uint64(wait))-stepBits-1, 0)
	w.steps[int64(shift)<<stepBits+wait>>shift] += times
	w.count += times
	w.sum = w.sum.Plus(exact.Product(wait, times))
	if times > 0 {
		w.most = max(w.most, wait)
	}
}

// Count returns how many waits were added.
func (w *Waits) Count() int64 { return w.count }

// Most returns the longest wait in µs, and 0 where there is none.
func (w *Waits) Most() int64 { return w.most }

// Mean returns the mean in µs, rounded down, and 0 where there is no wait.
func (w *Waits) Mean() int64 {
	if w.count == 0 {
		return 0
	}
	return w.sum.Floor(w.count)
}

// Percentile returns in µs how long that many of a thousand wait at most: the upper bound
// of a step, so that it may be up to 1 % too long; 0 where there is no wait.
func (w *Waits) Percentile(perMille int64) int64 {
	left := exact.Product(w.count, perMille).Ceil(1000)
	for i, n := range w.steps {
		if left -= n; left <= 0 {
			shift := max(i>>stepBits-1, 0)
			bound := int64(i-shift<<stepBits+1)<<shift - 1
			return min(bound, w.most)
		}
	}
	return w.most
}
