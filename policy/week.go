package policy

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
)

const (
	dayMinutes  = 24 * 60
	weekMinutes = 7 * dayMinutes
)

// weekdays are the names of days, in the order of time.Weekday.
var weekdays = []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

// week is a set of times of the week, as the clocks of a zone show them.
type week struct {
	zone  *time.Location
	spans []span
}

// span are minutes since the begin of a Sunday: from from, before to.
type span struct{ from, to int }

// includes reports whether clocks show a time of the set at an instant.
func (w *week) includes(at algorithm.Instant) bool {
	local := at.Time().In(w.zone)
	hour, minute, _ := local.Clock()
	shown := int(local.Weekday())*dayMinutes + hour*60 + minute
	for _, s := range w.spans {
		if shown >= s.from && shown < s.to {
			return true
		}
	}
	return false
}

// add adds some minutes from a minute of the week on, which may go over its end.
func (w *week) add(from, minutes int) {
	w.spans = append(w.spans, span{from, min(from+minutes, weekMinutes)})
	if over := from + minutes - weekMinutes; over > 0 {
		w.spans = append(w.spans, span{0, over})
	}
}

// maxParts bounds the parts of Scheduled.When.
const maxParts = 50

// whenAllowed says what parseWeek reads.
const whenAllowed = `days, times or both, such as "Mon-Fri 08:00-18:00", "Sat-Sun" or "22:00-06:00", several with a comma between`

// parseWeek reads Scheduled.When.
func parseWeek(text string, zone *time.Location) (*week, error) {
	w := &week{zone: zone}
	if n := strings.Count(text, ","); n >= maxParts {
		return nil, errors.New("it has " + strconv.Itoa(n+1) + " parts, and may have " + strconv.Itoa(maxParts))
	}
	for part := range strings.SplitSeq(text, ",") {
		words := strings.FieldsFunc(part, func(r rune) bool { return r == ' ' })
		days, from, minutes := []int{0, 1, 2, 3, 4, 5, 6}, 0, dayMinutes
		var err error
		if len(words) > 0 && !strings.Contains(words[0], ":") {
			if days, err = parseDays(words[0]); err != nil {
				return nil, err
			}
			words = words[1:]
		} else if len(words) == 0 {
			return nil, errors.New("nothing stands before or behind a comma")
		}
		if len(words) > 0 {
			if from, minutes, err = parseTimes(words[0]); err != nil {
				return nil, err
			}
			words = words[1:]
		}
		if len(words) > 0 {
			return nil, errors.New(strconv.Quote(words[0]) + " is too much")
		}
		for _, day := range days {
			w.add(day*dayMinutes+from, minutes)
		}
	}
	return w, nil
}

// parseDays reads a day, or the days from one to another, also over the end of the week.
func parseDays(text string) (days []int, err error) {
	first, last, several := strings.Cut(text, "-")
	if !several {
		last = first
	}
	from, to := slices.Index(weekdays, first), slices.Index(weekdays, last)
	if from < 0 || to < 0 {
		return nil, errors.New(strconv.Quote(text) + " is no day, and no days from one to another: they are Mon, Tue, Wed, Thu, Fri, Sat and Sun")
	}
	for day := from; ; day = (day + 1) % 7 {
		days = append(days, day)
		if day == to {
			return days, nil
		}
	}
}

// parseTimes reads two times of a day, of which the second is on the next day where it is not later.
func parseTimes(text string) (from, minutes int, err error) {
	first, second, _ := strings.Cut(text, "-")
	from, ok := parseTime(first)
	to, also := parseTime(second)
	if !ok || !also || from == dayMinutes || from == to {
		return 0, 0, errors.New(strconv.Quote(text) + " is no time from 00:00 to 24:00 until another one")
	}
	if to < from {
		to += dayMinutes
	}
	return from, to - from, nil
}

// parseTime returns the minutes of a day up to hh:mm.
func parseTime(text string) (minutes int, ok bool) {
	hour, minute, _ := strings.Cut(text, ":")
	h, err := strconv.ParseUint(hour, 10, 8)
	m, also := strconv.ParseUint(minute, 10, 8)
	minutes = int(h)*60 + int(m)
	return minutes, err == nil && also == nil && len(hour) == 2 && len(minute) == 2 && m < 60 && minutes <= dayMinutes
}
