package gubernator

import (
	"time"

	"github.com/weirgo/weir/algorithm"
)

// window admits limit units in a window. It begins with the first unit that is taken, or at
// a given start; the rest is as in a fixed window. A window whose length changes is measured
// anew from where it began, and one whose limit changes keeps what was used. A window with a
// start refuses everything before and behind it, and changes nothing: see query.apply.
//
// The state is two words: "begin used". Used is below 0 where more was given back than was
// taken: then more than the limit remains. It is not one of the algorithms of weir because
// of that, and because of its begin. Stores on a server run it by compare-and-set.
type window struct {
	limit, length int64 // units; µs
	start         int64 // µs; 0: the window begins with the first unit
	give          int64 // above 0: a request of any cost gives back so many units
}

// kindWindow is the kind and state layout of a window.
const kindWindow = "gubernator-window/1"

var (
	_ algorithm.Algorithm    = window{}
	_ algorithm.StateChecker = window{}
)

// Spec implements algorithm.Algorithm.
func (w window) Spec() algorithm.Spec {
	return algorithm.Spec{Kind: kindWindow, Params: [4]int64{w.limit, w.length, w.start, w.give}}
}

// Step implements algorithm.Algorithm.
func (w window) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	if !w.contains(now) {
		o := algorithm.Outcome{Limit: w.limit, Allowed: r.Cost == 0}
		if !o.Allowed {
			o.RetryAfter = algorithm.Never
		}
		return s, o
	}
	begin, used, begun := int64(now), int64(0), false
	if w.start > 0 {
		begin = w.start
		begun = !s.Fresh() && s.Word(0) >= w.start
	} else if begun = !s.Fresh() && int64(now) < s.Word(0)+w.length; begun {
		begin = s.Word(0)
	}
	if begun {
		used = s.Word(1)
	}
	wait := time.Duration(begin+w.length-int64(now)) * time.Microsecond
	o := algorithm.Outcome{Limit: w.limit}
	switch {
	case r.Cost < 0 || r.Cost > 0 && w.give > 0 && used-w.give < -algorithm.MaxUnits:
		o.RetryAfter = algorithm.Never
	case r.Cost > 0 && w.give > 0:
		o.Allowed, begun = true, true
		used -= w.give
		s = algorithm.NewState(begin, used)
	case r.Cost > 0 && r.Cost > w.limit-used:
		o.RetryAfter = wait
		if r.Cost > w.limit {
			o.RetryAfter = algorithm.Never
		}
	default:
		o.Allowed = true
		if r.Cost > 0 {
			begun = true
			used += r.Cost
			s = algorithm.NewState(begin, used)
		}
	}
	if begun { // also where nothing is used: all was given back, and the window goes on
		o.ResetAfter = wait
	}
	o.Remaining = max(0, w.limit-used)
	o.Debt = max(0, used-w.limit)
	return s, o
}

// contains reports whether an instant is in the window: always, where it has no start.
func (w window) contains(at algorithm.Instant) bool {
	return w.start == 0 || int64(at) >= w.start && int64(at) < w.start+w.length
}

// CheckState implements algorithm.StateChecker.
func (w window) CheckState(s algorithm.State) error {
	if s.Fresh() {
		return nil
	}
	if s.Words() != 2 || s.Word(0) < 0 || s.Word(0) > int64(algorithm.MaxInstant) || s.Word(1) < -algorithm.MaxUnits || s.Word(1) > algorithm.MaxUnits {
		return &algorithm.ParameterError{Of: "state", Field: "layout", Value: "of other words", Allowed: "as " + kindWindow + " writes it"}
	}
	return nil
}
