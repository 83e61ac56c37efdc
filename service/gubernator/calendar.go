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
	begin, end, err := calendar(s.opts.Clock.Now().In(s.opts.Zone), item.GetDuration())
	return begin, end.Sub(begin), err
}

// calendar returns the interval of the calendar around an instant, in its zone. A day with
// a change of the clock is 23 or 25 hours long.
func calendar(now time.Time, unit int64) (begin, end time.Time, err error) {
	year, month, day := now.Date()
	date := func(y int, m time.Month, d int) time.Time { return firstOf(y, m, d, now.Location()) }
	switch unit {
	case 0, 1:
		// Minutes and hours are counted from the epoch in zones of whole hours; in others the
		// offset counts, too.
		length := time.Minute
		if unit == 1 {
			length = time.Hour
		}
		_, offset := now.Zone()
		shift := time.Duration(offset) * time.Second % length
		begin = now.Add(shift).Truncate(length).Add(-shift)
		return begin, begin.Add(length), nil
	case 2:
		return date(year, month, day), date(year, month, day+1), nil
	case 3:
		return begin, end, errors.New("field 'duration' 3 (weeks) is not supported: must be 0 (minute), 1 (hour), 2 (day), 4 (month) or 5 (year)")
	case 4:
		return date(year, month, 1), date(year, month+1, 1), nil
	case 5:
		return date(year, time.January, 1), date(year+1, time.January, 1), nil
	}
	return begin, end, fmt.Errorf("field 'duration' %d is not allowed with DURATION_IS_GREGORIAN: must be 0 (minute), 1 (hour), 2 (day), 4 (month) or 5 (year)", unit)
}

// firstOf returns the first instant of a date in a zone. It is not midnight where the clock
// is put forward then, and the first of two midnights where it is put back behind it.
func firstOf(year int, month time.Month, day int, zone *time.Location) time.Time {
	t := time.Date(year, month, day, 0, 0, 0, 0, zone) // any of two, or before the gap
	start, end := t.ZoneBounds()
	if t.Day() != time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Day() {
		return end
	}
	if start.IsZero() { // no change of the clock before
		return t
	}
	_, before := start.Add(-1).Zone()
	_, after := t.Zone()
	if earlier := t.Add(time.Duration(after-before) * time.Second); before > after && earlier.Before(start) {
		return earlier
	}
	return t
}
