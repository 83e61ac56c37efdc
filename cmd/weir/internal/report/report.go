// Package report gathers what a replay did and shows it: as text for a terminal,
// as JSON and as an HTML page with pictures. Its memory grows with the keys of a trace, not
// with its events. It draws the results of a simulation too.
package report

import (
	"cmp"
	"io"
	"slices"
)

// Top is how many of the most denied keys a report lists, and Rows how many
// rows its timeline has at most.
const (
	Top  = 10
	Rows = 24
)

// Report is what a replay did. Requests are counted, and units where costs are
// not all 1.
type Report struct {
	Source
	Limit string `json:"limit"` // the spec
	Span

	Keys          int64 `json:"keys"`
	KeysHit       int64 `json:"keys_hit"` // denied at least once
	Admitted      int64 `json:"admitted"`
	Denied        int64 `json:"denied"`
	UnitsOffered  int64 `json:"units_offered"` // at most 2^63-1, where it stops
	UnitsAdmitted int64 `json:"units_admitted"`

	MostDenied     []KeyCount `json:"most_denied"`
	TimelineMicros int64      `json:"timeline_us"` // the width of a row
	Timeline       []Bucket   `json:"timeline"`

	series series
}

// Source is where a report came from, and what became of its lines. The caller
// fills it in.
type Source struct {
	Trace  string `json:"trace"`  // the file, or "-"
	Format string `json:"format"` // such as "combined"
	Key    string `json:"key"`    // which field was the key
	Store  string `json:"store"`  // its URL

	Lines      int64 `json:"lines"`
	Empty      int64 `json:"empty_lines"`
	Headers    int64 `json:"header_lines"` // lines that are no requests by their format
	OutOfOrder int64 `json:"out_of_order"`
	Sorted     bool  `json:"sorted"`

	Bad      int64     `json:"bad"`
	BadLines []BadLine `json:"bad_lines"` // the first ones
	// Misfit says that the format seems to be the wrong one, and names the
	// first line that shows it; "" where it seems right.
	Misfit string `json:"misfit,omitempty"`
}

// Span is how many events there are and from when to when.
type Span struct {
	Events      int64 `json:"events"`   // lines less empty, bad and header ones
	FirstMicros int64 `json:"first_us"` // the earliest and the latest event,
	LastMicros  int64 `json:"last_us"`  // µs since the Unix epoch; 0 without events
}

// add counts one event.
func (s *Span) add(at int64) {
	if s.Events == 0 || at < s.FirstMicros {
		s.FirstMicros = at
	}
	s.LastMicros = max(s.LastMicros, at)
	s.Events++
}

// KeyCount is how often one key asked and was denied.
type KeyCount struct {
	Key     string `json:"key"`
	Offered int64  `json:"offered"`
	Denied  int64  `json:"denied"`
}

// BadLine is a line that could not be used.
type BadLine struct {
	Line   int64  `json:"line"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

// Collector gathers the events of a Report, one after the other.
type Collector struct {
	report   Report
	keys     []KeyCount // by the number of a key
	timeline *timeline
	allowed  [1]bool
}

// NewCollector returns an empty Collector.
func NewCollector() *Collector { return &Collector{timeline: newTimeline(1)} }

// Add counts one decision. number is the number of the key, counted from 0 in
// the order of first use.
func (c *Collector) Add(number int, key string, at, cost int64, allowed bool) {
	r := &c.report
	r.add(at)
	for number >= len(c.keys) {
		c.keys = append(c.keys, KeyCount{})
	}
	k := &c.keys[number]
	k.Key = key
	k.Offered++
	r.UnitsOffered = saturate(r.UnitsOffered, cost)
	if allowed {
		r.Admitted++
		r.UnitsAdmitted = saturate(r.UnitsAdmitted, cost)
	} else {
		r.Denied++
		k.Denied++
	}
	c.allowed[0] = allowed
	c.timeline.add(at, c.allowed[:])
}

// saturate adds two numbers that are not negative and stops at the largest:
// costs may be anything.
func saturate(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<63 - 1
}

// Report returns what was gathered. The caller fills in its Source.
func (c *Collector) Report() *Report {
	r := c.report
	denied := []KeyCount{} // not nil, which JSON would show as null
	for _, k := range c.keys {
		if k.Offered > 0 {
			r.Keys++
		}
		if k.Denied > 0 {
			r.KeysHit++
			denied = append(denied, k)
		}
	}
	slices.SortFunc(denied, func(a, b KeyCount) int {
		return cmp.Or(cmp.Compare(b.Denied, a.Denied), cmp.Compare(b.Offered, a.Offered), cmp.Compare(a.Key, b.Key))
	})
	r.MostDenied = denied[:min(Top, len(denied))]
	r.Timeline, r.TimelineMicros = c.timeline.rows()
	r.series = c.timeline.series()
	r.BadLines = []BadLine{}
	return &r
}

// WriteJSON writes the report as one JSON object, indented.
func (r *Report) WriteJSON(w io.Writer) error { return WriteJSON(w, r) }
