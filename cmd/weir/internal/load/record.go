package load

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// intervals is how many parts a picture over time has, about.
	intervals = 60
	// longest is the longest latency that a histogram tells from a longer one.
	longest = int64(48 * time.Hour)
	// lateFrom is from when on a request counts as sent late.
	lateFrom = time.Millisecond
)

// record is what the callers have seen.
type record struct {
	ramp, width time.Duration

	mu       sync.Mutex
	total    count
	ramped   count                   // in the ramp
	failures map[string]int64        // by kind
	latency  *hdrhistogram.Histogram // in ns, from when requests were due, to three digits
	service  *hdrhistogram.Histogram // from when they were sent
	parts    []part                  // by when requests were due
	busy     Lateness                // because all callers were busy
	own      Lateness                // although a caller was free
}

// count is what became of requests.
type count struct{ requests, admitted, denied, degraded, failed int64 }

func (c *count) add(a Answer) {
	c.requests++
	switch {
	case a.Failure != "":
		c.failed++
	case a.Allowed:
		c.admitted++
	default:
		c.denied++
	}
	if a.Degraded {
		c.degraded++
	}
}

// part is one part of the time.
type part struct {
	count
	latency *hdrhistogram.Histogram // to two digits
}

func newRecord(o *Options) *record {
	width := partWidth(o.Duration)
	r := &record{
		ramp: o.Ramp, width: width, failures: map[string]int64{},
		latency: hdrhistogram.New(1, longest, 3), service: hdrhistogram.New(1, longest, 3),
		parts: make([]part, (o.Duration+width-1)/width),
	}
	for i := range r.parts {
		r.parts[i].latency = hdrhistogram.New(1, longest, 2)
	}
	return r
}

// partWidth is the least width that reads well, of parts of which there are not too many.
func partWidth(d time.Duration) time.Duration {
	for unit := time.Microsecond; ; unit *= 10 {
		for _, factor := range []time.Duration{1, 2, 5} {
			if width := factor * unit; d <= intervals*width {
				return width
			}
		}
	}
}

// add records a request that is over.
func (r *record) add(q *request, done time.Duration, a Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.due < r.ramp {
		r.ramped.add(a)
		return
	}
	r.total.add(a)
	if a.Failure != "" {
		r.failures[a.Failure]++
	}
	latency := recorded(r.latency, done-q.due)
	if a.Failure != NotSent {
		recorded(r.service, done-q.sent)
	}
	at := &r.parts[min(int((q.due-r.ramp)/r.width), len(r.parts)-1)]
	at.add(a)
	recorded(at.latency, latency)
}

// recorded records a duration within the bounds of a histogram.
func recorded(h *hdrhistogram.Histogram, d time.Duration) time.Duration {
	d = min(max(d, 0), time.Duration(longest))
	if err := h.RecordValue(int64(d)); err != nil {
		panic(err) // it is within the bounds
	}
	return d
}

// late records a request that is sent late. free says that a caller was free when it was
// due.
func (r *record) late(q *request, free bool) {
	by := q.sent - q.due
	if by < lateFrom || q.due < r.ramp {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := &r.busy
	if free {
		at = &r.own
	}
	at.Requests++
	at.Most = max(at.Most, int64(by))
}
