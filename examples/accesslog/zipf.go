package main

import (
	"math/big"
	"sort"
)

// zipfScale is the weight of rank 1. It leaves four digits to rank 1000 and the sum of all weights below 2^31.
const zipfScale = 1_000_000

// zipf returns the weights of the ranks 1 to n under Zipf's law with exponent 0.9, near the 0.64 to 0.83 that Breslau and
// others measured for web requests (INFOCOM 1999) and a little more uneven.
func zipf(n int) table {
	weights := make([]int, n)
	for i := range weights {
		weights[i] = zipfWeight(int64(i + 1))
	}
	return newTable(weights)
}

// zipfWeight returns zipfScale / rank^0.9, rounded down. math.Pow may differ in its last bit from platform to platform, so
// the answer is searched in whole numbers: the largest w with w^10 * rank^9 <= zipfScale^10.
func zipfWeight(rank int64) int {
	power := func(base, exponent int64) *big.Int {
		return new(big.Int).Exp(big.NewInt(base), big.NewInt(exponent), nil)
	}
	bound, divisor := power(zipfScale, 10), power(rank, 9)
	return sort.Search(zipfScale, func(w int) bool {
		product := power(int64(w)+1, 10)
		return product.Mul(product, divisor).Cmp(bound) > 0
	})
}
