package kind

import (
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/exact"
)

func tokenBucket() Kind {
	return Kind{Name: algorithm.KindTokenBucket, File: "tokenbucket", Limit: burstAndRate, Request: count}
}

// burstAndRate is the burst, the rate in lowest terms, and the µs to fill.
func burstAndRate(a algorithm.Algorithm, numbers []int64) []int64 {
	p := a.Spec().Params
	units, per := exact.Lowest(p[0], p[1])
	return append(numbers, p[2], units, per, exact.Up(exact.MulDiv(p[2], per, units)))
}
