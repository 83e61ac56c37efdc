package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func labels(ticks []tick, unit string) string {
	var all []string
	for _, t := range ticks {
		all = append(all, t.label)
	}
	if unit != "" {
		all = append(all, "("+unit+")")
	}
	return strings.Join(all, " ")
}

func TestTicks(t *testing.T) {
	const noon = 1_764_244_800_000_000 // 2025-11-27 12:00
	for _, c := range []struct {
		scale     Scale
		low, high float64
		most      int
		want      string
	}{
		{Numbers, 0, 100, 5, "0 20 40 60 80 100"},
		{Numbers, 0, 1, 5, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{Numbers, 0, 12_345, 5, "0 5,000 10,000"},
		{Numbers, 0, 0.03, 3, "0.00 0.01 0.02 0.03"},
		{Powers, 1, 2000, 5, "1 10 100 1,000"},
		{Powers, 1, 1e9, 5, "1 100 10,000 1,000,000 100,000,000"},
		{Durations, 0, 500, 6, "0 µs 100 µs 200 µs 300 µs 400 µs 500 µs"},
		{Durations, 0, 20e6, 6, "0 µs 5 s 10 s 15 s 20 s"},
		{Durations, 0, 90e6, 6, "0 µs 30 s 1 min 1 min 30 s"},
		{Durations, 0, 180e6, 6, "0 µs 30 s 1 min 1 min 30 s 2 min 2 min 30 s 3 min"},
		{Durations, 0, 86400e6, 6, "0 µs 6 h 12 h 18 h 1 d"},
		{Durations, 0, 30 * 86400e6, 6, "0 µs 7 d 14 d 21 d 28 d"},
		{Lengths, 2, 240e6, 10, "10 µs 100 µs 1 ms 10 ms 100 ms 1 s 10 s 1 min 40 s"},
		{Lengths, 2, 240e6, 5, "10 µs 1 ms 100 ms 10 s"},
		{Moments, noon, noon + 24*3600e6, 10, "12:00 15:00 18:00 21:00 Nov 28 03:00 06:00 09:00 12:00 (UTC, from 2025-11-27 12:00)"},
		{Moments, noon, noon + 10e6, 6, "12:00:00 12:00:02 12:00:04 12:00:06 12:00:08 12:00:10 (UTC, from 2025-11-27 12:00)"},
		{Moments, noon, noon + 300, 6, "00.000000 00.000050 00.000100 00.000150 00.000200 00.000250 00.000300 (UTC, from 2025-11-27 12:00)"},
		{Moments, noon, noon + 10*86400e6, 6, "Nov 28 Nov 30 Dec 2 Dec 4 Dec 6 (UTC, from 2025-11-27 12:00)"},
		{Moments, noon, noon + 3000*86400e6, 10, "2026-10-22 2027-10-21 2028-10-19 2029-10-18 2030-10-17 2031-10-16 2032-10-14 2033-10-13 (UTC, from 2025-11-27 12:00)"},
	} {
		axis := Axis{Scale: c.scale}
		if got := labels(axis.ticks(c.low, c.high, c.most)); got != c.want {
			t.Errorf("%s from %g to %g: %s, want %s", c.scale, c.low, c.high, got, c.want)
		}
	}
}

// Whatever the numbers, an axis has few labels, in order, and it ends.
func TestTicksAreFewAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		axis := Axis{Scale: rapid.SampledFrom([]Scale{Numbers, Powers, Durations, Lengths, Moments}).Draw(t, "scale")}
		most := rapid.IntRange(2, 10).Draw(t, "most")
		low := math.Floor(rapid.Float64Range(0, 4e15).Draw(t, "low"))
		if axis.Scale == Numbers || axis.Scale == Durations {
			low = 0
		}
		if axis.Scale.logarithmic() {
			low = max(low, 1)
		}
		high := low + math.Pow(10, rapid.Float64Range(0, 15.5).Draw(t, "power"))
		ticks, _ := axis.ticks(low, high, most)
		if len(ticks) > most+2 {
			t.Fatalf("%d ticks, where %d fit", len(ticks), most)
		}
		for i, tick := range ticks {
			if i > 0 && tick.at <= ticks[i-1].at || tick.at < low-(high-low)*1e-6 || tick.at > high+(high-low)*1e-6 {
				t.Fatalf("tick %d at %g of %g to %g", i, tick.at, low, high)
			}
		}
	})
}

// An axis ends also where its numbers are so large that their steps vanish, or no numbers.
func TestAnAxisOfAnyNumbersEnds(t *testing.T) {
	odd := []float64{0, 1, 1e17, 1e18, 1e300, math.MaxFloat64, math.Inf(1), math.NaN()}
	for _, scale := range []Scale{Numbers, Powers, Durations, Lengths, Moments} {
		for _, low := range odd {
			for _, high := range odd {
				axis := Axis{Scale: scale}
				if ticks, _ := axis.ticks(low, high, 5); len(ticks) > 400 {
					t.Errorf("scale %s from %g to %g: %d ticks", scale, low, high, len(ticks))
				}
			}
		}
	}
}

func TestDuration(t *testing.T) {
	for micros, want := range map[int64]string{
		0: "0 µs", 1: "1 µs", 999: "999 µs", 1000: "1 ms", 1500: "1.5 ms", 158_166: "158.166 ms", second: "1 s", 54_077_807: "54.077807 s",
		60 * second: "1 min", 90 * second: "1 min 30 s", 119_999_999: "2 min", 3600 * second: "1 h", 3660 * second: "1 h 1 min", 7199 * second: "2 h",
		day: "1 d", 36 * 3600 * second: "1 d 12 h", -1500: "-1.5 ms", math.MinInt64: Duration(-math.MaxInt64), 5000 * day: "5,000 d",
	} {
		if got := Duration(micros); got != want {
			t.Errorf("%d: %q, want %q", micros, got, want)
		}
	}
}

func TestDistinctLinesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i := range 10 {
		c, dashed := Distinct(i)
		seen[fmt.Sprint(c, dashed)] = true
	}
	if len(seen) != 10 {
		t.Errorf("%d of 10 differ", len(seen))
	}
}
