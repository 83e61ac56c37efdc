package chart

import (
	"math"
	"unicode/utf8"
)

// canvas is what a picture is drawn on, in points from the upper left corner.
type canvas interface {
	line(path []point, c Colour, width float64, dashed bool)
	fill(outline []point, c Colour, opacity float64)
	text(at point, s string, c Colour, size float64, align align)
}

type point struct{ x, y float64 }

// align is where a text has its point.
type align int

const (
	left align = iota
	middle
	right
)

const (
	fontSize = 12.0
	rowStep  = 16.0 // between two rows of text
	axesRoom = 40.0 // below lines, for labels
	lineRoom = 220.0
	barRow   = 40.0
)

// width is about how wide a text is: no font is known here.
func width(s string, size float64) float64 { return 0.56 * size * float64(utf8.RuneCountInString(s)) }

// cut shortens a text that is wider than there is room for.
func cut(s string, room float64) string {
	if width(s, fontSize) <= room {
		return s
	}
	fits := max(1, int(room/width("x", fontSize))-1)
	return string([]rune(s)[:fits]) + "…"
}

// height is how high a chart of a width is.
func (c *Chart) height(wide float64) float64 {
	legend := float64(len(legendRows(c.legend(), wide))) * rowStep
	if c.Bars != nil {
		return legend + float64(len(c.Bars.Rows))*barRow + 4
	}
	return legend + c.Lines.bandRoom(wide) + lineRoom + axesRoom
}

// draw draws the chart, but for its title, in a box.
func (c *Chart) draw(on canvas, x, y, wide float64) {
	for _, row := range legendRows(c.legend(), wide) {
		at := x
		for _, k := range row {
			on.fill(box(at, y+3, at+10, y+11), k.Colour, 1)
			on.text(point{at + 15, y + 11}, k.Name, Ink, fontSize, left)
			at += keyWidth(k)
		}
		y += rowStep
	}
	if c.Bars != nil {
		c.Bars.draw(on, x, y+4, wide)
		return
	}
	y += c.Lines.bandRoom(wide)
	c.Lines.draw(on, x, y, wide)
}

// legend is what the colours mean.
func (c *Chart) legend() (keys []Part) {
	if c.Bars != nil {
		return append(append(keys, c.Bars.Series...), c.Bars.Marks...)
	}
	for _, s := range c.Lines.Series {
		keys = append(keys, Part{s.Name, s.Colour})
	}
	return keys
}

func keyWidth(k Part) float64 { return 15 + width(k.Name, fontSize) + 12 }

// legendRows puts entries into rows that fit into a width.
func legendRows(keys []Part, wide float64) (rows [][]Part) {
	used := wide
	for _, k := range keys {
		if rows == nil || used+keyWidth(k) > wide {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
		used += keyWidth(k)
	}
	return rows
}

func box(x0, y0, x1, y1 float64) []point { return []point{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}} }

// draw draws the bars: a row of words over each.
func (b *Bars) draw(on canvas, x, y, wide float64) {
	scale := wide / b.Top()
	for _, row := range b.Rows {
		label := width(row.Label, fontSize)
		on.text(point{x, y + 12}, cut(row.Name, wide-label-12), Ink, fontSize, left)
		on.text(point{x + wide, y + 12}, row.Label, Ink, fontSize, right)
		at := x
		for i, v := range row.Values {
			end := at + v*scale
			if v > 0 {
				end = max(end, at+1) // nothing that there is goes unseen
			}
			on.fill(box(at, y+18, end, y+30), b.Series[i].Colour, 1)
			at = end
		}
		for i, m := range row.Marks {
			mark := []point{{x + m*scale, y + 15}, {x + m*scale, y + 33}}
			on.line(mark, Paper, 4, false)
			on.line(mark, b.Marks[i].Colour, 2, false)
		}
		y += barRow
	}
}

// axes are where the numbers of a picture lie.
type axes struct {
	x, y        *Axis
	left, right float64
	top, bottom float64
	lowX, highX float64
	lowY, highY float64
}

func (a *axes) at(x, y float64) point {
	return point{a.left + part(a.x, x, a.lowX, a.highX)*(a.right-a.left), a.bottom - part(a.y, y, a.lowY, a.highY)*(a.bottom-a.top)}
}

// part is where a number lies between two, from 0 to 1.
func part(a *Axis, x, low, high float64) float64 {
	if a.Scale.logarithmic() {
		x, low, high = math.Log(max(x, low)), math.Log(low), math.Log(high)
	}
	return min(max((x-low)/(high-low), 0), 1)
}

// ranges are the least and the most of both axes.
func (l *Lines) ranges(a *axes) {
	tops, bottoms := l.stacked()
	a.lowX, a.highX = l.At[0], l.At[len(l.At)-1]
	a.lowY = math.Inf(1)
	for i := range tops {
		for j, v := range tops[i] {
			a.highY = max(a.highY, v)
			if v > 0 && (bottoms[i] == nil || bottoms[i][j] > 0) {
				a.lowY = min(a.lowY, v)
			}
		}
	}
	for _, m := range l.Marks {
		if !m.Upright {
			a.highY = max(a.highY, m.At)
		}
	}
	a.highY = max(a.highY, l.Y.Max)
	if a.highX <= a.lowX {
		a.highX = a.lowX + 1
	}
	if !l.Y.Scale.logarithmic() {
		step := nice(max(a.highY, 1e-9) / 5)
		a.lowY, a.highY = 0, math.Ceil(a.highY/step-1e-9)*step
		if a.highY == 0 {
			a.highY = 1
		}
		return
	}
	a.lowY = math.Pow(10, math.Floor(math.Log10(min(a.lowY, max(a.highY, 1)))))
	a.highY = max(a.highY, a.lowY*10)
}

// axes lays the axes out in a box, with the ticks of the y axis.
func (l *Lines) axes(x, y, wide float64) (a *axes, levels []tick) {
	a = &axes{x: &l.X, y: &l.Y, right: x + wide - 8, top: y, bottom: y + lineRoom}
	l.ranges(a)
	levels, _ = l.Y.ticks(a.lowY, a.highY, 5)
	labels := 0.0
	for _, t := range levels {
		labels = max(labels, width(t.label, fontSize))
	}
	a.left = x + labels + 8
	return a, levels
}

func (l *Lines) draw(on canvas, x, y, wide float64) {
	a, levels := l.axes(x, y, wide)
	on.text(point{x, y - l.bandRoom(wide) + 10}, l.Y.Label, Soft, fontSize-1, left)
	for _, t := range levels {
		p := a.at(a.lowX, t.at)
		on.line([]point{p, {a.right, p.y}}, Grid, 0.75, false)
		on.text(point{a.left - 6, p.y + 4}, t.label, Ink, fontSize, right)
	}
	uprights, unit := l.X.ticks(a.lowX, a.highX, max(2, int((a.right-a.left)/80)))
	end := math.Inf(-1)
	for _, t := range uprights {
		p := a.at(t.at, a.lowY)
		on.line([]point{p, {p.x, p.y + 4}}, Soft, 0.75, false)
		half := width(t.label, fontSize) / 2
		if p.x-half > max(end+6, x-1) && p.x+half < x+wide+4 {
			on.text(point{p.x, p.y + 17}, t.label, Ink, fontSize, middle)
			end = p.x + half
		}
	}
	name := l.X.Label
	if unit != "" {
		name += " (" + unit + ")"
	}
	on.text(point{(a.left + a.right) / 2, a.bottom + 33}, name, Soft, fontSize-1, middle)
	l.drawBands(on, a)
	l.drawSeries(on, a)
	for _, m := range l.Marks {
		path, label, side := []point{a.at(a.lowX, m.At), a.at(a.highX, m.At)}, a.at(a.highX, m.At), right
		if m.Upright {
			path, label, side = []point{a.at(m.At, a.lowY), a.at(m.At, a.highY)}, a.at(m.At, a.highY), right
			label.y += rowStep
		}
		on.line(path, Soft, 1, true)
		on.text(point{label.x - 4, label.y - 4}, m.Name, Soft, fontSize-1, side)
	}
	on.line([]point{a.at(a.lowX, a.highY), a.at(a.lowX, a.lowY), a.at(a.highX, a.lowY)}, Soft, 0.75, false)
}

// drawSeries draws what is filled, and then the lines.
func (l *Lines) drawSeries(on canvas, a *axes) {
	tops, bottoms := l.stacked()
	for i, s := range l.Series {
		if bottoms[i] == nil {
			continue
		}
		outline := l.path(a, tops[i], s.Steps)
		lower := l.path(a, bottoms[i], s.Steps)
		for j := len(lower) - 1; j >= 0; j-- {
			outline = append(outline, lower[j])
		}
		on.fill(outline, s.Colour, 0.7)
	}
	for i, s := range l.Series {
		if bottoms[i] != nil {
			continue
		}
		thick := 1.5
		if len(l.At) > 150 {
			thick = 1
		}
		on.line(l.path(a, tops[i], s.Steps), s.Colour, thick, s.Dashed)
	}
}

// path is a line through values.
func (l *Lines) path(a *axes, values []float64, steps bool) (path []point) {
	for i, v := range values {
		p := a.at(l.At[i], v)
		if steps && i > 0 {
			path = append(path, point{p.x, path[len(path)-1].y})
		}
		path = append(path, p)
	}
	return path
}

// bandName is where the name of a band stands, in rows above the picture in which names
// do not touch.
type bandName struct {
	row   int
	x     float64
	align align
}

func (l *Lines) bandNames(a *axes) (names []bandName, rows int) {
	var ends []float64
	for _, b := range l.Bands {
		wide := width(b.Name, fontSize)
		n := bandName{x: a.at(b.From, 0).x + 3}
		start := n.x
		if n.x+wide > a.right {
			n.x, n.align = n.x-6, right
			start = n.x - wide
		}
		for n.row < len(ends) && ends[n.row] > start {
			n.row++
		}
		if n.row == len(ends) {
			ends = append(ends, 0)
		}
		ends[n.row] = start + wide + 8
		names = append(names, n)
	}
	return names, len(ends)
}

// bandRoom is the room above lines: for the label of the y axis, and for the names of bands.
func (l *Lines) bandRoom(wide float64) float64 {
	a, _ := l.axes(0, 0, wide)
	_, rows := l.bandNames(a)
	return float64(rows)*rowStep + rowStep + 6
}

func (l *Lines) drawBands(on canvas, a *axes) {
	names, _ := l.bandNames(a)
	for i, b := range l.Bands {
		from, to, after := a.at(b.From, 0).x, a.at(b.To, 0).x, a.at(b.After, 0).x
		on.fill(box(to, a.top, after, a.bottom), Orange, 0.12)
		on.fill(box(from, a.top, to, a.bottom), Orange, 0.3)
		high := a.top - float64(names[i].row+1)*rowStep
		on.line([]point{{from, high + 3}, {from, a.bottom}}, Orange, 1, false)
		on.text(point{names[i].x, high + 11}, b.Name, Ink, fontSize, names[i].align)
	}
}
