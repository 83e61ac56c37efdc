package script

import (
	"math/rand/v2"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// maxMicros is the longest period in µs.
const maxMicros = int64(algorithm.MaxPeriod / time.Microsecond)

// randomAlgorithm draws one of the kinds with any parameters.
func randomAlgorithm(r *rand.Rand) algorithm.Algorithm {
	return randomOf(r, kindsUnderTest[r.IntN(len(kindsUnderTest))].build)
}

// randomOf draws the parameters of one kind.
func randomOf(r *rand.Rand, build func(algorithm.Rate, int64) (algorithm.Algorithm, error)) algorithm.Algorithm {
	for {
		rate := algorithm.Rate{
			Units: max(1, whole(r, algorithm.MaxUnits)),
			Per:   time.Duration(max(1, whole(r, maxMicros))) * time.Microsecond,
		}
		for burst := max(1, whole(r, algorithm.MaxUnits)); burst > 0; burst /= 7 {
			if a, err := build(rate, burst); err == nil {
				return a
			}
		}
	}
}
