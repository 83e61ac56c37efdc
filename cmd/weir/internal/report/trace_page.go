package report

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/report/chart"
)

// ReplayHTML writes a report as one HTML file, which needs nothing else. It shows the
// keys that WriteText shows. command is what makes the report again.
func ReplayHTML(w io.Writer, r *Report, command string) error {
	p := &page{Title: "Replay: " + r.Limit, Facts: r.facts(), Command: command}
	var charts []*chart.Chart
	if r.Events > 0 {
		charts = append(charts, throughTime(&r.series, 0, "Offered and admitted over time", r.Admitted, &r.Span))
	}
	if len(r.MostDenied) > 0 {
		charts = append(charts, mostDenied(r))
	}
	if err := errors.Join(
		p.add(section{Title: "What the limit did", Tables: r.tables()}, charts...),
		p.badLines(&r.Source),
	); err != nil {
		return err
	}
	return p.write(w)
}

// CompareHTML is ReplayHTML for several limits side by side.
func CompareHTML(w io.Writer, r *Comparison, command string) error {
	p := &page{Title: fmt.Sprintf("Comparison of %d limits", len(r.Limits)), Facts: r.facts(), Command: command}
	s := section{Title: "Side by side"}
	var charts []*chart.Chart
	if r.Events > 0 {
		charts = append(charts, denials(r), keysHit(r), deniedThroughTime(r))
		for i, l := range r.Limits {
			charts = append(charts, throughTime(&r.series, i, l.Limit+": offered and admitted over time", l.Admitted, &r.Span))
		}
		s.Tables = append(s.Tables, r.limitTable())
	}
	if len(r.MostDenied) > 0 {
		s.Tables = append(s.Tables, r.keyTable())
	}
	if err := errors.Join(p.add(s, charts...), p.badLines(&r.Source)); err != nil {
		return err
	}
	return p.write(w)
}

// line is a number of each row of a series.
func (s *series) line(name string, of func(m *moment) int64) chart.Line {
	l := chart.Line{Name: name, Steps: true}
	for i := range s.rows {
		l.Points = append(l.Points, chart.Point{X: float64(s.rows[i].start), Y: float64(of(&s.rows[i]))})
	}
	last := len(s.rows) - 1 // which lasts to its end
	l.Points = append(l.Points, chart.Point{X: float64(s.rows[last].start + s.width), Y: l.Points[last].Y})
	return l
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

// over is a picture of some lines over time.
func (s *series) over(lines ...chart.Line) *chart.XY {
	return &chart.XY{
		X:     chart.Axis{Label: "time", Scale: chart.Moments},
		Y:     chart.Axis{Label: "requests per " + chart.Duration(s.width)},
		Lines: lines,
	}
}

// throughTime is what was offered and what one limit admitted over time.
func throughTime(s *series, limit int, title string, all int64, span *Span) *chart.Chart {
	offered := s.line("offered", func(m *moment) int64 { return m.offered })
	offered.Colour = chart.Soft
	admitted := s.line("admitted", func(m *moment) int64 { return m.admitted[limit] })
	admitted.Colour, admitted.Area = chart.Blue, true
	busiest := s.most(func(m *moment) int64 { return m.offered })
	return &chart.Chart{Title: title, Body: s.over(offered, admitted), Text: fmt.Sprintf(
		"%s of %s admitted (%s); most offered in %s: %s at %s, of which %s admitted.",
		Digits(all), Count(span.Events, "request"), Percent(all, span.Events),
		chart.Duration(s.width), Digits(busiest.offered), stamp(algorithm.Instant(busiest.start).Time()), Digits(busiest.admitted[limit]))}
}

// deniedThroughTime is what each limit denied over time.
func deniedThroughTime(r *Comparison) *chart.Chart {
	var lines []chart.Line
	var text []string
	for i, l := range r.Limits {
		denied := func(m *moment) int64 { return m.offered - m.admitted[i] }
		one := r.series.line(l.Limit, denied)
		one.Colour, one.Dash = chart.Distinct(i)
		lines = append(lines, one)
		text = append(text, fmt.Sprintf("%s %s", l.Limit, Digits(denied(r.series.most(denied)))))
	}
	return &chart.Chart{Title: "Denied over time", Body: r.series.over(lines...),
		Text: fmt.Sprintf("Most denied in %s: ", chart.Duration(r.series.width)) + sentence(text)}
}

// mostDenied is the keys that were denied most.
func mostDenied(r *Report) *chart.Chart {
	bars := &chart.Bars{
		X:      chart.Axis{Label: "requests"},
		Series: []chart.Series{{Name: "denied", Colour: chart.Vermilion}, {Name: "admitted", Colour: chart.Blue}},
	}
	for _, k := range r.MostDenied {
		bars.Rows = append(bars.Rows, chart.Row{
			Name: show(k.Key), Values: floats(k.Denied, k.Offered-k.Denied), Label: fmt.Sprintf("%s of %s", Digits(k.Denied), Digits(k.Offered)),
		})
	}
	return &chart.Chart{
		Title: "Who was denied most",
		Text:  fmt.Sprintf("%s of %s denied at least once; the first of these %s of %s times.", Digits(r.KeysHit), Count(r.Keys, "key"), Digits(r.MostDenied[0].Denied), Digits(r.MostDenied[0].Offered)),
		Body:  bars,
	}
}

func (r *Report) tables() (all []table) {
	if len(r.MostDenied) > 0 {
		t := table{Title: "Most denied", Head: []string{"key", "denied", "of", "share"}}
		for _, k := range r.MostDenied {
			t.Rows = append(t.Rows, []cell{word(show(k.Key)), number(k.Denied), number(k.Offered), right(Percent(k.Denied, k.Offered))})
		}
		all = append(all, t)
	}
	if len(r.Timeline) > 0 {
		width := time.Duration(r.TimelineMicros) * time.Microsecond
		t := table{Title: "Timeline, " + length(width) + " a row, UTC", Head: []string{"time", "offered", "admitted", "denied"}}
		for _, b := range r.Timeline {
			at := algorithm.Instant(b.StartMicros).Time().Format(rowFormat(width))
			t.Rows = append(t.Rows, []cell{word(at), number(b.Offered), number(b.Admitted), number(b.Offered - b.Admitted)})
		}
		all = append(all, t)
	}
	return all
}

func (r *Comparison) specs() (all []string) {
	for _, l := range r.Limits {
		all = append(all, l.Limit)
	}
	return all
}

// denials is what each limit admitted and denied.
func denials(r *Comparison) *chart.Chart {
	bars := &chart.Bars{
		X:      chart.Axis{Label: "requests"},
		Series: []chart.Series{{Name: "denied", Colour: chart.Vermilion}, {Name: "admitted", Colour: chart.Blue}},
	}
	var text []string
	for _, l := range r.Limits {
		label := fmt.Sprintf("%s (%s)", Digits(l.Denied), Percent(l.Denied, r.Events))
		bars.Rows = append(bars.Rows, chart.Row{Name: l.Limit, Values: floats(l.Denied, l.Admitted), Label: label})
		text = append(text, l.Limit+" "+label)
	}
	return &chart.Chart{Title: "Requests denied", Text: "Denied: " + sentence(text), Body: bars}
}

// keysHit is how many keys each limit denied at least once.
func keysHit(r *Comparison) *chart.Chart {
	bars := &chart.Bars{X: chart.Axis{Label: "keys"}, Series: []chart.Series{{Name: "denied at least once", Colour: chart.Vermilion}}}
	var text []string
	for _, l := range r.Limits {
		label := fmt.Sprintf("%s (%s)", Digits(l.KeysHit), Percent(l.KeysHit, r.Keys))
		bars.Rows = append(bars.Rows, chart.Row{Name: l.Limit, Values: floats(l.KeysHit), Label: label})
		text = append(text, l.Limit+" "+label)
	}
	return &chart.Chart{Title: "Keys denied at least once", Text: fmt.Sprintf("Of %s: ", Count(r.Keys, "key")) + sentence(text), Body: bars}
}

func (r *Comparison) limitTable() table {
	t := table{Title: "Limits", Head: []string{"limit", "admitted", "denied", "share", "keys hit", "share"}}
	units := r.UnitsOffered != r.Events
	if units {
		t.Head = append(t.Head, "units admitted", "share")
	}
	for _, l := range r.Limits {
		row := []cell{word(l.Limit), number(l.Admitted), number(l.Denied), right(Percent(l.Denied, r.Events)), number(l.KeysHit), right(Percent(l.KeysHit, r.Keys))}
		if units {
			row = append(row, number(l.UnitsAdmitted), right(Percent(l.UnitsAdmitted, r.UnitsOffered)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (r *Comparison) keyTable() table {
	t := table{Title: "Most denied, by limit", Head: append(append([]string{"key"}, r.specs()...), "of")}
	for _, k := range r.MostDenied {
		row := []cell{word(show(k.Key))}
		for _, n := range k.Denied {
			row = append(row, number(n))
		}
		t.Rows = append(t.Rows, append(row, number(k.Offered)))
	}
	return t
}

// badLines adds the lines that could not be used.
func (p *page) badLines(s *Source) error {
	if s.Bad == 0 {
		return nil
	}
	title := "Bad lines"
	if n := int64(len(s.BadLines)); n < s.Bad {
		title = fmt.Sprintf("The first %d of %s", n, Count(s.Bad, "bad line"))
	}
	t := table{Title: title, Head: []string{"line", "why", "what it begins with"}}
	for _, b := range s.BadLines {
		t.Rows = append(t.Rows, []cell{word(Digits(b.Line)), line(b.Reason), line(show(b.Text))})
	}
	return p.add(section{Title: title, Tables: []table{t}})
}
