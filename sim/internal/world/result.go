package world

import (
	"fmt"
	"slices"

	"github.com/weirgo/weir/internal/exact"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// result sums the run up.
func (w *world) result() *result.Result {
	s := w.scenario
	r := &result.Result{
		Scenario: s.Name, About: s.About, Seed: s.Seed, Limit: w.label,
		DurationMicros: w.end, EndMicros: w.Now,
		Series: w.series.Series, RetryAfter: w.Retries, Failure: w.Failure,
		Fairness: w.fairness.result(w.order),
		Waits:    w.waits.result(),
	}
	if f := r.Failure; f != nil {
		f.Scenario, f.Seed, f.Limit = r.Scenario, r.Seed, r.Limit
	}
	for _, l := range w.loads {
		if l.trace != nil {
			l.result.BadLines, l.result.FirstBad = l.trace.Bad()
		}
		c := &l.result.Counts
		c.Open = c.Attempts - c.Admitted - c.Denied - c.Errors - c.Unknown - c.Throttled
		r.Traffic = append(r.Traffic, l.result)
		add(&r.Totals, c)
	}
	for _, f := range w.faults {
		r.Faults = append(r.Faults, f.result)
	}
	for _, l := range w.Limits {
		r.Limits = append(r.Limits, w.Sum(l))
	}
	r.Goals = w.Met()
	digest, events := w.Journal.Digest()
	r.Digest, r.Events = fmt.Sprintf("%016x", digest), events
	r.Expected = expected(s, r)
	return r
}

func add(c, d *result.Counts) {
	c.Arrivals += d.Arrivals
	c.Attempts += d.Attempts
	check.AddUnits(&c.OfferedUnits, d.OfferedUnits)
	c.Admitted += d.Admitted
	check.AddUnits(&c.AdmittedUnits, d.AdmittedUnits)
	c.Denied += d.Denied
	c.Degraded += d.Degraded
	c.Errors += d.Errors
	c.Unknown += d.Unknown
	c.Throttled += d.Throttled
	c.GaveUp += d.GaveUp
	c.Waiting += d.Waiting
	c.Open += d.Open
}

// runMetrics are the metrics of scenario.Metrics that are about a run.
var runMetrics = map[string]func(r *result.Result) int64{
	"arrivals":        func(r *result.Result) int64 { return r.Totals.Arrivals },
	"attempts":        func(r *result.Result) int64 { return r.Totals.Attempts },
	"admitted":        func(r *result.Result) int64 { return r.Totals.Admitted },
	"admitted_units":  func(r *result.Result) int64 { return r.Totals.AdmittedUnits },
	"denied":          func(r *result.Result) int64 { return r.Totals.Denied },
	"degraded":        func(r *result.Result) int64 { return r.Totals.Degraded },
	"errors":          func(r *result.Result) int64 { return r.Totals.Errors },
	"unknown":         func(r *result.Result) int64 { return r.Totals.Unknown },
	"throttled":       func(r *result.Result) int64 { return r.Totals.Throttled },
	"gave_up":         func(r *result.Result) int64 { return r.Totals.GaveUp },
	"jain_millionths": func(r *result.Result) int64 { return r.Fairness.JainMillionths },
	"attempts_per_thousand_admitted": func(r *result.Result) int64 {
		return exact.Product(r.Totals.Attempts, 1000).Ceil(max(1, r.Totals.Admitted))
	},
	"max_retry_error_micros": func(r *result.Result) int64 { return r.RetryAfter.MaxErrorMicros },
}

// limitMetrics are those that are about a limit.
var limitMetrics = map[string]func(l *result.Limit) int64{
	"over_units":      func(l *result.Limit) int64 { return l.OverUnits },
	"worst_units":     func(l *result.Limit) int64 { return l.Worst.Units },
	"false_denials":   func(l *result.Limit) int64 { return l.FalseDenials },
	"forgotten_units": func(l *result.Limit) int64 { return l.ForgottenUnits },
}

// expected compares a result with the expectations of its scenario.
func expected(s *scenario.Scenario, r *result.Result) (all []result.Expected) {
	for _, e := range s.Expect {
		about := slices.DeleteFunc(slices.Clone(r.Limits), func(l result.Limit) bool { return e.Limit != "" && e.Limit != l.Name })
		met := func(limit string, v int64) {
			all = append(all, result.Expected{
				Limit: limit, Metric: e.Metric, Min: e.Min, Max: e.Max, Value: v,
				Met: (e.Min == nil || v >= *e.Min) && (e.Max == nil || v <= *e.Max),
			})
		}
		if ofRun := runMetrics[e.Metric]; ofRun != nil && len(about) > 0 {
			met(r.Limit, ofRun(r))
			continue
		}
		for i := range about {
			met(about[i].Name, limitMetrics[e.Metric](&about[i]))
		}
	}
	return all
}
