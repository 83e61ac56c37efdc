package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Document is the report for people. command makes it again.
func (r *Replay) Document(command string) *Document {
	d := &Document{Title: "Replay: " + r.Limit, Command: command}
	d.Answers = r.Source.answers(&r.Span, r.Keys, LimitCount{Limit: r.Limit, Denied: r.Denied, KeysHit: r.KeysHit})
	if r.Denied > 0 {
		most := r.MostDenied[0]
		d.Answers[0].Text += fmt.Sprintf(" The most are from %s: %s of its %s.", Quoted(most.Key), Digits(most.Denied), Digits(most.Offered))
	}
	d.Lead = r.Source.facts(factf("limit", "%s for each %s, on %s", r.Limit, Quoted(r.Key), r.Store), &r.Span)
	if r.Events > 0 {
		d.Lead = append(d.Lead,
			factf("keys", "%s, of which %s denied at least once", Digits(r.Keys), Digits(r.KeysHit)),
			factf("admitted", "%s (%s)", Digits(r.Admitted), Percent(r.Admitted, r.Events)),
			factf("denied", "%s (%s)", Digits(r.Denied), Percent(r.Denied, r.Events)))
		if r.Settlement != nil {
			d.Answers = append(d.Answers, r.Settlement.answer())
			d.Lead = append(d.Lead, r.Settlement.facts(r.Events)...)
		} else if r.UnitsOffered != r.Events {
			d.Lead = append(d.Lead, factf("units", "%s offered, %s admitted (%s)", Digits(r.UnitsOffered), Digits(r.UnitsAdmitted), Percent(r.UnitsAdmitted, r.UnitsOffered)))
		}
		if w := r.Wait; w != nil {
			d.Lead = append(d.Lead, factf("wait", "%s for half of the admitted at most, %s for 99 %%, %s for all", shortened(w.P50Micros), shortened(w.P99Micros), shortened(w.MaxMicros)))
		}
	}
	s := section{Title: "What the limit did", Quiet: true}
	if r.Events > 0 {
		s.Figures = append(s.Figures, figure{Chart: throughTime(&r.series, 0, "Offered and admitted over time", r.Admitted, &r.Span)})
	}
	if len(r.MostDenied) > 0 {
		s.Figures = append(s.Figures, figure{Chart: r.deniedChart()})
		t := table{Title: "Most denied", Head: []string{"key", "denied", "of", "share"}}
		for _, k := range r.MostDenied {
			t.Rows = append(t.Rows, []cell{line(Quoted(k.Key)), number(k.Denied), number(k.Offered), right(Percent(k.Denied, k.Offered))})
		}
		s.Tables = append(s.Tables, t)
	}
	rows := section{Title: "Timeline", Quiet: true, Drawn: true}
	if len(r.Timeline) > 0 {
		rows.Tables = append(rows.Tables, r.timelineTable())
	}
	d.add(s, rows, r.Source.badLines())
	return d
}

// Document is the report for people. command makes it again.
func (r *Comparison) Document(command string) *Document {
	d := &Document{Title: fmt.Sprintf("Comparison of %d limits", len(r.Limits)), Command: command}
	d.Answers = r.Source.answers(&r.Span, r.Keys, r.Limits...)
	d.Lead = r.Source.facts(factf("limits", "for each %s, on %s", Quoted(r.Key), r.Store), &r.Span)
	s := section{Title: "Side by side", Quiet: true}
	if r.Events > 0 {
		d.Lead = append(d.Lead, fact("keys", Digits(r.Keys)))
		if r.UnitsOffered != r.Events {
			d.Lead = append(d.Lead, fact("units", Digits(r.UnitsOffered)))
		}
		s.Figures = append(s.Figures, figure{Chart: r.limitChart()}, figure{Chart: r.deniedThroughTime()})
		over := section{Title: "Over time", Stack: true}
		for i, l := range r.Limits {
			over.Figures = append(over.Figures, figure{throughTime(&r.series, i, fmt.Sprintf("%d %s", i+1, l.Limit), l.Admitted, &r.Span), l.Limit})
		}
		defer func() { d.add(over) }()
		s.Tables = append(s.Tables, r.limitTable())
	}
	if len(r.MostDenied) > 0 {
		s.Tables = append(s.Tables, r.keyTable())
	}
	d.add(s, r.Source.badLines())
	return d
}

// answers are what each limit did, and what of the trace could not be used.
func (s *Source) answers(span *Span, keys int64, limits ...LimitCount) (all []answer) {
	for _, l := range limits {
		switch {
		case span.Events == 0: // of which the limits say nothing
		case l.Denied == 0:
			all = append(all, answer{levelGood, fmt.Sprintf("%s denies none of %s.", l.Limit, Count(span.Events, "request"))})
		default:
			all = append(all, answer{levelNote, fmt.Sprintf("%s denies %s of %s (%s), from %s of %s.", l.Limit,
				Digits(l.Denied), Count(span.Events, "request"), Percent(l.Denied, span.Events), Digits(l.KeysHit), Count(keys, "key"))})
		}
	}
	if span.Events == 0 && s.Misfit == "" {
		all = append(all, answer{levelBad, "The trace has no request that can be used."})
	}
	if s.Misfit != "" {
		all = append(all, answer{levelBad, "Warning: " + s.Misfit + "."})
	}
	return all
}

func fact(name, value string) Fact { return Fact{Name: name, Value: value} }

func factf(name, format string, args ...any) Fact { return fact(name, fmt.Sprintf(format, args...)) }

// facts say where a report came from and what was decided.
func (s *Source) facts(limits Fact, span *Span) []Fact {
	all := []Fact{factf("trace", "%s (%s)", Quoted(s.Trace), s.Format), limits, factf("events", "%s in %s", Count(span.Events, "request"), Count(s.Lines, "line"))}
	lines := func(name string, n int64) { all = append(all, Fact{name, Count(n, "line"), n == 0}) }
	lines("empty", s.Empty)
	lines("header", s.Headers)
	lines("bad", s.Bad)
	order := "replayed as they stand"
	if s.Sorted {
		order = "sorted by time"
	}
	all = append(all, Fact{"disorder", Count(s.OutOfOrder, "event") + " earlier than the one before, " + order, s.OutOfOrder == 0})
	if span.Events > 0 {
		first, last := algorithm.Instant(span.FirstMicros).Time(), algorithm.Instant(span.LastMicros).Time()
		all = append(all, factf("span", "%s to %s (%s)", utcTime(first), utcTime(last), Duration(span.LastMicros-span.FirstMicros)))
	}
	return all
}

// badLines are the lines that could not be used.
func (s *Source) badLines() section {
	if s.Bad == 0 {
		return section{}
	}
	title := "Bad lines"
	if n := int64(len(s.BadLines)); n < s.Bad {
		title = fmt.Sprintf("The first %d of %s", n, Count(s.Bad, "bad line"))
	}
	t := table{Title: title, Head: []string{"line", "why", "what it begins with"}}
	for _, b := range s.BadLines {
		number := Digits(b.Line)
		if b.File != "" {
			number = Quoted(b.File) + ":" + number
		}
		t.Rows = append(t.Rows, []cell{right(number), line(b.Reason), line(Quoted(b.Text))})
	}
	return section{Title: title, Tables: []table{t}}
}

func (r *Replay) timelineTable() table {
	width := time.Duration(r.TimelineMicros) * time.Microsecond
	t := table{Title: "Timeline, " + Duration(r.TimelineMicros) + " a row, UTC", Head: []string{"time", "offered", "admitted", "denied"}, BarHead: "# admitted, - denied"}
	var most int64
	for _, b := range r.Timeline {
		most = max(most, b.Offered)
	}
	for _, b := range r.Timeline {
		at := algorithm.Instant(b.StartMicros).Time().Format(rowFormat(width))
		t.Rows = append(t.Rows, []cell{word(at), number(b.Offered), number(b.Admitted), number(b.Offered - b.Admitted)})
		t.Bars = append(t.Bars, bar(b, most))
	}
	return t
}

// barWidth is the length of the longest bar of a timeline.
const barWidth = 50

// bar draws a bucket so that no request is invisible: whatever was admitted has
// a mark, and so has whatever was denied.
func bar(b Bucket, most int64) string {
	scale := func(n int64) int { return int((n*barWidth + most - 1) / most) } // no trace has 2^57 lines
	admitted := scale(b.Admitted)
	denied := max(scale(b.Offered)-admitted, 0)
	if b.Offered > b.Admitted {
		denied = max(denied, 1)
	}
	return strings.Repeat("#", admitted) + strings.Repeat("-", denied)
}

func (r *Comparison) limitTable() table {
	t := table{Title: "Limits", Head: []string{"limit", "admitted", "denied", "of requests", "keys hit"}}
	units := r.UnitsOffered != r.Events
	if units {
		t.Head = append(t.Head, "units admitted", "of units")
	}
	waits := slices.ContainsFunc(r.Limits, func(l LimitCount) bool { return l.Wait != nil })
	if waits {
		t.Head = append(t.Head, "wait of half", "wait of 99 %")
	}
	for i, l := range r.Limits {
		row := []cell{word(fmt.Sprintf("%d  %s", i+1, l.Limit)), number(l.Admitted), number(l.Denied), right(Percent(l.Denied, r.Events)), number(l.KeysHit)}
		if units {
			row = append(row, number(l.UnitsAdmitted), right(Percent(l.UnitsAdmitted, r.UnitsOffered)))
		}
		if w := l.Wait; w != nil {
			row = append(row, right(shortened(w.P50Micros)), right(shortened(w.P99Micros)))
		} else if waits {
			row = append(row, right(shortened(0)), right(shortened(0)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (r *Comparison) keyTable() table {
	t := table{Title: "Most denied, by limit", Head: []string{"key"}, Short: []string{"key"}}
	for i, l := range r.Limits {
		t.Head, t.Short = append(t.Head, l.Limit), append(t.Short, strconv.Itoa(i+1))
	}
	t.Head, t.Short = append(t.Head, "of"), append(t.Short, "of")
	for _, k := range r.MostDenied {
		row := []cell{line(Quoted(k.Key))}
		for _, n := range k.Denied {
			row = append(row, number(n))
		}
		t.Rows = append(t.Rows, append(row, number(k.Offered)))
	}
	return t
}
