package algorithm

import "time"

// FixedWindow counts in windows that are half-open, one period long and aligned
// to the Unix epoch (a window of a day is a UTC day), and admits at most the
// limit in each.
//
// A closed interval of t µs sees at most L·(⌊t/P⌋ + 2) admitted: twice the limit
// can pass within 1 µs at an edge, the end of one window and the start of the
// next. The bound is reached.
//
// The state is two words: "start count". Decisions are O(1).
//
// Source: the definition; as in INCR with an expiry, without its races.
type FixedWindow struct{ window }

// KindFixedWindow is the kind and state layout of a FixedWindow.
const KindFixedWindow = "fixed-window/1"

var (
	_ InPlace      = (*FixedWindow)(nil)
	_ StateChecker = (*FixedWindow)(nil)
	_ Charger      = (*FixedWindow)(nil)
)

func fixedWindowFamily() Family {
	return Family{
		Name: "fixed-window", Kind: KindFixedWindow,
		Build:     func(r Rate, _ int64) (Algorithm, error) { return lift(NewFixedWindow(r)) },
		Summary:   `counts in windows aligned to the clock: quotas such as "per UTC day"`,
		Layout:    "start count",
		Aligned:   true,
		Bound:     func(s Spec, t time.Duration) int64 { return windowsOver(s, t, 2) },
		BoundText: "L·(⌊t/P⌋ + 2)",
		Samples:   []string{"fixed-window:1/1µs", "fixed-window:10/1m", "fixed-window:1000000000000/9600h"},
	}
}

// NewFixedWindow returns a fixed window that admits at most r.Units in every
// aligned window of r.Per. A Rate outside its bounds is a *ParameterError.
func NewFixedWindow(r Rate) (*FixedWindow, error) {
	w, err := newWindow(KindFixedWindow, r)
	if err != nil {
		return nil, err
	}
	return &FixedWindow{w}, nil
}

// Step implements Algorithm.
func (f *FixedWindow) Step(s State, now Instant, r Request) (next State, o Outcome) {
	f.StepInPlace(&s, now, r, &o)
	return s, o
}

// StepInPlace implements InPlace.
func (f *FixedWindow) StepInPlace(s *State, now Instant, r Request, o *Outcome) {
	if r.Verb != Take {
		f.other(s, now, r, o)
		return
	}
	now = now.bounded()
	e, count := int64(now), int64(0)
	if !s.Fresh() {
		e = max(e, s.w0)
	}
	start := f.start(e)
	end := start + f.period
	if !s.Fresh() && s.w0 >= start {
		// After a change of parameters the state may start inside this
		// window; its start stays, so that a longer window never lowers it.
		start, count = s.w0, s.w1
	}
	*o = Outcome{Limit: f.limit}
	switch {
	case uint64(r.Cost) > uint64(f.limit):
		o.RetryAfter = Never
	case r.Cost > 0 && count > f.limit-r.Cost:
		o.RetryAfter = micros(end - int64(now))
	default:
		o.Allowed = true
		if r.Cost > 0 {
			count += r.Cost
			*s = State{w0: start, w1: count, shape: twoWords}
		}
	}
	if count > 0 {
		o.ResetAfter = micros(end - int64(now))
	} else if ahead := end - f.period - int64(now); ahead > 0 {
		// All was given back, in a later window than a fresh key would count in.
		o.ResetAfter = micros(ahead)
	}
	f.left(count, o)
}

// MaxDebt implements Charger.
func (f *FixedWindow) MaxDebt() int64 { return MaxUnits }

// other is StepInPlace for a charge or a refund.
func (f *FixedWindow) other(s *State, now Instant, r Request, o *Outcome) {
	*o = Outcome{Allowed: true}
	switch {
	case r.Verb == Charge:
		raised := FixedWindow{f.raised()}
		raised.StepInPlace(s, now, Request{Cost: r.Cost}, o)
	case r.Verb == Refund && r.Cost >= 0:
		f.refund(s, int64(now.bounded()), int64(r.At.bounded()), r.Cost)
	default:
		*o = Outcome{RetryAfter: Never}
	}
	var look Outcome
	f.StepInPlace(s, now, Request{}, &look)
	o.answer(r.Verb, look)
}

// refund takes n from the count where the window that holds at is the one that counts.
func (f *FixedWindow) refund(s *State, now, at, n int64) {
	if s.Fresh() || n == 0 {
		return
	}
	start := f.start(max(now, s.w0))
	if s.w0 < start || s.w1 == 0 || f.start(at) != start {
		return
	}
	*s = State{w0: s.w0, w1: max(0, s.w1-n), shape: twoWords}
}

// CheckState implements StateChecker.
func (f *FixedWindow) CheckState(s State) error { return checkCounts(s, 2, 2) }
