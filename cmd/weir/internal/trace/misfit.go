package trace

import "fmt"

// Misfit is what speaks against the format that a trace was read in.
type Misfit struct {
	Format string // that was read
	Events int64  // lines that it could use: 0 where it is surely the wrong one
	Bad    int64  // lines that it could not use

	// Other is the format that could use the most of the bad lines, and OtherLines says how many they are; "" where none could use
	// any. It tells a file that switches from one format to another, or mixes two, from one with broken lines.
	Other      string
	OtherLines int64

	// First is the first bad line that Other could use; where there is no Other, the first bad line.
	First BadLine

	// Option and Value are the option that may read it: the format Other, or another unit of time. "" for none; the Value "" is for the
	// user to know.
	Option, Value string
}

// String says it in one sentence, without any text of the trace.
func (m Misfit) String() string {
	what := fmt.Sprintf("%d of %d lines cannot be used as %s", m.Bad, m.Bad+m.Events, m.Format)
	if m.Events == 0 {
		what = fmt.Sprintf("no line can be used as %s", m.Format)
	}
	if m.Other == "" {
		return fmt.Sprintf("%s; line %d: %s", what, m.First.Number, m.First.Reason)
	}
	return fmt.Sprintf("%s; %d can be used as %s, the first is line %d", what, m.OtherLines, m.Other, m.First.Number)
}

// Misfit reports whether the format seems to be wrong for what was read so far, or for a part of it: more lines are bad than
// used, or another format can use a bad line. It is complete when Counts is. It is for whoever knows the trace to judge: nothing was
// read otherwise for it.
func (r *Reader) Misfit() (m Misfit, ok bool) {
	other := most(r.others.lines)
	if other < 0 && r.counts.Bad <= r.counts.Events {
		return Misfit{}, false
	}
	m = Misfit{Format: r.format.name, Events: r.counts.Events, Bad: r.counts.Bad, First: r.bad[0]}
	switch {
	case other >= 0:
		m.Other, m.OtherLines, m.First = r.others.parsers[other].format.name, r.others.lines[other], r.others.first[other]
		m.Option, m.Value = "format", m.Other
	case r.unit != "":
		m.Option, m.Value = "time unit", r.unit
	case r.format.hosts != nil && r.format.name != customName:
		m.Option = "log format"
	}
	return m, true
}

// unitOf returns the unit of a time of this century, by the number of its digits, or "".
func unitOf(text []byte) string {
	switch passDigits(text, 0) {
	case 13:
		return "ms"
	case 16:
		return "us"
	case 19:
		return "ns"
	}
	return ""
}

// maxSpan is the longest time, in µs, that an access log is believed to span.
const maxSpan = 366 * 24 * 3600 * 1e6

// Warnings returns what somebody who knows the trace should look at. It is complete when Counts is.
func (r *Reader) Warnings() (all []string) {
	if misfit, found := r.Misfit(); found {
		all = append(all, misfit.String())
	}
	if span := r.latest.at - r.earliest.at; r.format.hosts != nil && span > maxSpan {
		all = append(all, fmt.Sprintf("the times span %d days, from line %d to line %d: are they right?", span/(24*3600*1e6), r.earliest.line, r.latest.line))
	}
	return all
}

// moment is a time of a trace and the line that has it.
type moment struct{ at, line int64 }

// others tries the bad lines of a trace in the other formats.
type others struct {
	parsers []*parser // of the formats that are ever detected
	lines   []int64   // how many bad lines each format could use
	first   []BadLine
	fields  fields // here because it would escape to the heap once per line as a variable
}

// see takes a bad line of a format. A line that its own format could use for another key is no line of another format.
func (o *others) see(line []byte, own *format, bad func() BadLine) {
	if o.parsers == nil {
		all := detectors()
		*o = others{parsers: all, lines: make([]int64, len(all)), first: make([]BadLine, len(all))}
	}
	other := -1
	for i, p := range o.parsers {
		if p.parse(line, &o.fields) != "" {
			continue
		}
		if p.format == own {
			return
		}
		if other < 0 {
			other = i
		}
	}
	if other < 0 {
		return
	}
	if o.lines[other]++; o.lines[other] == 1 {
		o.first[other] = bad()
	}
}
