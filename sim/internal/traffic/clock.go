package traffic

// clock is where a process is, in µs, with a fraction: gaps that are drawn are
// not whole, and rounding each would make a fast process too slow or too fast.
type clock struct {
	at   int64
	part float64 // from 0 to below 1
}

// add moves the clock on, by 0 or more. It returns false, and does not move, where the
// clock would pass maxAt.
func (c *clock) add(gap float64) bool {
	sum := c.part + gap
	if !(sum < float64(maxAt-c.at)) {
		return false
	}
	whole := int64(sum)
	c.at += whole
	c.part = sum - float64(whole)
	return true
}

// walk yields ⌊n·per/units⌋ for n = 0, 1, 2 and so on. It adds up the remainder, so
// it never drifts and never overflows: per and units are at most 2^52.
type walk struct {
	at, rest           int64 // n·per = at·units + rest
	step, extra, units int64 // per = step·units + extra
}

func newWalk(per, units int64) walk {
	return walk{step: per / units, extra: per % units, units: units}
}

// next returns the present value and moves on.
func (w *walk) next() int64 {
	at := w.at
	w.at += w.step
	if w.rest += w.extra; w.rest >= w.units {
		w.rest -= w.units
		w.at++
	}
	return at
}
