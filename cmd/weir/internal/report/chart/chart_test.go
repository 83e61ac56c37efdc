package chart

import (
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// recorder is a canvas that remembers.
type recorder struct {
	labels []label
	points []point
	fills  map[Colour]int
}

// label is a text where it was drawn.
type label struct {
	text           string
	x0, x1, y0, y1 float64
}

func (r *recorder) line(path []point, _ Colour, _ float64, _ bool) {
	r.points = append(r.points, path...)
}

func (r *recorder) fill(outline []point, c Colour, _ float64) {
	r.points = append(r.points, outline...)
	if r.fills == nil {
		r.fills = map[Colour]int{}
	}
	r.fills[c]++
}

func (r *recorder) text(at point, s string, _ Colour, size float64, a align) {
	x := at.x - width(s, size)*float64(a)/2
	if strings.TrimSpace(s) != "" {
		r.labels = append(r.labels, label{s, x, x + width(s, size), at.y - 0.7*size, at.y})
	}
}

// checkLabels fails where two labels touch, or something is drawn outside.
func checkLabels(t *rapid.T, c *Chart, wide float64) {
	t.Helper()
	on := &recorder{}
	c.draw(on, 0, 0, wide)
	high := c.height(wide)
	for _, p := range on.points {
		if !(p.x >= -1 && p.x <= wide+1 && p.y >= -1 && p.y <= high+1) {
			t.Fatalf("something is drawn at %v, outside of %g × %g", p, wide, high)
		}
	}
	for i, a := range on.labels {
		if a.x0 < -1 || a.x1 > wide+5 || a.y0 < -1 || a.y1 > high+1 {
			t.Fatalf("%+v sticks out of %g × %g", a, wide, high)
		}
		for _, b := range on.labels[i+1:] {
			if a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1 {
				t.Fatalf("%+v and %+v touch", a, b)
			}
		}
	}
}

var (
	wides = rapid.SampledFrom([]float64{320, 480, 560})
	// sizes are numbers of any size, 0 included.
	sizes = rapid.Custom(func(t *rapid.T) float64 {
		return math.Floor(math.Pow(10, rapid.Float64Range(-1, 9).Draw(t, "power")))
	})
	names = rapid.StringMatching(`[a-zA-Z0-9:.]{1,20}`)
)

func TestLabelsOfBarsDoNotTouch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &Bars{Series: []Part{{"one", Blue}, {"another thing", Soft}}, Marks: []Part{{"the limit", Ink}}}
		for range rapid.IntRange(1, 16).Draw(t, "rows") {
			one, two := sizes.Draw(t, "one"), sizes.Draw(t, "two")
			name := strings.Repeat(names.Draw(t, "name"), rapid.IntRange(1, 9).Draw(t, "times"))
			b.Rows = append(b.Rows, Row{Name: name, Values: []float64{one, two}, Marks: []float64{sizes.Draw(t, "mark")}, Label: fmt.Sprintf("%.0f of %.0f", one, one+two)})
		}
		checkLabels(t, &Chart{Bars: b}, wides.Draw(t, "width"))
	})
}

func TestLabelsOfLinesDoNotTouch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &Lines{
			X: Axis{Label: "time", Scale: rapid.SampledFrom([]Scale{Numbers, Durations, Lengths, Moments}).Draw(t, "x")},
			Y: Axis{Label: "requests", Scale: rapid.SampledFrom([]Scale{Numbers, Powers}).Draw(t, "y")},
		}
		step, at := 1+sizes.Draw(t, "step"), 1+sizes.Draw(t, "start")
		if l.X.Scale == Durations {
			at = 0 // since the start
		}
		n := rapid.IntRange(2, 50).Draw(t, "points")
		for i := range n {
			l.At = append(l.At, at+float64(i)*step)
		}
		for range rapid.IntRange(1, 5).Draw(t, "series") {
			s := Series{Name: names.Draw(t, "name"), Stacked: rapid.Bool().Draw(t, "stacked"), Steps: rapid.Bool().Draw(t, "steps")}
			for range n {
				s.Values = append(s.Values, sizes.Draw(t, "value"))
			}
			l.Series = append(l.Series, s)
		}
		from := at
		for i := range rapid.IntRange(0, 12).Draw(t, "bands") {
			from = min(from+step*rapid.Float64Range(0, 5).Draw(t, "gap"), l.At[n-1])
			l.Bands = append(l.Bands, Band{fmt.Sprintf("%d failover", i+1), from, min(from+step, l.At[n-1]), min(from+2*step, l.At[n-1])})
		}
		checkLabels(t, &Chart{Lines: l}, wides.Draw(t, "width"))
	})
}

// What is stacked stands on what is below, and only what is above the first series is
// filled.
func TestStackedSeriesAddUp(t *testing.T) {
	l := &Lines{At: []float64{0, 1}, Series: []Series{
		{Values: []float64{5, 5}}, {Values: []float64{1, 2}, Stacked: true}, {Values: []float64{10, 20}, Stacked: true}, {Values: []float64{7, 5}, Above: true},
	}}
	tops, bottoms := l.stacked()
	if got, want := fmt.Sprint(tops), "[[5 5] [1 2] [11 22] [7 5]]"; got != want {
		t.Errorf("tops %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(bottoms), "[[] [0 0] [1 2] [5 5]]"; got != want {
		t.Errorf("bottoms %s, want %s", got, want)
	}
}

func TestALongNameIsCut(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "abcdefghijkl": "abcdefg…", strings.Repeat("é", 100000): "ééééééé…"} {
		if got := cut(text, 60); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := cut("abc", 1); utf8.RuneCountInString(got) > 2 {
		t.Errorf("without room: %q", got)
	}
}

func TestNamesAreEscaped(t *testing.T) {
	b := &Bars{Series: []Part{{"#0072B2", Blue}}, Rows: []Row{{Name: `"><script>`, Values: []float64{1}}}}
	svg := (&Chart{Bars: b}).SVG(480)
	if strings.Contains(svg, "<script>") || !strings.Contains(svg, ">#0072B2</text>") || !strings.Contains(svg, "fill:var(--blue)") {
		t.Error(svg)
	}
}

func TestSheetNamesTheFormatsThatThereAre(t *testing.T) {
	err := (&Sheet{Title: "x"}).Write(io.Discard, "a.pdf")
	if err == nil || err.Error() != `"a.pdf": must end in .png or .svg` {
		t.Error(err)
	}
}

// A file of dots shows what a file of lines shows: the bar, the dashes and the words.
func TestDotsAreDrawn(t *testing.T) {
	on := newDots(100, 50)
	on.fill(box(10, 10, 30, 20), Blue, 1)
	on.line([]point{{0, 40}, {100, 40}}, Ink, 2, true)
	on.text(point{50, 20}, "I", Ink, 12, middle)
	on.fill(box(-10, -10, 200, -5), Ink, 1) // outside
	at := func(x, y int) uint32 {
		r, g, b, _ := on.At(2*x, 2*y).RGBA()
		return r>>8<<16 | g>>8<<8 | b>>8
	}
	for _, c := range []struct {
		x, y int
		want uint32
	}{{20, 15, onWhite[Blue]}, {5, 15, 0xFFFFFF}, {3, 40, onWhite[Ink]}, {8, 40, 0xFFFFFF}, {13, 40, onWhite[Ink]}, {98, 40, 0xFFFFFF}} {
		if got := at(c.x, c.y); got != c.want {
			t.Errorf("at %d, %d: %06x, want %06x", c.x, c.y, got, c.want)
		}
	}
	ink := 0
	for y := 20; y < 40; y++ {
		for x := 80; x < 120; x++ {
			if r, _, _, _ := on.At(x, y).RGBA(); r < 0x8000 {
				ink++
			}
		}
	}
	if ink == 0 {
		t.Error("there is no text")
	}
}
