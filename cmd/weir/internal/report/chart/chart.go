// Package chart holds the pictures of a report. A page draws lines with uPlot, from the
// JSON of a Chart, and bars with HTML; Chart.SVG and Sheet draw both without a browser.
// Equal charts have equal bytes.
//
// A chart has its whole meaning without its colours: bars carry their numbers, and Text
// says the main ones in words.
package chart

// Chart is a picture with its words. It has Lines or Bars.
type Chart struct {
	Title string // what it shows
	Text  string // its main numbers, also for those who cannot see it
	Lines *Lines
	Bars  *Bars
}

// Lines are series over an axis.
type Lines struct {
	X      Axis      `json:"x"`
	Y      Axis      `json:"y"`
	At     []float64 `json:"at"` // X of each point, in ascending order
	Series []Series  `json:"series"`
	Bands  []Band    `json:"bands"`
	Marks  []Mark    `json:"marks"`
	Group  string    `json:"group"` // charts of one group have one cursor and one zoom
}

// Axis says what an axis shows.
type Axis struct {
	Label string  `json:"label"`
	Scale Scale   `json:"scale"`
	Max   float64 `json:"max"` // 0: that of the data
}

// Scale is what the numbers of an axis are.
type Scale string

// The scales. Durations, Lengths and Moments are in µs.
const (
	Numbers   Scale = "numbers"   // from 0
	Powers    Scale = "powers"    // above 0, by powers of ten
	Durations Scale = "durations" // since a start
	Lengths   Scale = "lengths"   // durations above 0, by powers of ten
	Moments   Scale = "moments"   // since the Unix epoch, shown in UTC
)

func (s Scale) logarithmic() bool { return s == Powers || s == Lengths }

// Series is one line: a value for each point.
type Series struct {
	Name   string    `json:"name"`
	Colour Colour    `json:"colour"`
	Values []float64 `json:"values"`
	Dashed bool      `json:"dashed,omitempty"`
	Steps  bool      `json:"steps,omitempty"` // each value holds until the next point
	// Stacked puts the values on top of the stacked series before, and fills what is
	// between them.
	Stacked bool `json:"stacked,omitempty"`
	// Above fills what is between the series and the first one.
	Above bool `json:"above,omitempty"`
}

// Band is a stretch of the x axis from From to To, and a fainter one from there to After.
type Band struct {
	Name  string  `json:"name"`
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	After float64 `json:"after"`
}

// Mark is a line across the picture: upright, or level.
type Mark struct {
	Name    string  `json:"name"`
	At      float64 `json:"at"`
	Upright bool    `json:"upright,omitempty"`
}

// Bars are rows of bars that lie, each with its numbers.
type Bars struct {
	Series []Part
	Marks  []Part // upright lines in each row
	Rows   []Row
}

// Part is what the values, or the marks, of one index mean.
type Part struct {
	Name   string
	Colour Colour
}

// Row is one row: a value for each series, one after the other, and one for each mark.
type Row struct {
	Name   string
	Label  string // the numbers
	Values []float64
	Marks  []float64
}

// Top is the number at the right end of all rows.
func (b *Bars) Top() float64 {
	top := 0.0
	for _, row := range b.Rows {
		sum := 0.0
		for _, v := range row.Values {
			sum += v
		}
		top = max(top, sum)
		for _, m := range row.Marks {
			top = max(top, m)
		}
	}
	if top == 0 {
		return 1
	}
	return top
}

// stacked are the values of each series as they are drawn, and the lower edge of what is
// filled; nil where nothing is, and zeros for the axis.
func (l *Lines) stacked() (tops, bottoms [][]float64) {
	below := make([]float64, len(l.At))
	for _, s := range l.Series {
		top, bottom := s.Values, []float64(nil)
		switch {
		case s.Stacked:
			top, bottom = make([]float64, len(below)), below
			for i, v := range s.Values {
				top[i] = below[i] + v
			}
			below = top
		case s.Above:
			bottom = l.Series[0].Values
		}
		tops, bottoms = append(tops, top), append(bottoms, bottom)
	}
	return tops, bottoms
}

// Colour is one of a few that people with any colour vision tell apart: those of Okabe
// and Ito (https://jfly.uni-koeln.de/color/). Its text is a variable of the page.
type Colour string

// The colours. Ink is for words and what is measured against, Soft for what stands behind.
const (
	Ink       Colour = "ink"
	Soft      Colour = "soft"
	Grid      Colour = "grid"
	Blue      Colour = "blue"
	Vermilion Colour = "vermilion"
	Green     Colour = "green"
	Purple    Colour = "purple"
	Sky       Colour = "sky"
	Orange    Colour = "orange"
	Paper     Colour = "paper"
)

// onWhite are the colours of a file: red, green and blue.
var onWhite = map[Colour]uint32{
	Ink: 0x1F2328, Soft: 0x6A717B, Grid: 0xDDE1E6, Blue: 0x0072B2, Vermilion: 0xD55E00,
	Green: 0x009E73, Purple: 0xB0568A, Sky: 0x56B4E9, Orange: 0xE69F00, Paper: 0xFFFFFF,
}

// Distinct returns the colour of the index-th of several things of one kind; behind the
// colours, which are five, they are dashed.
func Distinct(index int) (c Colour, dashed bool) {
	all := [...]Colour{Blue, Vermilion, Green, Purple, Ink}
	return all[index%len(all)], index/len(all)%2 == 1
}
