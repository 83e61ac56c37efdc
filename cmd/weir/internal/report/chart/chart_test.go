package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"pgregory.net/rapid"
)

// label is a text where it was drawn, upright ones left out.
type label struct {
	text string
	box  vg.Rectangle
}

// drawn draws a chart and returns its labels.
func drawn(t *rapid.T, c *Chart, width vg.Length) (labels []label, all vg.Rectangle) {
	t.Helper()
	canvas := &recorder.Canvas{}
	all = vg.Rectangle{Max: vg.Point{X: width, Y: c.height(width)}}
	c.draw(draw.Canvas{Canvas: canvas, Rectangle: all})
	turned := []bool{false}
	for _, action := range canvas.Actions {
		top := len(turned) - 1
		switch a := action.(type) {
		case *recorder.Push:
			turned = append(turned, turned[top])
		case *recorder.Pop:
			turned = turned[:top]
		case *recorder.Rotate:
			turned[top] = true
		case *recorder.FillString:
			if strings.TrimSpace(a.String) != "" && !turned[top] {
				style := sans(a.Size, Ink)
				labels = append(labels, label{a.String, vg.Rectangle{
					Min: a.Point, Max: a.Point.Add(vg.Point{X: style.Width(a.String), Y: a.Size * 0.7}),
				}})
			}
		}
	}
	return labels, all
}

// checkLabels fails where two labels touch, or one is cut off.
func checkLabels(t *rapid.T, c *Chart, width vg.Length) {
	t.Helper()
	labels, all := drawn(t, c, width)
	for i, a := range labels {
		if a.box.Min.X < all.Min.X-0.5 || a.box.Max.X > all.Max.X+0.5 || a.box.Min.Y < all.Min.Y-0.5 || a.box.Max.Y > all.Max.Y+0.5 {
			t.Fatalf("%q sticks out of %v: %v", a.text, all, a.box)
		}
		for _, b := range labels[i+1:] {
			if a.box.Min.X < b.box.Max.X && b.box.Min.X < a.box.Max.X && a.box.Min.Y < b.box.Max.Y && b.box.Min.Y < a.box.Max.Y {
				t.Fatalf("%q at %v and %q at %v touch", a.text, a.box, b.text, b.box)
			}
		}
	}
}

var (
	widths = rapid.SampledFrom([]vg.Length{Wide, Narrow})
	// sizes are numbers of any size, 0 included.
	sizes = rapid.Custom(func(t *rapid.T) float64 {
		return math.Floor(math.Pow(10, rapid.Float64Range(-1, 9).Draw(t, "power")))
	})
	names = rapid.StringMatching(`[a-zA-Z0-9:. ]{1,40}`)
)

func TestLabelsOfBarsDoNotTouch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &Bars{
			X: Axis{Label: "units"}, Grouped: rapid.Bool().Draw(t, "grouped"),
			Series: []Series{{Name: "one", Colour: Blue}, {Name: "another thing", Colour: Soft, Faint: true}},
			Marks:  []Mark{{Name: "the limit", Colour: Ink}},
		}
		for range rapid.IntRange(1, 16).Draw(t, "rows") {
			one, two := sizes.Draw(t, "one"), sizes.Draw(t, "two")
			b.Rows = append(b.Rows, Row{
				Name: names.Draw(t, "name"), Values: []float64{one, two}, Marks: []float64{sizes.Draw(t, "mark")},
				Label: fmt.Sprintf("%.0f of %.0f", one, one+two),
			})
		}
		checkLabels(t, &Chart{Body: b}, widths.Draw(t, "width"))
	})
}

func TestLabelsOfLinesDoNotTouch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := &XY{
			X: Axis{Label: "time", Scale: rapid.SampledFrom([]Scale{Numbers, Durations, Lengths, Moments}).Draw(t, "scale")},
			Y: Axis{Label: "requests"}, Band: "fault", After: "effects",
		}
		step := 1 + sizes.Draw(t, "step")
		at := 1 + sizes.Draw(t, "start")
		if x.X.Scale == Durations {
			at = 0 // they are since the start
		}
		var points []Point
		for range rapid.IntRange(2, 50).Draw(t, "points") {
			points = append(points, Point{at, sizes.Draw(t, "y")})
			at += step
		}
		for range rapid.IntRange(1, 9).Draw(t, "lines") {
			x.Lines = append(x.Lines, Line{Name: names.Draw(t, "name"), Points: points, Dots: rapid.Bool().Draw(t, "dots"), Steps: rapid.Bool().Draw(t, "steps")})
		}
		from := 0.0
		for range rapid.IntRange(0, 20).Draw(t, "bands") {
			from += step * rapid.Float64Range(0, 5).Draw(t, "gap")
			x.Bands = append(x.Bands, Band{from, from + step, from + 2*step})
		}
		checkLabels(t, &Chart{Body: x}, widths.Draw(t, "width"))
	})
}

func TestLabelsOfColumnsDoNotTouch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &Columns{X: Axis{Label: "wait"}, Y: Axis{Label: "share", Scale: Percent}, Colour: Blue}
		micros := int64(1)
		for range rapid.IntRange(1, 40).Draw(t, "classes") {
			k.Classes = append(k.Classes, Class{Duration(micros), rapid.Float64Range(0, 100).Draw(t, "value")})
			micros = min(micros*2, 1<<50)
		}
		checkLabels(t, &Chart{Body: k}, widths.Draw(t, "width"))
	})
}

func TestNamesThatDoNotFitBesideBarsAreWhole(t *testing.T) {
	const name = "sliding-counter:1000/1m,max-cost=100"
	b := &Bars{X: Axis{Label: "units"}, Series: []Series{{Name: "one"}}, Rows: []Row{{Name: name, Values: []float64{1}}, {Name: "short", Values: []float64{2}}}}
	rapid.Check(t, func(t *rapid.T) {
		labels, _ := drawn(t, &Chart{Body: b}, widths.Draw(t, "width"))
		if !slices.ContainsFunc(labels, func(l label) bool { return l.text == name }) {
			t.Errorf("the name is not among %v", labels)
		}
	})
}

func TestALegendLeavesOutWhatIsNowhere(t *testing.T) {
	b := &Bars{Series: []Series{{Name: "much"}, {Name: "none"}, {Name: "once"}}, Rows: []Row{{Values: []float64{1, 0, 0}}, {Values: []float64{1, 0, 2}}}}
	var names []string
	for _, k := range b.legend() {
		names = append(names, k.name)
	}
	if !slices.Equal(names, []string{"much", "once"}) {
		t.Errorf("the legend has %q", names)
	}
}

func TestColoursInNamesStayAsTheyAre(t *testing.T) {
	b := &Bars{X: Axis{Label: "units"}, Series: []Series{{Name: "#0072B2", Colour: Blue}}, Rows: []Row{{Name: `style="#1F2328"`, Values: []float64{1}}}}
	svg, err := (&Chart{Title: "colours", Body: b}).SVG(Wide, "wide")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(svg, ">#0072B2</text>") || !strings.Contains(svg, "#1F2328") {
		t.Error("a name has changed")
	}
	if !strings.Contains(svg, "fill:var(--blue)") {
		t.Error("the bars have no colour of the page")
	}
}

func TestSheetNamesTheFormatsThatThereAre(t *testing.T) {
	_, err := (&Sheet{Title: "x"}).Encode("a.pdf")
	if err == nil || err.Error() != `"a.pdf": must end in .png or .svg` {
		t.Error(err)
	}
}
