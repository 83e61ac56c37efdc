package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/weirgo/weir/cmd/weir/internal/report/chart"
	"github.com/weirgo/weir/internal/uplot"
)

var (
	//go:embed page.css
	style string
	//go:embed page.js
	script string
	//go:embed page.html
	pageText string
)

// pageTemplate is the page. A text that is not escaped yet is escaped by it: a trace and a
// scenario hold what strangers wrote.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"prose": prose, "tight": tight, "shown": cell.shown, "count": func(all []string, noun string) string { return Count(int64(len(all)), noun) },
	"join": strings.Join, "wide": (*table).wide, "zero": zero, "zeros": (*table).zeros, "sectionID": sectionID, "figureID": figureID,
	"still": func(f figure) template.HTML { return template.HTML(f.SVG(stillWide)) }, // which has escaped its texts
	"part":  func(n float64, b *chart.Bars) string { return fmt.Sprintf("%.2f", 100*n/b.Top()) },
}).Parse(pageText))

// page is what the template shows beside the document.
type page struct {
	*Document
	Policy          template.HTMLAttr
	Style           template.CSS
	Library, Script template.JS
	Limits          []string // whose figures a reader may hide; nil where fewer than two have any
	Charts          []data   // of the script
}

// data is a chart for the script.
type data struct {
	ID string `json:"id"`
	*chart.Lines
}

// stillWide is the width of a still picture, which a page makes wider or narrower.
const stillWide = 480

func sectionID(i int) string   { return fmt.Sprintf("s%d", i+1) }
func figureID(i, j int) string { return fmt.Sprintf("%sp%d", sectionID(i), j+1) }

// WriteHTML writes the document as one HTML file, which needs no other file and no
// network. Equal documents have equal bytes.
func (d *Document) WriteHTML(w io.Writer) error {
	p := page{
		Document: d, Style: template.CSS(uplot.Style + style), Library: template.JS(uplot.Script), Script: template.JS(script), Charts: []data{},
		Policy: template.HTMLAttr(fmt.Sprintf(`content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src %s %s"`, hashOf(uplot.Script), hashOf(script))),
	}
	for i, s := range d.Sections {
		for j, f := range s.Figures {
			if f.Lines != nil {
				p.Charts = append(p.Charts, data{figureID(i, j), f.Lines})
			}
			if f.Limit != "" && !slices.Contains(p.Limits, f.Limit) {
				p.Limits = append(p.Limits, f.Limit)
			}
		}
	}
	if len(p.Limits) < 2 {
		p.Limits = nil
	}
	return pageTemplate.Execute(w, p)
}

// hashOf is how a policy allows a script within a page.
func hashOf(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// wide reports whether the table takes the width of the page, and not half of it.
func (t *table) wide() bool {
	return len(t.Head) > 5 || slices.ContainsFunc(t.Rows, func(row []cell) bool {
		return slices.ContainsFunc(row, func(c cell) bool { return c.Class == classLong && len(c.Text) > 40 })
	})
}

// shown is the text as the page has it.
func (c cell) shown() template.HTML {
	if c.Class == classHash {
		return template.HTML(fours.ReplaceAllString(template.HTMLEscapeString(c.Text), "$0<wbr>"))
	}
	return tight(c.Text)
}

var (
	// commas are those in the text of a limit, such as gcra:10/1m,burst=20, and not
	// those in a number.
	commas = regexp.MustCompile(`,(\pL)`)
	// joints are where else such a text, or a name with underscores, has parts.
	joints = regexp.MustCompile(`(\pL:|_)([\pL\d])`)
	// fours are characters of a hash.
	fours = regexp.MustCompile(`[0-9a-f]{4}\B`)
	// units are a number and what it counts, as Percent and Duration write them.
	units = regexp.MustCompile(`(\d) (%|(?:µs|ms|s|min|h|d)\b)`)
)

// prose escapes a text, keeps a number and its unit on one line, and lets a line end
// behind the commas in the text of a limit.
func prose(text string) template.HTML {
	return template.HTML(commas.ReplaceAllString(template.HTMLEscapeString(units.ReplaceAllString(text, "$1\u00a0$2")), ",<wbr>$1"))
}

// tight is prose for narrow columns: a line may end at the joints too.
func tight(text string) template.HTML {
	return template.HTML(joints.ReplaceAllString(string(prose(text)), "$1<wbr>$2"))
}
