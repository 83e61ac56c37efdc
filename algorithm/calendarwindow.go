package algorithm

import (
	"strconv"
	"strings"
	"time"
)

// CalendarWindow counts in the days, weeks, months, quarters or years of a time zone,
// from midnight or from a billing anchor, and admits at most the limit in each: a month
// has 28 to 31 days, a day of a clock change 23 or 25 hours.
//
// At most L are admitted in each window, so twice the limit can pass within 1 µs at an
// edge, the end of one window and the start of the next. The bound is reached.
//
// The state is two words: "start count", where start is the instant at which the window
// starts. A decision is O(1), and takes some 200 ns more than one of a FixedWindow, for
// the calendar.
//
// Which windows there are follows from the database of zones that the program has found
// when the limit was built. Where a later version of the database moves an edge, the
// count of a window that has begun is kept if its start still lies in the window: at most
// the limit is admitted once more.
//
// Source: the definition; time zones and their history as in the IANA database.
type CalendarWindow struct {
	limit int64
	calendar
}

// KindCalendarWindow is the kind and state layout of a CalendarWindow.
const KindCalendarWindow = "calendar-window/1"

var (
	_ InPlace      = (*CalendarWindow)(nil)
	_ StateChecker = (*CalendarWindow)(nil)
	_ Charger      = (*CalendarWindow)(nil)
)

func calendarWindowFamily() Family {
	return Family{
		Name: "calendar-window", Kind: KindCalendarWindow,
		Form:      "L/UNIT[,zone=ZONE][,anchor=DAY]",
		Build:     buildCalendarWindow,
		Summary:   "counts in days, weeks, months, quarters or years of a zone: billing periods",
		Layout:    "start count",
		Aligned:   true,
		Calendar:  true,
		Bound:     boundOfCalendar,
		BoundText: "L for each window that is touched: 2·L around an edge",
		Samples: []string{
			"calendar-window:1/day", "calendar-window:10/month,zone=Europe/Berlin,anchor=31",
			"calendar-window:10/week,zone=Australia/Lord_Howe,anchor=sunday", "calendar-window:10/quarter,zone=Asia/Kathmandu,anchor=02-15",
			"calendar-window:1000000000000/year,zone=Pacific/Apia,anchor=07-01",
		},
		read: readCalendarWindow,
		with: func(s Spec, units int64) (Algorithm, error) {
			return lift(NewCalendarWindow(units, calendarOf(s)))
		},
	}
}

// NewCalendarWindow returns a calendar window that admits at most limit units, from 1 to
// MaxUnits, in each window of c. A parameter outside its bounds, and a zone that the
// database does not have, is a *ParameterError. It reads the database of zones; the
// decisions do not.
func NewCalendarWindow(limit int64, c Calendar) (*CalendarWindow, error) {
	if limit < 1 || limit > MaxUnits {
		return nil, refuseInt("calendar-window", "limit", limit, "1 to "+strconv.FormatInt(MaxUnits, 10))
	}
	divided, err := c.divide()
	if err != nil {
		return nil, err
	}
	return &CalendarWindow{limit, divided}, nil
}

// Spec implements Algorithm. The parameters are the limit, the length of the longest
// window in µs, 0, and a number for the unit. The identity is the unit, the anchor and the
// zone, such as "month.15.Europe/Berlin", without those that are left out of a spec.
func (w *CalendarWindow) Spec() Spec {
	longest := int64(w.unit.longest / time.Microsecond)
	return Spec{Kind: KindCalendarWindow, Params: [4]int64{w.limit, longest, 0, w.unit.code}, Identity: w.identity}
}

// String returns the spec as ParseSpec reads it, such as
// "calendar-window:5000/month,zone=Europe/Berlin,anchor=15".
func (w *CalendarWindow) String() string {
	text := "calendar-window:" + strconv.FormatInt(w.limit, 10) + "/" + w.Unit
	if w.Zone != "" {
		text += ",zone=" + w.Zone
	}
	if w.Anchor != "" {
		text += ",anchor=" + w.Anchor
	}
	return text
}

// Window returns the window around an instant: it starts at start, and ends before end.
func (w *CalendarWindow) Window(at Instant) (start, end Instant) {
	first, next := w.window(int64(at.bounded()))
	return Instant(first), Instant(next)
}

// Step implements Algorithm.
func (w *CalendarWindow) Step(s State, now Instant, r Request) (next State, o Outcome) {
	w.StepInPlace(&s, now, r, &o)
	return s, o
}

// StepInPlace implements InPlace.
func (w *CalendarWindow) StepInPlace(s *State, now Instant, r Request, o *Outcome) {
	switch {
	case r.Verb == Take:
		w.take(w.limit, s, now, r.Cost, o)
		return
	case r.Verb == Charge:
		w.take(w.limit+MaxUnits, s, now, r.Cost, o)
	case r.Verb == Refund && r.Cost >= 0:
		*o = Outcome{Allowed: true}
		w.refund(s, int64(now.bounded()), int64(r.At.bounded()), r.Cost)
	default:
		*o = Outcome{RetryAfter: Never}
	}
	var look Outcome
	w.take(w.limit, s, now, 0, &look)
	o.answer(r.Verb, look)
}

// take takes a cost where the count stays within most.
func (w *CalendarWindow) take(most int64, s *State, now Instant, cost int64, o *Outcome) {
	now = now.bounded()
	e, count := int64(now), int64(0)
	if !s.Fresh() {
		e = max(e, s.w0)
	}
	start, end := w.window(e)
	kept := start
	if !s.Fresh() && s.w0 >= start {
		// After a change of the database of zones the state may start inside this window.
		kept, count = s.w0, s.w1
	}
	*o = Outcome{Limit: w.limit}
	switch {
	case uint64(cost) > uint64(most):
		o.RetryAfter = Never
	case cost > 0 && count > most-cost:
		o.RetryAfter = micros(end - int64(now))
	default:
		o.Allowed = true
		if cost > 0 {
			count += cost
			*s = State{w0: kept, w1: count, shape: twoWords}
		}
	}
	if count > 0 {
		o.ResetAfter = micros(end - int64(now))
	} else if ahead := start - int64(now); ahead > 0 {
		// All was given back, in a later window than a fresh key would count in.
		o.ResetAfter = micros(ahead)
	}
	if count <= w.limit {
		o.Remaining = w.limit - count
	} else {
		o.Debt = min(count-w.limit, MaxUnits)
	}
}

// MaxDebt implements Charger.
func (w *CalendarWindow) MaxDebt() int64 { return MaxUnits }

// refund takes n from the count where the window that holds at is the one that counts.
func (w *CalendarWindow) refund(s *State, now, at, n int64) {
	if s.Fresh() || n == 0 {
		return
	}
	start, end := w.window(max(now, s.w0))
	if s.w0 < start || s.w1 == 0 || at < start || at >= end {
		return
	}
	*s = State{w0: s.w0, w1: max(0, s.w1-n), shape: twoWords}
}

// CheckState implements StateChecker.
func (w *CalendarWindow) CheckState(s State) error { return checkCounts(s, 2, 2) }

// boundOfCalendar counts the windows that a closed interval can touch.
func boundOfCalendar(s Spec, interval time.Duration) int64 {
	s.Params[1] = int64(unitOf(s).shortest / time.Microsecond)
	return windowsOver(s, interval, 2)
}

// buildCalendarWindow takes the shortest unit of which a window can be as long as the
// period of r, in UTC.
func buildCalendarWindow(r Rate, _ int64) (Algorithm, error) {
	if err := r.check("calendar-window"); err != nil {
		return nil, err
	}
	units := calendarUnits()
	for _, unit := range units {
		if r.Per <= unit.longest {
			return lift(NewCalendarWindow(r.Units, Calendar{Unit: unit.name}))
		}
	}
	return lift(NewCalendarWindow(r.Units, Calendar{Unit: units[len(units)-1].name}))
}

// unitOf returns the unit of a spec.
func unitOf(s Spec) calendarUnit {
	units := calendarUnits()
	return units[min(max(s.Params[3], 1), int64(len(units)))-1]
}

// calendarOf returns the calendar of a spec, from its identity.
func calendarOf(s Spec) (c Calendar) {
	unit, rest, _ := strings.Cut(s.Identity, ".")
	c.Unit = unit
	if anchor, zone, both := strings.Cut(rest, "."); both {
		c.Anchor, c.Zone = anchor, zone
	} else if isAnchor(rest) {
		c.Anchor = rest
	} else {
		c.Zone = rest
	}
	return c
}
