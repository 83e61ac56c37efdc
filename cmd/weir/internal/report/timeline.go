package report

import (
	"slices"
	"time"
)

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

// maxBuckets bounds the memory of a timeline, whatever the span of the trace.
const maxBuckets = 4096

// timeline counts requests over time, in any order of time. It starts with the
// finest width and widens when there are too many buckets.
type timeline struct {
	level   int // into widths
	width   int64
	buckets map[int64]*Bucket
	current *Bucket // the bucket of the last request: most follow in the same
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

func (t *timeline) bucket(at int64) *Bucket {
	start := at - at%t.width
	b := t.buckets[start]
	if b == nil {
		if len(t.buckets) == maxBuckets {
			t.widen(t.level + 1)
			return t.bucket(at)
		}
		b = &Bucket{StartMicros: start}
		t.buckets[start] = b
	}
	return b
}

// widen merges all buckets into those of a wider level.
func (t *timeline) widen(level int) {
	old := t.buckets
	t.level, t.width, t.current = level, micros(widths[level]), nil
	t.buckets = make(map[int64]*Bucket, len(old)/2)
	for _, b := range old {
		start := b.StartMicros - b.StartMicros%t.width
		into := t.buckets[start]
		if into == nil {
			into = &Bucket{StartMicros: start}
			t.buckets[start] = into
		}
		into.Offered += b.Offered
		into.Admitted += b.Admitted
	}
}

// rows returns the timeline in order of time with at most most rows, those
// without a request included, and their width.
func (t *timeline) rows(most int64) ([]Bucket, time.Duration) {
	if len(t.buckets) == 0 {
		return nil, 0
	}
	var first, last int64
	for {
		starts := make([]int64, 0, len(t.buckets))
		for start := range t.buckets {
			starts = append(starts, start)
		}
		first, last = slices.Min(starts), slices.Max(starts)
		if (last-first)/t.width < most || t.level == len(widths)-1 {
			break
		}
		t.widen(t.level + 1)
	}
	var all []Bucket
	for start := first; start <= last; start += t.width {
		if b := t.buckets[start]; b != nil {
			all = append(all, *b)
		} else {
			all = append(all, Bucket{StartMicros: start})
		}
	}
	return all, widths[t.level]
}

func micros(d time.Duration) int64 { return int64(d / time.Microsecond) }
