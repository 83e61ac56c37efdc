package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/weirgo/weir/algorithm"
)

// WriteText writes the report for a terminal, in at most 100 columns where keys
// are not very long. Keys and lines of the trace are shown quoted where they
// hold anything that a terminal would act on.
func (r *Report) WriteText(w io.Writer) error {
	t := &text{w: w}
	t.facts(r.facts())
	t.mostDenied(r)
	t.timeline(r)
	t.badLines(&r.Source)
	return t.err
}

// text writes until the first error.
type text struct {
	w   io.Writer
	err error
}

func (t *text) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

// table writes rows of tab-separated cells, the first column to the left and
// the others to the right.
func (t *text) table(rows ...string) {
	if t.err != nil {
		return
	}
	w := tabwriter.NewWriter(t.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		fmt.Fprintln(w, row+"\t") // the error shows at Flush
	}
	t.err = w.Flush()
}

// fact is one named line of a summary.
type fact struct{ Name, Value string }

func factf(name, format string, args ...any) fact { return fact{name, fmt.Sprintf(format, args...)} }

// facts writes the summary.
func (t *text) facts(all []fact) {
	for _, f := range all {
		t.printf("%-10s%s\n", f.Name, f.Value)
	}
}

// facts say where a report came from; limit is what was decided, or "".
func (s *Source) facts(limit string, span *Span) []fact {
	all := []fact{factf("trace", "%s (%s)", show(s.Trace), s.Format)}
	if limit != "" {
		all = append(all, factf("limit", "%s for each %s, on %s", limit, show(s.Key), s.Store))
	} else {
		all = append(all, factf("limits", "for each %s, on %s", show(s.Key), s.Store))
	}
	all = append(all, factf("events", "%s in %s", Count(span.Events, "request"), Count(s.Lines, "line")))
	if s.Empty > 0 {
		all = append(all, factf("empty", "%s", Count(s.Empty, "line")))
	}
	if s.Headers > 0 {
		all = append(all, factf("header", "%s", Count(s.Headers, "line")))
	}
	all = append(all, factf("bad", "%s", Count(s.Bad, "line")))
	order := "replayed as they stand"
	if s.Sorted {
		order = "sorted by time"
	}
	all = append(all, factf("disorder", "%s earlier than the one before, %s", Count(s.OutOfOrder, "event"), order))
	if s.Misfit != "" {
		all = append(all, fact{"warning", s.Misfit})
	}
	if span.Events > 0 {
		first, last := algorithm.Instant(span.FirstMicros).Time(), algorithm.Instant(span.LastMicros).Time()
		all = append(all, factf("span", "%s to %s (%s)", stamp(first), stamp(last), length(last.Sub(first))))
	}
	return all
}

func (r *Report) facts() []fact {
	all := r.Source.facts(r.Limit, &r.Span)
	if r.Events == 0 {
		return all
	}
	all = append(all,
		factf("keys", "%s, of which %s denied at least once (%s)", Digits(r.Keys), Digits(r.KeysHit), Percent(r.KeysHit, r.Keys)),
		factf("admitted", "%s (%s)", Digits(r.Admitted), Percent(r.Admitted, r.Events)),
		factf("denied", "%s (%s)", Digits(r.Denied), Percent(r.Denied, r.Events)))
	if r.UnitsOffered != r.Events {
		all = append(all, factf("units", "%s offered, %s admitted (%s)", Digits(r.UnitsOffered), Digits(r.UnitsAdmitted), Percent(r.UnitsAdmitted, r.UnitsOffered)))
	}
	return all
}

func (t *text) mostDenied(r *Report) {
	if len(r.MostDenied) == 0 {
		return
	}
	t.printf("\nmost denied\n")
	rows := []string{"denied\tof\t\tkey"}
	for _, k := range r.MostDenied {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s", Digits(k.Denied), Digits(k.Offered), Percent(k.Denied, k.Offered), show(k.Key)))
	}
	t.keyTable(rows)
}

// keyTable writes a table whose last column is text and goes to the left.
func (t *text) keyTable(rows []string) {
	var left, last []string
	for _, row := range rows {
		cut := strings.LastIndexByte(row, '\t')
		left, last = append(left, row[:cut]), append(last, row[cut+1:])
	}
	var numbers strings.Builder
	inner := text{w: &numbers}
	inner.table(left...)
	for i, line := range strings.Split(strings.TrimRight(numbers.String(), "\n"), "\n") {
		t.printf("%s\n", strings.TrimRight(line+"  "+last[i], " "))
	}
}

// barWidth is the length of the longest bar of a timeline.
const barWidth = 50

func (t *text) timeline(r *Report) {
	if len(r.Timeline) == 0 {
		return
	}
	var most int64
	for _, b := range r.Timeline {
		most = max(most, b.Offered)
	}
	width := time.Duration(r.TimelineMicros) * time.Microsecond
	t.printf("\ntimeline, %s a row, UTC (# admitted, - denied)\n", length(width))
	rows := []string{"time\toffered\tadmitted\t"}
	for _, b := range r.Timeline {
		at := algorithm.Instant(b.StartMicros).Time().Format(rowFormat(width))
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s", at, Digits(b.Offered), Digits(b.Admitted), bar(b, most)))
	}
	t.keyTable(rows)
}

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

func rowFormat(width time.Duration) string {
	switch {
	case width >= 24*time.Hour:
		return "2006-01-02"
	case width >= time.Minute:
		return "2006-01-02 15:04"
	case width >= time.Second:
		return "2006-01-02 15:04:05"
	}
	return "2006-01-02 15:04:05.000000"
}

func (t *text) badLines(r *Source) {
	if r.Bad == 0 {
		return
	}
	t.printf("\nbad lines")
	if n := int64(len(r.BadLines)); n < r.Bad {
		t.printf(", the first %d of %s", n, Digits(r.Bad))
	}
	t.printf("\n")
	for _, b := range r.BadLines {
		t.printf("  line %s: %s: %s\n", Digits(b.Line), b.Reason, show(b.Text))
	}
}

// show returns s as it is where a terminal would only print it and a reader see
// all of it, and quoted where not: a log holds what strangers sent. Two strings
// never look the same.
func show(s string) string {
	if s == "" || s[0] == '"' || s != strings.TrimSpace(s) || !utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return strconv.Quote(s)
	}
	return s
}

// length writes a duration without the zero parts at its end, and days as such.
func length(d time.Duration) string {
	const day = 24 * time.Hour
	days := ""
	if d >= 2*day {
		days = Digits(int64(d/day)) + "d"
		d %= day
		if d == 0 {
			return days
		}
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return days + s
}

func stamp(at time.Time) string { return at.Format("2006-01-02 15:04:05.999999 UTC") }
