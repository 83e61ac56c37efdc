package sim

import (
	"github.com/weirgo/weir/internal/exact"
	"math"

	"github.com/weirgo/weir/algorithm"
)

// charge charges what the server committed.
func (w *world) charge(s *slot, at, cost int64) {
	l := s.limit
	if b, is := s.model.(*bucket); is && l.law.queue && !s.lossy && b.delay(at) > 0 {
		w.goals[goalQueued]++
	}
	s.charge(at, w.epoch+w.now, cost)
	units, full := s.model.excess()
	if full {
		w.goals[goalCurveReached]++
	}
	if units > s.allow {
		if explained := s.allow + w.slip(s, s.losses); units > explained {
			w.fail(ruleAdmission, "%d units more than the limit were charged, and %d are explained by what was lost", units, explained)
		}
	}
	if units > 0 && units == s.allow {
		w.goals[goalBoundReached]++
	}
	if !s.charged {
		s.charged = true
		l.result.Keys++
	}
	addUnits(&l.result.ExecutedUnits, cost)
	w.fraction(s)
	w.admitted(s, cost, false)
}

// admitted measures an admission in true time: of the server, or one made without it.
func (w *world) admitted(s *slot, cost int64, without bool) {
	l := s.limit
	if in := s.window.add(&l.curve, w.now, cost); in > l.curve.worst.Units {
		l.curve.worst.Units, l.curve.worst.AtMicros, l.curve.worst.Key = in, w.now, s.key
		s.window.follow(&l.curve, w.now)
	}
	units, bound := int64(0), s.allow
	if s.overall == nil {
		units, _ = s.model.excess()
	} else {
		units, bound = w.measure(s, cost, without)
	}
	if units > 0 {
		if units > l.result.OverUnits {
			l.result.OverUnits, l.result.OverMicros, l.result.OverKey = units, w.now, s.key
			s.window.follow(&l.curve, w.now)
		}
		l.result.OverBoundUnits = max(l.result.OverBoundUnits, bound)
		for _, f := range w.faulty {
			f.result.OverUnits = max(f.result.OverUnits, units)
		}
	}
}

// measure charges the tracker of true time, and returns the excess and what explains it.
func (w *world) measure(s *slot, cost int64, without bool) (units, bound int64) {
	now := w.epoch + w.now
	if s.overall.fresh(now) {
		s.overallAllow, s.overallLosses, s.without = s.allow, s.losses, 0
	}
	if without {
		s.without += cost
	}
	s.overall.charge(now, cost)
	units, _ = s.overall.excess()
	bound = s.overallAllow + s.without + w.slip(s, 1+s.overallLosses)
	if s.without > 0 && s.charged {
		w.goals[goalBothAdmitted]++
	}
	if units > bound {
		w.fail(ruleTrueTime, "%d units more than the limit were admitted in true time, and %d are explained: %d lost, %d admitted without the server, clocks off by %d µs",
			units, bound, s.overallAllow, s.without, w.latest-w.earliest)
	}
	return units, bound
}

// forget says that the server has lost units of a slot, at most its capacity.
func (w *world) forget(s *slot, units int64) {
	if !s.charged {
		return
	}
	s.lossy, s.promised, s.resets = true, 0, 0
	if units <= 0 {
		return
	}
	w.goals[goalForgotten]++
	w.goals[goalForgottenDenied] += int64(truth(s.denied))
	units = min(units, s.limit.law.capacity)
	s.allow += units
	s.losses++
	s.overallAllow += units
	s.overallLosses++
	addUnits(&s.limit.result.ForgottenUnits, units)
	for _, f := range w.faulty {
		addUnits(&f.result.ForgottenUnits, units)
	}
	w.noteForgotten(s, units)
}

// slip returns how many units more clocks explain that are off by different lengths of
// time: a state remembers the latest instant, and one that starts anew does not, so that
// each time the whole difference may pass once more.
func (w *world) slip(s *slot, times int64) int64 {
	off, l := w.latest-w.earliest, s.limit.law
	if off == 0 {
		return 0
	}
	units := int64(0)
	switch l.kind {
	case algorithm.KindFixedWindow, algorithm.KindSlidingLog:
		units = exact.Product(l.limit, off/l.period+1).Floor(1)
	default:
		units = exact.Product(off, l.rate.units).Ceil(l.rate.per)
	}
	const most = math.MaxInt64 / 4 // sums with it must not overflow
	return min(exact.Product(units, times).Floor(1), most)
}

// seen notes how far the clocks that decide are off.
func (w *world) seen(at int64) {
	off := at - w.epoch - w.now
	if w.lastAt == 0 {
		w.latest, w.earliest = off, off
	}
	w.latest, w.earliest = max(w.latest, off), min(w.earliest, off)
	w.lastAt = max(w.lastAt, at)
}
