package algorithm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // also where the machine has no database

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/oracle"
	"pgregory.net/rapid"
)

// calendarOf builds a window of one unit.
func calendarOf(t testing.TB, text string) *algorithm.CalendarWindow {
	t.Helper()
	a, err := algorithm.ParseSpec("calendar-window:1/" + text)
	if err != nil {
		t.Fatal(err)
	}
	return a.(*algorithm.CalendarWindow)
}

func at(t testing.TB, text string) algorithm.Instant {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return algorithm.Instant(parsed.UnixMicro())
}

// TestCalendarWindowsStartAndEndOnTheCalendar holds windows against edges that were worked
// out by hand: each row is a calendar, and instants at which its windows begin, one after
// the other without a gap. The rules of zones in them are from 2021 or before, so that they
// are in every database that a machine has.
func TestCalendarWindowsStartAndEndOnTheCalendar(t *testing.T) {
	for name, c := range map[string]struct{ calendar, edges string }{
		"months have 28 to 31 days":                    {"month", "2026-01-01T00:00:00Z 2026-02-01T00:00:00Z 2026-03-01T00:00:00Z 2026-04-01T00:00:00Z"},
		"a leap day belongs to February":               {"month", "2028-02-01T00:00:00Z 2028-03-01T00:00:00Z"},
		"2100 is no leap year":                         {"day", "2100-02-28T00:00:00Z 2100-03-01T00:00:00Z"},
		"2000 was one":                                 {"day", "2000-02-28T00:00:00Z 2000-02-29T00:00:00Z 2000-03-01T00:00:00Z"},
		"days of New York in autumn":                   {"day,zone=America/New_York", "2025-11-02T04:00:00Z 2025-11-03T05:00:00Z"},
		"days of New York in spring":                   {"day,zone=America/New_York", "2026-03-08T05:00:00Z 2026-03-09T04:00:00Z"},
		"days of Sydney in spring":                     {"day,zone=Australia/Sydney", "2026-10-03T14:00:00Z 2026-10-04T13:00:00Z"},
		"days of Sydney in autumn":                     {"day,zone=Australia/Sydney", "2026-04-04T13:00:00Z 2026-04-05T14:00:00Z"},
		"half an hour on Lord Howe, October":           {"day,zone=Australia/Lord_Howe", "2026-10-03T13:30:00Z 2026-10-04T13:00:00Z"},
		"half an hour on Lord Howe, April":             {"day,zone=Australia/Lord_Howe", "2026-04-04T13:00:00Z 2026-04-05T13:30:00Z"},
		"a zone of half hours":                         {"month,zone=Asia/Kolkata", "2026-01-31T18:30:00Z 2026-02-28T18:30:00Z"},
		"a zone of three quarters":                     {"day,zone=Asia/Kathmandu", "2026-01-31T18:15:00Z 2026-02-01T18:15:00Z"},
		"São Paulo skips a midnight":                   {"day,zone=America/Sao_Paulo", "2018-11-03T03:00:00Z 2018-11-04T03:00:00Z 2018-11-05T02:00:00Z"},
		"São Paulo has the hour to midnight twice":     {"day,zone=America/Sao_Paulo", "2018-02-17T02:00:00Z 2018-02-18T03:00:00Z 2018-02-19T03:00:00Z"},
		"Havana has a midnight twice":                  {"day,zone=America/Havana", "2026-10-31T04:00:00Z 2026-11-01T04:00:00Z 2026-11-02T05:00:00Z"},
		"St John's went back into a day that was over": {"day,zone=America/St_Johns", "2009-10-31T02:30:00Z 2009-11-01T02:30:00Z 2009-11-02T03:30:00Z"},
		"a month of St John's, too":                    {"month,zone=America/St_Johns", "2009-10-01T02:30:00Z 2009-11-01T02:30:00Z 2009-12-01T03:30:00Z"},
		"Samoa skipped 30 December":                    {"day,zone=Pacific/Apia", "2011-12-29T10:00:00Z 2011-12-30T10:00:00Z 2011-12-31T10:00:00Z"},
		"Samoa, an anchor on the skipped day":          {"month,zone=Pacific/Apia,anchor=30", "2011-11-30T10:00:00Z 2011-12-30T10:00:00Z 2012-01-29T10:00:00Z"},
		"Kiritimati skipped the last day of 1994":      {"year,zone=Pacific/Kiritimati", "1994-01-01T10:00:00Z 1994-12-31T10:00:00Z 1995-12-31T10:00:00Z"},
		"Kiritimati, the last day of a month":          {"month,zone=Pacific/Kiritimati,anchor=31", "1994-11-30T10:00:00Z 1994-12-31T10:00:00Z 1995-01-30T10:00:00Z"},
		"Moscow changed its rules in 2011":             {"month,zone=Europe/Moscow", "2011-02-28T21:00:00Z 2011-03-31T20:00:00Z 2011-04-30T20:00:00Z"},
		"Moscow changed its rules in 2014":             {"month,zone=Europe/Moscow", "2014-09-30T20:00:00Z 2014-10-31T21:00:00Z 2014-11-30T21:00:00Z"},
		"Ankara has no winter since 2016":              {"day,zone=Europe/Istanbul", "2016-11-05T21:00:00Z 2016-11-06T21:00:00Z"},
		"by offsets of seconds in Monrovia":            {"day,zone=Africa/Monrovia", "1972-01-06T00:44:30Z 1972-01-07T00:44:30Z 1972-01-08T00:00:00Z"},
		"weeks start on Monday":                        {"week", "2026-11-23T00:00:00Z 2026-11-30T00:00:00Z 2026-12-07T00:00:00Z"},
		"or on Sunday":                                 {"week,anchor=sunday", "2026-11-29T00:00:00Z 2026-12-06T00:00:00Z"},
		"or on Saturday, by a clock that goes back":    {"week,zone=Asia/Amman,anchor=saturday", "2021-10-22T21:00:00Z 2021-10-29T22:00:00Z"},
		"quarters":                             {"quarter", "2026-01-01T00:00:00Z 2026-04-01T00:00:00Z 2026-07-01T00:00:00Z 2026-10-01T00:00:00Z 2027-01-01T00:00:00Z"},
		"quarters from the end of February":    {"quarter,anchor=02-31", "2026-11-30T00:00:00Z 2027-02-28T00:00:00Z 2027-05-31T00:00:00Z 2027-08-31T00:00:00Z 2027-11-30T00:00:00Z 2028-02-29T00:00:00Z"},
		"years":                                {"year,zone=Europe/Berlin", "2026-12-31T23:00:00Z 2027-12-31T23:00:00Z"},
		"years from July":                      {"year,anchor=07-01,zone=America/New_York", "2026-07-01T04:00:00Z 2027-07-01T04:00:00Z"},
		"years from a leap day":                {"year,anchor=02-29", "2027-02-28T00:00:00Z 2028-02-29T00:00:00Z 2029-02-28T00:00:00Z"},
		"a month from 15":                      {"month,zone=Europe/Berlin,anchor=15", "2026-02-14T23:00:00Z 2026-03-14T23:00:00Z 2026-04-14T22:00:00Z"},
		"a month from 29":                      {"month,anchor=29", "2027-01-29T00:00:00Z 2027-02-28T00:00:00Z 2027-03-29T00:00:00Z 2027-04-29T00:00:00Z"},
		"a month from 29 in a leap year":       {"month,anchor=29", "2028-01-29T00:00:00Z 2028-02-29T00:00:00Z 2028-03-29T00:00:00Z"},
		"a month from 30":                      {"month,anchor=30", "2028-01-30T00:00:00Z 2028-02-29T00:00:00Z 2028-03-30T00:00:00Z"},
		"a month from 31":                      {"month,anchor=31", "2027-01-31T00:00:00Z 2027-02-28T00:00:00Z 2027-03-31T00:00:00Z 2027-04-30T00:00:00Z 2027-05-31T00:00:00Z"},
		"the first window starts at instant 0": {"month,zone=Europe/Berlin", "1970-01-01T00:00:00Z 1970-01-31T23:00:00Z"},
		"rules without an end":                 {"day,zone=Europe/Berlin", "2150-03-28T23:00:00Z 2150-03-29T22:00:00Z"},
		"day 366 by rules of years to come":    {"day,zone=America/New_York", "2040-12-30T05:00:00Z 2040-12-31T05:00:00Z 2041-01-01T05:00:00Z 2041-01-02T05:00:00Z"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			w, edges := calendarOf(t, c.calendar), strings.Fields(c.edges)
			model := oracle.NewCalendar(w.Spec().Identity)
			for i := range len(edges) - 1 {
				start, end := at(t, edges[i]), at(t, edges[i+1])
				for _, inside := range []algorithm.Instant{start, start + 1, start + (end-start)/2, end - 1} {
					if first, next := w.Window(inside); first != start || next != end {
						t.Errorf("around %v: from %v to %v, want %v to %v", inside.Time(), first.Time(), next.Time(), start.Time(), end.Time())
					}
					if first, next := model.Window(int64(inside)); first != int64(start) || next != int64(end) {
						t.Errorf("the model, around %v: from %v to %v", inside.Time(), time.UnixMicro(first).UTC(), time.UnixMicro(next).UTC())
					}
				}
			}
		})
	}
}

// zonesOfTests are zones whose clocks do what most do not: half hours, two changes of a
// summer time, midnights that are skipped or come twice, skipped days, offsets of seconds,
// large shifts, rules that changed often.
var zonesOfTests = []string{
	"UTC", "Europe/Berlin", "Europe/London", "Europe/Dublin", "Europe/Lisbon", "Europe/Moscow", "Europe/Istanbul", "Europe/Chisinau", "Europe/Volgograd",
	"America/New_York", "America/St_Johns", "America/Sao_Paulo", "America/Havana", "America/Santiago", "America/Asuncion", "America/Caracas",
	"America/Nuuk", "America/Scoresbysund", "America/Argentina/San_Luis", "America/Argentina/ComodRivadavia", "America/North_Dakota/New_Salem", "America/Ciudad_Juarez", "America/Metlakatla",
	"Australia/Sydney", "Australia/Lord_Howe", "Australia/Adelaide", "Australia/Eucla", "Pacific/Auckland", "Pacific/Chatham", "Pacific/Apia",
	"Pacific/Fakaofo", "Pacific/Kiritimati", "Pacific/Kwajalein", "Pacific/Norfolk", "Pacific/Marquesas", "Pacific/Tongatapu",
	"Asia/Kathmandu", "Asia/Kolkata", "Asia/Tehran", "Asia/Gaza", "Asia/Beirut", "Asia/Amman", "Asia/Pyongyang", "Asia/Dhaka", "Asia/Almaty", "Asia/Manila",
	"Africa/Cairo", "Africa/Casablanca", "Africa/Monrovia", "Africa/Juba", "Africa/Windhoek",
	"Antarctica/Troll", "Antarctica/Vostok", "Antarctica/Casey", "Antarctica/Davis", "Etc/GMT+12", "Etc/GMT-14",
}

// drawCalendar draws a calendar window.
func drawCalendar(t *rapid.T, limit int64) *algorithm.CalendarWindow {
	c := algorithm.Calendar{Zone: rapid.SampledFrom(zonesOfTests).Draw(t, "zone"), Unit: rapid.SampledFrom([]string{"day", "week", "month", "quarter", "year"}).Draw(t, "unit")}
	day := rapid.OneOf(rapid.IntRange(28, 31), rapid.IntRange(1, 31)).Draw(t, "day")
	switch c.Unit {
	case "week":
		c.Anchor = rapid.SampledFrom([]string{"", "sunday", "saturday", "wednesday"}).Draw(t, "anchor")
	case "month":
		c.Anchor = fmt.Sprint(day)
	case "quarter":
		c.Anchor = fmt.Sprintf("%02d-%02d", rapid.IntRange(1, 3).Draw(t, "month"), day)
	case "year":
		c.Anchor = rapid.SampledFrom([]string{"", "02-28", "02-29", "03-01", "04-30", "07-01", "12-30", "12-31"}).Draw(t, "anchor")
	}
	w, err := algorithm.NewCalendarWindow(limit, c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestCalendarWindowsEqualTheModel compares windows at any instant, and at those of a
// change of the clock and beside them, with a model that looks at the clock on the wall.
func TestCalendarWindowsEqualTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawCalendar(t, 1)
		now := algorithm.Instant(rapid.Int64Range(0, int64(algorithm.MaxInstant)).Draw(t, "instant"))
		if rapid.Bool().Draw(t, "within the history of zones") {
			now %= 2_500_000_000_000_000
		}
		if rapid.Bool().Draw(t, "at a change of the clock") {
			zone, _ := time.LoadLocation(w.Zone)
			if _, change := now.Time().In(zone).ZoneBounds(); !change.IsZero() && change.UnixMicro() < int64(algorithm.MaxInstant) {
				now = algorithm.Instant(change.UnixMicro())
			}
		}
		start, end := w.Window(now)
		for _, inside := range []algorithm.Instant{now, max(0, start-1), start, start + 1, end - 1, min(end, algorithm.MaxInstant)} {
			from, to := w.Window(inside)
			first, next := oracle.NewCalendar(w.Spec().Identity).Window(int64(inside))
			if int64(from) != first || int64(to) != next || inside < from || inside >= to {
				t.Fatalf("%v at %v: from %v to %v, and the model has %v to %v", w, inside.Time(), from.Time(), to.Time(), time.UnixMicro(first).UTC(), time.UnixMicro(next).UTC())
			}
		}
	})
}

// TestCalendarWindowsFollowEachOther walks through all windows of three centuries: they
// have no gap, and none is shorter or longer than Bound and Parameters go by.
func TestCalendarWindowsFollowEachOther(t *testing.T) {
	shortest := map[string]time.Duration{"day": 12 * time.Hour, "week": 132 * time.Hour, "month": 636 * time.Hour, "quarter": 2124 * time.Hour, "year": 8724 * time.Hour}
	for _, unit := range []string{"day", "week", "month", "quarter", "year"} {
		zones := zonesOfTests
		if unit == "day" && testing.Short() {
			zones = []string{"Antarctica/Vostok", "Pacific/Apia"}
		}
		for _, zone := range zones {
			w := calendarOf(t, unit+",zone="+zone)
			f, _ := algorithm.FamilyOf(w.Spec().Kind)
			longest, _ := f.Parameters(w.Spec())
			_, now := w.Window(0)
			until := algorithm.Instant(2_300_000_000_000_000) // rules repeat after that
			for now < until {
				start, end := w.Window(now)
				if length := micros(int64(end - start)); start != now || length < shortest[unit] || length > longest.Per+25*time.Hour {
					t.Fatalf("%v: at %v from %v to %v", w, now.Time(), start.Time(), end.Time())
				}
				now = end
			}
		}
	}
}

// TestTwoDatabasesOfZonesStartACountOnceAtEachEdge: two nodes share a state, and one of them
// has a database in which the zone has no summer time yet. The count starts anew at an edge of
// either of them, once, and so a window whose start they disagree on admits its limit twice at
// most.
func TestTwoDatabasesOfZonesStartACountOnceAtEachEdge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zones := rapid.SampledFrom([][2]string{{"America/New_York", "Etc/GMT+5"}, {"Europe/Berlin", "Etc/GMT-1"}, {"Australia/Sydney", "Etc/GMT-10"}}).Draw(t, "zones")
		unit := rapid.SampledFrom([]string{"day", "week", "month"}).Draw(t, "unit")
		limit := rapid.Int64Range(1, 3).Draw(t, "limit")
		var nodes [2]*algorithm.CalendarWindow
		for i, zone := range zones {
			w, err := algorithm.NewCalendarWindow(limit, algorithm.Calendar{Unit: unit, Zone: zone})
			if err != nil {
				t.Fatal(err)
			}
			nodes[i] = w
		}
		now := algorithm.Instant(rapid.Int64Range(1_750_000_000, 1_800_000_000).Draw(t, "start")) * 1_000_000
		edges := map[algorithm.Instant]bool{} // of both: the last ones before the first ask, and those that were reached
		for _, node := range nodes {
			start, _ := node.Window(now)
			edges[start] = true
		}
		reach := func(until algorithm.Instant) {
			for _, node := range nodes {
				for _, end := node.Window(now); end <= until; _, end = node.Window(end) {
					edges[end] = true
				}
			}
			now = until
		}
		var state algorithm.State
		admitted := int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "asks") {
			node := nodes[rapid.IntRange(0, 1).Draw(t, "node")]
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				reach(now + algorithm.Instant(rapid.Int64Range(0, 3_600_000_000).Draw(t, "later")))
			case 1:
				_, end := node.Window(now)
				reach(end - 1 + algorithm.Instant(rapid.Int64Range(0, 2).Draw(t, "at an edge")))
			}
			var o algorithm.Outcome
			if state, o = node.Step(state, now, take(1)); o.Allowed {
				admitted++
			}
			if most := limit * int64(len(edges)); admitted > most {
				t.Fatalf("%d admitted at %v, after %d edges: want at most %d", admitted, now.Time(), len(edges), most)
			}
		}
	})
}
