// Package report gathers what a replay or a simulation did, and shows it. A report is one
// Document: WriteText and WriteHTML write it for a terminal and as a page with pictures.
// The memory of a replay's report grows with the keys of the trace, not with its events.
package report

import (
	"slices"
	"strings"

	"github.com/weirgo/weir/cmd/weir/internal/report/chart"
)

// Document is a report before it is a text or a page.
type Document struct {
	Title    string
	Lead     []Fact    // what this is
	Answers  []answer  // what happened, the worst first
	Command  string    // that runs it again; "" where it is not known
	Sections []section // in order of importance
	Footer   []Fact    // in a terminal: what to do next
	Next     *Document // in a terminal: what follows
	// Verbose shows in a terminal what is otherwise behind the fold: sections, and rows
	// that are 0 everywhere.
	Verbose bool
}

// Fact is a named line of a summary. One that is 0 is behind the fold in a terminal, and
// no part of a page.
type Fact struct {
	Name, Value string
	Zero        bool
}

// section is a part of a document under a heading. One without content is left out.
type section struct {
	Title   string
	Quiet   bool // in a terminal it has no heading
	Fold    bool // in a page it is folded away, and in a terminal left out unless Verbose
	Drawn   bool // a page has a picture of it, and folds it away
	Text    []string
	Facts   []Fact
	Figures []figure
	Stack   bool // the figures stand above each other
	Tables  []table
	Lines   string // in fixed columns
}

// figure is a picture, of one limit where Limit is not "".
type figure struct {
	*chart.Chart
	Limit string
}

func (s *section) empty() bool {
	return len(s.Text)+len(s.Facts)+len(s.Figures)+len(s.Tables)+len(s.Lines) == 0
}

// add appends sections that have content.
func (d *Document) add(sections ...section) {
	for _, s := range sections {
		if !s.empty() {
			d.Sections = append(d.Sections, s)
		}
	}
}

// table is rows of cells under a heading. The first cell of each row names it.
type table struct {
	Title string
	Head  []string
	Short []string // Head for a terminal, where it is another one
	Rows  [][]cell
	Notes []string // below it, what words of it mean
	// BarHead and Bars are drawn behind the heading and each row in a terminal.
	BarHead string
	Bars    []string
}

// measure heads the first column of a table in which each row is one number.
const measure = "measure"

// Left reports whether a column goes to the left.
func (t *table) Left(column int) bool {
	if len(t.Rows) == 0 {
		return column == 0
	}
	class := t.Rows[0][column].Class
	return class == className || strings.HasPrefix(class, classText)
}

// cell is a text in a table.
type cell struct {
	Text  string
	Class string // how it stands in a page; "" is as numbers do
}

// The classes of cells. A class that begins with left goes to the left.
const (
	classZero = "none" // a number that may go unseen
	classBad  = "bad"  // what ought not to be
	className = "name" // what a row counts
	classText = "left"
	classLong = "left long" // a text of any length: it may be broken anywhere
	classHash = "hash"      // a line may end after each four characters
)

// number is a cell with a whole number.
func number(n int64) cell {
	if n == 0 {
		return cell{"0", classZero}
	}
	return cell{Text: Digits(n)}
}

// percent is a cell with a part of a whole.
func percent(part, whole int64) cell {
	c := number(part)
	c.Text = Percent(part, whole)
	return c
}

// duration is a cell with a time in µs.
func duration(micros int64) cell {
	c := number(micros)
	c.Text = Duration(micros)
	return c
}

// right is a cell with a text that is a number with a unit.
func right(s string) cell { return cell{Text: s} }

// word is a cell with a text.
func word(s string) cell { return cell{s, classText} }

// line is a cell with a text of a stranger, of any length.
func line(s string) cell { return cell{s, classLong} }

// bad is a cell with what ought not to be.
func bad(s string) cell { return cell{s, classBad} }

// row appends a row that has a name and one cell for each of several things.
func row[T any](t *table, name string, all []T, of func(T) cell) {
	cells := []cell{{name, className}}
	for _, one := range all {
		cells = append(cells, of(one))
	}
	t.Rows = append(t.Rows, cells)
}

// counts appends a row of whole numbers.
func counts[T any](t *table, name string, all []T, of func(T) int64) {
	row(t, name, all, func(one T) cell { return number(of(one)) })
}

// zero reports whether a row has a name, and 0 in all other cells.
func zero(cells []cell) bool {
	return cells[0].Class == className && !slices.ContainsFunc(cells[1:], func(c cell) bool { return c.Class != classZero })
}

// zeros are the names of the rows that are 0 everywhere.
func (t *table) zeros() (names []string) {
	for _, cells := range t.Rows {
		if zero(cells) {
			names = append(names, cells[0].Text)
		}
	}
	return names
}

// dropZeroColumns leaves out the columns behind the first that are 0 everywhere.
func (t *table) dropZeroColumns() {
	for column := len(t.Head) - 1; column > 0; column-- {
		if slices.ContainsFunc(t.Rows, func(cells []cell) bool { return cells[column].Class != classZero }) {
			continue
		}
		t.Head = slices.Delete(t.Head, column, column+1)
		for i := range t.Rows {
			t.Rows[i] = slices.Delete(t.Rows[i], column, column+1)
		}
	}
}
