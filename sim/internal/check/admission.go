package check

import (
	"slices"

	"github.com/weirgo/weir/sim/result"
)

// Try is what a caller asks a node for, from then until it is told the answer. What the server charges for it is an
// admission where the caller is told to go on; an answer that is lost or late admits nobody.
type Try struct {
	ended   bool
	charges []charged
}

// charged is a charge for a Try: its slot, and its number among all admissions.
type charged struct {
	slot   *Slot
	number int64
}

// Begin begins a Try, which may have been used before: then it has ended, and no call refers to it any more.
func (t *Try) Begin() { t.ended, t.charges = false, t.charges[:0] }

// admission is units that a caller may use once it is told to go on, or units that are given back.
type admission struct {
	slot   *Slot
	at     int64 // true time of the decision
	cost   int64
	taken  int64 // instant at which units were taken that are given back; 0 for an admission
	bound  int64 // how much excess is explained
	anew   bool  // the model of the slot is fresh before it
	faulty []*result.Fault
	fate   fate
}

// fate is what becomes of an admission.
type fate int8

const (
	open   fate = iota // its caller has not been told yet
	counts             // its caller was told to go on
	void               // its caller was told something else, or nothing
)

// admissions are the admissions that are not measured yet, in the order of true time. The first is open, and all that
// follow wait for it, so that each slot is measured in that order.
type admissions struct {
	items []admission
	first int
	gone  int64 // the number of items[0]
}

// add adds an admission to those to be measured. Its number is returned.
func (c *Checker) add(s *Slot, a admission) int64 {
	a.slot, a.at, a.anew, a.faulty = s, c.Now, s.anew, c.Faulty
	s.anew = false
	s.unmeasured++
	q := &c.admissions
	if q.first > 64 && q.first > len(q.items)/2 {
		q.gone += int64(q.first)
		q.items, q.first = q.items[:copy(q.items, q.items[q.first:])], 0
	}
	q.items = append(q.items, a)
	return q.gone + int64(len(q.items)-1)
}

// decide sets the fate of an admission by its number.
func (q *admissions) decide(number int64, f fate) { q.items[number-q.gone].fate = f }

// Answered ends a Try: its caller is told to go on, or is not. Where several of its charges are of one slot, the server has
// lost what it knew of those before the last.
func (c *Checker) Answered(t *Try, admitted bool) {
	if t == nil || t.ended {
		return
	}
	t.ended = true
	for i, one := range t.charges {
		f := void
		if admitted && !slices.ContainsFunc(t.charges[i+1:], func(later charged) bool { return later.slot == one.slot }) {
			f = counts
		}
		c.admissions.decide(one.number, f)
	}
	t.charges = t.charges[:0]
	c.measureAnswered()
}

// Unanswered notes that the answer to what a Try has charged to some slots so far will never reach its caller.
func (c *Checker) Unanswered(t *Try, slots []*Slot) {
	if t == nil || t.ended {
		return
	}
	for _, s := range slots {
		t.drop(&c.admissions, s)
	}
	c.measureAnswered()
}

// drop makes the charges of a Try to a slot void.
func (t *Try) drop(q *admissions, s *Slot) {
	left := t.charges[:0]
	for _, one := range t.charges {
		if one.slot == s {
			q.decide(one.number, void)
		} else {
			left = append(left, one)
		}
	}
	t.charges = left
}

// Unmeasured returns the number of admissions that are not measured, since the caller of one has not been answered.
func (c *Checker) Unmeasured() int { return len(c.admissions.items) - c.admissions.first }

// measureAnswered measures the admissions up to the first whose caller has not been answered.
func (c *Checker) measureAnswered() {
	q := &c.admissions
	for q.first < len(q.items) && q.items[q.first].fate != open {
		a := &q.items[q.first]
		a.measure(c)
		*a = admission{}
		q.first++
	}
	if q.first == len(q.items) {
		q.gone += int64(q.first)
		q.items, q.first = q.items[:0], 0
	}
}

// measure measures an admission in true time.
func (a *admission) measure(c *Checker) {
	s := a.slot
	l := s.Limit
	s.unmeasured--
	if a.anew || s.answered == nil {
		s.answered = l.StartTrueTime(c.ClocksVary)
	}
	switch {
	case a.fate == void:
		return
	case a.taken != 0:
		s.window.giveBack(a.taken-c.Epoch, a.cost)
		s.answered.Charge(c.Epoch+a.at, 0)
		s.answered.Refund(a.taken, a.cost)
		return
	}
	if in := s.window.add(&l.curve, a.at, a.cost); in > l.curve.worst.Units {
		l.curve.worst.Units, l.curve.worst.AtMicros, l.curve.worst.Key = in, a.at, s.Key
		s.window.follow(&l.curve, a.at)
	}
	s.answered.Charge(c.Epoch+a.at, a.cost)
	units, _ := s.answered.Excess()
	if units == 0 {
		return
	}
	if units > l.Result.OverUnits {
		l.Result.OverUnits, l.Result.OverMicros, l.Result.OverKey = units, a.at, s.Key
		s.window.follow(&l.curve, a.at)
	}
	l.Result.OverBoundUnits = max(l.Result.OverBoundUnits, a.bound)
	for _, f := range a.faulty {
		f.OverUnits = max(f.OverUnits, units)
	}
}
