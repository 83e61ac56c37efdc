// Package uplot holds the files of uPlot (https://github.com/leeoniya/uPlot), the library
// that draws the line charts of pages. It is under the MIT licence beside it.
package uplot

import _ "embed"

var (
	// Script is the library, which defines uPlot.
	//
	//go:embed uPlot.iife.min.js
	Script string
	// Style is its style sheet.
	//
	//go:embed uPlot.min.css
	Style string
)
