package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what a load has seen. Times are in nanoseconds. The counts and the latencies
// are those of all requests that were due after the ramp, also of those that failed: a
// user has waited for them, too.
type Result struct {
	Requests int64            `json:"requests"`
	Admitted int64            `json:"admitted"`
	Denied   int64            `json:"denied"`
	Degraded int64            `json:"degraded"`
	Errors   int64            `json:"errors"`
	Failures map[string]int64 `json:"errors_by_kind"`
	// RampRequests and RampErrors are those of the ramp.
	RampRequests int64 `json:"ramp_requests"`
	RampErrors   int64 `json:"ramp_errors"`
	// Took is how long it took from the end of the ramp until the last answer.
	Took int64 `json:"took_ns"`

	// Latency is from when a request was due; Service from when it was sent.
	Latency Percentiles `json:"latency"`
	Service Percentiles `json:"service"`
	// Busy are the requests that were sent 1 ms late or more because all callers waited for
	// answers, and Own those that were late although a caller was free.
	Busy Lateness `json:"late_without_a_free_caller"`
	Own  Lateness `json:"late_with_a_free_caller"`

	Curve []Point `json:"curve"`
	Width int64   `json:"interval_ns"`
	Parts []Part  `json:"timeline"`
}

// Percentiles are latencies in nanoseconds, exact to 0.1 %.
type Percentiles struct {
	P50  int64 `json:"p50_ns"`
	P90  int64 `json:"p90_ns"`
	P95  int64 `json:"p95_ns"`
	P99  int64 `json:"p99_ns"`
	P999 int64 `json:"p99_9_ns"`
	Max  int64 `json:"max_ns"`
	Mean int64 `json:"mean_ns"`
}

// Lateness is how many requests were late, and by how much at most.
type Lateness struct {
	Requests int64 `json:"requests"`
	Most     int64 `json:"most_ns"`
}

// Point is a latency that all but one of Of requests did not exceed.
type Point struct {
	Of      int64 `json:"of"`
	Latency int64 `json:"latency_ns"`
	Service int64 `json:"service_ns"`
}

// Part is a part of the time, exact to 1 %. Its requests are those that were due then.
type Part struct {
	At       int64 `json:"at_ns"`
	Requests int64 `json:"requests"`
	Admitted int64 `json:"admitted"`
	Denied   int64 `json:"denied"`
	Errors   int64 `json:"errors"`
	P50      int64 `json:"p50_ns"`
	P99      int64 `json:"p99_ns"`
	Max      int64 `json:"max_ns"`
}

func (r *run) result(end time.Duration) *Result {
	all := r.record
	out := &Result{
		Requests: all.total.requests, Admitted: all.total.admitted, Denied: all.total.denied, Degraded: all.total.degraded,
		Errors: all.total.failed, Failures: all.failures, RampRequests: all.ramped.requests, RampErrors: all.ramped.failed,
		Took: int64(max(end-r.Ramp, 0)), Latency: percentiles(all.latency), Service: percentiles(all.service),
		Busy: all.busy, Own: all.own, Width: int64(all.width),
	}
	for of := int64(1); of <= max(out.Requests, 1); of *= 10 {
		for _, factor := range []int64{1, 2, 5} {
			if n := factor * of; n <= out.Requests {
				percentile := 100 - 100/float64(n)
				out.Curve = append(out.Curve, Point{n, all.latency.ValueAtPercentile(percentile), all.service.ValueAtPercentile(percentile)})
			}
		}
	}
	for i, p := range all.parts {
		out.Parts = append(out.Parts, Part{
			At: int64(i) * int64(all.width), Requests: p.requests, Admitted: p.admitted, Denied: p.denied, Errors: p.failed,
			P50: p.latency.ValueAtPercentile(50), P99: p.latency.ValueAtPercentile(99), Max: p.latency.Max(),
		})
	}
	return out
}

func percentiles(h *hdrhistogram.Histogram) Percentiles {
	return Percentiles{
		P50: h.ValueAtPercentile(50), P90: h.ValueAtPercentile(90), P95: h.ValueAtPercentile(95), P99: h.ValueAtPercentile(99),
		P999: h.ValueAtPercentile(99.9), Max: h.Max(), Mean: int64(h.Mean()),
	}
}
