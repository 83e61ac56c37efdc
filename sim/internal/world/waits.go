package world

import (
	shared "github.com/weirgo/weir/internal/waits"
	"github.com/weirgo/weir/sim/result"
)

// waits counts how long requests waited for their turn: in steps of 1, 2 and 5, and for
// percentiles.
type waits struct {
	coarse [40]int64
	all    shared.Waits
}

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
	w.all.Add(wait, 1)
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
	return result.Wait{
		MeanMicros: w.all.Mean(), P50Micros: w.all.Percentile(500), P90Micros: w.all.Percentile(900),
		P99Micros: w.all.Percentile(990), P999Micros: w.all.Percentile(999), MaxMicros: w.all.Most(),
	}
}
