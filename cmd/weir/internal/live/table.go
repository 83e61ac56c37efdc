package live

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// maxCell bounds a cell, in columns: the name of a rule may be as long as somebody likes.
const maxCell = 40

// table aligns rows: the first column to the left, the others to the right.
func table(rows [][]string) []string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i := range row {
			row[i] = cut(visible(row[i]), maxCell)
			widths[i] = max(widths[i], columns(row[i]))
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var b strings.Builder
		for i, text := range row {
			pad := strings.Repeat(" ", widths[i]-columns(text))
			if i == 0 {
				b.WriteString(text + pad)
			} else {
				b.WriteString("  " + pad + text)
			}
		}
		lines[n] = b.String()
	}
	return lines
}

// visible replaces what a terminal would act on.
func visible(s string) string {
	return strings.Map(func(c rune) rune {
		if !strconv.IsPrint(c) {
			return '·'
		}
		return c
	}, s)
}

// columns is how many columns of a terminal a text takes.
func columns(s string) (n int) {
	for _, c := range s {
		n += columnsOf(c)
	}
	return n
}

func columnsOf(c rune) int {
	if unicode.In(c, unicode.Mn, unicode.Me) { // drawn over the one before
		return 0
	}
	switch width.LookupRune(c).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cut is the beginning of a text that fits into so many columns. 0 is room for all.
func cut(s string, room int) string {
	if room <= 0 || columns(s) <= room {
		return s
	}
	taken := 1 // of the ellipsis
	for i, c := range s {
		if taken += columnsOf(c); taken > room {
			return s[:i] + "…"
		}
	}
	return s
}
