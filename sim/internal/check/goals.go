package check

import (
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/result"
)

// Goal is a corner case that some runs should meet.
type Goal int

// The goals; goalNames says what each is.
const (
	DeniedByOne Goal = iota
	AdmittedExactly
	WholeCapacity
	AboveCapacity
	CurveReached
	FractionCarried
	PreviousCounts
	PreviousExact
	UsedAgain
	ClockBack
	TwoWindowsBack
	DoubleAtEdge
	CounterWorst
	OnlyLastDenies
	Shared
	LeftUnsent
	RequestLost
	ReplyLost
	RetriedUnknown
	LateReply
	Duplicate
	Reordered
	CallGivenUp
	ConnectionDead
	Frozen
	Spared
	ServerRefused
	FailoverLost
	StateForgotten
	ForgottenDenied
	BoundReached
	FalseDenial
	FallbackAdmitted
	BothAdmitted
	Queued
	Throttled
	GaveUp
	DeniedByCache
	CircuitOpened
	CircuitRefused
	Probed
	CircuitClosed
	CarriedDenied
	ShadowDenied
	EntryDenied
	EntryExempt

	Remembered
	RememberedOther
	SettledCompared
	Resumed
	Clamped
	IntoDebt
	NeverSettled
	LostTwice
	Goals // their number
)

var goalNames = [Goals]string{
	DeniedByOne:      "denied 1 µs before RetryAfter",
	AdmittedExactly:  "admitted exactly at RetryAfter",
	WholeCapacity:    "cost of the whole capacity",
	AboveCapacity:    "cost above the capacity by 1",
	CurveReached:     "arrival curve reached",
	FractionCarried:  "fraction of a unit carried over 3 charges",
	PreviousCounts:   "counter rolled with a previous count",
	PreviousExact:    "counter weighed without a fraction",
	UsedAgain:        "fresh key used again within 1 ms",
	ClockBack:        "clock went back on a slot",
	TwoWindowsBack:   "clock went back two windows",
	DoubleAtEdge:     "fixed window admitted twice its limit",
	CounterWorst:     "sliding counter admitted 2N-1",
	OnlyLastDenies:   "only the last limit denied",
	Shared:           "call shared by several requests",
	LeftUnsent:       "caller left before its request was sent",
	RequestLost:      "request lost",
	ReplyLost:        "reply lost",
	RetriedUnknown:   "retry after an unknown outcome",
	LateReply:        "reply after its caller had left",
	Duplicate:        "request delivered twice",
	Reordered:        "message overtaken",
	CallGivenUp:      "call given up",
	ConnectionDead:   "message lost on a dead connection",
	Frozen:           "call reached a frozen server",
	Spared:           "answer of a server while another was faulty",
	ServerRefused:    "server refused",
	FailoverLost:     "fail-over lost an admission",
	StateForgotten:   "state forgotten",
	ForgottenDenied:  "state of a denied slot forgotten",
	BoundReached:     "excess reached the bound of the faults",
	FalseDenial:      "false denial",
	FallbackAdmitted: "failure mode admitted",
	BothAdmitted:     "server charged, then failure mode admitted",
	Queued:           "leaky bucket made a caller wait",
	Throttled:        "client held itself back",
	GaveUp:           "caller gave up",
	CarriedDenied:    "denied for what another limit of the key had admitted",
	ShadowDenied:     "only a rule in shadow denied",
	EntryDenied:      "entry of the deny list denied",
	EntryExempt:      "entry of the allow list exempted",
	Remembered:       "ID was remembered",
	RememberedOther:  "ID was of another step",
	SettledCompared:  "slot compared with all of its reservations settled",
	Resumed:          "reservation settled from its text",
	Clamped:          "settlement took what was left",
	IntoDebt:         "settlement took more than was left",
	NeverSettled:     "reservation kept its estimate",
	LostTwice:        "call without an ID counted again",
	DeniedByCache:    "denied without a call to the server",
	CircuitOpened:    "breaker opened",
	CircuitRefused:   "breaker refused a call",
	Probed:           "breaker sent a probe",
	CircuitClosed:    "breaker closed again",
}

// worstGoals are the goals of kinds whose worst window has a name.
var worstGoals = map[string]Goal{
	algorithm.KindFixedWindow:    DoubleAtEdge,
	algorithm.KindSlidingCounter: CounterWorst,
}

// Met returns how often each goal was met: those of policies where the run has one, and those of
// reservations where traffic is reserved.
func (c *Checker) Met(policy bool) (all []result.Goal) {
	for i, name := range goalNames {
		if g := Goal(i); g >= Remembered && !c.Reserves || g >= CarriedDenied && g < Remembered && !policy {
			continue
		}
		all = append(all, result.Goal{Name: name, Count: c.Goals[i]})
	}
	return all
}

// corners counts goals that a decision meets, from the state before it.
func (c *Checker) corners(s *Slot, at int64) {
	if s.freshAt != 0 && at >= s.freshAt && at < s.freshAt+1000 {
		c.Goals[UsedAgain]++
	}
	if at < s.last {
		c.Goals[ClockBack]++
		if period := s.Limit.Period; at/period < s.last/period-1 {
			c.Goals[TwoWindowsBack]++
		}
	}
	s.last = max(s.last, at)
	if m, is := s.model.(interface {
		Rolled(int64) (rolled, exactly bool)
	}); is {
		rolled, exactly := m.Rolled(at)
		c.Goals[PreviousCounts] += One(rolled)
		c.Goals[PreviousExact] += One(exactly)
	}
}

// fraction counts charges in a row that leave a part of a microsecond over.
func (c *Checker) fraction(s *Slot) {
	m, is := s.model.(interface{ Fraction() bool })
	switch {
	case !is:
	case !m.Fraction():
		s.fractions = 0
	default:
		if s.fractions++; s.fractions == 3 {
			c.Goals[FractionCarried]++
			s.fractions = 0
		}
	}
}
