package chart

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colour is one of a few that people with any colour vision tell apart: those of Okabe
// and Ito (https://jfly.uni-koeln.de/color/).
type Colour int

// The colours. Ink is for words and what is measured against, Soft for what stands behind.
const (
	Ink Colour = iota
	Soft
	Grid
	Blue
	Vermilion
	Green
	Purple
	Sky
	Orange
	Paper
)

// colours are each colour on white, and the variable of a page that stands for it, so
// that the page can have another one where it is dark.
var colours = [...]struct {
	light    color.NRGBA
	variable string
}{
	Ink:       {color.NRGBA{0x1F, 0x23, 0x28, 0xFF}, "--ink"},
	Soft:      {color.NRGBA{0x6A, 0x71, 0x7B, 0xFF}, "--soft"},
	Grid:      {color.NRGBA{0xDD, 0xE1, 0xE6, 0xFF}, "--grid"},
	Blue:      {color.NRGBA{0x00, 0x72, 0xB2, 0xFF}, "--blue"},
	Vermilion: {color.NRGBA{0xD5, 0x5E, 0x00, 0xFF}, "--vermilion"},
	Green:     {color.NRGBA{0x00, 0x9E, 0x73, 0xFF}, "--green"},
	Purple:    {color.NRGBA{0xCC, 0x79, 0xA7, 0xFF}, "--purple"},
	Sky:       {color.NRGBA{0x56, 0xB4, 0xE9, 0xFF}, "--sky"},
	Orange:    {color.NRGBA{0xE6, 0x9F, 0x00, 0xFF}, "--orange"},
	Paper:     {color.NRGBA{0xFF, 0xFF, 0xFF, 0xFF}, "--paper"},
}

func (c Colour) full() color.Color { return colours[c].light }

// faint lets what is behind it shine through; opacity is of 255.
func (c Colour) faint(opacity uint8) color.Color {
	f := colours[c].light
	f.A = opacity
	return shade(f)
}

// shade is a colour that comes out of the library as it went in. The library cuts off
// where it takes the opacity out again, so that another one comes out: this is a
// hair lighter.
type shade color.NRGBA

// RGBA implements color.Color.
func (s shade) RGBA() (r, g, b, a uint32) {
	a = uint32(s.A) * 0x101
	part := func(n uint8) uint32 { return min(uint32(n)*a/0xFF+1, a) }
	return part(s.R), part(s.G), part(s.B), a
}

// Dash is how a line is broken.
type Dash int

// The dashes.
const (
	Solid Dash = iota
	Dashed
	Dotted
	DashDot
)

var dashes = [...][]vg.Length{Solid: nil, Dashed: {7, 4}, Dotted: {2, 3}, DashDot: {8, 3, 2, 3}}

// Distinct returns the colour and the dash of the index-th of several things of one kind:
// each of the first twenty has its own pair, and neighbours differ in both.
func Distinct(index int) (Colour, Dash) {
	all := [...]Colour{Blue, Vermilion, Green, Purple, Ink}
	return all[index%len(all)], Dash(index % len(dashes))
}

const (
	fontSize vg.Length = 12
	// textLift puts a text of that size into the middle of a height: without it what
	// reaches below the line counts as much as what stands on it.
	textLift vg.Length = 2
)

// above is the style of a title that ends below a point.
func above(size vg.Length) text.Style {
	s := sans(size, Ink)
	s.YAlign = draw.YTop
	return s
}

// sans is a style of text.
func sans(size vg.Length, c Colour) text.Style {
	return text.Style{
		Color:   c.full(),
		Font:    font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		Handler: plot.DefaultTextHandler,
	}
}

func line(c Colour, d Dash, width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c.full(), Width: width, Dashes: dashes[d]}
}

// newPlot is a plot without data in our style.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		label, tick := sans(fontSize, Soft), sans(fontSize, Ink)
		label.XAlign, label.YAlign = a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign
		tick.XAlign, tick.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Label.TextStyle, a.Tick.Label = label, tick
		a.Label.Padding = 4
		a.LineStyle = line(Soft, Solid, 0.75)
		a.Tick.LineStyle = line(Soft, Solid, 0.75)
		a.Tick.Length = 4
		a.Padding = 0
	}
	return p
}
