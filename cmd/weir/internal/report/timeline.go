package report

import "time"

// Bucket is one row of a timeline.
type Bucket struct {
	StartMicros int64 `json:"start_us"` // since the Unix epoch; a multiple of the width
	Offered     int64 `json:"offered"`  // requests
	Admitted    int64 `json:"admitted"`
}

// widths are the widths that a timeline can have. Each is a multiple of the one
// before, so that buckets can be merged without counting again.
var widths = []time.Duration{
	time.Microsecond, 10 * time.Microsecond, 100 * time.Microsecond,
	time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond,
	time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour, 364 * 24 * time.Hour, 3640 * 24 * time.Hour,
}

// fineRows is how many rows a timeline has at most before it is made coarser for a
// terminal: a picture shows so many.
const fineRows = 240

// timeline counts requests over time, in any order of time, in the finest width
// that needs no more than fineRows rows: it starts with the finest of all and widens.
type timeline struct {
	limits      int   // how many decide each request
	level       int   // into widths
	width       int64 // in µs
	first, last int64 // the starts of the earliest and the latest moment
	moments     map[int64]*moment
	current     *moment // that of the last request: most follow in the same
}

// moment is a row of a timeline.
type moment struct {
	start    int64
	offered  int64
	admitted []int64 // by each limit
}

func newTimeline(limits int) *timeline {
	return &timeline{limits: limits, width: micros(widths[0]), moments: map[int64]*moment{}}
}

// add counts a request, and which limits admitted it.
func (t *timeline) add(at int64, admitted []bool) {
	m := t.current
	if m == nil || at < m.start || at >= m.start+t.width {
		m = t.moment(at)
		t.current = m
	}
	m.offered++
	for i, yes := range admitted {
		if yes {
			m.admitted[i]++
		}
	}
}

// moment returns the row of an instant, and widens the timeline first where it
// would become too long.
func (t *timeline) moment(at int64) *moment {
	if len(t.moments) == 0 {
		t.first, t.last = at, at
	}
	start := t.start(at)
	t.first, t.last = min(t.first, start), max(t.last, start)
	t.widen(fineRows)
	return t.at(t.start(at))
}

// widen makes the timeline wider until it needs no more than so many rows.
func (t *timeline) widen(rows int64) {
	if t.last-t.first < rows*t.width {
		return
	}
	for t.last-t.first >= rows*t.width {
		t.level++ // ends: the widest holds all time
		t.width = micros(widths[t.level])
		t.first, t.last = t.start(t.first), t.start(t.last)
	}
	old := t.moments
	t.moments = make(map[int64]*moment, rows)
	for _, m := range old {
		t.at(t.start(m.start)).merge(m)
	}
}

// merge adds what another moment counted.
func (m *moment) merge(other *moment) {
	m.offered += other.offered
	for i, n := range other.admitted {
		m.admitted[i] += n
	}
}

// start returns where the row of an instant starts, and at that row.
func (t *timeline) start(at int64) int64 { return at - at%t.width }

func (t *timeline) at(start int64) *moment {
	m := t.moments[start]
	if m == nil {
		m = &moment{start: start, admitted: make([]int64, t.limits)}
		t.moments[start] = m
	}
	return m
}

// all returns the timeline in order of time, rows without a request included.
func (t *timeline) all() []moment {
	var all []moment
	for start := t.first; start <= t.last; start += t.width {
		if m := t.moments[start]; m != nil {
			all = append(all, *m)
		} else {
			all = append(all, moment{start: start, admitted: make([]int64, t.limits)})
		}
	}
	return all
}

// series is a timeline as a picture shows it.
type series struct {
	width int64 // of a row, in µs; 0 where there was no request
	rows  []moment
}

// series returns the timeline in at most a given number of rows. It leaves the timeline as it is.
func (t *timeline) series(most int64) series {
	if len(t.moments) == 0 {
		return series{}
	}
	coarse := newTimeline(t.limits)
	coarse.level, coarse.width, coarse.first, coarse.last = t.level, t.width, t.first, t.last
	for _, m := range t.moments {
		coarse.at(m.start).merge(m)
	}
	coarse.widen(most)
	return series{coarse.width, coarse.all()}
}

// buckets are the rows of what the first limit admitted.
func (s *series) buckets() []Bucket {
	all := []Bucket{} // not nil, which JSON would show as null
	for _, m := range s.rows {
		all = append(all, Bucket{m.start, m.offered, m.admitted[0]})
	}
	return all
}

func micros(d time.Duration) int64 { return int64(d / time.Microsecond) }
