package chart

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// tick is a place on an axis.
type tick struct {
	at    float64
	label string
}

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

// stepTicks are at the multiples of a step from low to high. The loop counts ticks, not
// multiples: a float64 of 1e17 does not change when 1 is added.
func stepTicks(low, high, step float64, label func(float64) string) (ticks []tick) {
	const most = 100
	first := math.Ceil(low/step - 1e-9)
	for n := range most {
		at := (first+float64(n))*step + 0 // never −0
		if !(at <= high+step*1e-9) {
			break
		}
		ticks = append(ticks, tick{at, label(at)})
	}
	return ticks
}

// ticks are at most about `most` places from low to high, and what their unit is called.
func (a *Axis) ticks(low, high float64, most int) (ticks []tick, unit string) {
	switch a.Scale {
	case Powers:
		return powerTicks(low, high, most, func(x float64) string { return number(x, 1) }), ""
	case Lengths:
		return powerTicks(low, high, most, func(x float64) string { return Duration(int64(x)) }), ""
	case Durations:
		step := timeStep(low, high, most)
		return stepTicks(low, high, float64(step), func(x float64) string { return Duration(int64(x)) }), ""
	case Moments:
		step := timeStep(low, high, most)
		return stepTicks(low, high, float64(step), func(x float64) string { return momentLabel(int64(x), step) }),
			"UTC, from " + time.UnixMicro(int64(low)).UTC().Format("2006-01-02 15:04")
	}
	step := nice(max(high-low, 1e-9) / float64(most))
	return stepTicks(low, high, step, func(x float64) string { return number(x, step) }), ""
}

// number writes a number with as many decimals as its step needs, in groups of three.
func number(x, step float64) string {
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	whole, fraction, has := strings.Cut(strconv.FormatFloat(x, 'f', decimals, 64), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if has {
		whole += "." + fraction
	}
	return whole
}

// powerTicks are the powers of ten.
func powerTicks(low, high float64, most int, label func(float64) string) (ticks []tick) {
	first, last := int(math.Ceil(math.Log10(low)-1e-9)), int(math.Floor(math.Log10(high)+1e-9))
	every := (last-first)/most + 1
	for power := first; power <= last; power += every {
		at := math.Pow(10, float64(power))
		ticks = append(ticks, tick{at, label(at)})
	}
	return ticks
}

const (
	second = int64(time.Second / time.Microsecond)
	day    = 86400 * second
)

// timeSteps are the steps in µs that read well between instants and durations.
var timeSteps = []int64{
	1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
	second, 2 * second, 5 * second, 10 * second, 30 * second, 60 * second, 120 * second, 300 * second, 600 * second, 1800 * second,
	3600 * second, 2 * 3600 * second, 3 * 3600 * second, 6 * 3600 * second, 12 * 3600 * second,
	day, 2 * day, 7 * day, 14 * day, 28 * day, 91 * day, 364 * day, 1820 * day, 7280 * day, 36_400 * day,
}

func timeStep(low, high float64, most int) int64 {
	for _, s := range timeSteps {
		if (high-low)/float64(s) <= float64(most) {
			return s
		}
	}
	return timeSteps[len(timeSteps)-1]
}

// momentLabel is how an instant is called on an axis with a step.
func momentLabel(micros, step int64) string {
	at := time.UnixMicro(micros).UTC()
	switch {
	case step >= 28*day:
		return at.Format("2006-01-02")
	case micros%day == 0:
		return at.Format("Jan 2")
	case step >= 60*second:
		return at.Format("15:04")
	case step >= second:
		return at.Format("15:04:05")
	case step >= 1000:
		return at.Format("05.000")
	}
	return at.Format("05.000000")
}

// durationUnits are in µs, the largest first.
var durationUnits = []struct {
	micros int64
	name   string
}{{day, "d"}, {3600 * second, "h"}, {60 * second, "min"}, {second, "s"}, {1000, "ms"}, {1, "µs"}}

// Duration writes whole µs in the largest unit that they fill, from minutes on with what
// is left in the next one: "250 ms", "1.5 s", "1 min 30 s".
func Duration(micros int64) string {
	if micros < 0 {
		return "-" + Duration(-max(micros, -math.MaxInt64)) // the least int64 has no opposite
	}
	for i, u := range durationUnits {
		if micros < u.micros && u.micros > 1 {
			continue
		}
		if u.micros < 60*second {
			return strconv.FormatFloat(float64(micros)/float64(u.micros), 'f', -1, 64) + " " + u.name
		}
		next := durationUnits[i+1]
		micros = (micros + next.micros/2) / next.micros * next.micros
		s := number(float64(micros/u.micros), 1) + " " + u.name
		if rest := micros % u.micros / next.micros; rest > 0 {
			s += " " + strconv.FormatInt(rest, 10) + " " + next.name
		}
		return s
	}
	panic("the last unit takes all")
}
