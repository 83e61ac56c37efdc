package waits

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPercentilesAreAtMostOnePercentTooLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int64{1, 100, 255, 256, 257, 1_000_000, math.MaxInt64 / 2} {
		var w Waits
		var all []int64
		var sum float64
		for range 5_000 {
			wait := r.Int64N(most + 1)
			w.Add(wait, 2)
			all = append(all, wait, wait)
			sum += 2 * float64(wait)
		}
		slices.Sort(all)
		for perMille, want := range map[int64]int64{500: all[4999], 900: all[8999], 990: all[9899], 999: all[9989]} {
			if got := w.Percentile(perMille); got < want || float64(got) > 1.01*float64(want) {
				t.Errorf("up to %d: %d in %d of 1000, want %d", most, got, perMille, want)
			}
		}
		if mean := sum / 10_000; w.Most() != all[9999] || w.Count() != 10_000 || math.Abs(float64(w.Mean())-mean) > 1+mean/1e6 {
			t.Errorf("up to %d: a mean of %d and at most %d, want %v and %d", most, w.Mean(), w.Most(), mean, all[9999])
		}
	}
}

func TestWithoutWaitsAllIsZero(t *testing.T) {
	var w Waits
	w.Add(5, 0)
	if w.Count()+w.Mean()+w.Most()+w.Percentile(990) != 0 {
		t.Errorf("a mean of %d and at most %d", w.Mean(), w.Most())
	}
}
