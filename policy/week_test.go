package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // also where the machine has no database

	"pgregory.net/rapid"

	"github.com/weirgo/weir"
)

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestTimesOfTheWeek(t *testing.T) {
	for _, c := range []struct {
		when, zone string
		in, out    []string // RFC 3339
	}{
		{"Mon-Fri 08:00-18:00", "",
			[]string{"2026-11-27T08:00:00Z", "2026-11-27T17:59:59.999999Z", "2026-11-23T12:00:00Z"},
			[]string{"2026-11-27T07:59:59.999999Z", "2026-11-27T18:00:00Z", "2026-11-28T12:00:00Z", "2026-11-29T12:00:00Z"}},
		{"Sat-Sun", "", []string{"2026-11-28T00:00:00Z", "2026-11-29T23:59:59Z"}, []string{"2026-11-27T23:59:59Z", "2026-11-30T00:00:00Z"}},
		{"Fri-Mon", "", []string{"2026-11-27T00:00:00Z", "2026-11-29T09:00:00Z", "2026-11-30T23:59:59Z"}, []string{"2026-12-01T00:00:00Z", "2026-11-26T23:59:59Z"}},
		{"22:00-06:00", "", []string{"2026-11-28T22:00:00Z", "2026-11-29T00:00:00Z", "2026-11-29T05:59:59Z"}, []string{"2026-11-29T06:00:00Z", "2026-11-29T21:59:59Z"}},
		// A night belongs to the day on which it begins, also over the end of the week.
		{"Sat 22:00-06:00", "", []string{"2026-11-28T22:00:00Z", "2026-11-29T05:59:59Z"}, []string{"2026-11-28T05:00:00Z", "2026-11-29T22:00:00Z"}},
		{"Fri 18:00-24:00, Sun 00:00-12:00", "", []string{"2026-11-27T23:59:59Z", "2026-11-29T11:59:59Z"}, []string{"2026-11-28T00:00:00Z", "2026-11-29T12:00:00Z"}},
		{"Mon 08:00-00:00", "", []string{"2026-11-30T23:59:59Z"}, []string{"2026-12-01T00:00:00Z", "2026-11-30T07:59:59Z"}},
		// Berlin: UTC+1 in winter, UTC+2 in summer.
		{"Mon-Fri 08:00-18:00", "Europe/Berlin", []string{"2026-11-27T07:00:00Z", "2026-07-03T06:00:00Z"}, []string{"2026-11-27T06:59:59Z", "2026-11-27T17:00:00Z", "2026-07-03T16:00:00Z"}},
		// Clocks skip 02:00 to 03:00 on 2026-03-29, and show it twice on 2026-10-25.
		{"02:00-03:00", "Europe/Berlin",
			[]string{"2026-03-28T01:30:00Z", "2026-10-25T00:00:00Z", "2026-10-25T01:59:59Z"},
			[]string{"2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z", "2026-10-24T23:59:59Z", "2026-10-25T02:00:00Z"}},
		{"08:00-09:00", "Asia/Kathmandu", []string{"2026-11-27T02:15:00Z"}, []string{"2026-11-27T02:14:59Z", "2026-11-27T03:15:00Z"}},
		{"Sun 02:00-02:30", "Australia/Lord_Howe", []string{"2026-06-06T15:30:00Z"}, []string{"2026-10-03T15:30:00Z"}}, // skipped
	} {
		w, err := parseWeek(c.when, zoneOf(t, c.zone))
		if err != nil {
			t.Errorf("%q: %v", c.when, err)
			continue
		}
		for want, texts := range map[bool][]string{true: c.in, false: c.out} {
			for _, text := range texts {
				at := weir.Must(time.Parse(time.RFC3339Nano, text))
				if w.includes(instantOf(at)) != want {
					t.Errorf("%q %s at %s (%s): want %v", c.when, c.zone, text, at.In(w.zone).Format("Mon 15:04:05"), want)
				}
			}
		}
	}
}

func TestTimesThatAreRefused(t *testing.T) {
	for _, text := range []string{
		"", " ", ",", "Mon,", ",Mon", "Mon,,Tue", "mon", "Monday", "Mon-", "-Mon", "Mon-Tue-Wed", "Mon Tue", "08:00", "8:00-9:00", "08:00-", "08:00-08:00", "24:00-08:00",
		"08:00-24:01", "08:00-25:00", "08:60-09:00", "08:00-18:00 Mon", "Mon 08:00-18:00 09:00-10:00", "Mon 08:00–18:00", "+8:00-09:00", "08:00-09:00-10:00", "Mon\t08:00-09:00",
	} {
		if w, err := parseWeek(text, time.UTC); err == nil {
			t.Errorf("%q is read as %v", text, w.spans)
		}
	}
}

// TestTimesAreThoseThatClocksShow: membership is that of a model which goes through the parts one
// by one, over texts of what clocks show.
func TestTimesAreThoseThatClocksShow(t *testing.T) {
	names := []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	before := map[string]string{"Mon": "Sun", "Tue": "Mon", "Wed": "Tue", "Thu": "Wed", "Fri": "Thu", "Sat": "Fri", "Sun": "Sat"}
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia"}
	rapid.Check(t, func(t *rapid.T) {
		type part struct {
			days     map[string]bool
			from, to string
		}
		var parts []part
		var texts []string
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			p, text := part{days: map[string]bool{}, from: "00:00", to: "24:00"}, ""
			first, n := rapid.IntRange(0, 6).Draw(t, "day"), rapid.IntRange(1, 7).Draw(t, "days")
			for i := range n {
				p.days[names[(first+i)%7]] = true
			}
			switch {
			case n == 1:
				text = names[first]
			case n < 7 || rapid.Bool().Draw(t, "written"):
				text = names[first] + "-" + names[(first+n-1)%7]
			}
			if text == "" || rapid.Bool().Draw(t, "timed") {
				clock := func(name string) string {
					return fmt.Sprintf("%02d:%02d", rapid.IntRange(0, 23).Draw(t, name), 15*rapid.IntRange(0, 3).Draw(t, name))
				}
				p.from, p.to = clock("from"), clock("to")
				if p.to == p.from {
					p.to = "24:00"
				}
				text = strings.TrimSpace(text + " " + p.from + "-" + p.to)
			}
			parts, texts = append(parts, p), append(texts, text)
		}
		zone := weir.Must(time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone")))
		w, err := parseWeek(strings.Join(texts, ", "), zone)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(1_200_000_000, 1_900_000_000).Draw(t, "at"), 0).In(zone)
		shown, day := at.Format("15:04"), at.Format("Mon")
		want := false
		for _, p := range parts {
			if p.from < p.to {
				want = want || p.days[day] && p.from <= shown && shown < p.to
			} else {
				want = want || p.days[day] && p.from <= shown || p.days[before[day]] && shown < p.to
			}
		}
		if got := w.includes(instantOf(at)); got != want {
			t.Fatalf("%s at %s %s: %v, want %v", strings.Join(texts, ", "), day, shown, got, want)
		}
	})
}
