package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weirgo/weir/cmd/weir/internal/report/chart"
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

// ratio writes a/b with two decimals, and – where b is 0.
func ratio(a, b int64) string {
	if b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}

// Duration writes whole µs in the largest unit that they fill, from minutes on with what
// is left in the next one: "250 ms", "1.5 s", "1 min 30 s".
func Duration(micros int64) string { return chart.Duration(micros) }

// utcTime writes an instant.
func utcTime(at time.Time) string { return at.Format("2006-01-02 15:04:05.999999 UTC") }

// rowFormat is for the beginning of a row of a timeline.
func rowFormat(width time.Duration) string {
	switch {
	case width >= 24*time.Hour:
		return "2006-01-02"
	case width >= time.Minute:
		return "2006-01-02 15:04"
	case width >= time.Second:
		return "2006-01-02 15:04:05"
	}
	return "2006-01-02 15:04:05.000000"
}

// Quoted returns s as it is where a terminal would only print it and a reader see all
// of it, and quoted where not: a log holds what strangers sent. Two strings never look
// the same.
func Quoted(s string) string {
	if s == "" || s[0] == '"' || s != strings.TrimSpace(s) || !utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return strconv.Quote(s)
	}
	return s
}

// Visible replaces what a terminal would act on, what a reader could not see and what
// turns a text around. Line ends and tabs stay.
func Visible(s string) string {
	return strings.Map(func(c rune) rune {
		if c != '\n' && c != '\t' && !strconv.IsPrint(c) {
			return '·'
		}
		return c
	}, s)
}

// WriteJSON writes a report as one JSON value, indented.
func WriteJSON(w io.Writer, report any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(report)
}
