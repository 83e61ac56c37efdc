package chart

import (
	"fmt"
	"html"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// SVG draws the chart in a width for use within a page, with the colours of the page. It
// is hidden from screen readers: the page is to say Title and Text.
func (c *Chart) SVG(wide int) string {
	on := &svg{page: true}
	c.draw(on, 0, 0, float64(wide))
	return fmt.Sprintf(`<svg viewBox="0 0 %d %.0f" aria-hidden="true" focusable="false">%s</svg>`, wide, c.height(float64(wide)), &on.b)
}

// svg is a canvas that writes elements.
type svg struct {
	b    strings.Builder
	page bool // colours are variables
}

func (s *svg) colour(c Colour) string {
	if s.page {
		return "var(--" + string(c) + ")"
	}
	return fmt.Sprintf("#%06x", onWhite[c])
}

func points(path []point) string {
	var b strings.Builder
	for i, p := range path {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%.1f,%.1f", p.x, p.y)
	}
	return b.String()
}

func (s *svg) line(path []point, c Colour, width float64, dashed bool) {
	dash := ""
	if dashed {
		dash = ";stroke-dasharray:6 4"
	}
	fmt.Fprintf(&s.b, `<polyline points="%s" style="fill:none;stroke:%s;stroke-width:%g%s"/>`, points(path), s.colour(c), width, dash)
}

func (s *svg) fill(outline []point, c Colour, opacity float64) {
	fmt.Fprintf(&s.b, `<polygon points="%s" style="fill:%s;fill-opacity:%g"/>`, points(outline), s.colour(c), opacity)
}

func (s *svg) text(at point, text string, c Colour, size float64, a align) {
	anchor := [...]string{left: "start", middle: "middle", right: "end"}[a]
	fmt.Fprintf(&s.b, `<text x="%.1f" y="%.1f" style="fill:%s;font-size:%gpx;text-anchor:%s">%s</text>`, at.x, at.y, s.colour(c), size, anchor, html.EscapeString(text))
}

// dots is a canvas of dots, two for each point.
type dots struct {
	*image.RGBA
	faces map[float64]font.Face
}

const dotsPerPoint = 2

func newDots(wide, high float64) *dots {
	on := &dots{image.NewRGBA(image.Rect(0, 0, int(wide*dotsPerPoint), int(high*dotsPerPoint))), map[float64]font.Face{}}
	draw.Draw(on.RGBA, on.Rect, image.White, image.Point{}, draw.Src)
	return on
}

func (d *dots) fill(outline []point, c Colour, opacity float64) {
	low, high := outline[0], outline[0]
	for _, p := range outline {
		low, high = point{min(low.x, p.x), min(low.y, p.y)}, point{max(high.x, p.x), max(high.y, p.y)}
	}
	box := image.Rect(int(low.x*dotsPerPoint), int(low.y*dotsPerPoint), int(high.x*dotsPerPoint)+2, int(high.y*dotsPerPoint)+2).Intersect(d.Rect)
	if box.Empty() {
		return
	}
	r := vector.NewRasterizer(box.Dx(), box.Dy()) // as small as it can be: its cost is that of its size
	for i, p := range outline {
		x, y := float32(p.x*dotsPerPoint)-float32(box.Min.X), float32(p.y*dotsPerPoint)-float32(box.Min.Y)
		if i == 0 {
			r.MoveTo(x, y)
		} else {
			r.LineTo(x, y)
		}
	}
	r.ClosePath()
	rgb := onWhite[c]
	ink := color.NRGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), uint8(opacity*255 + 0.5)}
	r.Draw(d.RGBA, box, image.NewUniform(ink), image.Point{})
}

func (d *dots) line(path []point, c Colour, width float64, dashed bool) {
	const on, period = 6, 10
	from := 0.0 // of a piece, along the line
	for i := 1; i < len(path); i++ {
		length := math.Hypot(path[i].x-path[i-1].x, path[i].y-path[i-1].y)
		if !dashed {
			d.stroke(path[i-1], path[i], 0, 1, width, c)
			continue
		}
		for dash := math.Floor(from / period); dash*period < from+length; dash++ {
			start, end := max(dash*period, from), min(dash*period+on, from+length)
			if end > start {
				d.stroke(path[i-1], path[i], (start-from)/length, (end-from)/length, width, c)
			}
		}
		from += length
	}
}

// stroke draws a part of a straight line.
func (d *dots) stroke(from, to point, start, end, width float64, c Colour) {
	dx, dy := to.x-from.x, to.y-from.y
	length := math.Hypot(dx, dy)
	if length == 0 {
		return
	}
	nx, ny := -dy/length*width/2, dx/length*width/2
	a, b := point{from.x + dx*start, from.y + dy*start}, point{from.x + dx*end, from.y + dy*end}
	d.fill([]point{{a.x + nx, a.y + ny}, {b.x + nx, b.y + ny}, {b.x - nx, b.y - ny}, {a.x - nx, a.y - ny}}, c, 1)
}

func (d *dots) text(at point, text string, c Colour, size float64, a align) {
	face := d.faces[size]
	if face == nil {
		parsed, err := opentype.Parse(goregular.TTF)
		if err == nil {
			face, err = opentype.NewFace(parsed, &opentype.FaceOptions{Size: size * dotsPerPoint, DPI: 72})
		}
		if err != nil {
			panic(err) // the font is a part of the program
		}
		d.faces[size] = face
	}
	rgb := onWhite[c]
	ink := image.NewUniform(color.NRGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), 255})
	pen := font.Drawer{Dst: d.RGBA, Src: ink, Face: face, Dot: fixed.P(int(at.x*dotsPerPoint), int(at.y*dotsPerPoint))}
	pen.Dot.X -= pen.MeasureString(text) * fixed.Int26_6(a) / 2
	pen.DrawString(text)
}

// Formats are the endings of files that Sheet can write.
var Formats = []string{".png", ".svg"}

// Sheet is groups of charts on one page, in two columns, with a title above each chart.
type Sheet struct {
	Title  string
	Groups [][]*Chart
}

const (
	margin     = 24.0
	columnWide = 560.0
	titleSize  = 14.0
	titleRoom  = 24.0
	sheetWide  = 2*columnWide + 3*margin
)

// Write writes the sheet in the format of a file name's ending. Its error names the
// endings that are allowed.
func (s *Sheet) Write(w io.Writer, name string) error {
	high := s.draw(nil)
	switch strings.ToLower(filepath.Ext(name)) {
	case ".svg":
		on := &svg{}
		s.draw(on)
		_, err := fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" font-family=\"Liberation Sans,Arial,Helvetica,sans-serif\">\n%s%s</svg>\n",
			sheetWide, high, sheetWide, high, s.words(), strings.ReplaceAll(on.b.String(), "><", ">\n<"))
		return err
	case ".png":
		on := newDots(sheetWide, high)
		s.draw(on)
		return png.Encode(w, on.RGBA)
	}
	return fmt.Errorf("%q: must end in %s", name, strings.Join(Formats, " or "))
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
func (s *Sheet) draw(on canvas) float64 {
	y := margin
	if on != nil {
		high := s.draw(nil)
		on.fill(box(0, 0, sheetWide, high), Paper, 1)
		on.text(point{margin, y + 14}, s.Title, Ink, titleSize+3, left)
	}
	y += titleRoom + margin
	for _, group := range s.Groups {
		for pair := range slices.Chunk(group, 2) {
			tallest := 0.0
			for i, c := range pair {
				tallest = max(tallest, c.height(columnWide))
				if x := margin + float64(i)*(columnWide+margin); on != nil {
					on.text(point{x, y + 12}, cut(c.Title, columnWide*fontSize/titleSize), Ink, titleSize, left)
					c.draw(on, x, y+titleRoom, columnWide)
				}
			}
			y += titleRoom + tallest + margin
		}
	}
	return y
}
