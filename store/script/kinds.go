package script

import (
	"math/bits"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// builtIn are the sources of package algorithm. What follows from cost and
// parameters alone is computed here, once, and not on the server.
func builtIn() []Source {
	return []Source{
		{
			Kind: algorithm.KindGCRA, Lua: code("schedule"),
			Request: scheduleRequest, Limit: scheduleLimit,
		},
		{
			Kind: algorithm.KindTokenBucket, Lua: code("tokenbucket"),
			Request: countRequest, Limit: bucketLimit,
		},
		{
			Kind: algorithm.KindLeakyBucket, Lua: code("schedule"),
			Request: queueRequest, Limit: scheduleLimit,
		},
		{Kind: algorithm.KindFixedWindow, Lua: code("fixedwindow"), Request: countRequest, Limit: windowLimit},
		{Kind: algorithm.KindSlidingLog, Lua: code("slidinglog"), Request: countRequest, Limit: windowLimit},
		{Kind: algorithm.KindSlidingCounter, Lua: code("slidingcounter"), Request: countRequest, Limit: windowLimit},
	}
}

// plainRequest are the numbers of a request of a custom algorithm.
func plainRequest(_ algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	return append(numbers, min(r.Cost, algorithm.MaxWord), min(int64(r.MaxDelay/time.Microsecond), algorithm.MaxWord))
}

// plainLimit are the parameters as they are.
func plainLimit(a algorithm.Algorithm, numbers []int64) []int64 {
	p := a.Spec().Params
	return append(numbers, p[:]...)
}

// capacity is the largest cost that can ever be admitted.
func capacity(p [4]int64) int64 {
	if p[2] != 0 {
		return p[2] // burst or capacity
	}
	return p[0]
}

// countRequest is the cost, where it is impossible cut down to one that is too.
func countRequest(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	return append(numbers, min(r.Cost, capacity(a.Spec().Params)+1))
}

// scheduleRequest is cost × T as whole µs and a numerator over the limit in
// lowest terms.
func scheduleRequest(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	p := a.Spec().Params
	units, per := lowest(p[0], p[1])
	whole, part := product(min(r.Cost, p[2]+1), per, units)
	return append(numbers, whole, part)
}

// queueRequest adds the longest Delay to those of scheduleRequest.
func queueRequest(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	longest := int64(-1)
	if r.MaxDelay > 0 {
		longest = min(int64(r.MaxDelay/time.Microsecond), algorithm.MaxWord)
	}
	return append(scheduleRequest(a, r, numbers), longest)
}

// scheduleLimit is burst × T, and the limit in lowest terms.
func scheduleLimit(a algorithm.Algorithm, numbers []int64) []int64 {
	p := a.Spec().Params
	units, per := lowest(p[0], p[1])
	whole, part := product(p[2], per, units)
	return append(numbers, whole, part, units)
}

// bucketLimit is the burst, the rate in lowest terms, and the µs to fill.
func bucketLimit(a algorithm.Algorithm, numbers []int64) []int64 {
	p := a.Spec().Params
	units, per := lowest(p[0], p[1])
	fill, rest := product(p[2], per, units)
	if rest > 0 {
		fill++
	}
	return append(numbers, p[2], units, per, fill)
}

// windowLimit is the limit and the period.
func windowLimit(a algorithm.Algorithm, numbers []int64) []int64 {
	p := a.Spec().Params
	return append(numbers, p[0], p[1])
}

// lowest divides both by what they have in common.
func lowest(limit, period int64) (units, per int64) {
	a, b := limit, period
	for b != 0 {
		a, b = b, a%b
	}
	return limit / a, period / a
}

// product returns ⌊n·per/units⌋ and the remainder. By the bounds of Rate it is
// below 2^53 for every n up to the burst and one more.
func product(n, per, units int64) (whole, part int64) {
	hi, lo := bits.Mul64(uint64(n), uint64(per))
	q, r := bits.Div64(hi, lo, uint64(units))
	return int64(q), int64(r)
}
