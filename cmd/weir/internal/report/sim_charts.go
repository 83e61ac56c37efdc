package report

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/weirgo/weir/cmd/weir/internal/report/chart"
	"github.com/weirgo/weir/sim/result"
)

// Plot draws the results into a file, whose name ends in .png or .svg. It replaces what
// is there.
func (s *Simulation) Plot(path string) error {
	first := s.Results[0]
	sheet := &chart.Sheet{Title: fmt.Sprintf("%s, seed %d, %s", Quoted(first.Scenario), first.Seed, Duration(first.DurationMicros))}
	sheet.Groups = append(sheet.Groups, []*chart.Chart{outcomes(s.Results), worstWindows(limitsOf(s.Results))})
	for _, r := range s.Results {
		var group []*chart.Chart
		for _, c := range resultCharts(r, inTime(r)) {
			named := *c
			named.Title = Quoted(r.Limit) + ": " + strings.ToLower(c.Title[:1]) + c.Title[1:]
			group = append(group, &named)
		}
		sheet.Groups = append(sheet.Groups, group)
	}
	drawn, err := sheet.Encode(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, drawn, 0o666)
}

// resultCharts are the pictures of one result.
func resultCharts(r *result.Result, faults []result.Fault) []*chart.Chart {
	var all []*chart.Chart
	if len(r.Series.Offered) > 0 {
		all = append(all, overTime(r, faults))
	}
	for _, l := range limitsOf([]*result.Result{r}) {
		if len(l.Curve) > 1 {
			all = append(all, arrivalCurve(l))
		}
	}
	if len(r.Waits) > 0 {
		all = append(all, waiting(r))
	}
	if len(r.Fairness.Top) > 0 {
		all = append(all, clients(r))
	}
	if len(faults) > 0 {
		all = append(all, faultWindows(r, faults))
	}
	return all
}

// outcomes is what became of the attempts of each result.
func outcomes(results []*result.Result) *chart.Chart {
	bars := &chart.Bars{
		X: chart.Axis{Label: "attempts"},
		Series: []chart.Series{
			{Name: "admitted", Colour: chart.Blue}, {Name: "denied", Colour: chart.Soft, Faint: true},
			{Name: "no decision", Colour: chart.Vermilion}, {Name: "throttled", Colour: chart.Purple},
		},
	}
	var text []string
	for _, r := range results {
		t := &r.Totals
		bars.Rows = append(bars.Rows, chart.Row{
			Name:   Quoted(r.Limit),
			Values: floats(t.Admitted, t.Denied, t.Errors+t.Unknown+t.Open, t.Throttled),
			Label:  Percent(t.Admitted, t.Attempts),
		})
		text = append(text, fmt.Sprintf("%s %s of %s attempts (%s)", Quoted(r.Limit), Digits(t.Admitted), Digits(t.Attempts), Percent(t.Admitted, t.Attempts)))
	}
	return &chart.Chart{Title: "What became of the attempts", Text: "Admitted: " + sentence(text), Body: bars}
}

// worstWindows compares the worst window of each limit with the limit.
func worstWindows(limits []limitOf) *chart.Chart {
	bars := &chart.Bars{
		X:      chart.Axis{Label: "units in one window of the limit's period"},
		Series: []chart.Series{{Name: "admitted in the worst window", Colour: chart.Blue}},
		Marks:  []chart.Mark{{Name: "the limit", Colour: chart.Ink}, {Name: "the most without faults", Colour: chart.Vermilion, Dash: chart.Dotted}},
	}
	var text []string
	for _, l := range limits {
		w := &l.Worst
		bars.Rows = append(bars.Rows, chart.Row{
			Name: l.label(), Values: floats(w.Units), Marks: floats(w.LimitUnits, w.BoundUnits),
			Label: fmt.Sprintf("%s of %s", Digits(w.Units), Digits(w.LimitUnits)),
		})
		text = append(text, fmt.Sprintf("%s %s in %s, where the limit says %s and admits up to %s without faults",
			l.label(), Digits(w.Units), Duration(w.WindowMicros), Digits(w.LimitUnits), Digits(w.BoundUnits)))
	}
	return &chart.Chart{Title: "Most admitted in any window, against the limit", Text: "Admitted: " + sentence(text), Body: bars}
}

// overTime is offered against admitted requests, with the faults behind.
func overTime(r *result.Result, faults []result.Fault) *chart.Chart {
	s := &r.Series
	xy := &chart.XY{
		X: chart.Axis{Label: "time since the start", Scale: chart.Durations}, Y: chart.Axis{Label: "requests per second"},
		Lines: []chart.Line{
			{Name: "offered", Points: rates(s.Offered, s.BucketMicros), Colour: chart.Soft, Steps: true},
			{Name: "admitted", Points: rates(s.Admitted, s.BucketMicros), Colour: chart.Blue, Steps: true, Area: true},
		},
		Band: "fault", After: "until its effects are over",
	}
	if total(s.Failed) > 0 {
		xy.Lines = append(xy.Lines, chart.Line{Name: "no decision", Points: rates(s.Failed, s.BucketMicros), Colour: chart.Vermilion, Dash: chart.Dashed, Steps: true})
	}
	if total(s.Degraded) > 0 {
		xy.Lines = append(xy.Lines, chart.Line{Name: "by the failure mode", Points: rates(s.Degraded, s.BucketMicros), Colour: chart.Purple, Dash: chart.Dotted, Steps: true})
	}
	for _, f := range faults {
		xy.Bands = append(xy.Bands, chart.Band{From: float64(f.FromMicros), To: float64(f.ToMicros), After: float64(f.UntilMicros)})
	}
	seconds := float64(s.BucketMicros) / 1e6
	text := []string{
		fmt.Sprintf("%s offered and %s admitted", Digits(total(s.Offered)), Digits(total(s.Admitted))),
		fmt.Sprintf("at most %s and %s a second, over %s", rate(peak(s.Offered), seconds), rate(peak(s.Admitted), seconds), Duration(s.BucketMicros)),
	}
	if n := total(s.Failed); n > 0 {
		text = append(text, fmt.Sprintf("%s without a decision", Digits(n)))
	}
	if len(faults) > 0 {
		text = append(text, Count(int64(len(faults)), "fault")+", numbered above")
	}
	return &chart.Chart{Title: "Offered and admitted over time", Text: capital(sentence(text)), Body: xy}
}

// arrivalCurve is the most that was admitted in any interval of a length.
func arrivalCurve(l limitOf) *chart.Chart {
	most := chart.Line{Name: "admitted", Colour: chart.Blue, Dots: true}
	bound := chart.Line{Name: "bound without faults", Colour: chart.Ink, Dash: chart.Dashed}
	over := chart.Line{Name: "above it", Colour: chart.Vermilion, Dots: true, NoLine: true}
	for _, p := range l.Curve {
		most.Points = append(most.Points, chart.Point{X: float64(p.Micros), Y: float64(p.Units)})
		bound.Points = append(bound.Points, chart.Point{X: float64(p.Micros), Y: float64(p.BoundUnits)})
		if p.Units > p.BoundUnits {
			over.Points = append(over.Points, most.Points[len(most.Points)-1])
		}
	}
	text := []string{}
	if n := len(l.Curve); n > 0 {
		tight := slices.MaxFunc(l.Curve, func(a, b result.CurvePoint) int {
			return cmp.Compare(float64(a.Units)/float64(max(a.BoundUnits, 1)), float64(b.Units)/float64(max(b.BoundUnits, 1)))
		})
		last := l.Curve[n-1]
		closest := "closest to the bound"
		if len(over.Points) > 0 {
			closest = fmt.Sprintf("above the bound without faults at %d of %d lengths; most so", len(over.Points), n)
		}
		text = append(text, fmt.Sprintf("%s in %s: %s, bound %s", closest, Duration(tight.Micros), Digits(tight.Units), Digits(tight.BoundUnits)))
		if tight != last {
			text = append(text, fmt.Sprintf("in %s: %s, bound %s", Duration(last.Micros), Digits(last.Units), Digits(last.BoundUnits)))
		}
	}
	if l.CurveKeys < l.CurveOf || l.CurveLate > 0 {
		text = append(text, fmt.Sprintf("of %s of %s, the worst among them", Digits(l.CurveKeys), Count(l.CurveOf, "key")))
	}
	lines := []chart.Line{bound, most}
	if len(over.Points) > 0 {
		lines = append(lines, over)
	}
	title := "Most admitted to one key in any interval of a length"
	if l.shared {
		title += ", " + l.label()
	}
	return &chart.Chart{Title: title, Text: capital(sentence(text)), Body: &chart.XY{
		X: chart.Axis{Label: "length of the interval", Scale: chart.Lengths}, Y: chart.Axis{Label: "units"},
		Lines: lines,
	}}
}

// waiting is how long admitted requests had waited.
func waiting(r *result.Result) *chart.Chart {
	var all int64
	for _, b := range r.Waits {
		all += b.Count
	}
	columns := &chart.Columns{
		X: chart.Axis{Label: "wait, at most"}, Y: chart.Axis{Label: "share of admitted requests", Scale: chart.Percent},
		Colour: chart.Blue,
	}
	for i, b := range r.Waits {
		if i > 0 && b.Count == 0 && len(columns.Classes) <= 1 {
			continue // the short waits that did not occur
		}
		label := Duration(b.UpToMicros)
		switch {
		case b.UpToMicros == 0:
			label = "none"
		case b.UpToMicros < 0:
			label = "longer"
		}
		columns.Classes = append(columns.Classes, chart.Class{Label: label, Value: 100 * float64(b.Count) / float64(max(all, 1))})
	}
	text := []string{"wait of half: " + waited(r, r.Wait.P50Micros), "of 99 %: " + waited(r, r.Wait.P99Micros)}
	if len(r.Waits) > 0 && all > 0 {
		text = append([]string{Percent(r.Waits[0].Count, all) + " did not wait"}, text...)
	}
	return &chart.Chart{Title: "How long admitted requests had waited", Text: capital(sentence(text)), Body: columns}
}

// clients is what the busiest clients asked for and got.
func clients(r *result.Result) *chart.Chart {
	bars := &chart.Bars{
		X:      chart.Axis{Label: "units"},
		Series: []chart.Series{{Name: "admitted", Colour: chart.Blue}, {Name: "not admitted", Colour: chart.Soft, Faint: true}},
	}
	for _, c := range r.Fairness.Top {
		bars.Rows = append(bars.Rows, chart.Row{
			Name: Quoted(c.Key), Values: floats(c.AdmittedUnits, max(c.OfferedUnits-c.AdmittedUnits, 0)),
			Label: fmt.Sprintf("%s of %s", Digits(c.AdmittedUnits), Digits(c.OfferedUnits)),
		})
	}
	text := []string{fmt.Sprintf("Jain index %s over %s (1 is the same for all)", jain(r), Count(r.Fairness.Keys, "key"))}
	if len(r.Fairness.Top) > 0 {
		busiest := r.Fairness.Top[0]
		text = append(text, fmt.Sprintf("the busiest got %s of %s", Digits(busiest.AdmittedUnits), Count(busiest.OfferedUnits, "unit")))
	}
	return &chart.Chart{Title: "What the busiest clients got", Text: capital(sentence(text)), Body: bars}
}

// faultWindows is what was admitted or denied wrongly in the time of each fault.
func faultWindows(r *result.Result, faults []result.Fault) *chart.Chart {
	bars := &chart.Bars{
		X: chart.Axis{Label: "units"}, Grouped: true,
		Series: []chart.Series{{Name: "above the limit, of one key at most", Colour: chart.Vermilion}, {Name: "falsely denied", Colour: chart.Blue}},
	}
	var over, under int64
	for i, f := range faults {
		over, under = max(over, f.OverUnits), under+f.FalselyDeniedUnits
		bars.Rows = append(bars.Rows, chart.Row{
			Name: fmt.Sprintf("%d %s", i+1, f.Kind), Values: floats(f.OverUnits, f.FalselyDeniedUnits),
			Label: fmt.Sprintf("%s above, %s denied", Digits(f.OverUnits), Digits(f.FalselyDeniedUnits)),
		})
	}
	return &chart.Chart{
		Title: "Too much and too little, by fault",
		Text:  sentence([]string{fmt.Sprintf("At most %s above a limit in the time of a fault", Count(over, "unit")), Digits(under) + " falsely denied in all of them"}),
		Body:  bars,
	}
}

func floats(all ...int64) []float64 {
	f := make([]float64, len(all))
	for i, n := range all {
		f[i] = float64(n)
	}
	return f
}

// rates are the counts of buckets of a width as numbers a second.
func rates(counts []int64, width int64) []chart.Point {
	var points []chart.Point
	for i, n := range counts {
		points = append(points, chart.Point{X: float64(int64(i) * width), Y: float64(n) * 1e6 / float64(width)})
	}
	if n := len(points); n > 0 { // where the last one ends
		points = append(points, chart.Point{X: float64(int64(n) * width), Y: points[n-1].Y})
	}
	return points
}

func total(counts []int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

func peak(counts []int64) (most int64) {
	for _, n := range counts {
		most = max(most, n)
	}
	return most
}

// rate writes a count over seconds with three digits, as far as they matter.
func rate(n int64, seconds float64) string {
	perSecond := float64(n) / seconds
	if perSecond >= 100 || perSecond == float64(int64(perSecond)) {
		return Digits(int64(perSecond + 0.5))
	}
	return fmt.Sprintf("%.3g", perSecond)
}

// sentence joins parts.
func sentence(parts []string) string { return strings.Join(parts, "; ") + "." }

// capital begins a text with a capital letter.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
