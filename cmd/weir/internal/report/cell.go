package report

import (
	"html/template"
	"regexp"
)

// cell is a text in a table.
type cell struct {
	Text  string
	Class string // in the page: how it stands there; "" is as numbers do
}

// Shown is the text as the page has it.
func (c cell) Shown() template.HTML {
	shown := tight(c.Text)
	if c.Class == hash {
		shown = template.HTML(fours.ReplaceAllString(string(shown), "$0<wbr>"))
	}
	return shown
}

// number is a cell with a whole number. A 0 may go unseen.
func number(n int64) cell {
	c := cell{Text: Digits(n)}
	if n == 0 {
		c.Class = "none"
	}
	return c
}

// right is a cell with a text that is a number with a unit.
func right(s string) cell { return cell{Text: unbroken(s)} }

// word is a cell with a text.
func word(s string) cell { return cell{Text: s, Class: "left"} }

// hash is the class of a digest, in which a line may end after each four characters.
const hash = "hash"

// long is the class of a text that may be broken anywhere.
const long = "left long"

// line is a cell with a text of a stranger, of any length.
func line(s string) cell { return cell{Text: s, Class: long} }

// title is a cell with what a row counts.
func title(s string) cell { return cell{Text: s, Class: "name"} }

// bad is a cell with what ought not to be.
func bad(s string) cell { return cell{Text: s, Class: "bad"} }

// rows collects rows that have a name and one cell for each of several things.
type rows [][]cell

func addRow[T any](to *rows, name string, all []T, of func(T) cell) {
	row := []cell{title(name)}
	for _, one := range all {
		row = append(row, of(one))
	}
	*to = append(*to, row)
}

// commas are those in the text of a limit, such as gcra:10/1m,burst=20, and not those in
// a number. joints are where else such a text, or a name with underscores, has parts.
var (
	commas = regexp.MustCompile(`,(\pL)`)
	joints = regexp.MustCompile(`(\pL:|_)([\pL\d])`)
)

// prose escapes a text, and lets a line end behind the commas in the text of a limit.
func prose(text string) template.HTML {
	return template.HTML(commas.ReplaceAllString(template.HTMLEscapeString(text), ",<wbr>$1"))
}

// fours are characters of a hash.
var fours = regexp.MustCompile(`[0-9a-f]{4}\B`)

// tight is prose for the narrow columns of a table: a line may end at the joints too.
func tight(text string) template.HTML {
	return template.HTML(joints.ReplaceAllString(string(prose(text)), "$1<wbr>$2"))
}

// units are a number and what it counts, as Percent and chart.Duration write them.
var units = regexp.MustCompile(`(\d) (%|(?:µs|ms|s|min|h|d)\b)`)

// unbroken keeps a number and its unit on one line.
func unbroken(text string) string { return units.ReplaceAllString(text, "$1\u00a0$2") }
