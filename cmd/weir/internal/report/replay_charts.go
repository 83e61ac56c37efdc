package report

import (
	"fmt"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/report/chart"
)

// values are a number of each row of a series; the last holds to the end.
func (s *series) values(of func(m *moment) int64) (all []float64) {
	for i := range s.rows {
		all = append(all, float64(of(&s.rows[i])))
	}
	return append(all, all[len(all)-1])
}

// most is the row with most of a number.
func (s *series) most(of func(m *moment) int64) *moment {
	most := &s.rows[0]
	for i := range s.rows {
		if of(&s.rows[i]) > of(most) {
			most = &s.rows[i]
		}
	}
	return most
}

// over is a picture of some series over time.
func (s *series) over(all ...chart.Series) *chart.Lines {
	lines := &chart.Lines{
		X: chart.Axis{Label: "time", Scale: chart.Moments}, Y: chart.Axis{Label: "requests per " + Duration(s.width), Scale: chart.Numbers},
		Series: all, Group: "time",
	}
	for i := range s.rows {
		lines.At = append(lines.At, float64(s.rows[i].start))
		lines.Y.Max = max(lines.Y.Max, float64(s.rows[i].offered))
	}
	lines.At = append(lines.At, float64(s.rows[len(s.rows)-1].start+s.width))
	return lines
}

// throughTime is what one limit did over time.
func throughTime(s *series, limit int, title string, all int64, span *Span) *chart.Chart {
	admitted := func(m *moment) int64 { return m.admitted[limit] }
	denied := func(m *moment) int64 { return m.offered - m.admitted[limit] }
	busiest := s.most(func(m *moment) int64 { return m.offered })
	return &chart.Chart{
		Title: title,
		Lines: s.over(
			chart.Series{Name: "admitted", Colour: chart.Blue, Values: s.values(admitted), Steps: true, Stacked: true},
			chart.Series{Name: "denied", Colour: chart.Orange, Values: s.values(denied), Steps: true, Stacked: true}),
		Text: fmt.Sprintf("%s of %s admitted (%s); most offered in %s: %s at %s, of which %s admitted.",
			Digits(all), Count(span.Events, "request"), Percent(all, span.Events), Duration(s.width), Digits(busiest.offered),
			utcTime(algorithm.Instant(busiest.start).Time()), Digits(admitted(busiest))),
	}
}

// deniedThroughTime is what each limit denied over time.
func (r *Comparison) deniedThroughTime() *chart.Chart {
	var all []chart.Series
	var text []string
	for i, l := range r.Limits {
		denied := func(m *moment) int64 { return m.offered - m.admitted[i] }
		colour, dashed := chart.Distinct(i)
		all = append(all, chart.Series{Name: l.Limit, Colour: colour, Dashed: dashed, Values: r.series.values(denied), Steps: true})
		text = append(text, fmt.Sprintf("%s %s", l.Limit, Digits(denied(r.series.most(denied)))))
	}
	lines := r.series.over(all...)
	lines.Y.Max = 0
	return &chart.Chart{Title: "Denied over time", Lines: lines, Text: fmt.Sprintf("Most denied in %s: ", Duration(r.series.width)) + sentence(text)}
}

// deniedBars are bars of what was denied and what was admitted.
func deniedBars() *chart.Bars {
	return &chart.Bars{Series: []chart.Part{{Name: "denied", Colour: chart.Orange}, {Name: "admitted", Colour: chart.Blue}}}
}

// deniedChart is the keys that were denied most.
func (r *Replay) deniedChart() *chart.Chart {
	bars := deniedBars()
	for _, k := range r.MostDenied {
		bars.Rows = append(bars.Rows, chart.Row{
			Name: Quoted(k.Key), Values: floats(k.Denied, k.Offered-k.Denied), Label: fmt.Sprintf("%s of %s denied", Digits(k.Denied), Digits(k.Offered)),
		})
	}
	return &chart.Chart{Title: "Who was denied most", Bars: bars, Text: fmt.Sprintf("%s of %s denied at least once; the first of these %s of %s times.",
		Digits(r.KeysHit), Count(r.Keys, "key"), Digits(r.MostDenied[0].Denied), Digits(r.MostDenied[0].Offered))}
}

// limitChart is what each limit denied.
func (r *Comparison) limitChart() *chart.Chart {
	bars := deniedBars()
	var parts []string
	for _, l := range r.Limits {
		label := fmt.Sprintf("%s denied (%s), %s hit", Digits(l.Denied), Percent(l.Denied, r.Events), Count(l.KeysHit, "key"))
		bars.Rows = append(bars.Rows, chart.Row{Name: l.Limit, Values: floats(l.Denied, l.Admitted), Label: label})
		parts = append(parts, l.Limit+" "+label)
	}
	return &chart.Chart{Title: "Requests denied", Text: sentence(parts), Bars: bars}
}
