package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"

	"github.com/weirgo/weir/cmd/weir/internal/report/chart"
)

// page is a document as one HTML file, which needs no other file, no network and no
// script. The template escapes every text, by itself or by prose and tight: a trace and a
// scenario hold what strangers wrote.
type page struct {
	*Document
	Parts []part
}

// part is a section with its place and its pictures.
type part struct {
	*section
	ID       string
	Pictures []picture
}

// picture is a chart drawn twice: for a desk and for a phone. The page shows one.
type picture struct {
	ID           string
	Title, Text  string
	Wide, Narrow template.HTML
}

// Whole reports whether the table takes the width of the page, and not half of it.
func (t *table) Whole() bool {
	return len(t.Head) > 5 || slices.ContainsFunc(t.Rows, func(row []cell) bool {
		return slices.ContainsFunc(row, func(c cell) bool { return c.Class == classLong && len(c.Text) > 40 })
	})
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"prose": prose, "tight": tight}).Parse(pageText))

// WriteHTML writes the document as one HTML file. Equal documents have equal bytes.
func (d *Document) WriteHTML(w io.Writer) error {
	p := page{Document: d}
	for i := range d.Sections {
		one := part{section: &d.Sections[i], ID: fmt.Sprintf("s%d", i+1)}
		for j, c := range one.Charts {
			picture, err := drawn(c, fmt.Sprintf("%sp%d", one.ID, j+1))
			if err != nil {
				return err
			}
			one.Pictures = append(one.Pictures, picture)
		}
		p.Parts = append(p.Parts, one)
	}
	return pageTemplate.Execute(w, p)
}

func drawn(c *chart.Chart, id string) (picture, error) {
	wide, err := c.SVG(chart.Wide, "wide")
	if err != nil {
		return picture{}, err
	}
	narrow, err := c.SVG(chart.Narrow, "narrow")
	if err != nil {
		return picture{}, err
	}
	// Both have escaped their texts.
	return picture{ID: id, Title: unbroken(c.Title), Text: unbroken(c.Text), Wide: template.HTML(wide), Narrow: template.HTML(narrow)}, nil
}

// Shown is the text as the page has it.
func (c cell) Shown() template.HTML {
	shown := tight(unbroken(c.Text))
	if c.Class == classHash {
		shown = template.HTML(fours.ReplaceAllString(string(shown), "$0<wbr>"))
	}
	return shown
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

// units are a number and what it counts, as Percent and Duration write them.
var units = regexp.MustCompile(`(\d) (%|(?:µs|ms|s|min|h|d)\b)`)

// unbroken keeps a number and its unit on one line.
func unbroken(text string) string { return units.ReplaceAllString(text, "$1\u00a0$2") }
