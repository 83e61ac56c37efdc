package kind

import (
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/exact"
)

func tokenBucket() Kind {
	return Kind{
		Name: algorithm.KindTokenBucket, File: "tokenbucket", Limit: burstAndRate, Request: count,
		Charge: chargeTokens, Refund: refundTokens,
	}
}

// burstAndRate is the burst, the rate in lowest terms, and the µs to fill.
func burstAndRate(a algorithm.Algorithm, numbers []int64) []int64 {
	p := a.Spec().Params
	units, per := exact.Lowest(p[0], p[1])
	return append(numbers, p[2], units, per, exact.Up(exact.MulDiv(p[2], per, units)))
}

// chargeTokens is a cost, where it is impossible cut down to one that is too, and the
// fewest tokens that it may leave.
func chargeTokens(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	most := maxDebt(a)
	return append(burstAndRate(a, numbers), min(r.Cost, a.Spec().Params[2]+most+1), -most)
}

// refundTokens is a cost below 0.
func refundTokens(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	return append(burstAndRate(a, numbers), -min(r.Cost, algorithm.MaxWord))
}
