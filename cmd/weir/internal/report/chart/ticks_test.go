package chart

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func labels(ticks fixed) string {
	var all []string
	for _, t := range ticks {
		if t.Label != "" {
			all = append(all, t.Label)
		}
	}
	return strings.Join(all, " ")
}

func TestNumberTicks(t *testing.T) {
	for _, c := range []struct {
		top   float64
		most  int
		whole bool
		want  string
	}{
		{100, 5, false, "0 20 40 60 80 100"},
		{1, 5, false, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{1, 5, true, "0 1"},
		{7, 5, false, "0 2 4 6 8"},
		{12_345, 5, false, "0 5,000 10,000 15,000"},
		{0, 5, true, "0 1"},
		{0.03, 3, false, "0.00 0.01 0.02 0.03"},
	} {
		ticks, top := numberTicks(c.top, c.most, c.whole, "")
		if got := labels(ticks); got != c.want || top < c.top || top != ticks[len(ticks)-1].Value {
			t.Errorf("%g: %s up to %g, want %s", c.top, got, top, c.want)
		}
	}
}

func TestDurationTicks(t *testing.T) {
	for _, c := range []struct {
		top  float64
		want string
	}{
		{500, "0 100 200 300 400 500 (µs)"},
		{20e6, "0 5 10 15 20 (s)"},
		{90e6, "0 20 40 60 80 (s)"},
		{180e6, "0.0 0.5 1.0 1.5 2.0 2.5 3.0 (min)"},
		{86400e6, "0 6 12 18 24 (h)"},
		{30 * 86400e6, "0 5 10 15 20 25 30 (d)"},
	} {
		ticks, unit := durationTicks(c.top, 6)
		if got := labels(ticks) + " (" + unit + ")"; got != c.want {
			t.Errorf("%g: %s, want %s", c.top, got, c.want)
		}
	}
}

func TestLengthTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		most      int
		want      string
	}{
		{2, 240e6, 10, "10 µs 100 µs 1 ms 10 ms 100 ms 1 s 10 s 1 min 40 s"},
		{2, 240e6, 5, "100 µs 10 ms 1 s 1 min 40 s"},
	} {
		if got := labels(lengthTicks(c.low, c.high, c.most)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestMomentTicks(t *testing.T) {
	const noon = 1_764_244_800_000_000 // 2025-11-27 12:00
	for _, c := range []struct {
		from, to int64
		want     string
	}{
		{noon, noon + 24*3600*second, "12:00 15:00 18:00 21:00 Nov 28 03:00 06:00 09:00 12:00"},
		{noon, noon + 10*second, "12:00:00 12:00:02 12:00:04 12:00:06 12:00:08 12:00:10"},
		{noon, noon + 300, "00.000000 00.000050 00.000100 00.000150 00.000200 00.000250 00.000300"},
		{noon, noon + 10*day, "Nov 28 Nov 30 Dec 2 Dec 4 Dec 6"},
		{noon, noon + 200*day, "2025-12 2026-01 2026-02 2026-03 2026-04 2026-05 2026-06"},
		{noon, noon + 3000*day, "2026 2027 2028 2029 2030 2031 2032 2033 2034"},
	} {
		ticks := momentTicks(float64(c.from), float64(c.to), 10)
		if got := labels(ticks); got != c.want {
			t.Errorf("%d µs: %s, want %s", c.to-c.from, got, c.want)
		}
	}
}

// Whatever the numbers, an axis has few labels, no two are equal, and it ends.
func TestTicksAreFewAndDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(2, 10).Draw(t, "most")
		top := rapid.Float64Range(0, 1e15).Draw(t, "top")
		from := rapid.Int64Range(0, 4e15).Draw(t, "from")
		to := from + rapid.Int64Range(1, 1<<52).Draw(t, "length")>>rapid.IntRange(0, 51).Draw(t, "shift") + 1
		numbers, _ := numberTicks(top, most, false, "")
		durations, _ := durationTicks(max(top, 1), most)
		moments := momentTicks(float64(from), float64(to), most)
		for name, ticks := range map[string]fixed{"numbers": numbers, "durations": durations, "moments": moments} {
			seen := map[string]bool{}
			for i, tick := range ticks {
				if seen[tick.Label] && name != "moments" { // a time comes back each day
					t.Fatalf("%s: %q twice", name, tick.Label)
				}
				seen[tick.Label] = true
				if i > 0 && tick.Value <= ticks[i-1].Value {
					t.Fatalf("%s: not in order", name)
				}
			}
			if len(ticks) > most+2 {
				t.Fatalf("%s: %d ticks, where %d fit", name, len(ticks), most)
			}
		}
	})
}

func TestDuration(t *testing.T) {
	for micros, want := range map[int64]string{
		0: "0 µs", 1: "1 µs", 999: "999 µs", 1000: "1 ms", 1500: "1.5 ms", 158_166: "158.166 ms", second: "1 s", 54_077_807: "54.077807 s",
		60 * second: "1 min", 90 * second: "1 min 30 s", 119_999_999: "2 min", 3600 * second: "1 h", 3660 * second: "1 h 1 min", 7199 * second: "2 h",
		day: "1 d", 36 * 3600 * second: "1 d 12 h", -1500: "-1.5 ms",
	} {
		if got := Duration(micros); got != want {
			t.Errorf("%d: %q, want %q", micros, got, want)
		}
	}
}

func TestDistinctLinesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i := range 20 {
		c, d := Distinct(i)
		seen[fmt.Sprint(c, d)] = true
		if next, dash := Distinct(i + 1); next == c || dash == d {
			t.Errorf("%d and the next have a colour or a dash in common", i)
		}
	}
	if len(seen) != 20 {
		t.Errorf("%d of 20 differ", len(seen))
	}
}
