package chart

import (
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// XY is lines over an axis, from 0 upwards.
type XY struct {
	X, Y  Axis
	Lines []Line
	// Bands shade stretches of the x axis, in order of From, and are numbered from 1.
	Bands []Band
	// Band and After say what their two shades mean.
	Band, After string
}

// Line is one line. Its points are in order of X.
type Line struct {
	Name   string
	Points []Point
	Colour Colour
	Dash   Dash
	Steps  bool // each value holds until the next point
	Area   bool // what is below is filled
	Dots   bool // each point is marked
	NoLine bool // they are not joined
}

// Point is one point of a line.
type Point struct{ X, Y float64 }

// Band is a stretch from From to To, and a fainter one from there to After.
type Band struct{ From, To, After float64 }

const (
	axesRoom  vg.Length = 40 // for the labels below
	bandRoom  vg.Length = 16 // for the numbers of bands above
	bandShade uint8     = 0x48
	tailShade uint8     = 0x1C
	areaShade uint8     = 0x38
)

func (x *XY) height(width vg.Length) vg.Length {
	h := vg.Length(260)
	if phone(width) {
		h = 230
	}
	if len(x.Bands) > 0 {
		h += bandRoom
	}
	return h
}

func (x *XY) legend() []key {
	var keys []key
	for i := range x.Lines {
		l := &x.Lines[i]
		style := l.style()
		k := key{name: l.Name, line: &style}
		if l.Dots {
			k.dot = &l.Colour
		}
		if l.NoLine {
			k.line = nil
		}
		if l.Area {
			k.area = []fill{{l.Colour, areaShade}}
		}
		keys = append(keys, k)
	}
	if len(x.Bands) > 0 {
		keys = append(keys, key{name: x.Band, area: []fill{{Orange, bandShade}}})
		if x.hasTails() {
			keys = append(keys, key{name: x.After, area: []fill{{Orange, tailShade}}})
		}
	}
	return keys
}

func (x *XY) hasTails() bool {
	for _, b := range x.Bands {
		if b.After > b.To {
			return true
		}
	}
	return false
}

func (l *Line) style() draw.LineStyle {
	if len(l.Points) > 150 { // which are close to each other
		return line(l.Colour, l.Dash, 1.25)
	}
	return line(l.Colour, l.Dash, 1.75)
}

func (x *XY) plot(width vg.Length) *plot.Plot {
	p := newPlot()
	low, high, top := x.ranges()
	most := 5
	if phone(width) {
		most = 4
	}
	suffix := ""
	if x.Y.Scale == Percent {
		suffix = " %"
	}
	ticks, top := numberTicks(top, most, false, suffix)
	p.Y.Min, p.Y.Max = 0, top
	p.Y.Tick.Marker = ticks
	p.Y.Label.Text = x.Y.Label
	p.X.Min, p.X.Max = low, high
	x.layX(p, ticks, width)
	if len(x.Bands) > 0 {
		p.Title.Text, p.Title.Padding = " ", 2 // room for their numbers
		p.Title.TextStyle = sans(fontSize, Ink)
		p.Add(bands(x.Bands))
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	grid.Horizontal = line(Grid, Solid, 0.75)
	p.Add(grid)
	for i := range x.Lines {
		p.Add(&x.Lines[i])
	}
	// Add widens the axes to the data, which the last steps of a line may pass.
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = low, high, 0, top
	return p
}

func (x *XY) ranges() (low, high, top float64) {
	first := true
	for _, l := range x.Lines {
		for _, p := range l.Points {
			if first {
				low, high, first = p.X, p.X, false
			}
			low, high, top = min(low, p.X), max(high, p.X), max(top, p.Y)
		}
	}
	if high <= low {
		high = low + 1
	}
	return low, high, top
}

// layX lays the x axis out for a picture of a width, when the y axis has its labels.
func (x *XY) layX(p *plot.Plot, y fixed, width vg.Length) {
	most := int(width / 60)
	low, high := p.X.Min, p.X.Max
	unit := ""
	var lay func(most int) fixed
	switch x.X.Scale {
	case Durations:
		lay = func(most int) (ticks fixed) {
			ticks, unit = durationTicks(high, most)
			return ticks
		}
	case Lengths:
		p.X.Scale = plot.LogScale{}
		lay = func(most int) fixed { return lengthTicks(low, high, most) }
	case Moments:
		unit = "UTC, from " + utc(int64(low)).Format("2006-01-02 15:04")
		lay = func(most int) fixed { return momentTicks(low, high, most) }
	default:
		lay = func(most int) fixed {
			ticks, _ := numberTicks(high, most, false, "")
			return ticks
		}
	}
	// Beside the labels of the y axis there is its name, and the last label of the x
	// axis may reach beyond its end.
	ticks := fitting(most, width-y.widest(&p.Y)-80, &p.X, lay)
	p.X.Tick.Marker = ticks
	p.X.Label.Text = x.X.Label
	if unit != "" {
		p.X.Label.Text += " (" + unit + ")"
	}
}

// Plot implements plot.Plotter.
func (l *Line) Plot(c draw.Canvas, p *plot.Plot) {
	if len(l.Points) == 0 {
		return
	}
	x, y := p.Transforms(&c)
	var path []vg.Point
	for _, point := range l.Points {
		at := vg.Point{X: x(point.X), Y: y(point.Y)}
		if l.Steps && len(path) > 0 {
			path = append(path, vg.Point{X: at.X, Y: path[len(path)-1].Y})
		}
		path = append(path, at)
	}
	if l.Area {
		area := append([]vg.Point{{X: path[0].X, Y: c.Min.Y}}, path...)
		area = append(area, vg.Point{X: path[len(path)-1].X, Y: c.Min.Y})
		c.FillPolygon(l.Colour.faint(areaShade), area)
	}
	if !l.NoLine {
		c.StrokeLines(l.style(), path)
	}
	if l.Dots {
		for _, point := range l.Points {
			dot(c, l.Colour, vg.Point{X: x(point.X), Y: y(point.Y)})
		}
	}
}

func dot(c draw.Canvas, colour Colour, at vg.Point) {
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: colour.full(), Radius: 2.5, Shape: draw.CircleGlyph{}}, at)
}

// bands are drawn behind the lines.
type bands []Band

// Plot implements plot.Plotter.
func (all bands) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	within := func(at float64) vg.Length { return x(min(max(at, p.X.Min), p.X.Max)) }
	for _, b := range all {
		from, to, after := within(b.From), within(b.To), within(b.After)
		rectangle(c, fill{Orange, tailShade}, to, c.Min.Y, after, c.Max.Y)
		rectangle(c, fill{Orange, bandShade}, from, c.Min.Y, to, c.Max.Y)
		c.StrokeLine2(line(Orange, Solid, 1), from, c.Min.Y, from, c.Max.Y)
	}
	all.number(c, within)
}

// number writes the numbers of the bands above where they begin, and those that would
// touch as one.
func (all bands) number(c draw.Canvas, x func(float64) vg.Length) {
	style := sans(fontSize, Ink)
	// left is where a number begins: over where its band does, but within the picture.
	left := func(band int, text string) vg.Length {
		width := style.Width(text)
		return min(max(x(all[band].From)-width/2, c.Min.X), c.Max.X-width)
	}
	for first := 0; first < len(all); {
		last := first
		for last+1 < len(all) && left(last+1, span(last+1, len(all)-1)) < left(first, span(first, last))+style.Width(span(first, last))+4 {
			last++
		}
		c.FillText(style, vg.Point{X: left(first, span(first, last)), Y: c.Max.Y + 4}, span(first, last))
		first = last + 1
	}
}

// span writes numbers from 1 for indices from 0.
func span(first, last int) string {
	s := strconv.Itoa(first + 1)
	if last > first {
		s += "–" + strconv.Itoa(last+1)
	}
	return s
}

// fill is a colour with an opacity of 255.
type fill struct {
	Colour
	opacity uint8
}

func rectangle(c draw.Canvas, f fill, x0, y0, x1, y1 vg.Length) {
	if x1 <= x0 || y1 <= y0 {
		return
	}
	c.FillPolygon(f.faint(f.opacity), []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}
