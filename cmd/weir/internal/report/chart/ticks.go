package chart

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// Scale is what the numbers of an axis are.
type Scale int

// The scales. Durations and Moments are in whole µs.
const (
	Numbers   Scale = iota
	Percent         // of 100
	Durations       // since a start, in one unit for all labels
	Lengths         // durations above 0, by powers of ten
	Moments         // since the Unix epoch, shown in UTC
)

// Axis says what an axis shows.
type Axis struct {
	Label string
	Scale Scale
}

// fixed are ticks that were laid out before.
type fixed []plot.Tick

// Ticks implements plot.Ticker.
func (f fixed) Ticks(_, _ float64) []plot.Tick { return f }

// nice returns the least of 1, 2 and 5 times a power of ten that is not below x.
func nice(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= x*(1-1e-9) {
			return factor * power
		}
	}
	return 10 * power
}

// numberTicks are at most `most` steps from 0 to at least top, and where they end.
// Numbers that count are whole.
func numberTicks(top float64, most int, whole bool, suffix string) (fixed, float64) {
	step := nice(max(top, 1e-9) / float64(most))
	if whole {
		step = max(step, 1)
	}
	var ticks fixed
	for i := 0; ; i++ {
		value := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: value, Label: number(value, step) + suffix})
		if value >= top*(1-1e-9) && i > 0 {
			return ticks, value
		}
	}
}

// number writes a number with as many decimals as its step needs, in groups of three.
func number(x, step float64) string {
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	s := strconv.FormatFloat(x, 'f', decimals, 64)
	whole, fraction, has := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if has {
		whole += "." + fraction
	}
	return whole
}

// units are those that durations are told in, with the steps that read well in them.
var units = []struct {
	micros float64
	name   string
	steps  []float64
}{
	{1, "µs", decimalSteps}, {1e3, "ms", decimalSteps}, {1e6, "s", []float64{1, 2, 5, 10, 20, 30, 60}},
	{60e6, "min", []float64{0.5, 1, 2, 5, 10, 20, 30, 60}}, {3600e6, "h", []float64{0.5, 1, 2, 3, 6, 12, 24, 48}}, {86400e6, "d", decimalSteps},
}

var decimalSteps = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500}

// durationTicks are ticks from 0 to top µs, and the unit of their labels.
func durationTicks(top float64, most int) (fixed, string) {
	unit := units[0]
	for _, u := range units[1:] {
		if top >= 2*u.micros {
			unit = u
		}
	}
	span := top / unit.micros
	step := nice(span / float64(most))
	for _, s := range unit.steps {
		if s >= span/float64(most) {
			step = s
			break
		}
	}
	var ticks fixed
	for i := 0; float64(i)*step <= span*(1+1e-9); i++ {
		value := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: value * unit.micros, Label: number(value, step)})
	}
	return ticks, unit.name
}

// lengthTicks are the powers of ten from low to high µs, at most so many with a label,
// and small ones between.
func lengthTicks(low, high float64, most int) fixed {
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	every := (last-first)/most + 1
	var ticks fixed
	for power := first; power <= last; power++ {
		value := math.Pow(10, float64(power))
		label := ""
		if (power-first)%every == 0 {
			label = Duration(int64(value))
		}
		ticks = append(ticks, plot.Tick{Value: value, Label: label})
		if every == 1 {
			for digit := 2.0; digit <= 9; digit++ {
				ticks = append(ticks, plot.Tick{Value: digit * value})
			}
		}
	}
	return slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Value < low || t.Value > high })
}

// Duration writes whole µs in the largest unit that they fill, from minutes on with what
// is left in the next one: "250 ms", "1.5 s", "1 min 30 s".
func Duration(micros int64) string {
	if micros < 0 {
		return "-" + Duration(-micros)
	}
	whole := []struct {
		micros int64
		name   string
	}{{day, " d"}, {3600 * second, " h"}, {60 * second, " min"}, {second, " s"}, {1000, " ms"}, {1, " µs"}}
	for i, u := range whole {
		if micros < u.micros && u.micros > 1 {
			continue
		}
		if u.micros < 60*second {
			return strconv.FormatFloat(float64(micros)/float64(u.micros), 'f', -1, 64) + u.name
		}
		next := whole[i+1]
		micros = (micros + next.micros/2) / next.micros * next.micros
		s := strconv.FormatInt(micros/u.micros, 10) + u.name
		if rest := micros % u.micros / next.micros; rest > 0 {
			s += " " + strconv.FormatInt(rest, 10) + next.name
		}
		return s
	}
	return "" // the last unit takes all
}

const (
	second = int64(time.Second / time.Microsecond)
	day    = 86400 * second
)

var momentSteps = []int64{
	1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
	second, 2 * second, 5 * second, 10 * second, 30 * second, 60 * second, 120 * second, 300 * second, 600 * second, 1800 * second,
	3600 * second, 2 * 3600 * second, 3 * 3600 * second, 6 * 3600 * second, 12 * 3600 * second,
	day, 2 * day, 7 * day, 14 * day,
}

// momentTicks are at whole minutes, hours, days, months or years.
func momentTicks(low, high float64, most int) fixed {
	from, to := int64(low), int64(high)
	for _, step := range momentSteps {
		if (to-from)/step >= int64(most) {
			continue
		}
		var ticks fixed
		for at := (from + step - 1) / step * step; at <= to; at += step {
			ticks = append(ticks, plot.Tick{Value: float64(at), Label: utc(at).Format(momentFormat(at, step))})
		}
		return ticks
	}
	return monthTicks(from, to, most)
}

// momentFormat is for the label of an instant: a time, and at midnight the day.
func momentFormat(at, step int64) string {
	switch {
	case at%day == 0:
		return "Jan 2"
	case step < 1000:
		return "05.000000"
	case step < second:
		return "05.000"
	case step < 60*second:
		return "15:04:05"
	case step < day:
		return "15:04"
	}
	return "Jan 2"
}

// monthTicks are at the first days of months, or of years.
func monthTicks(from, to int64, most int) fixed {
	step := 1200
	for _, s := range []int{1, 2, 3, 6, 12, 24, 60, 120, 240, 600} {
		if (to-from)/(int64(s)*28*day) < int64(most) {
			step = s
			break
		}
	}
	format := "2006-01"
	if step >= 12 {
		format = "2006"
	}
	var ticks fixed
	first := utc(from)
	for month := (first.Year()*12 + int(first.Month()) - 1) / step * step; ; month += step {
		at := time.Date(month/12, time.Month(month%12+1), 1, 0, 0, 0, 0, time.UTC).UnixMicro()
		if at > to {
			return ticks
		}
		if at >= from {
			ticks = append(ticks, plot.Tick{Value: float64(at), Label: utc(at).Format(format)})
		}
	}
}

func utc(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// fitting returns the ticks with the most labels that do not touch on an axis of a
// length; of at most so many.
func fitting(most int, length vg.Length, a *plot.Axis, lay func(most int) fixed) fixed {
	for ; most > 1; most-- {
		if ticks := lay(most); ticks.fit(length, a) {
			return ticks
		}
	}
	return lay(1)
}

// fit says whether labels keep apart.
func (f fixed) fit(length vg.Length, a *plot.Axis) bool {
	end := vg.Length(math.Inf(-1))
	for _, t := range f {
		if t.Label == "" || t.Value < a.Min || t.Value > a.Max {
			continue
		}
		middle, half := vg.Length(a.Norm(t.Value))*length, a.Tick.Label.Width(t.Label)/2
		if middle-half < end+8 {
			return false
		}
		end = middle + half
	}
	return true
}

// widest is how much room the labels take beside an upright axis.
func (f fixed) widest(a *plot.Axis) vg.Length {
	var widest vg.Length
	for _, t := range f {
		widest = max(widest, a.Tick.Label.Width(t.Label))
	}
	return widest
}
