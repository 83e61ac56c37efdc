package ui

import (
	"math"
	"strconv"
	"time"
)

// digits writes a number with commas between its thousands.
func digits(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// percent writes a part of a whole; "–" where there is nothing.
func percent(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return usedPart(float64(part) / float64(whole))
}

// usedPart writes a part of 1 in percent, with a digit behind the point below 10.
func usedPart(part float64) string {
	switch p := part * 100; {
	case p == 0:
		return "0 %"
	case p < 0.1:
		return "< 0.1 %"
	case p < 10:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	default:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	}
}

// lapse writes seconds; "–" where there are none.
func lapse(seconds float64) string {
	switch {
	case math.IsNaN(seconds):
		return "–"
	case seconds >= 1:
		return "1 s or more"
	case seconds >= 1e-3:
		return strconv.FormatFloat(seconds*1e3, 'g', 3, 64) + " ms"
	}
	return strconv.FormatFloat(seconds*1e6, 'f', 0, 64) + " µs"
}

// clock writes an instant in UTC; "–" for the zero time.
func clock(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
