package chart

import (
	"slices"
	"unicode/utf8"

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
	barHeight vg.Length = 14
	nameRoom  vg.Length = 0.3 // of the width, at most
)

func (b *Bars) rowHeight() vg.Length {
	if b.Grouped {
		return vg.Length(len(b.Series))*barHeight + 10
	}
	return barHeight + 12
}

func (b *Bars) height(vg.Length) vg.Length {
	return vg.Length(len(b.Rows))*b.rowHeight() + axesRoom + 4
}

func (b *Bars) legend() []key {
	var keys []key
	for _, s := range b.Series {
		keys = append(keys, key{name: s.Name, area: []fill{s.fill()}})
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
	style := p.Y.Tick.Label
	var names fixed
	var widest vg.Length
	for i, row := range b.Rows {
		name := cut(row.Name, nameRoom*width, style.Width)
		widest = max(widest, style.Width(name))
		names = append(names, plot.Tick{Value: float64(len(b.Rows) - i), Label: name})
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
	p.Add(grid, b)
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

// Plot implements plot.Plotter.
func (b *Bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := sans(fontSize, Ink)
	style.YAlign = draw.YCenter
	for i := range b.Rows {
		row := &b.Rows[i]
		middle := y(float64(len(b.Rows) - i))
		top := middle + b.rowHeight()/2 - 5
		if !b.Grouped {
			top = middle + barHeight/2
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
	for text != "" && width(text+"…") > room {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text + "…"
}
