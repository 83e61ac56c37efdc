package chart

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// key is an entry of a legend, with what stands for it.
type key struct {
	name string
	line *draw.LineStyle
	area []fill // one over the other
	dot  *Colour
	mark *Mark
}

const (
	swatch    vg.Length = 22
	keyGap    vg.Length = 6  // between a swatch and its name
	keysGap   vg.Length = 18 // between two entries
	legendRow vg.Length = 18
)

// legendRows puts entries into rows that fit into a width.
func legendRows(keys []key, width vg.Length) [][]key {
	var rows [][]key
	style := sans(fontSize, Ink)
	used := width
	for _, k := range keys {
		needs := swatch + keyGap + style.Width(k.name)
		if len(rows) == 0 || used+keysGap+needs > width {
			rows, used = append(rows, nil), needs
		} else {
			used += keysGap + needs
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
	}
	return rows
}

func legendHeight(keys []key, width vg.Length) vg.Length {
	rows := len(legendRows(keys, width))
	if rows == 0 {
		return 0
	}
	return vg.Length(rows)*legendRow + 8
}

// drawLegend draws a legend along the upper edge, from the left.
func drawLegend(on draw.Canvas, keys []key) {
	style := sans(fontSize, Ink)
	style.YAlign = draw.YCenter
	y := on.Max.Y - legendRow/2
	for _, row := range legendRows(keys, on.Size().X) {
		x := on.Min.X
		for _, k := range row {
			k.draw(on, x, y)
			on.FillText(style, vg.Point{X: x + swatch + keyGap, Y: y + textLift}, k.name)
			x += swatch + keyGap + style.Width(k.name) + keysGap
		}
		y -= legendRow
	}
}

func (k *key) draw(on draw.Canvas, x, y vg.Length) {
	for _, f := range k.area {
		rectangle(on, f, x, y-5, x+swatch, y+5)
	}
	if k.line != nil {
		on.StrokeLine2(*k.line, x, y, x+swatch, y)
	}
	if k.dot != nil {
		dot(on, *k.dot, vg.Point{X: x + swatch/2, Y: y})
	}
	if k.mark != nil {
		k.mark.draw(on, x+swatch/2, y-7, y+7)
	}
}
