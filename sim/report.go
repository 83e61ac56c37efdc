package sim

import (
	"fmt"
	"github.com/weirgo/weir/internal/exact"
	"slices"
)

// result sums the run up.
func (w *world) result() *Result {
	r := &Result{
		Scenario: w.scenario.Name, About: w.scenario.About, Seed: w.scenario.Seed, Limit: w.label,
		DurationMicros: w.end, EndMicros: w.now,
		Series: w.series.Series, RetryAfter: w.retries, Failure: w.failure,
		Fairness: w.fair.result(w.order),
		Waits:    w.waits.result(),
	}
	r.Events = w.journal.count
	for _, l := range w.loads {
		if l.trace != nil {
			l.result.BadLines, l.result.FirstBad = l.trace.Bad()
		}
		c := &l.result.Counts
		c.Open = c.Attempts - c.Admitted - c.Denied - c.Errors - c.Unknown - c.Throttled
		r.Traffic = append(r.Traffic, l.result)
		r.Totals.add(c)
	}
	for _, f := range w.faults {
		r.Faults = append(r.Faults, f.result)
	}
	for _, l := range w.limits {
		r.Limits = append(r.Limits, l.sum())
		w.edges(l)
	}
	for i, name := range goalNames {
		r.Goals = append(r.Goals, Goal{name, w.goals[i]})
	}
	r.Digest = fmt.Sprintf("%016x", w.journal.digest)
	r.Expected = w.scenario.expected(r)
	return r
}

func (c *Counts) add(d *Counts) {
	c.Arrivals += d.Arrivals
	c.Attempts += d.Attempts
	addUnits(&c.OfferedUnits, d.OfferedUnits)
	c.Admitted += d.Admitted
	addUnits(&c.AdmittedUnits, d.AdmittedUnits)
	c.Denied += d.Denied
	c.Degraded += d.Degraded
	c.Errors += d.Errors
	c.Unknown += d.Unknown
	c.Throttled += d.Throttled
	c.GaveUp += d.GaveUp
	c.Waiting += d.Waiting
	c.Open += d.Open
}

// sum returns what is known of a limit.
func (l *limited) sum() LimitResult {
	r := l.result
	r.Worst = l.curve.worst
	r.CurveKeys, r.CurveOf, r.CurveLate = l.curve.followed, l.curve.all, l.curve.late
	for i, length := range l.curve.lengths {
		r.Curve = append(r.Curve, CurvePoint{length, l.curve.most[i], l.law.bound(length)})
	}
	return r
}

// metric is a number of a result that can be expected to lie within bounds.
type metric struct {
	name  string
	run   func(r *Result) int64      // nil where it is of a limit
	limit func(l *LimitResult) int64 // nil where it is of the run
}

var metrics = []metric{
	{name: "arrivals", run: func(r *Result) int64 { return r.Totals.Arrivals }},
	{name: "attempts", run: func(r *Result) int64 { return r.Totals.Attempts }},
	{name: "admitted", run: func(r *Result) int64 { return r.Totals.Admitted }},
	{name: "admitted_units", run: func(r *Result) int64 { return r.Totals.AdmittedUnits }},
	{name: "denied", run: func(r *Result) int64 { return r.Totals.Denied }},
	{name: "degraded", run: func(r *Result) int64 { return r.Totals.Degraded }},
	{name: "errors", run: func(r *Result) int64 { return r.Totals.Errors }},
	{name: "unknown", run: func(r *Result) int64 { return r.Totals.Unknown }},
	{name: "throttled", run: func(r *Result) int64 { return r.Totals.Throttled }},
	{name: "gave_up", run: func(r *Result) int64 { return r.Totals.GaveUp }},
	{name: "over_units", limit: func(l *LimitResult) int64 { return l.OverUnits }},
	{name: "worst_units", limit: func(l *LimitResult) int64 { return l.Worst.Units }},
	{name: "false_denials", limit: func(l *LimitResult) int64 { return l.FalseDenials }},
	{name: "forgotten_units", limit: func(l *LimitResult) int64 { return l.ForgottenUnits }},
	{name: "jain_millionths", run: func(r *Result) int64 { return r.Fairness.JainMillionths }},
	{name: "attempts_per_thousand_admitted", run: func(r *Result) int64 {
		return exact.Product(r.Totals.Attempts, 1000).Ceil(max(1, r.Totals.Admitted))
	}},
	{name: "max_retry_error_micros", run: func(r *Result) int64 { return r.RetryAfter.MaxErrorMicros }},
}

// Metrics returns the names of the numbers that an Expect can be about. Those of Counts,
// jain_millionths, attempts_per_thousand_admitted and max_retry_error_micros are of a run,
// the others of a limit.
func Metrics() []string {
	var names []string
	for _, m := range metrics {
		names = append(names, m.name)
	}
	return names
}

// expected compares a result with what was expected of it.
func (s *Scenario) expected(r *Result) (all []Expected) {
	for _, e := range s.Expect {
		m := metrics[slices.IndexFunc(metrics, func(m metric) bool { return m.name == e.Metric })]
		about := slices.DeleteFunc(slices.Clone(r.Limits), func(l LimitResult) bool { return e.Limit != "" && e.Limit != l.Name })
		if m.run != nil && len(about) > 0 {
			all = append(all, e.met(r.Limit, m.run(r)))
			continue
		}
		for i := range about {
			all = append(all, e.met(about[i].Name, m.limit(&about[i])))
		}
	}
	return all
}

// met says what came of an expectation.
func (e *Expect) met(limit string, v int64) Expected {
	return Expected{limit, e.Metric, e.Min, e.Max, v, (e.Min == nil || v >= *e.Min) && (e.Max == nil || v <= *e.Max)}
}
