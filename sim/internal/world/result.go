package world

import (
	"fmt"
	"reflect"
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
		Clocks: w.clocks, Series: w.series.Series, RetryAfter: w.Retries, Failure: w.Failure,
		Fairness: w.fairness.result(w.order),
		Waits:    w.waits.buckets(), Wait: w.waits.percentiles(),
	}
	if f := r.Failure; f != nil {
		f.Scenario, f.Seed, f.Limit = r.Scenario, r.Seed, r.Limit
	}
	for _, l := range w.loads {
		if l.trace != nil {
			l.result.BadLines, l.result.FirstBad = l.trace.Bad()
		}
		c := &l.result.Counts
		c.Open = open(c)
		r.Traffic = append(r.Traffic, l.result)
		add(&r.Totals, c)
	}
	if len(w.servers) > 1 {
		for _, v := range w.servers {
			v.result.Open = open(&v.result)
			r.Servers = append(r.Servers, v.result)
		}
	}
	for _, f := range w.faults {
		r.Faults = append(r.Faults, f.result)
	}
	for _, l := range w.Limits {
		r.Limits = append(r.Limits, w.Sum(l))
	}
	r.Goals = w.Met(w.governed != nil)
	if w.governed != nil {
		w.governed.sum(r)
	}
	digest, events := w.Journal.Digest()
	r.Digest, r.Events = fmt.Sprintf("%016x", digest), events
	r.Expected = expected(s, r)
	return r
}

// open returns how many attempts were not answered.
func open(c *result.Counts) int64 {
	return c.Attempts - c.Admitted - c.Denied - c.Errors - c.Unknown - c.Throttled
}

// add adds counts; sums stay at the largest number.
func add(c, d *result.Counts) {
	from := reflect.ValueOf(d).Elem()
	for i := range from.NumField() {
		check.AddUnits(reflect.ValueOf(c).Elem().Field(i).Addr().Interface().(*int64), from.Field(i).Int())
	}
}

// runMetric returns the number of a run that scenario.Metrics calls name, and false where
// it is about a limit: a field of Totals, or one of a few others.
func runMetric(r *result.Result, name string) (n int64, ofRun bool) {
	switch name {
	case "jain_millionths":
		return r.Fairness.JainMillionths, true
	case "attempts_per_thousand_admitted":
		return exact.Product(r.Totals.Attempts, 1000).Ceil(max(1, r.Totals.Admitted)), true
	case "max_retry_error_micros":
		return r.RetryAfter.MaxErrorMicros, true
	}
	totals := reflect.ValueOf(r.Totals)
	for i := range totals.NumField() {
		if totals.Type().Field(i).Tag.Get("json") == name {
			return totals.Field(i).Int(), true
		}
	}
	return 0, false
}

// limitMetrics are the metrics of scenario.Metrics that are about a limit.
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
		if n, ofRun := runMetric(r, e.Metric); ofRun && len(about) > 0 {
			met(r.Limit, n)
			continue
		}
		for i := range about {
			met(about[i].Name, limitMetrics[e.Metric](&about[i]))
		}
	}
	return all
}
