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

// timeline counts requests over time, in any order of time, in the finest width
// that needs no more than Rows rows: it starts with the finest of all and widens.
type timeline struct {
	level       int   // into widths
	width       int64 // in µs
	first, last int64 // the starts of the earliest and the latest bucket
	buckets     map[int64]*Bucket
	current     *Bucket // the bucket of the last request: most follow in the same
}

func newTimeline() *timeline {
	return &timeline{width: micros(widths[0]), buckets: map[int64]*Bucket{}}
}

func (t *timeline) add(at int64, admitted bool) {
	b := t.current
	if b == nil || at < b.StartMicros || at >= b.StartMicros+t.width {
		b = t.bucket(at)
		t.current = b
	}
	b.Offered++
	if admitted {
		b.Admitted++
	}
}

// bucket returns the bucket of an instant, and widens the timeline first where
// it would become too long.
func (t *timeline) bucket(at int64) *Bucket {
	if len(t.buckets) == 0 {
		t.first, t.last = at, at
	}
	start := t.start(at)
	t.first, t.last = min(t.first, start), max(t.last, start)
	if t.last-t.first >= Rows*t.width {
		for t.last-t.first >= Rows*t.width {
			t.level++ // ends: the widest holds all time
			t.width = micros(widths[t.level])
			t.first, t.last = t.start(t.first), t.start(t.last)
		}
		t.merge()
	}
	return t.at(t.start(at))
}

// merge puts all buckets into those of a width that has become wider.
func (t *timeline) merge() {
	old := t.buckets
	t.buckets = make(map[int64]*Bucket, Rows)
	for _, b := range old {
		into := t.at(t.start(b.StartMicros))
		into.Offered += b.Offered
		into.Admitted += b.Admitted
	}
}

// start returns where the bucket of an instant starts, and at that bucket.
func (t *timeline) start(at int64) int64 { return at - at%t.width }

func (t *timeline) at(start int64) *Bucket {
	b := t.buckets[start]
	if b == nil {
		b = &Bucket{StartMicros: start}
		t.buckets[start] = b
	}
	return b
}

// rows returns the timeline in order of time, rows without a request included,
// and their width in µs: nothing and 0 where there was no request.
func (t *timeline) rows() ([]Bucket, int64) {
	all := []Bucket{} // not nil, which JSON would show as null
	if len(t.buckets) == 0 {
		return all, 0
	}
	for start := t.first; start <= t.last; start += t.width {
		if b := t.buckets[start]; b != nil {
			all = append(all, *b)
		} else {
			all = append(all, Bucket{StartMicros: start})
		}
	}
	return all, t.width
}

func micros(d time.Duration) int64 { return int64(d / time.Microsecond) }
