package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Columns are classes of one number side by side, such as waits.
type Columns struct {
	X, Y    Axis
	Colour  Colour
	Classes []Class
}

// Class is one column. A label is left out where it would touch the one before.
type Class struct {
	Label string
	Value float64
}

func (k *Columns) height(width vg.Length) vg.Length { return (&XY{}).height(width) }

func (k *Columns) legend() []key { return nil }

func (k *Columns) plot(width vg.Length) *plot.Plot {
	p := newPlot()
	top := 0.0
	for _, class := range k.Classes {
		top = max(top, class.Value)
	}
	suffix := ""
	if k.Y.Scale == Percent {
		suffix = " %"
	}
	ticks, top := numberTicks(top, 5, false, suffix)
	p.Y.Min, p.Y.Max = 0, top
	p.Y.Tick.Marker = ticks
	p.Y.Label.Text = k.Y.Label
	p.X.Min, p.X.Max = -0.5, float64(k.places())-0.5
	p.X.Tick.Marker = k.names(p.X.Tick.Label.Width, width-60)
	p.X.Label.Text = k.X.Label
	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	grid.Horizontal = line(Grid, Solid, 0.75)
	p.Add(grid, k)
	return p
}

// places is how many columns there is room for: few columns are not made wide.
func (k *Columns) places() int { return max(len(k.Classes), 6) }

// names are the labels that fit into a width.
func (k *Columns) names(size func(string) vg.Length, width vg.Length) fixed {
	var ticks fixed
	each := width / vg.Length(k.places())
	end := vg.Length(-100)
	for i, class := range k.Classes {
		tick := plot.Tick{Value: float64(i)}
		middle, half := (vg.Length(i)+0.5)*each, size(class.Label)/2
		if middle-half >= end+8 {
			tick.Label, end = class.Label, middle+half
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// Plot implements plot.Plotter.
func (k *Columns) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, class := range k.Classes {
		top := y(class.Value)
		if class.Value > 0 {
			top = max(top, c.Min.Y+1) // nothing that there is goes unseen
		}
		rectangle(c, fill{k.Colour, 0xFF}, x(float64(i)-0.42), c.Min.Y, x(float64(i)+0.42), top)
	}
}
