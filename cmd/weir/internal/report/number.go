package report

import (
	"encoding/json"
	"io"
	"strconv"
)

// Count writes a number with its noun.
func Count(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Digits(n) + " " + noun
}

// Digits writes a number in groups of three.
func Digits(n int64) string {
	sign, s := "", strconv.FormatInt(n, 10)
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Percent writes part of whole with one decimal; 0 and all are written only where they
// are exact, and 0 where whole is 0.
func Percent(part, whole int64) string {
	switch {
	case part == 0 || whole == 0:
		return "0 %"
	case part == whole:
		return "100 %"
	}
	percent := 100 * float64(part) / float64(whole)
	return strconv.FormatFloat(min(max(percent, 0.1), 99.9), 'f', 1, 64) + " %"
}

// WriteJSON writes a report as one JSON value, indented.
func WriteJSON(w io.Writer, report any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(report)
}
