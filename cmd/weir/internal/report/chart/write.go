package chart

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// SVG draws the chart in a width for use within a page, as an <svg> element of a class.
// Its colours are the variables --ink, --soft and so on of the page. It is hidden from
// screen readers: the page is to say Title and Text.
func (c *Chart) SVG(width vg.Length, class string) (string, error) {
	height := c.height(width)
	canvas := vgsvg.NewWith(vgsvg.UseWH(width, height))
	c.draw(draw.New(canvas))
	drawn, err := written(canvas)
	if err != nil {
		return "", err
	}
	_, body, found := strings.Cut(drawn, `xmlns:xlink="http://www.w3.org/1999/xlink">`)
	if !found {
		return "", fmt.Errorf("chart: %q: the library's <svg> is not as it was", c.Title)
	}
	body = styleOf.ReplaceAllStringFunc(body, variables.Replace)
	return fmt.Sprintf(`<svg class="%s" viewBox="0 0 %.0f %.0f" aria-hidden="true" focusable="false">`,
		html.EscapeString(class), width, height) + body, nil
}

// styleOf finds the styles of a drawing. A text cannot look like one: it has no quotes,
// which are escaped.
var styleOf = regexp.MustCompile(`style="[^"]*"`)

// variables puts the variables of a page in place of colours, and leaves the font to it.
var variables = func() *strings.Replacer {
	words := []string{"font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;", ""}
	for _, colour := range colours {
		l := colour.light
		words = append(words, fmt.Sprintf("#%02X%02X%02X", l.R, l.G, l.B), "var("+colour.variable+")")
	}
	return strings.NewReplacer(words...)
}()

func written(w io.WriterTo) (string, error) {
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		return "", fmt.Errorf("chart: %w", err)
	}
	return b.String(), nil
}

// Formats are the endings of files that Sheet can write.
var Formats = []string{".png", ".svg"}

// Sheet is groups of charts on one page, in two columns, with a title above each chart.
type Sheet struct {
	Title  string
	Groups [][]*Chart
}

const (
	margin     vg.Length = 24
	titleSize  vg.Length = 14
	titleRoom  vg.Length = 28
	sheetTitle vg.Length = 18
	// dpi gives 1.5 dots for each point of a file of dots.
	dpi = 108
)

// Encode returns the sheet in the format of a file name's ending. Its error names the
// endings that are allowed.
func (s *Sheet) Encode(name string) ([]byte, error) {
	width := 2*Wide + 3*margin
	height := s.draw(nil, width)
	switch strings.ToLower(filepath.Ext(name)) {
	case ".svg":
		canvas := vgsvg.NewWith(vgsvg.UseWH(width, height))
		on := draw.New(canvas)
		s.draw(&on, width)
		drawn, err := written(canvas)
		if err != nil {
			return nil, err
		}
		drawn = strings.ReplaceAll(drawn, "font-family:Liberation Sans;", "font-family:Liberation Sans,Arial,Helvetica,sans-serif;")
		return []byte(strings.Replace(drawn, "<g transform", s.words()+"<g transform", 1)), nil
	case ".png":
		canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
		on := draw.New(canvas)
		s.draw(&on, width)
		drawn, err := written(vgimg.PngCanvas{Canvas: canvas})
		return []byte(drawn), err
	}
	return nil, fmt.Errorf("%q: must end in %s", name, strings.Join(Formats, " or "))
}

// words are the title of an SVG file and the text for those who cannot see it.
func (s *Sheet) words() string {
	var text []string
	for _, c := range slices.Concat(s.Groups...) {
		text = append(text, c.Title+": "+c.Text)
	}
	return "<title>" + html.EscapeString(s.Title) + "</title>\n<desc>" + html.EscapeString(strings.Join(text, "\n")) + "</desc>\n"
}

// draw draws the sheet, or only measures it, and returns its height.
func (s *Sheet) draw(on *draw.Canvas, width vg.Length) vg.Length {
	y := margin
	if on != nil {
		on.SetColor(Paper.full())
		on.Fill(on.Rectangle.Path())
		on.FillText(above(sheetTitle), vg.Point{X: margin, Y: on.Max.Y - y}, cut(s.Title, width-2*margin, above(sheetTitle).Width))
	}
	y += sheetTitle + margin
	var rows [][]*Chart
	for _, group := range s.Groups {
		rows = slices.AppendSeq(rows, slices.Chunk(group, 2))
	}
	for _, row := range rows {
		var tallest vg.Length
		for j, c := range row {
			h := c.height(Wide)
			tallest = max(tallest, h)
			if on == nil {
				continue
			}
			x, top := margin+vg.Length(j)*(Wide+margin), on.Max.Y-y
			on.FillText(above(titleSize), vg.Point{X: x, Y: top}, cut(c.Title, Wide, above(titleSize).Width))
			c.draw(draw.Canvas{Canvas: on.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: x, Y: top - titleRoom - h}, Max: vg.Point{X: x + Wide, Y: top - titleRoom},
			}})
		}
		y += titleRoom + tallest + margin
	}
	return y
}
