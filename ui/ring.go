package ui

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/internal/observed"
)

// bounds are the upper bounds of the buckets of latencies.
var bounds = func() (all []time.Duration) {
	for _, seconds := range observed.Buckets() {
		all = append(all, time.Duration(math.Round(seconds*1e9)))
	}
	return all
}()

const buckets = 15 // one for each bound, and one above all

// latency is a histogram.
type latency struct{ buckets [buckets]atomic.Int64 }

func (l *latency) add(took time.Duration) {
	i := 0
	for i < len(bounds) && took > bounds[i] {
		i++
	}
	l.buckets[i].Add(1)
}

// totals are counts since a start.
type totals struct {
	results          [len(observed.ResultNames)]int64
	failed, degraded int64
	latency          [buckets]int64
}

// less is what was counted since another reading.
func (t totals) less(before totals) totals {
	for i := range t.results {
		t.results[i] -= before.results[i]
	}
	t.failed -= before.failed
	t.degraded -= before.degraded
	for i := range t.latency {
		t.latency[i] -= before.latency[i]
	}
	return t
}

// second is what was counted in one second.
type second struct {
	results          [len(observed.ResultNames)]uint32
	failed, degraded uint32
	latency          [buckets]uint32
}

// secondOf is a second of counts; more than fits counts as what fits.
func secondOf(t totals) (s second) {
	cut := func(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }
	for i, n := range t.results {
		s.results[i] = cut(n)
	}
	s.failed, s.degraded = cut(t.failed), cut(t.degraded)
	for i, n := range t.latency {
		s.latency[i] = cut(n)
	}
	return s
}

func (t *totals) add(s *second) {
	for i, n := range s.results {
		t.results[i] += int64(n)
	}
	t.failed += int64(s.failed)
	t.degraded += int64(s.degraded)
	for i, n := range s.latency {
		t.latency[i] += int64(n)
	}
}

const hour = 3600 // seconds

// ring has the seconds of the last hour.
type ring struct {
	seconds []second // nil until something was counted
	end     int64    // the second after the last one, in Unix seconds; 0 before the first
	last    totals
}

// push ends a second. What was counted since the second before belongs to it; seconds in
// between, in which the process did not run, have nothing. Where the clock went back, the
// seconds before are dated back as far, so that they stay as long ago as they were.
func (r *ring) push(now time.Time, t totals) {
	counted := t.less(r.last)
	r.last = t
	if r.seconds == nil {
		if counted == (totals{}) {
			r.end = now.Unix()
			return
		}
		r.seconds = make([]second, hour)
	}
	end := now.Unix()
	switch {
	case r.end == 0 || end-r.end > hour:
		clear(r.seconds)
		r.end = end - 1
	case end < r.end:
		by := (r.end - end) % hour
		r.seconds, r.end = slices.Concat(r.seconds[by:], r.seconds[:by]), end
	}
	for ; r.end < end; r.end++ {
		r.seconds[r.end%hour] = second{}
	}
	at := &r.seconds[(r.end-1)%hour]
	sum := counted
	sum.add(at)
	*at = secondOf(sum)
}

// since returns what was counted in the last n seconds, at most an hour.
func (r *ring) since(n int64) (t totals) {
	if r.seconds == nil {
		return t
	}
	for i := max(r.end-min(n, hour), 0); i < r.end; i++ {
		t.add(&r.seconds[i%hour])
	}
	return t
}

// point is a part of a chart: counts of some seconds.
type point struct {
	at    int64 // the first second, in Unix seconds
	width int64 // in seconds
	totals
}

// points returns the last n seconds in parts of a width, the oldest first. Parts begin at
// multiples of the width, and the last one may be shorter.
func (r *ring) points(n, width int64) []point {
	if r.end == 0 {
		return nil
	}
	first := (r.end - n + width - 1) / width * width
	var all []point
	for at := first; at < r.end; at += width {
		p := point{at: at, width: min(width, r.end-at)}
		if r.seconds != nil {
			for i := max(at, 0); i < at+p.width; i++ {
				p.add(&r.seconds[i%hour])
			}
		}
		all = append(all, p)
	}
	return all
}

// quantile estimates how long the q part of what was measured took at most, as
// histogram_quantile of Prometheus does: evenly within a bucket, and the last bound for what
// is above it. NaN where nothing was measured.
func (t *totals) quantile(q float64) float64 {
	total := int64(0)
	for _, n := range t.latency {
		total += n
	}
	if total == 0 {
		return math.NaN()
	}
	rank, below := q*float64(total), int64(0)
	for i, n := range t.latency {
		if float64(below+n) < rank || n == 0 {
			below += n
			continue
		}
		if i == len(bounds) {
			break
		}
		from := 0.0
		if i > 0 {
			from = bounds[i-1].Seconds()
		}
		return from + (bounds[i].Seconds()-from)*(rank-float64(below))/float64(n)
	}
	return bounds[len(bounds)-1].Seconds()
}
