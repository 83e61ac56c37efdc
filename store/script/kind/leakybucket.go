package kind

import "github.com/weirgo/weir/algorithm"

func leakyBucket() Kind {
	return Kind{
		Name: algorithm.KindLeakyBucket, File: "leakybucket", Limit: burstTime, Request: costTimeAndDelay,
		Charge: anyDelay(chargeTime), Refund: anyDelay(refundTime),
	}
}

// costTimeAndDelay is costTime, and the longest Delay in µs, -1 for any.
func costTimeAndDelay(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	longest := int64(-1)
	if r.MaxDelay > 0 {
		longest = micros(r.MaxDelay)
	}
	return append(costTime(a, r, numbers), longest)
}

// anyDelay adds that the caller takes any Delay.
func anyDelay(numbersOf func(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64) func(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	return func(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
		return append(numbersOf(a, r, numbers), -1)
	}
}
