package main

import (
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// writeTable writes rows of cells with two spaces between columns: the first so many to
// the left, the others to the right.
func writeTable(b *strings.Builder, rows [][]string, left int) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if i < left {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// writeSimText writes a text without what a terminal would act on: names and keys of a
// scenario may hold anything.
func writeSimText(w io.Writer, text string) error {
	_, err := io.WriteString(w, printable(text))
	return err
}

// ratio writes a/b with two decimals, and - where b is 0.
func ratio(a, b int64) string {
	if b == 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(a)/float64(b), 'f', 2, 64)
}

// span writes a time in µs without the zero parts at its end.
func span(micros int64) string {
	s := (time.Duration(micros) * time.Microsecond).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}
