package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/weirgo/weir/cmd/weir/internal/report/chart"
	"github.com/weirgo/weir/sim/result"
)

// Plot draws the results for a file whose name ends in .png or .svg.
func (s *Simulation) Plot(w io.Writer, name string) error {
	first := s.Results[0]
	sheet := &chart.Sheet{Title: fmt.Sprintf("%s, seed %d, %s", Quoted(first.Scenario), first.Seed, Duration(first.DurationMicros))}
	for _, group := range s.figures() {
		var charts []*chart.Chart
		for _, f := range group.Figures {
			one := *f.Chart
			if f.Limit != "" {
				one.Title = group.Title + ": " + one.Title
			}
			charts = append(charts, &one)
		}
		sheet.Groups = append(sheet.Groups, charts)
	}
	return sheet.Write(w, name)
}

// figures are the sections of a page that hold pictures.
func (s *Simulation) figures() []section {
	limits := limitsOf(s.Results)
	worst := section{Title: "Worst window", Figures: []figure{{Chart: worstWindows(limits)}, {Chart: outcomes(s.Results)}}}
	times, waits := section{Title: "Over time", Stack: true}, section{Title: "Waiting"}
	curves, clients := section{Title: "Most admitted to one key in any interval of a length"}, section{Title: "What the busiest keys got"}
	var most float64
	for _, r := range s.Results {
		most = max(most, float64(max(peak(r.Series.Offered), peak(r.Series.Admitted)))*1e6/float64(max(r.Series.BucketMicros, 1)))
	}
	if c := waiting(s.Results); c != nil {
		waits.Figures = append(waits.Figures, figure{Chart: c})
	}
	for _, r := range s.Results {
		if len(r.Series.Offered) > 0 {
			times.Figures = append(times.Figures, figure{s.overTime(r, most), Quoted(r.Limit)})
		}
		for i := range r.Limits {
			if l := (limitOf{&r.Limits[i], r}); len(l.Curve) > 1 {
				curves.Figures = append(curves.Figures, figure{arrivalCurve(l), Quoted(r.Limit)})
			}
		}
		if len(r.Fairness.Top) > 1 {
			clients.Figures = append(clients.Figures, figure{busiest(r), Quoted(r.Limit)})
		}
	}
	return []section{worst, times, curves, waits, clients}
}

// outcomes is what became of the requests of each result.
func outcomes(results []*result.Result) *chart.Chart {
	bars := &chart.Bars{Series: []chart.Part{
		{Name: "admitted", Colour: chart.Blue}, {Name: "never admitted", Colour: chart.Soft}, {Name: "not over at the end", Colour: chart.Purple},
	}}
	var text []string
	for _, r := range results {
		t := &r.Totals
		bars.Rows = append(bars.Rows, chart.Row{
			Name: Quoted(r.Limit), Label: Percent(t.Admitted, t.Arrivals) + " admitted",
			Values: floats(t.Admitted, t.GaveUp, max(0, t.Arrivals-t.Admitted-t.GaveUp)),
		})
		text = append(text, fmt.Sprintf("%s %s of %s (%s)", Quoted(r.Limit), Digits(t.Admitted), Count(t.Arrivals, "request"), Percent(t.Admitted, t.Arrivals)))
	}
	return &chart.Chart{Title: "What became of the requests", Text: "Admitted: " + sentence(text), Bars: bars}
}

// worstWindows compares the worst window of each limit with the limit.
func worstWindows(limits []limitOf) *chart.Chart {
	bars := &chart.Bars{
		Series: []chart.Part{
			{Name: "up to the limit", Colour: chart.Blue}, {Name: "what the algorithm allows above it", Colour: chart.Purple}, {Name: "more than that", Colour: chart.Orange},
		},
		Marks: []chart.Part{{Name: "the limit", Colour: chart.Ink}},
	}
	var text []string
	for _, l := range limits {
		w := &l.Worst
		within, allowed := min(w.Units, w.LimitUnits), min(w.Units, max(w.BoundUnits, w.LimitUnits))
		bars.Rows = append(bars.Rows, chart.Row{
			Name: l.label(), Label: fmt.Sprintf("%s of %s in %s", Digits(w.Units), Digits(w.LimitUnits), Duration(w.WindowMicros)),
			Values: floats(within, allowed-within, w.Units-allowed), Marks: floats(w.LimitUnits),
		})
		text = append(text, fmt.Sprintf("%s %s in %s, at a limit of %s; %s is the most without faults",
			l.label(), Digits(w.Units), Duration(w.WindowMicros), Digits(w.LimitUnits), Digits(w.BoundUnits)))
	}
	return &chart.Chart{Title: "Most admitted to one key in any window, against the limit", Text: sentence(text), Bars: bars}
}

// overTime is what became of the attempts over time, with the faults behind. most is the
// most of a bucket of all results, so that their pictures can be compared.
func (sim *Simulation) overTime(r *result.Result, most float64) *chart.Chart {
	s := &r.Series
	lines := &chart.Lines{
		X: chart.Axis{Label: "time since the start", Scale: chart.Durations}, Y: chart.Axis{Label: "attempts per second", Scale: chart.Numbers, Max: most},
		Group: "time",
	}
	for i := range len(s.Offered) + 1 {
		lines.At = append(lines.At, float64(min(int64(i)*s.BucketMicros, r.DurationMicros)))
	}
	series := func(name string, colour chart.Colour, stacked bool, counts []int64) {
		lines.Series = append(lines.Series, chart.Series{Name: name, Colour: colour, Values: rates(counts, s.BucketMicros), Steps: true, Stacked: stacked})
	}
	byMode := s.DegradedAdmitted
	if total(byMode) > 0 {
		byServer := make([]int64, len(s.Admitted))
		for i := range byServer {
			byServer[i] = s.Admitted[i] - byMode[i]
		}
		series("admitted by the server", chart.Blue, true, byServer)
		series("admitted by the failure mode", chart.Purple, true, byMode)
	} else {
		series("admitted", chart.Blue, true, s.Admitted)
	}
	if total(s.Failed) > 0 {
		series("no decision", chart.Ink, true, s.Failed)
	}
	series("offered", chart.Soft, false, s.Offered)
	for i, f := range inTime(r) {
		lines.Bands = append(lines.Bands, chart.Band{Name: sim.faultName(r, i), From: float64(f.FromMicros), To: float64(f.ToMicros), After: float64(f.UntilMicros)})
	}
	seconds := float64(s.BucketMicros) / 1e6
	text := []string{
		fmt.Sprintf("%s offered and %s admitted", Digits(total(s.Offered)), Digits(total(s.Admitted))),
		fmt.Sprintf("at most %s and %s a second, over %s", rate(peak(s.Offered), seconds), rate(peak(s.Admitted), seconds), Duration(s.BucketMicros)),
	}
	if n := total(byMode); n > 0 {
		text = append(text, Digits(n)+" admitted by the failure mode")
	}
	if n := total(s.Failed); n > 0 {
		text = append(text, Digits(n)+" without a decision")
	}
	return &chart.Chart{Title: Quoted(r.Limit), Text: capital(sentence(text)), Lines: lines}
}

// arrivalCurve is the most that was admitted in any interval of a length.
func arrivalCurve(l limitOf) *chart.Chart {
	lines := &chart.Lines{X: chart.Axis{Label: "length of the interval", Scale: chart.Lengths}, Y: chart.Axis{Label: "units", Scale: chart.Powers}}
	var most, bound, over []float64
	tight, above := l.Curve[0], 0
	for _, p := range l.Curve {
		lines.At = append(lines.At, float64(max(p.Micros, 1)))
		most, bound, over = append(most, float64(max(p.Units, 1))), append(bound, float64(max(p.BoundUnits, 1))), append(over, float64(max(p.Units, p.BoundUnits, 1)))
		if p.Units > p.BoundUnits {
			above++
		}
		if float64(p.Units)*float64(max(tight.BoundUnits, 1)) > float64(tight.Units)*float64(max(p.BoundUnits, 1)) {
			tight = p
		}
	}
	lines.Series = []chart.Series{{Name: "most without faults", Colour: chart.Ink, Values: bound, Dashed: true}, {Name: "admitted", Colour: chart.Blue, Values: most}}
	text := fmt.Sprintf("Closest to the most without faults in %s: %s of %s.", Duration(tight.Micros), Digits(tight.Units), Digits(tight.BoundUnits))
	if above > 0 {
		lines.Series = append(lines.Series, chart.Series{Name: "more than that", Colour: chart.Orange, Values: over, Above: true})
		text = fmt.Sprintf("Above the most without faults at %d of %d lengths; most so in %s: %s, and at most %s without faults.", above, len(l.Curve), Duration(tight.Micros), Digits(tight.Units), Digits(tight.BoundUnits))
	}
	w := &l.Worst
	for _, p := range l.Curve {
		if p.Micros == w.WindowMicros && p.BoundUnits > w.BoundUnits {
			text += fmt.Sprintf(" An interval holds both of its ends: one of %s may hold %s without faults, and a window of %s, which holds one end, %s.",
				Duration(p.Micros), Digits(p.BoundUnits), Duration(p.Micros), Digits(w.BoundUnits))
		}
	}
	if l.CurveKeys < l.CurveOf || l.CurveLate > 0 {
		text += fmt.Sprintf(" The curve is of %s of %s, the worst among them.", Digits(l.CurveKeys), Count(l.CurveOf, "key"))
	}
	if w.WindowMicros > 0 {
		lines.Marks = []chart.Mark{{Name: "period " + Duration(w.WindowMicros), At: float64(w.WindowMicros), Upright: true}, {Name: "limit " + Digits(w.LimitUnits), At: float64(w.LimitUnits)}}
	}
	return &chart.Chart{Title: l.label(), Text: text, Lines: lines}
}

// waiting is how many requests had been admitted after how long.
func waiting(results []*result.Result) *chart.Chart {
	lines := &chart.Lines{
		X: chart.Axis{Label: "wait since the request was first made", Scale: chart.Lengths}, Y: chart.Axis{Label: "% of requests", Scale: chart.Numbers, Max: 100},
	}
	longest := 0
	for _, r := range results {
		longest = max(longest, len(r.Waits))
	}
	var text []string
	for i, r := range results {
		colour, dashed := chart.Distinct(i)
		one := chart.Series{Name: Quoted(r.Limit), Colour: colour, Dashed: dashed, Steps: true}
		var sum int64
		for j := range longest {
			if j < len(r.Waits) {
				sum += r.Waits[j].Count
			}
			one.Values = append(one.Values, 100*float64(sum)/float64(max(r.Totals.Arrivals, 1)))
		}
		lines.Series = append(lines.Series, one)
		text = append(text, fmt.Sprintf("%s: wait of half %s, of 99 %% %s", Quoted(r.Limit), waited(r, r.Wait.P50Micros), waited(r, r.Wait.P99Micros)))
		if len(r.Waits) < longest || lines.At != nil {
			continue
		}
		for _, b := range r.Waits {
			at := float64(max(b.UpToMicros, 1))
			if b.UpToMicros < 0 {
				at = 2 * lines.At[len(lines.At)-1]
			}
			lines.At = append(lines.At, at)
		}
	}
	if longest < 2 {
		return nil
	}
	return &chart.Chart{Title: "Requests that were admitted within a wait", Text: sentence(text), Lines: lines}
}

// busiest is what the busiest clients asked for and got.
func busiest(r *result.Result) *chart.Chart {
	bars := &chart.Bars{Series: []chart.Part{{Name: "admitted", Colour: chart.Blue}, {Name: "not admitted", Colour: chart.Soft}}}
	for _, c := range r.Fairness.Top {
		bars.Rows = append(bars.Rows, chart.Row{
			Name: Quoted(c.Key), Values: floats(c.AdmittedUnits, max(c.OfferedUnits-c.AdmittedUnits, 0)),
			Label: fmt.Sprintf("%s of %s", Digits(c.AdmittedUnits), Digits(c.OfferedUnits)),
		})
	}
	top := r.Fairness.Top[0]
	return &chart.Chart{
		Title: Quoted(r.Limit), Bars: bars,
		Text: fmt.Sprintf("Jain's index is %s over %s (1 is the same for all); the busiest got %s of %s.",
			jain(r), Count(r.Fairness.Keys, "key"), Digits(top.AdmittedUnits), Count(top.OfferedUnits, "unit")),
	}
}

func floats(all ...int64) []float64 {
	f := make([]float64, len(all))
	for i, n := range all {
		f[i] = float64(n)
	}
	return f
}

// rates are the counts of buckets of a width as numbers a second; the last holds to the end.
func rates(counts []int64, width int64) (all []float64) {
	for _, n := range counts {
		all = append(all, float64(n)*1e6/float64(width))
	}
	return append(all, all[len(all)-1])
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
