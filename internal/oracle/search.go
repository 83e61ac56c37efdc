package oracle

// searcher finds the edge of a predicate on whole numbers.
type searcher interface {
	// least returns the smallest x ≥ from for which holds(x).
	least(from int64, holds func(int64) bool) int64
	// greatest returns the largest x from 0 to upTo for which holds(x);
	// holds(0) is given.
	greatest(upTo int64, holds func(int64) bool) int64
}

// bisection takes for granted that holds changes once.
type bisection struct{}

func (bisection) least(from int64, holds func(int64) bool) int64 {
	if holds(from) {
		return from
	}
	low, step := from, int64(1) // holds(low) is false
	for !holds(low + step) {
		low += step
		if step *= 2; step > 1<<55 {
			panic("oracle: no wait is long enough")
		}
	}
	high := low + step
	for high-low > 1 {
		if middle := low + (high-low)/2; holds(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

func (bisection) greatest(upTo int64, holds func(int64) bool) int64 {
	if holds(upTo) {
		return upTo
	}
	low, high := int64(0), upTo
	for high-low > 1 {
		if middle := low + (high-low)/2; holds(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// scan takes nothing for granted.
type scan struct{}

func (scan) least(from int64, holds func(int64) bool) int64 {
	for x := from; x < from+1_000_000; x++ {
		if holds(x) {
			return x
		}
	}
	panic("oracle: a scan is for small numbers")
}

func (scan) greatest(upTo int64, holds func(int64) bool) int64 {
	for x := upTo; x > 0; x-- {
		if holds(x) {
			return x
		}
	}
	return 0
}
