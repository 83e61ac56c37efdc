package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// draw writes the pictures of growth into a folder, those of which there are values.
func (r *run) draw(folder string) error {
	for _, p := range r.plots() {
		if text := r.svg(&p); text != "" {
			if err := os.WriteFile(filepath.Join(folder, p.file+".svg"), []byte(text), 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}

// The picture in pixels: the axes are powers of ten, or of two.
const (
	plotWidth, plotHeight = 560, 300
	plotLeft, plotRight   = 62, 130
	plotTop, plotBottom   = 34, 44
)

// plotColours are told apart with any colour vision: of Okabe and Ito.
var plotColours = []string{"#0072B2", "#D55E00", "#009E73"}

// svg draws a plot with logarithmic axes; "" without values.
func (r *run) svg(p *plot) string {
	type point struct{ x, y float64 }
	lines := make([][]point, len(p.curves))
	low, high := math.Inf(1), 0.0
	for i, c := range p.curves {
		for _, n := range p.sizes {
			if y, found := p.best(r.values, c, n); found && y > 0 {
				lines[i] = append(lines[i], point{float64(n), y})
				low, high = min(low, y), max(high, y)
			}
		}
	}
	if high == 0 {
		return ""
	}
	bottom, top := math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high*1.01)))
	least, most := float64(p.sizes[0]), float64(p.sizes[len(p.sizes)-1])
	x := func(v float64) float64 {
		if most == least {
			return plotLeft
		}
		return plotLeft + (plotWidth-plotLeft-plotRight)*math.Log(v/least)/math.Log(most/least)
	}
	y := func(v float64) float64 {
		return plotTop + (plotHeight-plotTop-plotBottom)*math.Log(top/v)/math.Log(top/bottom)
	}
	var text strings.Builder
	fmt.Fprintf(&text, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="12" role="img">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&text, `<rect width="100%%" height="100%%" fill="#fff"/><text x="%d" y="20" font-size="14">%s</text>`+"\n", plotLeft, html.EscapeString(p.title))
	for v := bottom; v <= top*1.001; v *= 10 {
		fmt.Fprintf(&text, `<path d="M%d %.1fH%d" stroke="#dde1e6"/><text x="%d" y="%.1f" text-anchor="end">%s %s</text>`+"\n",
			plotLeft, y(v), plotWidth-plotRight, plotLeft-6, y(v)+4, thousands(v), p.y)
	}
	for _, n := range p.sizes {
		fmt.Fprintf(&text, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x(float64(n)), plotHeight-plotBottom+18, thousands(float64(n)))
	}
	fmt.Fprintf(&text, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (plotLeft+plotWidth-plotRight)/2, plotHeight-8, html.EscapeString(p.x))
	for i, line := range lines {
		if len(line) == 0 {
			continue
		}
		var path strings.Builder
		for k, at := range line {
			fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[k == 0], x(at.x), y(at.y))
		}
		colour, last := plotColours[i%len(plotColours)], line[len(line)-1]
		fmt.Fprintf(&text, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/><text x="%.1f" y="%.1f" fill="%s">%s</text>`+"\n",
			&path, colour, x(last.x)+6, y(last.y)+4+float64(14*i-7), colour, html.EscapeString(p.curves[i].title))
	}
	text.WriteString("</svg>\n")
	return text.String()
}

// thousands shortens a number: 10k, 1M.
func thousands(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e3 && v != 1024:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%g", v)
}
