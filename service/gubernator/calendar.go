package gubernator

import (
	"errors"
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/service/gubernator/pb"
)

// interval returns how long the window of an item is, and, for DURATION_IS_GREGORIAN, when
// it began.
func (s *Service) interval(item *pb.RateLimitReq) (begin time.Time, length time.Duration, err error) {
	if !has(item, pb.Behavior_DURATION_IS_GREGORIAN) {
		const most = int64(algorithm.MaxPeriod / time.Millisecond)
		if d := item.GetDuration(); d < 0 || d > most {
			return begin, 0, fmt.Errorf("field 'duration' %d is not allowed: must be 0 to %d ms", d, most)
		}
		return begin, time.Duration(item.GetDuration()) * time.Millisecond, nil
	}
	begin, end, err := s.calendar.interval(s.opts.Clock.Now(), item.GetDuration())
	return begin, end.Sub(begin), err
}

// calendar divides time into the intervals of a zone.
type calendar struct {
	zone                *time.Location
	days, months, years *algorithm.CalendarWindow
}

func newCalendar(zone string) (c calendar, err error) {
	if c.zone, err = algorithm.LoadZone(zone); err != nil {
		return c, err
	}
	for unit, windows := range map[string]**algorithm.CalendarWindow{"day": &c.days, "month": &c.months, "year": &c.years} {
		if *windows, err = algorithm.NewCalendarWindow(1, algorithm.Calendar{Unit: unit, Zone: zone}); err != nil {
			return c, err
		}
	}
	return c, nil
}

// interval returns the interval around an instant.
func (c *calendar) interval(now time.Time, unit int64) (begin, end time.Time, err error) {
	switch unit {
	case 0:
		begin, end = c.clock(now, time.Minute)
	case 1:
		begin, end = c.clock(now, time.Hour)
	case 2:
		begin, end = around(now, c.days)
	case 3:
		err = errors.New("field 'duration' 3 (weeks) is not supported: must be 0 (minute), 1 (hour), 2 (day), 4 (month) or 5 (year)")
	case 4:
		begin, end = around(now, c.months)
	case 5:
		begin, end = around(now, c.years)
	default:
		err = fmt.Errorf("field 'duration' %d is not allowed with DURATION_IS_GREGORIAN: must be 0 (minute), 1 (hour), 2 (day), 4 (month) or 5 (year)", unit)
	}
	return begin, end, err
}

// clock returns a minute or an hour. They are counted from the epoch in zones of whole
// hours; in others the offset counts, too.
func (c *calendar) clock(now time.Time, length time.Duration) (begin, end time.Time) {
	_, offset := now.In(c.zone).Zone()
	shift := time.Duration(offset) * time.Second % length
	begin = now.Add(shift).Truncate(length).Add(-shift)
	return begin, begin.Add(length)
}

func around(now time.Time, windows *algorithm.CalendarWindow) (begin, end time.Time) {
	first, next := windows.Window(algorithm.Instant(now.UnixMicro()))
	return first.Time(), next.Time()
}
