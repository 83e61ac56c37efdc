package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/weirgo/weir/cmd/weir/internal/report/chart"
)

// page is a report as one HTML file, which needs no other file, no network and no
// script. The template escapes every text, by itself or by prose and tight: a trace and a
// scenario hold what strangers wrote.
type page struct {
	Title    string
	About    string
	Verdict  *verdict
	Facts    []fact
	Command  string // that runs it again; "" where it is not known
	Sections []section
}

type verdict struct {
	Good bool
	Text string
}

// section is a part of a page under a heading.
type section struct {
	ID       string // of the page, in the order of sections
	Title    string
	Text     []string
	Pictures []picture
	Tables   []table
	Lines    string // in fixed columns
}

// picture is a chart drawn twice: for a desk and for a phone. The page shows one.
type picture struct {
	ID           string
	Title, Text  string
	Wide, Narrow template.HTML
}

// table is rows of cells under a heading. The first cell of each row names it.
type table struct {
	Title string
	Head  []string
	Rows  [][]cell
}

// Left says whether the heading of a column goes to the left, as its cells do.
func (t table) Left(column int) bool {
	return column == 0 || len(t.Rows) > 0 && strings.HasPrefix(t.Rows[0][column].Class, "left")
}

// Whole says whether the table takes the width of the page, and not half of it.
func (t table) Whole() bool {
	return len(t.Head) > 5 || slices.ContainsFunc(t.Rows, func(row []cell) bool {
		return slices.ContainsFunc(row, func(c cell) bool { return c.Class == long })
	})
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"prose": prose, "tight": tight}).Parse(pageText))

// add appends a section with its pictures, unless it would be empty.
func (p *page) add(s section, charts ...*chart.Chart) error {
	s.ID = fmt.Sprintf("s%d", len(p.Sections)+1)
	for i, c := range charts {
		drawn := picture{ID: fmt.Sprintf("%sp%d", s.ID, i+1), Title: unbroken(c.Title), Text: unbroken(c.Text)}
		for _, size := range []struct {
			width chart.Width
			class string
			into  *template.HTML
		}{{chart.Wide, "wide", &drawn.Wide}, {chart.Narrow, "narrow", &drawn.Narrow}} {
			svg, err := c.SVG(size.width, size.class)
			if err != nil {
				return err
			}
			*size.into = template.HTML(svg) // which has escaped its texts
		}
		s.Pictures = append(s.Pictures, drawn)
	}
	if len(s.Pictures)+len(s.Tables)+len(s.Text)+len(s.Lines) > 0 {
		p.Sections = append(p.Sections, s)
	}
	return nil
}

func (p *page) write(w io.Writer) error { return pageTemplate.Execute(w, p) }
