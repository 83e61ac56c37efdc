package algorithm

import "time"

// calendar divides time into the days, weeks, months, quarters or years of a zone.
//
// A window starts at the first instant at which the calendar of the zone shows its first
// day, or a later one. So a day whose midnight a clock change skips starts with the first
// instant after the change, a midnight that comes twice starts a day once, and a day that
// a zone skips (Samoa, 30 December 2011) has no window. A window that is around instant 0
// starts there.
type calendar struct {
	Calendar
	unit     calendarUnit
	weekday  int64 // of the first day of a week, counted from Monday
	phase    int64 // months from January to the first month of a quarter or a year
	monthDay int64 // on which a month starts, or on its last day where it is shorter
	zone     *time.Location
	identity string
}

// calendarUnit is a length of window.
type calendarUnit struct {
	name   string
	code   int64 // in the Params of a Spec
	days   int64 // that are one such window; 0 where months are
	months int64
	// longest is the length that stands for the unit where a length is needed, and
	// shortest is one that no window falls below, in any zone.
	longest, shortest time.Duration
}

const calendarDay = 24 * time.Hour

// calendarUnits returns the units, the shortest first. No day is shorter than 17 hours
// (Vostok, 1 November 1994), and at most one day is skipped.
func calendarUnits() [5]calendarUnit {
	return [...]calendarUnit{
		{"day", 1, 1, 0, calendarDay, 12 * time.Hour},
		{"week", 2, 7, 0, 7 * calendarDay, 11 * calendarDay / 2},
		{"month", 3, 0, 1, 31 * calendarDay, 53 * calendarDay / 2},
		{"quarter", 4, 0, 3, 92 * calendarDay, 177 * calendarDay / 2},
		{"year", 5, 0, 12, 366 * calendarDay, 727 * calendarDay / 2},
	}
}

const secondsOfDay = 24 * 60 * 60

// window returns the window around an instant: from start, and before end, in µs.
func (c *calendar) window(at int64) (start, end int64) {
	second := at / 1_000_000
	_, offset := time.Unix(second, 0).In(c.zone).Zone()
	first, next := c.period(floorDivide(second+int64(offset), secondsOfDay))
	start, end = c.edge(first), c.edge(next)
	for end <= at { // a clock change has brought back a day that was over
		_, after := c.period(next)
		start, end, next = end, c.edge(after), after
	}
	return max(start, 0), end
}

// edge returns the first instant, in µs, at which the zone shows a day or a later one.
// Days are counted from 1 January 1970. No zone is a day or more away from UTC.
func (c *calendar) edge(day int64) int64 {
	midnight := day * secondsOfDay
	t := time.Unix(midnight-secondsOfDay, 0).In(c.zone)
	for {
		_, offset := t.Zone()
		_, until := t.ZoneBounds()
		if !until.IsZero() && !until.After(t) {
			// By the rules of years to come, package time lets an offset end with day 365,
			// also in a year that has one more.
			until = t.Add(time.Hour)
		}
		at := max(midnight-int64(offset), t.Unix())
		if until.IsZero() || at < until.Unix() {
			return at * 1_000_000
		}
		t = until
	}
}

// period returns the first day of the window that holds a day, and of the next one.
func (c *calendar) period(day int64) (first, next int64) {
	if c.unit.months == 0 {
		const thursday = 3 // 1 January 1970
		days := c.unit.days
		first = c.weekday + floorDivide(day+thursday-c.weekday, days)*days - thursday
		return first, first + days
	}
	year, month, _ := time.Unix(day*secondsOfDay, 0).UTC().Date()
	index := int64(year)*12 + int64(month) - 1
	index = floorDivide(index-c.phase, c.unit.months)*c.unit.months + c.phase
	if first = c.startIn(index); day < first {
		index -= c.unit.months
		first = c.startIn(index)
	}
	return first, c.startIn(index + c.unit.months)
}

// startIn returns the day on which a window starts in a month: the day of the anchor, or
// the last day where the month is shorter. Months are counted from January of year 0.
func (c *calendar) startIn(month int64) int64 {
	first := firstDayOf(month)
	return min(first+c.monthDay, firstDayOf(month+1)) - 1
}

func firstDayOf(month int64) int64 {
	return floorDivide(time.Date(0, time.January+time.Month(month), 1, 0, 0, 0, 0, time.UTC).Unix(), secondsOfDay)
}

// floorDivide returns ⌊a/b⌋ for b > 0.
func floorDivide(a, b int64) int64 {
	if a < 0 {
		return -((-a + b - 1) / b)
	}
	return a / b
}
