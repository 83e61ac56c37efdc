// Package chart draws the pictures of a report: lines over time or over lengths, bars and
// columns, as SVG within a page or as a file of their own. Equal charts have equal bytes.
//
// A chart has whole meaning without its colours: lines differ in their dashes too, bars
// carry their numbers, and Text says the main ones in words.
package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Chart is a picture with its words.
type Chart struct {
	Title string // what it shows
	Text  string // its main numbers, also for those who cannot see it
	Body  Body
}

// Body is what is drawn: *XY, *Bars or *Columns.
type Body interface {
	// height is how high a picture of a width should be, its legend left out.
	height(width vg.Length) vg.Length
	// legend is what its colours mean, in the order of reading.
	legend() []key
	// plot lays the picture out for a width.
	plot(width vg.Length) *plot.Plot
}

// Width is how wide a picture is, in points, which a page shows as pixels.
type Width = vg.Length

// The widths at which a page shows a chart: on a desk beside another one, and on a phone.
const (
	Wide   Width = 560
	Narrow Width = 320
)

// phone says that a width has room for few labels.
func phone(width vg.Length) bool { return width < 400 }

// height is how high a chart of a width is, with its legend.
func (c *Chart) height(width vg.Length) vg.Length {
	return c.Body.height(width) + legendHeight(c.Body.legend(), width)
}

// draw draws the chart, but for its title, on a canvas of that height.
func (c *Chart) draw(on draw.Canvas) {
	width := on.Size().X
	keys := c.Body.legend()
	drawLegend(on, keys)
	c.Body.plot(width).Draw(draw.Crop(on, 0, 0, 0, -legendHeight(keys, width)))
}
