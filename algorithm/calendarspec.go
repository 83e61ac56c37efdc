package algorithm

import (
	"slices"
	"strconv"
	"strings"
)

// Calendar says which windows a CalendarWindow counts in.
type Calendar struct {
	// Unit is "day", "week", "month", "quarter" or "year". Required.
	Unit string
	// Zone is a name of the IANA database of time zones, such as "Europe/Berlin", as
	// LoadZone takes it. "" is UTC.
	Zone string
	// Anchor is where a window starts; "" is Monday for a week, and the first day for the
	// longer units. A day has none.
	//
	// For a week it is a day, such as "sunday". For a month it is a day from "1" to "31";
	// a month that has no such day starts on its last one. For a quarter and a year it is
	// month and day, such as "07-01": for a quarter "01-01" to "03-31", and each third
	// month from there on; for a year "02-29" falls on 28 February where there is none.
	Anchor string
}

func weekdays() []string {
	return []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
}

// divide checks c, and finds its zone. What stands for the default is left out.
func (c Calendar) divide() (d calendar, err error) {
	if d.unit, err = readUnit(c.Unit); err != nil {
		return d, err
	}
	if err = d.readAnchor(c.Anchor); err != nil {
		return d, err
	}
	if c.Zone == "UTC" {
		c.Zone = ""
	}
	if c.Anchor == d.unit.defaultAnchor() {
		c.Anchor = ""
	}
	if d.zone, err = loadZone("calendar-window", "zone", c.Zone); err != nil {
		return d, err
	}
	d.Calendar, d.identity = c, c.Unit
	if c.Anchor != "" {
		d.identity += "." + c.Anchor
	}
	if c.Zone != "" {
		d.identity += "." + c.Zone
	}
	return d, nil
}

func readUnit(text string) (calendarUnit, error) {
	units := calendarUnits()
	names := make([]string, len(units))
	for i, unit := range units {
		if names[i] = unit.name; unit.name == text {
			return unit, nil
		}
	}
	allowed := strings.Join(names, ", ")
	if near := nearUnit(text); near != "" {
		allowed += "; perhaps " + near
	}
	return calendarUnit{}, refuseCalendar("unit", text, allowed)
}

// nearUnit returns the unit that a text was meant to be, or "".
func nearUnit(text string) string {
	if text == "M" {
		return "month"
	}
	text = strings.ToLower(text)
	if rest, one := strings.CutPrefix(text, "1"); one && (rest == "" || rest[0] < '0' || rest[0] > '9') {
		text = strings.TrimLeft(rest, " ")
	}
	switch text {
	case "d", "day", "days", "daily", "24h":
		return "day"
	case "w", "week", "weeks", "weekly", "7d", "168h":
		return "week"
	case "mo", "mon", "month", "months", "monthly", "calendar-month", "30d", "31d", "720h", "744h":
		return "month"
	case "q", "qtr", "quarter", "quarters", "quarterly", "3mo", "3months":
		return "quarter"
	case "y", "yr", "year", "years", "yearly", "annual", "365d", "366d", "8760h", "12mo", "12months":
		return "year"
	}
	return ""
}

// defaultAnchor is the anchor that is left out.
func (u calendarUnit) defaultAnchor() string {
	switch u.name {
	case "week":
		return "monday"
	case "month":
		return "1"
	case "quarter", "year":
		return "01-01"
	}
	return ""
}

// isAnchor tells an anchor from a zone: no zone starts with a digit, or is a weekday.
func isAnchor(text string) bool {
	return text != "" && text[0] >= '0' && text[0] <= '9' || slices.Contains(weekdays(), text)
}

// readAnchor reads where a window starts.
func (d *calendar) readAnchor(text string) error {
	d.monthDay = 1
	if text == "" {
		return nil
	}
	switch d.unit.name {
	case "day":
		return refuseCalendar("anchor", text, "absent: a day starts at midnight of its zone")
	case "week":
		return d.readWeekday(text)
	case "month":
		return d.readMonthDay(text)
	}
	return d.readDate(text)
}

func (d *calendar) readWeekday(text string) error {
	if i := slices.Index(weekdays(), text); i >= 0 {
		d.weekday = int64(i)
		return nil
	}
	allowed := "monday to sunday"
	for _, name := range weekdays() {
		if lower := strings.ToLower(text); len(lower) > 1 && strings.HasPrefix(name, lower) {
			allowed += "; perhaps " + name
		}
	}
	return refuseCalendar("anchor", text, allowed)
}

func (d *calendar) readMonthDay(text string) error {
	day, err := strconv.ParseInt(text, 10, 64)
	if err == nil && 1 <= day && day <= 31 && text == strconv.FormatInt(day, 10) {
		d.monthDay = day
		return nil
	}
	allowed := "a day from 1 to 31"
	switch strings.ToLower(text) {
	case "last", "end", "-1":
		allowed += "; perhaps 31, which falls on the last day of a shorter month"
	default:
		if trimmed := strings.TrimLeft(text, "0"); trimmed != text && d.readMonthDay(trimmed) == nil {
			allowed += "; perhaps " + trimmed
		}
	}
	return refuseCalendar("anchor", text, allowed)
}

// readDate reads the anchor of a quarter or a year: MM-DD.
func (d *calendar) readDate(text string) error {
	allowed := "month and day, from 01-01 to 12-31, such as 07-01"
	if d.unit.months == 3 {
		allowed = "month and day, from 01-01 to 03-31, such as 02-01"
	}
	if len(text) != 5 || text[2] != '-' {
		return refuseCalendar("anchor", text, allowed)
	}
	month, err := strconv.ParseUint(text[:2], 10, 8)
	day, dayErr := strconv.ParseUint(text[3:], 10, 8)
	if err != nil || dayErr != nil || month < 1 || month > 12 || day < 1 || day > 31 {
		return refuseCalendar("anchor", text, allowed)
	}
	d.phase, d.monthDay = int64(month)-1, int64(day)
	if d.unit.months == 3 && month > 3 {
		d.phase %= 3
		return refuseCalendar("anchor", text, allowed+"; perhaps 0"+strconv.FormatInt(d.phase+1, 10)+text[2:])
	}
	const leapYear = 2000 * 12
	if longest := firstDayOf(leapYear+d.phase+1) - firstDayOf(leapYear+d.phase); d.unit.months == 12 && d.monthDay > longest {
		return refuseCalendar("anchor", text, "a day that the month has in some year; perhaps "+text[:3]+strconv.FormatInt(longest, 10))
	}
	return nil
}

// readCalendarWindow reads what follows the name in a spec: L/UNIT[,zone=Z][,anchor=A].
func readCalendarWindow(text string) (Algorithm, error) {
	rate, options, has := strings.Cut(text, ",")
	limitText, unit, found := strings.Cut(rate, "/")
	if !found {
		return nil, refuseSpec("rate", rate, "LIMIT/UNIT, such as 5000/month")
	}
	limit, err := parseUnits("limit", limitText)
	if err != nil {
		return nil, err
	}
	c := Calendar{Unit: unit}
	for has {
		var option string
		option, options, has = strings.Cut(options, ",")
		if err := c.readOption(option); err != nil {
			return nil, err
		}
	}
	return lift(NewCalendarWindow(limit, c))
}

// readOption reads one option, which has to be given once and not empty.
func (c *Calendar) readOption(option string) error {
	const allowed = "zone=ZONE or anchor=DAY, each once"
	name, value, _ := strings.Cut(option, "=")
	field := &c.Zone
	switch name {
	case "zone":
	case "anchor":
		field = &c.Anchor
	case "tz", "timezone", "time_zone", "location":
		return refuseSpec("option", option, allowed+"; perhaps zone="+value)
	case "first", "start", "day", "first_day", "billing", "from":
		return refuseSpec("option", option, allowed+"; perhaps anchor="+value)
	default:
		return refuseSpec("option", option, allowed)
	}
	if value == "" || *field != "" {
		return refuseSpec("option", option, allowed)
	}
	*field = value
	return nil
}

func refuseCalendar(field, value, allowed string) error {
	return &ParameterError{Of: "calendar-window", Field: field, Value: strconv.Quote(value), Allowed: allowed}
}
