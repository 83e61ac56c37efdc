package sim

import (
	"fmt"

	"github.com/weirgo/weir/sim/traffic"
)

// result sums the run up.
func (w *world) result() (*Result, error) {
	r := &Result{
		Scenario: w.scenario.Name, About: w.scenario.About, Seed: w.scenario.Seed, Limit: w.label,
		DurationMicros: w.end, EndMicros: w.now,
		Series: w.series.Series, RetryAfter: w.retries, Failure: w.failure,
		Fairness: w.fair.result(w.order),
		Waits:    w.waits.result(),
	}
	r.Events = w.journal.count
	for _, l := range w.loads {
		if l.source != nil {
			if err := traffic.Err(l.source); err != nil {
				return nil, fmt.Errorf("sim: traffic %s: %w", l.Name, err)
			}
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
	return r, nil
}

func (c *Counts) add(d *Counts) {
	c.Arrivals += d.Arrivals
	c.Attempts += d.Attempts
	c.OfferedUnits += d.OfferedUnits
	c.Admitted += d.Admitted
	c.AdmittedUnits += d.AdmittedUnits
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
	r.CurveKeys = l.curve.keys
	for i, length := range l.curve.lengths {
		r.Curve = append(r.Curve, CurvePoint{length, l.curve.most[i], l.law.bound(length)})
	}
	return r
}

// result returns the buckets up to the last that holds something.
func (w *waits) result() []WaitBucket {
	var all []WaitBucket
	full := 0
	for i, n := range w.counts {
		all = append(all, WaitBucket{waitBound(i), n})
		if n > 0 {
			full = len(all)
		}
	}
	return all[:full]
}

// metrics are the numbers of a result that can be expected to lie within bounds.
var metrics = []struct {
	name string
	of   func(r *Result, l *LimitResult) int64
}{
	{"arrivals", func(r *Result, _ *LimitResult) int64 { return r.Totals.Arrivals }},
	{"attempts", func(r *Result, _ *LimitResult) int64 { return r.Totals.Attempts }},
	{"admitted", func(r *Result, _ *LimitResult) int64 { return r.Totals.Admitted }},
	{"admitted_units", func(r *Result, _ *LimitResult) int64 { return r.Totals.AdmittedUnits }},
	{"denied", func(r *Result, _ *LimitResult) int64 { return r.Totals.Denied }},
	{"degraded", func(r *Result, _ *LimitResult) int64 { return r.Totals.Degraded }},
	{"errors", func(r *Result, _ *LimitResult) int64 { return r.Totals.Errors }},
	{"unknown", func(r *Result, _ *LimitResult) int64 { return r.Totals.Unknown }},
	{"throttled", func(r *Result, _ *LimitResult) int64 { return r.Totals.Throttled }},
	{"gave_up", func(r *Result, _ *LimitResult) int64 { return r.Totals.GaveUp }},
	{"over_units", func(_ *Result, l *LimitResult) int64 { return l.OverUnits }},
	{"worst_units", func(_ *Result, l *LimitResult) int64 { return l.Worst.Units }},
	{"false_denials", func(_ *Result, l *LimitResult) int64 { return l.FalseDenials }},
	{"forgotten_units", func(_ *Result, l *LimitResult) int64 { return l.ForgottenUnits }},
	{"jain_millionths", func(r *Result, _ *LimitResult) int64 { return r.Fairness.JainMillionths }},
	{"attempts_per_thousand_admitted", func(r *Result, _ *LimitResult) int64 {
		return product(r.Totals.Attempts, 1000).over(max(1, r.Totals.Admitted))
	}},
	{"max_retry_error_micros", func(r *Result, _ *LimitResult) int64 { return r.RetryAfter.MaxErrorMicros }},
}

// Metrics returns the names of the numbers that an Expect can be about. The fields of
// Counts are those of Totals, and others are of the limit.
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
		for i := range r.Limits {
			l := &r.Limits[i]
			if e.Limit != "" && e.Limit != l.Name {
				continue
			}
			for _, m := range metrics {
				if m.name == e.Metric {
					v := m.of(r, l)
					met := (e.Min == nil || v >= *e.Min) && (e.Max == nil || v <= *e.Max)
					all = append(all, Expected{e.Metric, e.Min, e.Max, v, met})
				}
			}
		}
	}
	return all
}

func (w *world) waited(wait int64) { w.waits.add(wait) }
