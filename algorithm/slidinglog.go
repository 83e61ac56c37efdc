package algorithm

import "time"

// SlidingLog remembers when it admitted what, and admits at most the limit in
// every half-open window (now − period, now]: an entry exactly one period old
// has left. It is the only algorithm here that keeps that promise for every
// window, and the only one whose state grows: 9 to 10 bytes for each admitted
// request of cost 1 in the window, 16 more for one of another cost.
//
// A closed interval of t µs sees at most L·(⌊t/P⌋ + 1) admitted; the bound is
// reached by taking L in one instant, one period apart.
//
// Admission costs amortised O(1), denial and look O(log n) for n entries, a refund O(n).
// Expired entries are dropped by the next admission.
//
// The state is the log, in its text form "[+extra] instant[:cost] …": the cost
// of an instant where that is not 1, and extra, the sum of all cost - 1, where
// that is not 0. Where the clock shows less than the last instant, the last
// instant is used and recorded.
//
// Source: the definition; nginx, Redis and Kong call it a sliding window log.
type SlidingLog struct{ window }

// KindSlidingLog is the kind and state layout of a SlidingLog.
const KindSlidingLog = "sliding-log/1"

var (
	_ InPlace      = (*SlidingLog)(nil)
	_ StateChecker = (*SlidingLog)(nil)
	_ Charger      = (*SlidingLog)(nil)
)

func slidingLogFamily() Family {
	return Family{
		Name: "sliding-log", Kind: KindSlidingLog,
		Build:     func(r Rate, _ int64) (Algorithm, error) { return lift(NewSlidingLog(r)) },
		Summary:   `at most L in every window of P, exactly; memory for each admitted request`,
		Layout:    "[+extra] instant[:cost] …",
		Log:       true,
		Bound:     func(s Spec, t time.Duration) int64 { return windowsOver(s, t, 1) },
		BoundText: "L·(⌊t/P⌋ + 1)",
		Samples:   []string{"sliding-log:1/1µs", "sliding-log:10/1m", "sliding-log:1000000000000/9600h"},
	}
}

// NewSlidingLog returns a sliding window log that admits at most r.Units in
// every window of r.Per. A Rate outside its bounds is a *ParameterError.
func NewSlidingLog(r Rate) (*SlidingLog, error) {
	w, err := newWindow(KindSlidingLog, r)
	if err != nil {
		return nil, err
	}
	return &SlidingLog{w}, nil
}

// Step implements Algorithm.
func (l *SlidingLog) Step(s State, now Instant, r Request) (next State, o Outcome) {
	l.StepInPlace(&s, now, r, &o)
	return s, o
}

// StepInPlace implements InPlace.
func (l *SlidingLog) StepInPlace(s *State, now Instant, r Request, o *Outcome) {
	if r.Verb != Take {
		l.other(s, now, r, o)
		return
	}
	now = now.bounded()
	e := int64(now)
	t := s.tail()
	if !t.empty() {
		e = max(e, t.last())
		t = t.after(e - l.period)
	}
	used, last := t.units(), e
	if used > 0 {
		last = t.last()
	}
	*o = Outcome{Limit: l.limit}
	switch {
	case uint64(r.Cost) > uint64(l.limit):
		o.RetryAfter = Never
	case r.Cost > 0 && used > l.limit-r.Cost:
		// Enough has left when the entry with the last unit in excess has.
		excess := used - (l.limit - r.Cost)
		o.RetryAfter = micros(t.holding(excess) + l.period - int64(now))
	default:
		o.Allowed = true
		if r.Cost > 0 {
			*s = t.append(e, r.Cost)
			used += r.Cost
			last = e
		}
	}
	if used > 0 {
		o.ResetAfter = micros(last + l.period - int64(now))
	}
	l.left(used, o)
}

// MaxDebt implements Charger.
func (l *SlidingLog) MaxDebt() int64 { return MaxUnits }

// other is StepInPlace for a charge or a refund.
func (l *SlidingLog) other(s *State, now Instant, r Request, o *Outcome) {
	*o = Outcome{Allowed: true}
	switch {
	case r.Verb == Charge:
		raised := SlidingLog{l.raised()}
		raised.StepInPlace(s, now, Request{Cost: r.Cost}, o)
	case r.Verb == Refund && r.Cost >= 0:
		l.refund(s, int64(now.bounded()), int64(r.At.bounded()), r.Cost)
	default:
		*o = Outcome{RetryAfter: Never}
	}
	var look Outcome
	l.StepInPlace(s, now, Request{}, &look)
	o.answer(r.Verb, look)
}

// refund takes n from the entry at the instant at, where it still counts. A log without
// entries is fresh. O(n) for n entries.
func (l *SlidingLog) refund(s *State, now, at, n int64) {
	t := s.tail()
	if t.empty() || n == 0 || at <= max(now, t.last())-l.period || !t.has(at) {
		return
	}
	var next State
	for _, e := range s.entries() {
		if e.at == at {
			e.cost -= min(n, e.cost)
		}
		if e.cost > 0 {
			next = next.tail().append(e.at, e.cost)
		}
	}
	*s = next
}

// CheckState implements StateChecker: instants that increase, from 0 to
// MaxInstant.
func (l *SlidingLog) CheckState(s State) error {
	last := int64(-1)
	for _, e := range s.entries() {
		if e.at <= last || e.at > int64(MaxInstant) {
			return refuseState(Instant(e.at).String())
		}
		last = e.at
	}
	return nil
}
