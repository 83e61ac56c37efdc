package oracle

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// CalendarWindow is the calendar window.
const CalendarWindow Kind = "calendar-window"

func calendarWindow() family {
	return family{kind: CalendarWindow, windowed: true, calendar: true, start: func() model { return &calendarCount{} }}
}

// Calendar is a calendar as the identity of a spec writes it: "month",
// "week.sunday.America/New_York", "month.31" or "day.Asia/Kathmandu".
type Calendar struct {
	unit, anchor string
	zone         *time.Location

	mu    sync.Mutex
	known []span // windows that were looked for
}

type span struct{ start, end int64 } // µs, half-open

var calendars sync.Map // by their identity

// NewCalendar reads an identity. It panics on a zone that the machine does not have.
// A Calendar is safe for concurrent use.
func NewCalendar(identity string) *Calendar {
	c, found := calendars.Load(identity)
	if !found {
		c, _ = calendars.LoadOrStore(identity, readCalendar(identity))
	}
	return c.(*Calendar)
}

func readCalendar(identity string) *Calendar {
	c := &Calendar{zone: time.UTC}
	for i, part := range strings.Split(identity, ".") {
		switch {
		case i == 0:
			c.unit = part
		case part[0] >= 'A' && part[0] <= 'Z':
			var err error
			if c.zone, err = time.LoadLocation(part); err != nil {
				panic("oracle: " + err.Error())
			}
		default:
			c.anchor = part
		}
	}
	return c
}

// begins reports whether a window begins on a date.
func (c *Calendar) begins(date time.Time) bool {
	month, day := 1, 1
	switch c.unit {
	case "day":
		return true
	case "week":
		return strings.ToLower(date.Weekday().String()) == c.anchor || c.anchor == "" && date.Weekday() == time.Monday
	case "month":
		if c.anchor != "" {
			day, _ = strconv.Atoi(c.anchor)
		}
	default:
		if c.anchor != "" {
			_, _ = fmt.Sscanf(c.anchor, "%d-%d", &month, &day)
		}
	}
	between := map[string]int{"month": 1, "quarter": 3, "year": 12}[c.unit]
	if (int(date.Month())-month+12)%between != 0 {
		return false
	}
	last := date.AddDate(0, 0, 1).Month() != date.Month()
	return date.Day() == day || last && date.Day() < day
}

// Window returns the window around an instant, in µs. Every window begins at the first
// instant at which the clock on the wall shows the date on which it begins, or a later
// one. The instants are found by looking at the clock on the wall, step by step.
func (c *Calendar) Window(at int64) (start, end int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range slices.Backward(c.known) {
		if s.start <= at && at < s.end {
			return s.start, s.end
		}
	}
	year, month, day := time.UnixMicro(at).In(c.zone).Date()
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 2)
	for !c.begins(date) || c.first(date) > at {
		date = date.AddDate(0, 0, -1)
	}
	start = max(0, c.first(date))
	for date = date.AddDate(0, 0, 1); !c.begins(date) || c.first(date) <= at; {
		date = date.AddDate(0, 0, 1)
	}
	end = c.first(date)
	if len(c.known) == 100 {
		c.known = slices.Delete(c.known, 0, 50)
	}
	c.known = append(c.known, span{start, end})
	return start, end
}

// first returns the first instant at which the clock on the wall shows a date or a later
// one.
func (c *Calendar) first(date time.Time) int64 {
	digits := func(t time.Time) int {
		year, month, day := t.Date()
		return year*10_000 + int(month)*100 + day
	}
	shows := func(second int64) bool { return digits(time.Unix(second, 0).In(c.zone)) >= digits(date) }
	const step = 20 // s: no zone has shown a date for less time
	second := date.Unix() - 16*3600
	for !shows(second) {
		second += step
	}
	for shows(second - 1) {
		second--
	}
	return second * 1_000_000
}

// calendarCount is the state of a calendar window: the start of the window that was
// counted last, and the count. A key that was never used has neither.
type calendarCount struct {
	start, count int64
	used         bool
}

// carry returns where the window that counts at now starts and ends, and the count.
func (c *calendarCount) carry(p *parameters, now int64) (start, end, count int64) {
	if c.used {
		now = max(now, c.start)
	}
	start, end = p.calendar.Window(now)
	if c.used && c.start >= start {
		return c.start, end, c.count
	}
	return start, end, 0
}

func (c *calendarCount) admits(p *parameters, now, cost int64) bool {
	_, _, count := c.carry(p, now)
	return fits(p, big.NewInt(count), cost)
}

func (c *calendarCount) take(p *parameters, now, cost int64) {
	start, _, count := c.carry(p, now)
	c.start, c.count, c.used = start, count+cost, true
}

// refund: from the count of the window that holds at, where it is the current one.
func (c *calendarCount) refund(p *parameters, now, at, cost int64) {
	start, end, count := c.carry(p, now)
	if first, last := p.calendar.Window(at); c.used && count > 0 && first <= start && last == end {
		c.start, c.count = start, max(0, count-cost)
	}
}

func (c *calendarCount) fresh(p *parameters, now int64) bool {
	start, end, count := c.carry(p, now)
	_, last := p.calendar.Window(now)
	return count == 0 && (start <= now || last == end) // after a change of the calendar it may start inside of this window
}

func (c *calendarCount) turn(*parameters, int64) *big.Rat { return new(big.Rat) }

func (c *calendarCount) clone() model { d := *c; return &d }

func (c *calendarCount) String() string { return fmt.Sprintf("%d from %d", c.count, c.start) }
