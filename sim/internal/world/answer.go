package world

import (
	"errors"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/store"
)

// class is how an attempt ended.
type class int

const (
	admitted class = iota
	denied
	failed
	unknown
	throttled
)

// answer is what a caller gets.
type answer struct {
	class      class
	degraded   bool
	retryAfter time.Duration // 0 where there was no decision
	delay      time.Duration // until the caller's turn, after an admission
}

// classify returns the answer of a decision or an error, and the kind of its event.
func classify(allowed, degraded bool, retryAfter time.Duration, err error) (answer, check.Kind) {
	a := answer{degraded: degraded, retryAfter: retryAfter}
	switch {
	case errors.Is(err, store.ErrOutcomeUnknown) || errors.Is(err, errCrashed):
		return answer{class: unknown}, check.Unknown
	case err != nil:
		return answer{class: failed}, check.Failed
	case !allowed:
		a.class = denied
	}
	if degraded {
		return a, check.Fallback
	}
	return a, check.Answered
}

// decided takes what the Limiter returned for an attempt.
func (w *world) decided(a *attempt, d *weir.Decision, err error) {
	if w.over {
		return
	}
	o, kind := classify(d.Allowed, d.Degraded, d.RetryAfter, err)
	o.delay = d.Delay
	if o.degraded && d.Allowed {
		w.AdmittedWithout(a.try, a.client.slots[0], a.cost, w.Now)
	}
	if err == nil && d.Allowed && !o.degraded && w.Leased != nil {
		w.used(a)
	}
	e := w.event(kind, a)
	e.Allowed, e.Remaining, e.DelayMicros = d.Allowed, d.Remaining, micros(d.Delay)
	e.RetryMicros, e.ResetMicros = micros(d.RetryAfter), micros(d.ResetAfter)
	w.Journal.Add(e, a.client.hash)
	w.answered(a, o)
}

// decidedTogether takes what the MultiLimiter returned.
func (w *world) decidedTogether(a *attempt, r *weir.Result, err error) {
	if w.over {
		return
	}
	o, kind := classify(r.Allowed, err == nil && r.Decisions[0].Degraded, r.RetryAfter, err)
	w.Goals[check.OnlyLastDenies] += check.One(err == nil && !r.Allowed && onlyLast(r))
	for _, d := range r.Decisions {
		o.delay = max(o.delay, d.Delay)
	}
	if o.degraded && r.Allowed {
		for _, s := range a.client.slots {
			w.AdmittedWithout(a.try, s, a.cost, w.Now)
		}
	}
	if err == nil && r.Allowed && !o.degraded && w.Leased != nil {
		w.used(a)
	}
	e := w.event(kind, a)
	e.Allowed, e.RetryMicros, e.DelayMicros = r.Allowed, micros(r.RetryAfter), micros(o.delay)
	w.Journal.Add(e, a.client.hash)
	w.answered(a, o)
}

// onlyLast reports whether all limits but the last allow.
func onlyLast(r *weir.Result) bool {
	last := len(r.Decisions) - 1
	for i := range r.Decisions {
		if r.Decisions[i].Allowed != (i < last) {
			return false
		}
	}
	return last > 0
}

// counts returns the counts in which an attempt is counted.
func (w *world) counts(a *attempt) []*result.Counts {
	w.counted = append(w.counted[:0], &a.load.result.Counts, &w.servers[a.client.server].result)
	for _, f := range w.Faulty {
		w.counted = append(w.counted, &f.Counts)
	}
	return w.counted
}

// offered counts an attempt.
func (w *world) offered(a *attempt) {
	for _, c := range w.counts(a) {
		c.Attempts++
		check.AddUnits(&c.OfferedUnits, a.cost)
	}
	a.client.Attempts++
	check.AddUnits(&a.client.OfferedUnits, a.cost)
	w.series.Offered[w.series.bucket(w.Now)]++
}

// answered counts how an attempt ended, and lets its caller go on.
func (w *world) answered(a *attempt, o answer) {
	for _, c := range w.counts(a) {
		switch o.class {
		case admitted:
			c.Admitted++
			check.AddUnits(&c.AdmittedUnits, a.cost)
		case denied:
			c.Denied++
		case failed:
			c.Errors++
		case unknown:
			c.Unknown++
		case throttled:
			c.Throttled++
		}
		c.Degraded += check.One(o.degraded)
	}
	if o.class == admitted {
		check.AddUnits(&a.client.AdmittedUnits, a.cost)
	}
	if o.class == admitted || !a.reservation.identified() { // a repeat is told of what was charged before it
		w.Answered(a.try, o.class == admitted)
	}
	w.series.count(w.Now, o)
	w.servers[a.client.server].checkIsolation(a, o)
	w.done(a, o)
}

// series counts over time.
type series struct {
	result.Series
	duration int64
}

const maxBuckets = 300

// newSeries chooses a bucket that divides the period of a limit, or that is divided by it:
// another one would show waves that the traffic does not have. A period that only far
// longer buckets divide has to do without.
func newSeries(duration, period int64) series {
	s := series{duration: duration}
	s.BucketMicros = (duration + maxBuckets - 1) / maxBuckets
	least, parts := s.BucketMicros, period/s.BucketMicros
	switch {
	case parts == 0:
		s.BucketMicros = (least + period - 1) / period * period
	case period <= duration:
		for period%parts != 0 {
			parts--
		}
		if fits := period / parts; fits <= 4*least {
			s.BucketMicros = fits
		}
	}
	n := (duration + s.BucketMicros - 1) / s.BucketMicros
	for _, counts := range []*[]int64{&s.Offered, &s.Admitted, &s.Denied, &s.Degraded, &s.DegradedAdmitted, &s.Failed} {
		*counts = make([]int64, n)
	}
	return s
}

// bucket is where an instant counts. What is answered after the end counts in the last.
func (s *series) bucket(now int64) int64 { return min(now, s.duration-1) / s.BucketMicros }

func (s *series) count(now int64, o answer) {
	i := s.bucket(now)
	switch o.class {
	case admitted:
		s.Admitted[i]++
	case denied:
		s.Denied[i]++
	case failed, unknown:
		s.Failed[i]++
	}
	s.Degraded[i] += check.One(o.degraded)
	s.DegradedAdmitted[i] += check.One(o.degraded && o.class == admitted)
}
