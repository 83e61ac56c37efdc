package sim

import (
	"errors"
	"math"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/store"
)

// class is how an attempt ended.
type class int

const (
	admittedNow class = iota
	denied
	failed
	unknown
	throttled
)

// outcome is what a caller was told.
type outcome struct {
	class      class
	degraded   bool
	retryAfter time.Duration // 0 where there was no decision
}

// answer takes what the Limiter returned for an attempt.
func (w *world) answer(a *attempt, d *weir.Decision, err error) {
	if w.over {
		return
	}
	o := outcome{class: admittedNow, degraded: d.Degraded, retryAfter: d.RetryAfter}
	kind := Answered
	switch {
	case err != nil:
		o, kind = failureOf(err)
	case !d.Allowed:
		o.class = denied
	}
	if o.degraded {
		kind = Stood
		if d.Allowed {
			w.stoodIn(a.client.slots[0], a.cost)
		}
	}
	e := w.event(kind, a)
	e.Allowed, e.Remaining = d.Allowed, d.Remaining
	e.RetryMicros, e.ResetMicros = micros(d.RetryAfter), micros(d.ResetAfter)
	w.journal.add(e)
	w.tell(a, o)
}

// decidedTogether takes what the MultiLimiter returned.
func (w *world) decidedTogether(a *attempt, r *weir.Result, err error) {
	if w.over {
		return
	}
	o := outcome{class: admittedNow, retryAfter: r.RetryAfter}
	kind := Answered
	if err != nil {
		o, kind = failureOf(err)
	} else {
		o.degraded = r.Decisions[0].Degraded
		if !r.Allowed {
			o.class = denied
			w.goals[goalOnlyLastDenies] += int64(truth(onlyLast(r)))
		}
	}
	if o.degraded {
		kind = Stood
		if r.Allowed {
			for _, s := range a.client.slots {
				w.stoodIn(s, a.cost)
			}
		}
	}
	e := w.event(kind, a)
	e.Allowed, e.RetryMicros = r.Allowed, micros(r.RetryAfter)
	w.journal.add(e)
	w.tell(a, o)
}

func onlyLast(r *weir.Result) bool {
	last := len(r.Decisions) - 1
	for i := range r.Decisions {
		if r.Decisions[i].Allowed != (i < last) {
			return false
		}
	}
	return last > 0
}

// failureOf says what an error tells a caller.
func failureOf(err error) (outcome, Kind) {
	if errors.Is(err, store.ErrOutcomeUnknown) || errors.Is(err, errCrashed) {
		return outcome{class: unknown}, Unknown
	}
	return outcome{class: failed}, Failed
}

// asksOf returns what an attempt asks of all limits.
func (w *world) asksOf(a *attempt) []weir.Ask {
	w.asks = w.asks[:0]
	for i, l := range w.limits {
		w.asks = append(w.asks, l.named().ForN(a.client.slots[i].key, a.cost))
	}
	return w.asks
}

// stoodIn counts what a failure mode admitted.
func (w *world) stoodIn(s *slot, cost int64) {
	w.goals[goalStoodIn]++
	w.admitted(s, cost, true)
}

// tell counts how an attempt ended, and lets its caller go on.
func (w *world) tell(a *attempt, o outcome) {
	a.load.result.count(a, o)
	for _, f := range w.faulty {
		f.result.count(a, o)
	}
	if o.class == admittedNow {
		addUnits(&a.client.AdmittedUnits, a.cost)
	}
	w.series.tell(w.now, o)
	w.done(a, o)
}

// offered counts an attempt.
func (w *world) offered(a *attempt) {
	c := &a.load.result.Counts
	c.Attempts++
	addUnits(&c.OfferedUnits, a.cost)
	for _, f := range w.faulty {
		f.result.Attempts++
		addUnits(&f.result.OfferedUnits, a.cost)
	}
	a.client.Attempts++
	addUnits(&a.client.OfferedUnits, a.cost)
	w.series.offer(w.now)
}

// addUnits adds units to a sum, which stays at 2^63 − 1 where it would pass it: ten million
// requests of the largest cost do.
func addUnits(sum *int64, units int64) { *sum += min(units, math.MaxInt64-*sum) }

func (c *Counts) count(a *attempt, o outcome) {
	switch o.class {
	case admittedNow:
		c.Admitted++
		addUnits(&c.AdmittedUnits, a.cost)
	case denied:
		c.Denied++
	case failed:
		c.Errors++
	case unknown:
		c.Unknown++
	case throttled:
		c.Throttled++
	}
	if o.degraded {
		c.Degraded++
	}
}

// series counts over time.
type series struct {
	Series
	duration int64
}

const mostBuckets = 300

func newSeries(duration int64) series {
	s := series{duration: duration}
	s.BucketMicros = (duration + mostBuckets - 1) / mostBuckets
	n := (duration + s.BucketMicros - 1) / s.BucketMicros
	for _, counts := range []*[]int64{&s.Offered, &s.Admitted, &s.Denied, &s.Degraded, &s.Failed} {
		*counts = make([]int64, n)
	}
	return s
}

// bucket is where an instant counts. What is answered after the end counts in the last.
func (s *series) bucket(now int64) int64 { return min(now, s.duration-1) / s.BucketMicros }

func (s *series) offer(now int64) { s.Offered[s.bucket(now)]++ }

func (s *series) tell(now int64, o outcome) {
	i := s.bucket(now)
	switch o.class {
	case admittedNow:
		s.Admitted[i]++
	case denied:
		s.Denied[i]++
	case failed, unknown:
		s.Failed[i]++
	}
	if o.degraded {
		s.Degraded[i]++
	}
}

// waits counts how long requests waited until they were admitted, in steps of 1, 2 and 5.
type waits struct{ counts [40]int64 }

// waitBounds are the upper bounds of all buckets but the last, in µs: 0, 1, 2, 5, 10, …
var waitBounds = func() (bounds [len(waits{}.counts) - 1]int64) {
	scale := int64(1)
	for i := 1; i < len(bounds); i++ {
		bounds[i] = scale * [...]int64{1, 2, 5}[(i-1)%3]
		if i%3 == 0 {
			scale *= 10
		}
	}
	return bounds
}()

func (w *waits) add(wait int64) {
	i := 0
	for i < len(waitBounds) && wait > waitBounds[i] {
		i++
	}
	w.counts[i]++
}

// result returns the buckets up to the last that holds something.
func (w *waits) result() []WaitBucket {
	var all []WaitBucket
	full := 0
	for i, n := range w.counts {
		bound := int64(-1)
		if i < len(waitBounds) {
			bound = waitBounds[i]
		}
		all = append(all, WaitBucket{bound, n})
		if n > 0 {
			full = len(all)
		}
	}
	return all[:full]
}
