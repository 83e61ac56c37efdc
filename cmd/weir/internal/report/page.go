package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
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
)

// WriteHTML writes the document as one HTML file, which needs no other file and no
// network. Equal documents have equal bytes.
func (d *Document) WriteHTML(w io.Writer) error {
	p := &page{}
	p.document(d)
	_, err := io.WriteString(w, p.b.String())
	return err
}

// page is HTML as it is written. Only what is safe comes between the tags: a trace and
// a scenario hold what strangers wrote. (html/template would keep every method of every
// type in the program, and make it twice as large.)
type page struct {
	b      strings.Builder
	charts []data // of the script
}

// safe is a text that is escaped.
type safe string

// data is a chart for the script.
type data struct {
	ID string `json:"id"`
	*chart.Lines
}

// stillWide is the width of a still picture, which a page makes wider or narrower.
const stillWide = 480

// print writes tags with safe texts in their places.
func (p *page) print(tags string, texts ...safe) {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	fmt.Fprintf(&p.b, tags, all...)
}

func (p *page) document(d *Document) {
	policy := fmt.Sprintf("default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src %s %s", hashOf(uplot.Script), hashOf(script))
	p.print(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="%s">
<link rel="icon" href="data:,">
<title>%s</title>
<style>%s</style>
</head>
<body>
<main>
<h1>%s</h1>
`, safe(policy), escape(d.Title), safe(uplot.Style+style), prose(d.Title))
	if d.Answers != nil {
		p.print("<ul class=\"answers\">\n")
		for _, a := range d.Answers {
			p.print("<li class=\"%s\">%s</li>\n", safe(a.Level), prose(a.Text))
		}
		p.print("</ul>\n")
	}
	p.facts(d.Lead)
	if d.Command != "" {
		p.print("<p>The command that runs this again:</p>\n<pre class=\"command\"><code>%s</code></pre>\n", escape(d.Command))
	}
	p.limits(d)
	for i := range d.Sections {
		p.section(&d.Sections[i], safe(fmt.Sprintf("s%d", i+1)))
	}
	charts, err := json.Marshal(append([]data{}, p.charts...)) // which escapes what ends a script
	if err != nil {
		panic(err) // a chart is numbers and texts
	}
	p.print("</main>\n<script type=\"application/json\" id=\"data\">%s</script>\n<script>%s</script>\n<script>%s</script>\n</body>\n</html>\n",
		safe(charts), safe(uplot.Script), safe(script))
}

// hashOf is how a policy allows a script within a page.
func hashOf(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (p *page) facts(facts []Fact) {
	if facts == nil {
		return
	}
	p.print("<dl>\n")
	for _, f := range facts {
		if f.Zero {
			continue
		}
		p.print("<dt>%s</dt><dd>%s</dd>\n", escape(f.Name), prose(f.Value))
	}
	p.print("</dl>\n")
}

// limits lets a reader hide the figures of a limit, where several have figures.
func (p *page) limits(d *Document) {
	var names []string
	for _, s := range d.Sections {
		for _, f := range s.Figures {
			if f.Limit != "" && !slices.Contains(names, f.Limit) {
				names = append(names, f.Limit)
			}
		}
	}
	if len(names) < 2 {
		return
	}
	p.print(`<div class="limits" role="group" aria-label="limits that are shown">`)
	for _, name := range names {
		p.print(`<label><input type="checkbox" value="%s" checked> %s</label>`, escape(name), escape(name))
	}
	p.print("</div>\n")
}

func (p *page) section(s *section, id safe) {
	if s.Fold || s.Drawn {
		p.print("<details>\n<summary id=\"%s\">%s</summary>\n<section aria-labelledby=\"%s\">\n", id, prose(s.Title), id)
	} else {
		p.print("<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n", id, id, prose(s.Title))
	}
	for _, text := range s.Text {
		p.print("<p>%s</p>\n", prose(text))
	}
	p.facts(s.Facts)
	if s.Lines != "" {
		p.print("<pre class=\"lines\" tabindex=\"0\" role=\"region\" aria-label=\"lines\"><code>%s</code></pre>\n", escape(s.Lines))
	}
	if s.Figures != nil {
		class := safe("pictures")
		if s.Stack {
			class = "pictures stack"
		}
		p.print("<div class=\"%s\">\n", class)
		for i, f := range s.Figures {
			p.figure(f, id+safe(fmt.Sprintf("p%d", i+1)))
		}
		p.print("</div>\n")
	}
	if s.Tables != nil {
		p.print("<div class=\"tables\">\n")
		for i := range s.Tables {
			p.table(&s.Tables[i], s.Title)
		}
		p.print("</div>\n")
	}
	p.print("</section>\n")
	if s.Fold || s.Drawn {
		p.print("</details>\n")
	}
}

func (p *page) figure(f figure, id safe) {
	limit := safe("")
	if f.Limit != "" {
		limit = ` data-limit="` + escape(f.Limit) + `"`
	}
	p.print("<figure aria-labelledby=\"%sh\" aria-describedby=\"%st\"%s>\n<figcaption><h3 id=\"%sh\">%s</h3><p id=\"%st\">%s</p></figcaption>\n",
		id, id, limit, id, prose(f.Title), id, prose(f.Text))
	if f.Lines != nil {
		p.charts = append(p.charts, data{string(id), f.Lines})
		p.print("<div class=\"chart\" id=\"%s\"><noscript>%s</noscript></div>\n", id, safe(f.SVG(stillWide))) // which has escaped its texts
	}
	if f.Bars != nil {
		p.bars(f.Bars)
	}
	p.print("</figure>\n")
}

func (p *page) bars(b *chart.Bars) {
	p.print(`<p class="keys">`)
	for _, s := range b.Series {
		p.print(`<span><i class="%s"></i>%s</span>`, safe(s.Colour), escape(s.Name))
	}
	for _, m := range b.Marks {
		p.print(`<span><b></b>%s</span>`, escape(m.Name))
	}
	p.print("</p>\n<div class=\"bars\">\n")
	size := func(n float64) safe { return safe(fmt.Sprintf("%.2f", 100*n/b.Top())) }
	for _, row := range b.Rows {
		p.print("<div class=\"bar\"><span>%s</span> <span>%s</span><div class=\"track\">", tight(row.Name), tight(row.Label))
		for i, v := range row.Values {
			if v > 0 {
				p.print(`<i class="%s" style="width:%s%%"></i>`, safe(b.Series[i].Colour), size(v))
			}
		}
		for _, m := range row.Marks {
			p.print(`<b style="left:%s%%"></b>`, size(m))
		}
		p.print("</div></div>\n")
	}
	p.print("</div>\n")
}

func (p *page) table(t *table, section string) {
	whole := safe("")
	if t.wide() {
		whole = ` class="whole"`
	}
	p.print("<div%s>", whole)
	if t.Title != section {
		p.print("<h3>%s</h3>\n", prose(t.Title))
	}
	p.print("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n<table aria-label=\"%s\">\n<thead><tr>", escape(t.Title), escape(t.Title))
	for i, head := range t.Head {
		left := safe("")
		if t.Left(i) {
			left = ` class="left"`
		}
		p.print(`<th scope="col"%s>%s</th>`, left, tight(head))
	}
	p.print("</tr></thead>\n<tbody>\n")
	var zeros []string
	for _, row := range t.Rows {
		if row[0].Class == className && zero(row) {
			zeros = append(zeros, row[0].Text)
			continue
		}
		p.print("<tr>")
		for i, c := range row {
			element, class := safe("td"), safe("")
			if i == 0 {
				element = `th scope="row"`
			}
			if c.Class != "" {
				class = ` class="` + safe(c.Class) + `"`
			}
			p.print("<%s%s>%s</%s>", element, class, c.shown(), element[:2])
		}
		p.print("</tr>\n")
	}
	p.print("</tbody>\n</table>\n</div>\n")
	if zeros != nil {
		p.print("<details class=\"zeros\"><summary>0 everywhere: %s</summary><p>%s</p></details>\n", safe(Count(int64(len(zeros)), "row")), escape(strings.Join(zeros, "; ")))
	}
	p.print("</div>\n")
}

// wide reports whether the table takes the width of the page, and not half of it.
func (t *table) wide() bool {
	return len(t.Head) > 5 || slices.ContainsFunc(t.Rows, func(row []cell) bool {
		return slices.ContainsFunc(row, func(c cell) bool { return c.Class == classLong && len(c.Text) > 40 })
	})
}

// shown is the text as the page has it.
func (c cell) shown() safe {
	if c.Class == classHash {
		return safe(fours.ReplaceAllString(string(escape(c.Text)), "$0<wbr>"))
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

func escape(text string) safe { return safe(html.EscapeString(text)) }

// prose escapes a text, keeps a number and its unit on one line, and lets a line end
// behind the commas in the text of a limit.
func prose(text string) safe {
	return safe(commas.ReplaceAllString(string(escape(units.ReplaceAllString(text, "$1\u00a0$2"))), ",<wbr>$1"))
}

// tight is prose for narrow columns: a line may end at the joints too.
func tight(text string) safe {
	return safe(joints.ReplaceAllString(string(prose(text)), "$1<wbr>$2"))
}
