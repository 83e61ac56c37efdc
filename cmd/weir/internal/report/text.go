package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// WriteText writes the document for a terminal: without pictures, and in at most 100
// columns where keys and names are not very long.
func (d *Document) WriteText(w io.Writer) error {
	t := &textWriter{verbose: d.Verbose}
	parts := t.document(d)
	if folded := t.folded(); folded != "" {
		parts = append(parts, "--verbose also shows: "+folded+".\n")
	}
	_, err := io.WriteString(w, Visible(strings.Join(parts, "\n")))
	return err
}

// textWriter makes a text, and counts what it leaves behind the fold.
type textWriter struct {
	verbose  bool
	sections []string // their titles
	zeros    int64    // rows that are 0 everywhere
}

// folded says what was left out; "" for nothing.
func (t *textWriter) folded() string {
	all := t.sections
	if t.zeros > 0 {
		all = append(all, Count(t.zeros, "row")+" of zeros")
	}
	return strings.Join(all, "; ")
}

// document is the document in parts, with an empty line between them.
func (t *textWriter) document(d *Document) (parts []string) {
	if d.Answers != nil {
		answers := ""
		for _, a := range d.Answers {
			answers += a.Text + "\n"
		}
		parts = append(parts, answers)
	}
	if d.Lead != nil {
		parts = append(parts, t.facts(d.Lead))
	}
	for i := range d.Sections {
		parts = append(parts, t.section(&d.Sections[i])...)
	}
	if d.Next != nil {
		parts = append(parts, t.document(d.Next)...)
	}
	if d.Footer != nil {
		parts = append(parts, t.facts(d.Footer))
	}
	return parts
}

func (t *textWriter) facts(facts []Fact) string {
	var b strings.Builder
	for _, f := range facts {
		if f.Zero && !t.verbose {
			t.zeros++
			continue
		}
		fmt.Fprintf(&b, "%-10s%s\n", f.Name, f.Value)
	}
	return b.String()
}

// section is the section in parts.
func (t *textWriter) section(s *section) (parts []string) {
	if s.Fold && !t.verbose {
		t.sections = append(t.sections, strings.ToLower(s.Title[:1])+s.Title[1:])
		return nil
	}
	if s.Text != nil {
		parts = append(parts, strings.Join(s.Text, "\n")+"\n")
	}
	if s.Facts != nil {
		parts = append(parts, t.facts(s.Facts))
	}
	if s.Lines != "" {
		parts = append(parts, strings.TrimRight(s.Lines, "\n")+"\n")
	}
	titled := s.Quiet
	for i := range s.Tables {
		one := &s.Tables[i]
		heading := ""
		if one.Head[0] != measure && one.Title != "" {
			heading = one.Title + "\n"
			titled = titled || one.Title == s.Title
		}
		parts = append(parts, heading+t.table(one))
	}
	if parts != nil && !titled && s.Title != "" {
		parts = append([]string{s.Title + "\n"}, parts...)
	}
	return parts
}

// table is the table with two spaces between columns. Texts of any length come last, and
// rows that are 0 everywhere are behind the fold.
func (w *textWriter) table(t *table) string {
	head := slices.Clone(t.Head)
	if t.Short != nil {
		head = slices.Clone(t.Short)
	}
	if head[0] == measure {
		head[0] = strings.ToLower(t.Title[:1]) + t.Title[1:]
	}
	lines, bars := [][]string{head}, []string{t.BarHead}
	for i, cells := range t.Rows {
		if zero(cells) && !w.verbose {
			w.zeros++
			continue
		}
		line := make([]string, len(cells))
		for column, c := range cells {
			line[column] = c.Text
		}
		lines, bars = append(lines, line), append(bars, "")
		if t.Bars != nil {
			bars[len(bars)-1] = t.Bars[i]
		}
	}
	widths := make([]int, len(head))
	for _, line := range lines {
		for column, text := range line {
			widths[column] = max(widths[column], utf8.RuneCountInString(text))
		}
	}
	var all strings.Builder
	for i, line := range lines {
		var cells, last []string
		for column, text := range line {
			pad := strings.Repeat(" ", widths[column]-utf8.RuneCountInString(text))
			switch {
			case len(t.Rows) > 0 && t.Rows[0][column].Class == classLong:
				last = append(last, text+pad)
			case t.Left(column):
				cells = append(cells, text+pad)
			default:
				cells = append(cells, pad+text)
			}
		}
		line := strings.Join(append(append(cells, last...), bars[i]), "  ")
		all.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for _, note := range t.Notes {
		all.WriteString(note + "\n")
	}
	return all.String()
}
