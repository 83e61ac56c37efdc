package algorithm

import "time"

// SessionWindow counts in sessions. A session begins with the first cost that is
// admitted, at whatever instant that is, and lasts for one period; at most the limit is
// admitted in it.
//
// A closed interval of t µs sees at most L·(⌊t/P⌋ + 2) admitted.
//
// The state is two words: "start count". Decisions are O(1).
type SessionWindow struct{ window }

// KindSessionWindow is the kind and state layout of a SessionWindow.
const KindSessionWindow = "session-window/1"

var (
	_ InPlace      = (*SessionWindow)(nil)
	_ StateChecker = (*SessionWindow)(nil)
)

func sessionWindowFamily() Family {
	return Family{
		Name: "session-window", Kind: KindSessionWindow,
		Build:     func(r Rate, _ int64) (Algorithm, error) { return lift(NewSessionWindow(r)) },
		Summary:   "counts in sessions that begin with the first request",
		Layout:    "start count",
		Bound:     func(s Spec, t time.Duration) int64 { return windowsOver(s, t, 2) },
		BoundText: "L·(⌊t/P⌋ + 2)",
		Samples:   []string{"session-window:1/1µs", "session-window:10/1m", "session-window:1000000000000/9600h"},
	}
}

// NewSessionWindow returns a session window that admits at most r.Units in every
// session of r.Per. A Rate outside its bounds is a *ParameterError.
func NewSessionWindow(r Rate) (*SessionWindow, error) {
	w, err := newWindow(KindSessionWindow, r)
	if err != nil {
		return nil, err
	}
	return &SessionWindow{w}, nil
}

// Step implements Algorithm.
func (w *SessionWindow) Step(s State, now Instant, r Request) (next State, o Outcome) {
	w.StepInPlace(&s, now, r, &o)
	return s, o
}

// StepInPlace implements InPlace.
func (w *SessionWindow) StepInPlace(s *State, now Instant, r Request, o *Outcome) {
	now = now.bounded()
	start, count := int64(now), int64(0)
	if !s.Fresh() && start < s.w0+w.period {
		// Also where the clock shows an instant before the session: a clock that
		// goes back must not begin another.
		start, count = s.w0, s.w1
	}
	*o = Outcome{Limit: w.limit}
	switch {
	case uint64(r.Cost) > uint64(w.limit):
		o.RetryAfter = Never
	case r.Cost > 0 && count > w.limit-r.Cost:
		o.RetryAfter = micros(start + w.period - int64(now))
	default:
		o.Allowed = true
		if r.Cost > 0 {
			count += r.Cost
			*s = State{w0: start, w1: count, shape: twoWords}
		}
	}
	if count > 0 {
		o.ResetAfter = micros(start + w.period - int64(now))
	}
	o.Remaining = max(0, w.limit-count)
}

// CheckState implements StateChecker.
func (w *SessionWindow) CheckState(s State) error { return checkCounts(s, 2, 2) }
