// Package suggest finds the smallest limits that recorded traffic would have met. It asks
// the algorithms themselves: its answers are exact for the traffic, and say nothing of other
// traffic.
package suggest

import (
	"slices"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Traffic is what clients asked for, each in the order of its requests. The zero value is
// ready to use. It keeps 16 bytes a request.
type Traffic struct {
	clients     [][]request
	requests    int64
	first, last algorithm.Instant
	order       []place // see inOrder
}

type request struct {
	at   algorithm.Instant
	cost int64
}

// Add adds a request of the client with a number, from 0 without gaps.
func (t *Traffic) Add(client int, at algorithm.Instant, cost int64) {
	for len(t.clients) <= client {
		t.clients = append(t.clients, nil)
	}
	t.clients[client] = append(t.clients[client], request{at, cost})
	if t.requests == 0 {
		t.first, t.last = at, at
	}
	t.first, t.last = min(t.first, at), max(t.last, at)
	t.requests++
	t.order = nil
}

// Requests is how many there are, and Clients how many ask.
func (t *Traffic) Requests() int64 { return t.requests }
func (t *Traffic) Clients() int    { return len(t.clients) }

// Span is the time from the first request to the last.
func (t *Traffic) Span() time.Duration {
	return time.Duration(t.last-t.first) * time.Microsecond
}

// Split returns the traffic of the first part of the time, in percent of the Span, and that
// of the rest.
func (t *Traffic) Split(percent int64) (before, after *Traffic) {
	before, after = &Traffic{}, &Traffic{}
	span := int64(t.last - t.first)
	cut := t.first + algorithm.Instant(span/100*percent+span%100*percent/100)
	for _, requests := range t.clients {
		parts := map[*Traffic]int{}
		for _, r := range requests {
			part := after
			if r.at < cut {
				part = before
			}
			number, known := parts[part]
			if !known {
				number = len(part.clients)
				parts[part] = number
			}
			part.Add(number, r.at, r.cost)
		}
	}
	return before, after
}

// Peaks returns the most that each client asked for in any window of that length, the end
// of which is no part of it, from the least to the most.
func (t *Traffic) Peaks(window time.Duration) []int64 {
	length := algorithm.Instant(window / time.Microsecond)
	peaks := make([]int64, 0, len(t.clients))
	for _, requests := range t.clients {
		if !slices.IsSortedFunc(requests, byTime) {
			requests = slices.Clone(requests)
			slices.SortStableFunc(requests, byTime)
		}
		var sum, most int64
		first := 0
		for _, r := range requests {
			sum = add(sum, r.cost)
			for ; requests[first].at <= r.at-length; first++ {
				sum -= requests[first].cost
			}
			most = max(most, sum)
		}
		peaks = append(peaks, most)
	}
	slices.Sort(peaks)
	return peaks
}

func byTime(a, b request) int { return int(min(max(a.at-b.at, -1), 1)) }

// add is a + b, at most the largest number.
func add(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return 1<<63 - 1
}

// Percentile is the smallest of sorted values that so many percent of them do not exceed;
// 0 where there is none.
func Percentile(sorted []int64, percent int) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}
