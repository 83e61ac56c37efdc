package algorithm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// TestCalendarSpecsReadBack: the canonical text is read as the same limit, and the identity
// has what tells windows apart.
func TestCalendarSpecsReadBack(t *testing.T) {
	for text, want := range map[string]struct{ canonical, identity string }{
		"5000/month,zone=Europe/Berlin,anchor=15":     {"5000/month,zone=Europe/Berlin,anchor=15", "month.15.Europe/Berlin"},
		"5000/month,anchor=15,zone=Europe/Berlin":     {"5000/month,zone=Europe/Berlin,anchor=15", "month.15.Europe/Berlin"},
		"1/month,anchor=1":                            {"1/month", "month"},
		"1/week,anchor=monday,zone=UTC":               {"1/week", "week"},
		"1/week,anchor=sunday":                        {"1/week,anchor=sunday", "week.sunday"},
		"1/day,zone=America/Argentina/ComodRivadavia": {"1/day,zone=America/Argentina/ComodRivadavia", "day.America/Argentina/ComodRivadavia"},
		"1/day,zone=Etc/GMT+5":                        {"1/day,zone=Etc/GMT+5", "day.Etc/GMT+5"},
		"1/quarter,anchor=01-01":                      {"1/quarter", "quarter"},
		"1/quarter,anchor=02-31":                      {"1/quarter,anchor=02-31", "quarter.02-31"},
		"1/year,anchor=02-29,zone=Asia/Tokyo":         {"1/year,zone=Asia/Tokyo,anchor=02-29", "year.02-29.Asia/Tokyo"},
	} {
		a, err := algorithm.ParseSpec("calendar-window:" + text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		again, err := algorithm.ParseSpec(fmt.Sprint(a))
		if err != nil || again.Spec() != a.Spec() || fmt.Sprint(a) != "calendar-window:"+want.canonical {
			t.Errorf("%s: %v, then %v, %v", text, a, again, err)
		}
		if id := a.Spec().Identity; id != want.identity || !algorithm.ValidIdentity(id) {
			t.Errorf("%s: the identity is %q", text, id)
		}
	}
}

// TestNearlyRightCalendarsAreCorrected: a spec that is nearly right is refused with what it
// was meant to be, and every other one with what is allowed.
func TestNearlyRightCalendarsAreCorrected(t *testing.T) {
	for text, want := range map[string]string{
		"5000/1mo": "month", "5000/months": "month", "5000/30d": "month", "1/M": "month", "1/24h": "day", "1/1d": "day", "1/7d": "week", "1/3months": "quarter", "1/12mo": "year", "1/annual": "year",
		"1/hour": "", "1/": "", "1/2weeks": "",
		"1/month,anchor=last": "31, which falls on the last day of a shorter month", "1/month,anchor=05": "5", "1/month,anchor=0": "", "1/month,anchor=32": "",
		"1/week,anchor=Sun": "sunday", "1/week,anchor=1": "", "1/day,anchor=6": "", "1/quarter,anchor=05-15": "02-15", "1/quarter,anchor=15": "",
		"1/year,anchor=02-30": "02-29", "1/year,anchor=04-31": "04-30", "1/year,anchor=13-01": "", "1/year,anchor=7-1": "",
		"1/day,zone=europe/berlin": "Europe/Berlin", "1/day,zone=utc": "UTC", "1/day,zone=Local": "", "1/day,zone=+02:00": "", "1/day,zone=../etc/passwd": "", "1/day,zone=Mars/Base": "",
		"1/month,first=15": "anchor=15", "1/month,tz=UTC": "zone=UTC", "1/month,burst=5": "", "1/month,zone=": "", "1/month,anchor=1,anchor=2": "", "1/month,": "", "1": "", "0/month": "", "1000000000001/day": "",
	} {
		a, err := algorithm.ParseSpec("calendar-window:" + text)
		var refused *algorithm.ParameterError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v, %v", text, a, err)
			continue
		}
		if _, got, _ := strings.Cut(err.Error(), "; perhaps "); got != want {
			t.Errorf("%s: perhaps %q, want %q: %v", text, got, want, err)
		}
	}
}

// TestFieldB61MonthIsAMonth: a quota of a month does not come back on day 31, and 720 hours
// do not follow months.
func TestFieldB61MonthIsAMonth(t *testing.T) {
	month := algorithm.Must(algorithm.ParseSpec("calendar-window:5/month"))
	for _, c := range []struct {
		taken, asked string
		retry        time.Duration
	}{
		{"2026-01-01T00:00:00Z", "2026-01-31T12:00:00Z", 12 * time.Hour},
		{"2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", 0},
		{"2026-02-01T00:00:00Z", "2026-02-28T23:59:59Z", time.Second},
		{"2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", 0},
		{"2028-02-01T00:00:00Z", "2028-02-29T12:00:00Z", 12 * time.Hour},
		{"2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z", 0},
	} {
		s, _ := month.Step(algorithm.State{}, at(t, c.taken), take(5))
		if _, o := month.Step(s, at(t, c.asked), take(1)); o.RetryAfter != c.retry || o.Allowed != (c.retry == 0) {
			t.Errorf("taken at %s, asked at %s: %+v", c.taken, c.asked, o)
		}
	}
}

// TestFieldB62DayOfAClockChange: the reset of a day is the next midnight on the wall.
func TestFieldB62DayOfAClockChange(t *testing.T) {
	day := algorithm.Must(algorithm.ParseSpec("calendar-window:5/day,zone=America/New_York"))
	utc := algorithm.Must(algorithm.ParseSpec("calendar-window:5/day"))
	for _, c := range []struct {
		a           algorithm.Algorithm
		taken, ends string
	}{
		{day, "2025-11-02T14:00:00Z", "2025-11-03T05:00:00Z"},
		{day, "2025-11-02T04:00:00Z", "2025-11-03T05:00:00Z"},
		{day, "2026-03-08T13:00:00Z", "2026-03-09T04:00:00Z"},
		{utc, "2025-11-02T14:00:00Z", "2025-11-03T00:00:00Z"},
	} {
		now := at(t, c.taken)
		s, o := c.a.Step(algorithm.State{}, now, take(5))
		if want := micros(int64(at(t, c.ends) - now)); o.ResetAfter != want {
			t.Errorf("%v: reset %v after %s, want %v", c.a, o.ResetAfter, c.taken, want)
		}
		if _, o = c.a.Step(s, at(t, c.ends)-1, take(1)); o.Allowed || o.RetryAfter != time.Microsecond {
			t.Errorf("%v, 1 µs before %s: %+v", c.a, c.ends, o)
		}
		if _, o = c.a.Step(s, at(t, c.ends), take(5)); !o.Allowed {
			t.Errorf("%v at %s: %+v", c.a, c.ends, o)
		}
	}
}
