package world

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPercentilesAreAtMostOnePercentTooLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int64{1, 100, 255, 256, 257, 1_000_000, math.MaxInt64 / 2} {
		var w waits
		var all []int64
		var sum float64
		for range 10_000 {
			wait := r.Int64N(most + 1)
			w.add(wait)
			all = append(all, wait)
			sum += float64(wait)
		}
		slices.Sort(all)
		got := w.percentiles()
		for _, p := range []struct{ got, want int64 }{
			{got.P50Micros, all[4999]}, {got.P90Micros, all[8999]}, {got.P99Micros, all[9899]}, {got.P999Micros, all[9989]}, {got.MaxMicros, all[9999]},
		} {
			if p.got < p.want || float64(p.got) > 1.01*float64(p.want) {
				t.Errorf("up to %d: %d, want %d", most, p.got, p.want)
			}
		}
		if mean := sum / 10_000; math.Abs(float64(got.MeanMicros)-mean) > 1+mean/1e6 {
			t.Errorf("up to %d: a mean of %d, want %v", most, got.MeanMicros, mean)
		}
	}
}
