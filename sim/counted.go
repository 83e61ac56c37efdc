package sim

import "github.com/weirgo/weir/internal/exact"

// fixed is the model of a fixed window.
type fixed struct {
	*law
	from, count int64 // the window, and what was charged in it
}

// at returns the window of an instant and what is charged in it. A clock that goes back
// stays in the latest window.
func (f *fixed) at(now int64) (from, count int64) {
	now = max(now, f.from)
	from = now - now%f.period
	if f.from < from {
		return from, 0
	}
	return f.from, f.count
}

func (f *fixed) room(now, cost int64) bool {
	_, count := f.at(now)
	return count <= f.limit-cost
}

func (f *fixed) retry(now, _ int64) int64 {
	from, _ := f.at(now)
	return from + f.period - now
}

func (f *fixed) charge(now, cost int64) {
	f.from, f.count = f.at(now)
	f.count += cost
}

func (f *fixed) excess() (units int64, full bool) { return max(0, f.count-f.limit), f.count == f.limit }

func (f *fixed) debt(now int64) int64 {
	_, count := f.at(now)
	return count
}

func (f *fixed) fresh(now int64) bool { return f.debt(now) == 0 }

func (f *fixed) refund(charged, cost int64) {
	f.charge(charged, 0)
	if charged >= f.from {
		f.count = max(0, f.count-cost)
	}
}

func (f *fixed) clone() model { c := *f; return &c }

// counter is the model of a sliding window counter. Its bound over any interval is
// measured by a bucket.
type counter struct {
	*law
	from, cur, prev int64
	curve           bucket
}

// at returns the window of an instant and what counts in it.
func (c *counter) at(now int64) (from, cur, prev int64) {
	now = max(now, c.from)
	from = now - now%c.period
	switch {
	case c.from >= from:
		return c.from, c.cur, c.prev
	case c.from == from-c.period:
		return from, 0, c.cur
	}
	return from, 0, 0
}

// used returns the weighted count at an instant.
func (c *counter) used(now int64) int64 {
	from, cur, prev := c.at(now)
	return cur + exact.Product(prev, from+c.period-max(now, from)).Ceil(c.period)
}

func (c *counter) room(now, cost int64) bool { return c.used(now) <= c.limit-cost }

// retry looks for the first instant with room by halving: the weighted count never
// rises with time alone.
func (c *counter) retry(now, cost int64) int64 {
	low, high := int64(0), max(c.from-now, 0)+2*c.period // no room, room
	for high-low > 1 {
		if middle := low + (high-low)/2; c.room(now+middle, cost) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

func (c *counter) charge(now, cost int64) {
	c.from, c.cur, c.prev = c.at(now)
	c.cur += cost
	c.curve.charge(now, cost)
}

func (c *counter) excess() (units int64, full bool) { return c.curve.excess() }

func (c *counter) debt(now int64) int64 { return c.curve.debt(now) }

func (c *counter) fresh(now int64) bool {
	_, cur, prev := c.at(now)
	return cur == 0 && prev == 0 && c.curve.fresh(now)
}

func (c *counter) refund(charged, cost int64) {
	c.from, c.cur, c.prev = c.at(charged)
	switch {
	case charged >= c.from:
		c.cur = max(0, c.cur-cost)
	case charged >= c.from-c.period:
		c.prev = max(0, c.prev-cost)
	}
	c.curve.refund(charged, cost)
}

func (c *counter) clone() model { d := *c; return &d }
