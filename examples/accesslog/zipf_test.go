package main

import "testing"

// At the powers of 1024 the root comes out even, so the weight is known without a float: 1024^0.9 = 2^9.
func TestZipfWeightsAreExact(t *testing.T) {
	for _, c := range []struct {
		rank int64
		want int
	}{
		{1, 1_000_000}, {2, 535_886}, {1 << 10, 1_000_000 / 512}, {1 << 20, 1_000_000 / (512 * 512)},
	} {
		if got := zipfWeight(c.rank); got != c.want {
			t.Errorf("rank %d: weight %d, want %d", c.rank, got, c.want)
		}
	}
}

func TestTableGivesEachIndexItsWeight(t *testing.T) {
	weights := []int{5, 0, 1, 14}
	counts := make([]int, len(weights))
	s := newStream(1, "table")
	const draws = 20_000
	for range draws {
		counts[s.index(newTable(weights))]++
	}
	for i, weight := range weights {
		want := draws * weight / 20
		// 300 is more than four standard deviations of every count.
		if off := counts[i] - want; off < -300 || off > 300 || weight == 0 && counts[i] > 0 {
			t.Errorf("index %d of weight %d drawn %d times in %d, want about %d", i, weight, counts[i], draws, want)
		}
	}
}
