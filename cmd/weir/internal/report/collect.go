package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/weirgo/weir/internal/waits"
)

// Top is how many of the most denied keys a report lists, and Rows how many
// rows its timeline has at most.
const (
	Top  = 10
	Rows = 24
)

// Source is where a report came from, and what became of its lines.
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
	BadLines []BadLine `json:"bad_lines"` // the first ones; not nil, which JSON would show as null
	// Misfit says that the format seems to be the wrong one, and names the
	// first line that shows it; "" where it seems right.
	Misfit string `json:"misfit,omitempty"`
}

// BadLine is a line that could not be used.
type BadLine struct {
	File   string `json:"file,omitempty"` // where the trace is several files
	Line   int64  `json:"line"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
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

// Replay is what one limit did to a trace. Requests are counted, and units where costs
// are not all 1.
type Replay struct {
	Source
	Limit string `json:"limit"` // the spec
	Span

	Keys          int64 `json:"keys"`
	KeysHit       int64 `json:"keys_hit"` // denied at least once
	Admitted      int64 `json:"admitted"`
	Denied        int64 `json:"denied"`
	UnitsOffered  int64 `json:"units_offered"` // at most 2^63-1, where it stops
	UnitsAdmitted int64 `json:"units_admitted"`
	Wait          *Wait `json:"wait,omitempty"`

	Settlement *Settlement `json:"settlement,omitempty"` // where costs are known at the end; then the units are those reserved

	MostDenied     []KeyCount `json:"most_denied"`
	TimelineMicros int64      `json:"timeline_us"` // the width of a row
	Timeline       []Bucket   `json:"timeline"`

	series series
}

// KeyCount is how often one key asked and was denied.
type KeyCount struct {
	Key     string `json:"key"`
	Offered int64  `json:"offered"`
	Denied  int64  `json:"denied"`
}

// Comparison is what several limits did to one trace, each as if it were alone.
type Comparison struct {
	Source
	Span
	Keys         int64        `json:"keys"`
	UnitsOffered int64        `json:"units_offered"` // at most 2^63-1, where it stops
	Limits       []LimitCount `json:"limits"`        // in the order they were given
	MostDenied   []KeyCounts  `json:"most_denied"`   // by the most that any limit denied

	series series
}

// LimitCount is what one limit did.
type LimitCount struct {
	Limit         string `json:"limit"` // the spec
	Admitted      int64  `json:"admitted"`
	Denied        int64  `json:"denied"`
	KeysHit       int64  `json:"keys_hit"` // denied at least once
	UnitsAdmitted int64  `json:"units_admitted"`
	Wait          *Wait  `json:"wait,omitempty"`
}

// Wait is how long admitted requests wait for their turn in a leaky bucket; nil where none
// waits. Percentiles are at most 1 % too long.
type Wait struct {
	MeanMicros int64 `json:"mean_us"`
	P50Micros  int64 `json:"p50_us"`
	P90Micros  int64 `json:"p90_us"`
	P99Micros  int64 `json:"p99_us"`
	MaxMicros  int64 `json:"max_us"`
}

// KeyCounts is how often one key asked, and how often each limit denied it.
type KeyCounts struct {
	Key     string  `json:"key"`
	Offered int64   `json:"offered"`
	Denied  []int64 `json:"denied"` // in the order of the limits
}

// Collector gathers what limits decided about the events of a trace.
type Collector struct {
	sum      Comparison
	keys     []string // by number
	offered  []int64
	denied   []int64 // by number × limits + limit
	timeline *timeline
	waits    []*waits.Waits // of each limit, those above 0; nil where there is none
}

// NewCollector returns an empty Collector for limits of these specs.
func NewCollector(limits ...string) *Collector {
	c := &Collector{timeline: newTimeline(len(limits)), waits: make([]*waits.Waits, len(limits))}
	for _, limit := range limits {
		c.sum.Limits = append(c.sum.Limits, LimitCount{Limit: limit})
	}
	return c
}

// Add counts what each limit decided about one event. number is the number of
// the key, counted from 0 in the order of first use. allowed is not kept.
func (c *Collector) Add(number int, key string, at, cost int64, allowed ...bool) {
	r := &c.sum
	r.add(at)
	c.timeline.add(at, allowed)
	r.UnitsOffered = saturate(r.UnitsOffered, cost)
	for number >= len(c.keys) {
		c.keys, c.offered = append(c.keys, ""), append(c.offered, 0)
		c.denied = slices.Grow(c.denied, len(r.Limits))[:len(c.denied)+len(r.Limits)]
	}
	c.keys[number] = key
	c.offered[number]++
	denied := c.deniedOf(number)
	for i := range r.Limits {
		l := &r.Limits[i]
		if allowed[i] {
			l.Admitted++
			l.UnitsAdmitted = saturate(l.UnitsAdmitted, cost)
			continue
		}
		l.Denied++
		if denied[i]++; denied[i] == 1 {
			l.KeysHit++
		}
	}
}

// Wait counts that a limit has admitted an event and makes it wait.
func (c *Collector) Wait(limit int, wait time.Duration) {
	if c.waits[limit] == nil {
		c.waits[limit] = new(waits.Waits)
	}
	c.waits[limit].Add(wait.Microseconds(), 1)
}

// waitOf is how long the requests wait that a limit has admitted.
func (c *Collector) waitOf(limit int, admitted int64) *Wait {
	if c.waits[limit] == nil {
		return nil
	}
	all := *c.waits[limit]
	all.Add(0, admitted-all.Count())
	return &Wait{MeanMicros: all.Mean(), P50Micros: all.Percentile(500), P90Micros: all.Percentile(900), P99Micros: all.Percentile(990), MaxMicros: all.Most()}
}

// deniedOf is how often each limit denied a key.
func (c *Collector) deniedOf(number int) []int64 {
	n := len(c.sum.Limits)
	return c.denied[number*n : (number+1)*n]
}

// saturate adds two numbers that are not negative and stops at the largest:
// costs may be anything.
func saturate(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<63 - 1
}

// Comparison returns what was gathered.
func (c *Collector) Comparison(source Source) *Comparison {
	r := c.sum
	r.Source, r.series = source, c.timeline.series(fineRows)
	r.Limits = slices.Clone(r.Limits)
	for i := range r.Limits {
		r.Limits[i].Wait = c.waitOf(i, r.Limits[i].Admitted)
	}
	r.MostDenied = []KeyCounts{} // not nil, which JSON would show as null
	for number, offered := range c.offered {
		if offered == 0 {
			continue
		}
		r.Keys++
		if denied := c.deniedOf(number); slices.Max(denied) > 0 {
			r.MostDenied = append(r.MostDenied, KeyCounts{c.keys[number], offered, denied})
		}
	}
	slices.SortFunc(r.MostDenied, func(a, b KeyCounts) int {
		return cmp.Or(cmp.Compare(slices.Max(b.Denied), slices.Max(a.Denied)),
			cmp.Compare(b.Offered, a.Offered), cmp.Compare(a.Key, b.Key))
	})
	r.MostDenied = r.MostDenied[:min(Top, len(r.MostDenied))]
	for i := range r.MostDenied {
		r.MostDenied[i].Denied = slices.Clone(r.MostDenied[i].Denied)
	}
	return &r
}

// Replay returns what was gathered about the first limit.
func (c *Collector) Replay(source Source) *Replay {
	all := c.Comparison(source)
	l := all.Limits[0]
	r := &Replay{
		Source: source, Limit: l.Limit, Span: all.Span, Keys: all.Keys, KeysHit: l.KeysHit, Admitted: l.Admitted, Denied: l.Denied,
		UnitsOffered: all.UnitsOffered, UnitsAdmitted: l.UnitsAdmitted, Wait: l.Wait, MostDenied: []KeyCount{}, series: all.series,
	}
	for _, k := range all.MostDenied {
		r.MostDenied = append(r.MostDenied, KeyCount{k.Key, k.Offered, k.Denied[0]})
	}
	rows := c.timeline.series(Rows)
	r.Timeline, r.TimelineMicros = rows.buckets(), rows.width
	return r
}
