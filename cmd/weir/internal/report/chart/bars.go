package chart

import (
	"slices"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bars are rows of bars that lie, from 0 to the right, each with its numbers beside it.
type Bars struct {
	X      Axis
	Series []Series
	// Marks are upright lines in each row.
	Marks []Mark
	Rows  []Row
	// Grouped puts the values of a row below each other, and not one after the other.
	Grouped bool
}

// Series is what the values of one index mean.
type Series struct {
	Name   string
	Colour Colour
	Faint  bool
}

// Mark is what the marks of one index mean.
type Mark struct {
	Name   string
	Colour Colour
	Dash   Dash
}

// Row is one row: a value for each series and each mark.
type Row struct {
	Name   string
	Values []float64
	Marks  []float64
	Label  string // the numbers
}

const (
	barHeight  vg.Length = 14
	nameRoom   vg.Length = 0.3 // of the width, at most, where names are beside the bars
	nameHeight vg.Length = 20  // where they are above
)

// above is how much room a row has above its bars for its name: none where all names fit
// beside the bars.
func (b *Bars) above(width vg.Length) vg.Length {
	style := sans(fontSize, Ink)
	for _, row := range b.Rows {
		if style.Width(row.Name) > nameRoom*width {
			return nameHeight
		}
	}
	return 0
}

// barsHeight is how high the bars of a row are.
func (b *Bars) barsHeight() vg.Length {
	if b.Grouped {
		return vg.Length(len(b.Series)) * barHeight
	}
	return barHeight
}

func (b *Bars) rowHeight(width vg.Length) vg.Length {
	gap := vg.Length(12)
	if b.Grouped {
		gap = 10
	}
	return b.above(width) + b.barsHeight() + gap
}

func (b *Bars) height(width vg.Length) vg.Length {
	return vg.Length(len(b.Rows))*b.rowHeight(width) + axesRoom + 4
}

// legend names the marks, and the series that have anything, or a place of their own.
func (b *Bars) legend() []key {
	var keys []key
	for i, s := range b.Series {
		if b.Grouped || slices.ContainsFunc(b.Rows, func(row Row) bool { return row.Values[i] > 0 }) {
			keys = append(keys, key{name: s.Name, area: []fill{s.fill()}})
		}
	}
	for i := range b.Marks {
		keys = append(keys, key{name: b.Marks[i].Name, mark: &b.Marks[i]})
	}
	return keys
}

func (s *Series) fill() fill {
	if s.Faint {
		return fill{s.Colour, 0x70}
	}
	return fill{s.Colour, 0xFF}
}

func (b *Bars) plot(width vg.Length) *plot.Plot {
	p := newPlot()
	above := b.above(width)
	var names fixed
	var widest vg.Length // of what is beside the bars
	if above > 0 {
		widest = 6 // half a 0 below them
		p.Y.Padding = widest
	} else {
		for i, row := range b.Rows {
			widest = max(widest, p.Y.Tick.Label.Width(row.Name))
			names = append(names, plot.Tick{Value: float64(len(b.Rows) - i), Label: row.Name})
		}
	}
	p.Y.Min, p.Y.Max = 0.5, float64(len(b.Rows))+0.5
	p.Y.Tick.Marker = names
	p.Y.Tick.Length = 0
	p.X.Label.Text = b.X.Label
	p.X.Min, p.X.Max = 0, b.top(width-widest-12)
	suffix := ""
	if b.X.Scale == Percent {
		suffix = " %"
	}
	p.X.Tick.Marker = fitting(int(width/60), width-widest-50, &p.X, func(most int) fixed {
		ticks, _ := numberTicks(p.X.Max, most, b.X.Scale != Percent, suffix)
		return slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Value > p.X.Max })
	})
	grid := plotter.NewGrid()
	grid.Horizontal.Color = nil
	grid.Vertical = line(Grid, Solid, 0.75)
	p.Add(grid, &placed{b, above})
	return p
}

// top is where an axis of a width must end, so that every label fits behind its bars.
func (b *Bars) top(width vg.Length) float64 {
	style := sans(fontSize, Ink)
	top := 0.0
	for _, row := range b.Rows {
		room := 1 - float64((style.Width(row.Label)+12)/width)
		top = max(top, b.end(&row)/max(room, 0.25))
	}
	if top == 0 {
		top = 1
	}
	return top
}

// end is how far the bars and marks of a row reach.
func (b *Bars) end(row *Row) float64 {
	end := 0.0
	for _, v := range row.Values {
		if b.Grouped {
			end = max(end, v)
		} else {
			end += v
		}
	}
	for _, m := range row.Marks {
		end = max(end, m)
	}
	return end
}

// placed is bars with their names above them, where there is room.
type placed struct {
	*Bars
	above vg.Length
}

// Plot implements plot.Plotter.
func (b *placed) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := sans(fontSize, Ink)
	style.YAlign = draw.YCenter
	for i := range b.Rows {
		row := &b.Rows[i]
		middle := y(float64(len(b.Rows)-i)) - b.above/2 // of the bars
		top := middle + b.barsHeight()/2
		if b.above > 0 {
			b.name(c, row.Name, top+nameHeight/2+2)
		}
		from := 0.0
		for j, v := range row.Values {
			below := top
			if b.Grouped {
				from, below = 0, top-vg.Length(j)*barHeight
			}
			start, end := x(from), x(from+v)
			if v > 0 {
				end = max(end, start+1) // nothing that there is goes unseen
			}
			rectangle(c, b.Series[j].fill(), start, below-barHeight+1, end, below)
			from += v
		}
		for j, m := range row.Marks {
			b.Marks[j].draw(c, x(m), middle-barHeight/2-4, middle+barHeight/2+4)
		}
		c.FillText(style, vg.Point{X: x(b.end(row)) + 6, Y: middle + textLift}, row.Label)
	}
}

// name writes a name at a height, over the grid.
func (b *placed) name(c draw.Canvas, name string, y vg.Length) {
	style := sans(fontSize, Ink)
	style.YAlign = draw.YCenter
	left := c.Min.X + 2
	name = cut(name, c.Max.X-left, style.Width)
	rectangle(c, fill{Paper, 0xFF}, left, y-fontSize/2-1, left+style.Width(name)+2, y+fontSize/2+1)
	c.FillText(style, vg.Point{X: left, Y: y + textLift}, name)
}

// draw draws the mark, with a rim that sets it off from a bar of any colour.
func (m *Mark) draw(c draw.Canvas, x, low, high vg.Length) {
	c.StrokeLine2(line(Paper, Solid, 5), x, low, x, high)
	c.StrokeLine2(line(m.Colour, m.Dash, 2.25), x, low, x, high)
}

// cut shortens a text that is wider than there is room for.
func cut(text string, room vg.Length, width func(string) vg.Length) string {
	if width(text) <= room {
		return text
	}
	// By halves: to measure a text takes a time that grows with it, and a key may be long.
	runes := []rune(text)
	runes = runes[:min(len(runes), 1000)]
	fits := sort.Search(len(runes), func(n int) bool { return width(string(runes[:n+1])+"…") > room })
	return string(runes[:fits]) + "…"
}
