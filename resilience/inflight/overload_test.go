package inflight_test

import (
	"container/heap"
	"slices"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/inflighttest"
	"github.com/weirgo/weir/resilience/inflight"
)

// service is a service with workers and a queue. A request is worked on for work, and its
// client has gone after patience: then the work is in vain.
type service struct {
	clock   *inflighttest.Clock
	free    int
	work    time.Duration
	queue   []*request
	serving byEnd
}

type request struct {
	hold     *inflight.Hold
	came     time.Time
	end      time.Time
	finished func(latency time.Duration)
}

type byEnd []*request

func (q byEnd) Len() int           { return len(q) }
func (q byEnd) Less(i, k int) bool { return q[i].end.Before(q[k].end) }
func (q byEnd) Swap(i, k int)      { q[i], q[k] = q[k], q[i] }
func (q *byEnd) Push(x any)        { *q = append(*q, x.(*request)) }
func (q *byEnd) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func (s *service) begin() {
	for s.free > 0 && len(s.queue) > 0 {
		r := s.queue[0]
		s.queue = s.queue[1:]
		s.free--
		r.end = s.clock.Now().Add(s.work)
		heap.Push(&s.serving, r)
	}
}

// until works until an instant.
func (s *service) until(t *testing.T, at time.Time) {
	for len(s.serving) > 0 && !s.serving[0].end.After(at) {
		r := heap.Pop(&s.serving).(*request)
		s.clock.Move(r.end.Sub(s.clock.Now()))
		s.free++
		if r.hold != nil {
			if err := r.hold.Release(background); err != nil {
				t.Fatal(err)
			}
		}
		r.finished(s.clock.Now().Sub(r.came))
		s.begin()
	}
	s.clock.Move(at.Sub(s.clock.Now()))
}

// result is what came of the requests of a load, from its second half on.
type result struct {
	good, late, refused int
	p50, p99            time.Duration
}

const (
	workers  = 10
	work     = 10 * time.Millisecond // so 1000 requests a second
	patience = 100 * time.Millisecond
	span     = 20 * time.Second
)

// load sends so many requests a second to a service, through a limiter where there is one.
func load(t *testing.T, perSecond int, limiterOf func(clock *inflighttest.Clock) *inflight.Limiter) (r result) {
	clock := inflighttest.NewClock()
	s := &service{clock: clock, free: workers, work: work}
	var limiter *inflight.Limiter
	if limiterOf != nil {
		limiter = limiterOf(clock)
	}
	begin := clock.Now()
	var latencies []time.Duration
	for i := range perSecond * int(span/time.Second) {
		at := begin.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
		s.until(t, at)
		counts := at.Sub(begin) >= span/2
		request := &request{came: at, finished: func(latency time.Duration) {
			switch {
			case !counts:
			case latency > patience:
				r.late++
			default:
				r.good++
				latencies = append(latencies, latency)
			}
		}}
		if limiter != nil {
			hold, err := limiter.Acquire(background, "service")
			if err != nil {
				t.Fatal(err)
			}
			if !hold.Allowed() {
				if counts {
					r.refused++
				}
				continue
			}
			request.hold = hold
		}
		s.queue = append(s.queue, request)
		s.begin()
	}
	s.until(t, clock.Now().Add(time.Hour)) // the rest
	if len(latencies) > 0 {
		slices.Sort(latencies)
		r.p50, r.p99 = latencies[len(latencies)/2], latencies[len(latencies)*99/100]
	}
	t.Logf("%d a second: %+v", perSecond, r)
	return r
}

// TestAdaptiveLimitKeepsGoodputUnderOverload: a service that works on 1000 requests a second
// is sent three times as many. Without a limit its queue grows until every answer comes
// after its client has gone. With the adaptive limit it answers about 1000 a second, none late.
func TestAdaptiveLimitKeepsGoodputUnderOverload(t *testing.T) {
	adaptive := func(clock *inflighttest.Clock) *inflight.Limiter {
		l, err := inflight.New(newMemory(t, &inflight.MemoryOptions{Clock: clock}), inflight.Limit{Name: "service", Units: 500},
			&inflight.Options{Clock: clock, Adaptive: &inflight.Adaptive{Min: 5, Probe: 5 * time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	const half = int(span/time.Second) / 2
	if r := load(t, 3000, nil); r.good != 0 || r.late != 3000*half {
		t.Errorf("without a limit: %+v", r)
	}
	if r := load(t, 3000, adaptive); r.good < 970*half || r.late != 0 || r.p99 > 3*work {
		t.Errorf("with the adaptive limit: %+v", r)
	}
	// Without overload it refuses next to nothing: what a probe refuses.
	if r := load(t, 800, adaptive); r.late != 0 || r.refused > 800*half/50 || r.p99 > 2*work {
		t.Errorf("without overload: %+v", r)
	}
}
