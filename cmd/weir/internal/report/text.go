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
	_, err := io.WriteString(w, Visible(strings.Join(d.text(), "\n")))
	return err
}

// text is the document in parts, with an empty line between them.
func (d *Document) text() (parts []string) {
	if d.Answers != nil {
		answers := ""
		for _, a := range d.Answers {
			answers += a.Text + "\n"
		}
		parts = append(parts, answers)
	}
	if d.Lead != nil {
		parts = append(parts, factText(d.Lead))
	}
	for i := range d.Sections {
		parts = append(parts, d.Sections[i].text()...)
	}
	if d.Next != nil {
		parts = append(parts, d.Next.text()...)
	}
	if d.Footer != nil {
		parts = append(parts, factText(d.Footer))
	}
	return parts
}

func factText(facts []Fact) string {
	var b strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&b, "%-10s%s\n", f.Name, f.Value)
	}
	return b.String()
}

// text is the section in parts.
func (s *section) text() (parts []string) {
	if s.Text != nil {
		parts = append(parts, strings.Join(s.Text, "\n")+"\n")
	}
	if s.Facts != nil {
		parts = append(parts, factText(s.Facts))
	}
	if s.Lines != "" && !s.PageOnly {
		parts = append(parts, s.Lines+"\n")
	}
	titled := s.Quiet
	for i := range s.Tables {
		t := &s.Tables[i]
		if t.PageOnly {
			continue
		}
		heading := ""
		if t.Head[0] != measure && t.Title != "" {
			heading = t.Title + "\n"
			titled = titled || t.Title == s.Title
		}
		parts = append(parts, heading+t.text())
	}
	if parts != nil && !titled && s.Title != "" {
		parts = append([]string{s.Title + "\n"}, parts...)
	}
	return parts
}

// text is the table with two spaces between columns. Texts of any length come last, and
// rows that are 0 everywhere are left out.
func (t *table) text() string {
	head := slices.Clone(t.Head)
	if t.Short != nil {
		head = slices.Clone(t.Short)
	}
	if head[0] == measure {
		head[0] = strings.ToLower(t.Title[:1]) + t.Title[1:]
	}
	lines, bars := [][]string{head}, []string{t.BarHead}
	for i, cells := range t.Rows {
		if cells[0].Class == className && zero(cells) {
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
	return all.String()
}
