package model

import (
	"github.com/weirgo/weir/internal/exact"
	"github.com/weirgo/weir/internal/oracle"
)

// fixed is the model of a fixed window, and of a calendar window.
type fixed struct {
	limit       *Limit
	calendar    *oracle.Calendar // nil: windows follow each other from the epoch on
	from, until int64            // the window; until is 0 before the first
	count       int64            // the units that were charged in it
}

// newCalendar is the model of a calendar window: a generic one does not know all charges of a long window.
func newCalendar(l *Limit) Model {
	return &fixed{limit: l, calendar: oracle.NewCalendar(l.spec.Identity)}
}

// window returns the window of an instant.
func (f *fixed) window(now int64) (from, until int64) {
	switch {
	case f.from <= now && now < f.until:
		return f.from, f.until
	case f.calendar != nil:
		return f.calendar.Window(now)
	}
	from = now - now%f.limit.Period
	return from, from + f.limit.Period
}

// at returns the window of an instant and what is charged in it. On a clock that goes
// back it is the latest window.
func (f *fixed) at(now int64) (from, until, count int64) {
	if from, until = f.window(max(now, f.from)); f.from < from {
		return from, until, 0
	}
	return from, until, f.count
}

func (f *fixed) Room(now, cost int64) bool {
	_, _, count := f.at(now)
	return count <= f.limit.Units-cost
}

func (f *fixed) Retry(now, _ int64) int64 {
	_, until, _ := f.at(now)
	return until - now
}

func (f *fixed) Delay(int64) int64 { return 0 }

func (f *fixed) Charge(now, cost int64) {
	f.from, f.until, f.count = f.at(now)
	f.count += cost
}

func (f *fixed) Excess() (units int64, full bool) {
	return max(0, f.count-f.limit.Units), f.count == f.limit.Units
}

func (f *fixed) Debt(now int64) int64 {
	_, _, count := f.at(now)
	return count
}

func (f *fixed) Fresh(now int64) bool { return f.Debt(now) == 0 }

func (f *fixed) Refund(charged, cost int64) {
	f.Charge(charged, 0)
	if charged >= f.from {
		f.count = max(0, f.count-cost)
	}
}

func (f *fixed) Clone() Model { c := *f; return &c }

// counter is the model of a sliding window counter. A bucket measures its bound over
// any interval.
type counter struct {
	limit           *Limit
	from, cur, prev int64
	curve           bucket
}

func newCounter(l *Limit) Model { return &counter{limit: l, curve: *l.bucket(l.Units)} }

// at returns the window of an instant and the counts of it and of the window before.
func (c *counter) at(now int64) (from, cur, prev int64) {
	now = max(now, c.from)
	from = now - now%c.limit.Period
	switch {
	case c.from >= from:
		return c.from, c.cur, c.prev
	case c.from == from-c.limit.Period:
		return from, 0, c.cur
	}
	return from, 0, 0
}

// used returns the weighted count at an instant.
func (c *counter) used(now int64) int64 {
	from, cur, prev := c.at(now)
	return cur + exact.Product(prev, from+c.limit.Period-max(now, from)).Ceil(c.limit.Period)
}

func (c *counter) Room(now, cost int64) bool { return c.used(now) <= c.limit.Units-cost }

// Retry looks for the first instant with room by bisection: the weighted count never
// rises with time alone.
func (c *counter) Retry(now, cost int64) int64 {
	return bisect(0, max(c.from-now, 0)+2*c.limit.Period, func(d int64) bool { return c.Room(now+d, cost) })
}

// bisect returns the smallest number above low for which holds; it holds for high, and
// from one number on for all.
func bisect(low, high int64, holds func(int64) bool) int64 {
	for high-low > 1 {
		if middle := low + (high-low)/2; holds(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

func (c *counter) Delay(int64) int64 { return 0 }

func (c *counter) Charge(now, cost int64) {
	c.from, c.cur, c.prev = c.at(now)
	c.cur += cost
	c.curve.Charge(now, cost)
}

func (c *counter) Excess() (units int64, full bool) { return c.curve.Excess() }

func (c *counter) Debt(now int64) int64 { return c.curve.Debt(now) }

func (c *counter) Fresh(now int64) bool {
	_, cur, prev := c.at(now)
	return cur == 0 && prev == 0 && c.curve.Fresh(now)
}

func (c *counter) Refund(charged, cost int64) {
	c.from, c.cur, c.prev = c.at(charged)
	switch {
	case charged >= c.from:
		c.cur = max(0, c.cur-cost)
	case charged >= c.from-c.limit.Period:
		c.prev = max(0, c.prev-cost)
	}
	c.curve.Refund(charged, cost)
}

func (c *counter) Clone() Model { d := *c; return &d }

// Rolled reports whether a window before the one of an instant counts: rolled, whether
// it was the present window at the last charge; exact, whether its weight has no
// fraction.
func (c *counter) Rolled(at int64) (rolled, exactly bool) {
	from, _, prev := c.at(at)
	if c.from == 0 || prev == 0 {
		return false, false
	}
	_, rest := exact.Product(prev, from+c.limit.Period-max(at, from)).Divide(c.limit.Period)
	return from != c.from, rest == 0
}
