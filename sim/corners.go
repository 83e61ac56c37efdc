package sim

import (
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/exact"
)

// corners counts goals that a decision meets, from the state before it.
func (w *world) corners(s *slot, at int64) {
	if s.resets != 0 && at >= s.resets && at < s.resets+1000 {
		w.goals[goalUsedAgain]++
	}
	if at < s.last {
		w.goals[goalClockBack]++
		if period := s.limit.law.period; at/period < s.last/period-1 {
			w.goals[goalTwoWindowsBack]++
		}
	}
	s.last = max(s.last, at)
	if c, is := s.model.(*counter); is && c.from != 0 {
		from, _, prev := c.at(at)
		if prev > 0 {
			w.goals[goalPreviousCounts] += int64(truth(from != c.from))
			if _, rest := exact.Product(prev, from+c.period-max(at, from)).Divide(c.period); rest == 0 {
				w.goals[goalPreviousExact]++
			}
		}
	}
}

// fraction counts charges in a row that leave a part of a microsecond over.
func (w *world) fraction(s *slot) {
	b, is := s.model.(*bucket)
	if !is || b.units == 1 {
		return
	}
	if _, part := b.level.Divide(b.units); part == 0 {
		s.parts = 0
	} else if s.parts++; s.parts == 3 {
		w.goals[goalFractionCarried]++
		s.parts = 0
	}
}

// edges counts goals that the worst window of a limit meets.
func (w *world) edges(l *limited) {
	worst := &l.curve.worst
	if worst.Units == worst.BoundUnits {
		switch l.law.kind {
		case algorithm.KindFixedWindow:
			w.goals[goalDoubleAtEdge]++
		case algorithm.KindSlidingCounter:
			w.goals[goalCounterWorst]++
		}
	}
}
