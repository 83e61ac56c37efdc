package trace

import (
	"fmt"
	"testing"
	"time"
)

func TestEveryDayEqualsTheStandardLibrary(t *testing.T) {
	end := time.UnixMicro(MaxAt).UTC()
	for day, i := time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC), 0; !day.After(end); day, i = day.AddDate(0, 0, 1), i+1 {
		zone := (i%27 - 12) * 60 // minutes, -1200 to +1400
		at := day.Add(time.Duration(i%86400)*time.Second + 43200*time.Second)
		text := at.In(time.FixedZone("", zone*60)).Format("02/Jan/2006:15:04:05 -0700")
		got, reason := date([]byte(text))
		if reason == "" {
			_, reason = got.before(exact{})
		}
		if at.UnixMicro() < 0 || at.UnixMicro() > MaxAt {
			if reason != reasonEarly && reason != reasonLate {
				t.Fatalf("%s = %d, %q", text, got.micros, reason)
			}
		} else if got.micros != at.UnixMicro() || reason != "" {
			t.Fatalf("%s = %d, %q, want %d", text, got.micros, reason, at.UnixMicro())
		}
	}
}

func TestDatesAtTheEdges(t *testing.T) {
	for text, want := range map[string]int64{
		"01/Jan/1970:00:00:00 +0000": 0,
		"01/Jan/1970:00:00:00 -0000": 0,
		"31/Dec/1969:12:00:00 -1200": 0,
		"01/Jan/1970:14:00:00 +1400": 0,
		"01/Jan/1970:05:45:01 +0545": 1e6,
		"29/Feb/2000:00:00:00 +0000": 951782400e6,
		"27/Oct/2191:12:26:40 +0000": MaxAt,
	} {
		if got, reason := date([]byte(text)); got.micros != want || reason != "" {
			t.Errorf("%s = %d, %q, want %d", text, got.micros, reason, want)
		}
	}
}

func TestImpossibleDates(t *testing.T) {
	for text, want := range map[string]string{
		"31/Feb/2000:00:00:00 +0000": reasonDate,
		"30/Feb/2000:00:00:00 +0000": reasonDate,
		"29/Feb/2001:00:00:00 +0000": reasonDate,
		"29/Feb/2100:00:00:00 +0000": reasonDate,
		"31/Apr/2000:00:00:00 +0000": reasonDate,
		"00/Jan/2000:00:00:00 +0000": reasonDate,
		"32/Dec/2000:00:00:00 +0000": reasonDate,
		"01/Jan/2000:24:00:00 +0000": reasonDate,
		"01/Jan/2000:00:60:00 +0000": reasonDate,
		"31/Dec/2016:23:59:60 +0000": reasonDate,
		"01/Jan/2000:00:00:00 +1401": reasonZone,
		"01/Jan/2000:00:00:00 -1201": reasonZone,
		"01/Jan/2000:00:00:00 +0060": reasonDate,
		"01/Jan/2000:00:00:00 +9900": reasonDate,
		"31/Dec/1969:23:59:59 +0000": reasonEarly,
		"01/Jan/1970:00:00:00 +0001": reasonEarly,
		"01/Jan/0000:00:00:00 +0000": reasonEarly,
		"29/Feb/0000:00:00:00 +0000": reasonEarly,
		"27/Oct/2191:12:26:41 +0000": reasonLate,
		"31/Dec/9999:23:59:59 -1200": reasonLate,
		"01/jan/2000:00:00:00 +0000": reasonDate,
		"01/JAN/2000:00:00:00 +0000": reasonDate,
		"01/anF/2000:00:00:00 +0000": reasonDate,
		"01/Mai/2000:00:00:00 +0000": reasonDate,
		"01-Jan-2000:00:00:00 +0000": reasonDate,
		"01/Jan/2000 00:00:00 +0000": reasonDate,
		"01/Jan/2000:00:00:00  0000": reasonDate,
		"01/Jan/2000:00:00:00 +00:0": reasonDate,
		"1 /Jan/2000:00:00:00 +0000": reasonDate,
		"01/Jan/-200:00:00:00 +0000": reasonDate,
		"01/Jan/2000:+1:00:00 +0000": reasonDate,
	} {
		got, reason := date([]byte(text))
		if reason == "" {
			_, reason = got.before(exact{})
		}
		if reason != want {
			t.Errorf("%s = %d, %q, want %q", text, got.micros, reason, want)
		}
	}
}

// The months are told apart by where they stand in one string.
func TestEveryMonthIsKnown(t *testing.T) {
	for m := time.January; m <= time.December; m++ {
		text := fmt.Sprintf("01/%s/2000:00:00:00 +0000", m.String()[:3])
		want := time.Date(2000, m, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
		if got, reason := date([]byte(text)); got.micros != want {
			t.Errorf("%s = %d, %q, want %d", text, got.micros, reason, want)
		}
	}
}
