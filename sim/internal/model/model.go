// Package model computes what a limit means for one slot, from the definition of the
// limit and apart from package algorithm: it is the reference that the simulator
// compares every decision with.
package model

import (
	"fmt"
	"math"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/exact"
	"github.com/weirgo/weir/internal/oracle"
)

// Model is the state of one slot. It is charged with everything that was admitted, also
// beyond the limit, so that it can tell the excess. Instants are the instants of the
// decisions. Costs for Room and Retry are from 1 to the capacity.
type Model interface {
	// Room reports whether the limit has room for a cost.
	Room(at, cost int64) bool
	// Retry returns after how many µs it would have room; Room has returned false.
	Retry(at, cost int64) int64
	// Delay returns how many µs an admission waits for its turn.
	Delay(at int64) int64
	// Charge takes a cost.
	Charge(at, cost int64)
	// Excess returns by how many units the charges exceed the bound of the limit, right
	// after a charge; full reports whether they just reach it.
	Excess() (units int64, full bool)
	// Debt returns how many units still count at an instant, or a little more.
	Debt(at int64) int64
	// Fresh reports whether no charge counts any more.
	Fresh(at int64) bool
	// Refund takes back a cost that was charged at an instant.
	Refund(charged, cost int64)
	// Clone returns an independent copy.
	Clone() Model
}

// Limit is a limit as the simulator needs it.
type Limit struct {
	Kind     string
	Units    int64 // of the rate
	Period   int64 // µs
	Capacity int64
	Full     int64 // µs from the largest debt to fresh
	Aligned  bool  // it counts in windows that are aligned to the clock

	name  string // of the family
	rate  rate
	spec  algorithm.Spec
	bound func(algorithm.Spec, time.Duration) int64
	kind  kind
}

// kind is how the models of a kind are made.
type kind struct {
	start func(*Limit) Model
	// full is the time from the largest debt to fresh, in µs.
	full func(*Limit) int64
	// slack returns how many more units pass where clocks differ by off µs.
	slack func(l *Limit, off int64) int64
}

var (
	bucketKind = kind{
		func(l *Limit) Model { return l.bucket(l.Capacity) },
		func(l *Limit) int64 { return exact.Product(l.Capacity, l.rate.per).Ceil(l.rate.units) },
		rateSlack,
	}
	fixedKind   = kind{func(l *Limit) Model { return &fixed{limit: l} }, func(l *Limit) int64 { return l.Period }, windowSlack}
	logKind     = kind{func(l *Limit) Model { return &log{limit: l} }, func(l *Limit) int64 { return l.Period }, windowSlack}
	counterKind = kind{newCounter, func(l *Limit) int64 { return 2 * l.Period }, rateSlack}
	// The longest window is the period of a calendar.
	calendarKind = kind{newCalendar, func(l *Limit) int64 { return l.Period }, boundSlack}
	oracleKind   = kind{newGeneric, fullByOracle, boundSlack}
)

func rateSlack(l *Limit, off int64) int64 { return exact.Product(off, l.rate.units).Ceil(l.rate.per) }

func windowSlack(l *Limit, off int64) int64 { return exact.Product(l.Units, off/l.Period+1).Floor(1) }

func boundSlack(l *Limit, off int64) int64 { return l.Bound(off) }

// kinds are the kinds with a model in whole numbers. Every other kind works through its
// oracle.
var kinds = map[string]kind{
	algorithm.KindGCRA:           bucketKind,
	algorithm.KindTokenBucket:    bucketKind,
	algorithm.KindLeakyBucket:    bucketKind,
	algorithm.KindFixedWindow:    fixedKind,
	algorithm.KindCalendarWindow: calendarKind,
	algorithm.KindSlidingLog:     logKind,
	algorithm.KindSlidingCounter: counterKind,
}

// New returns the Limit of an algorithm. A kind without a family, and a kind without a
// model and an oracle, is an error.
func New(a algorithm.Algorithm) (*Limit, error) {
	k, fast := kinds[a.Spec().Kind]
	if !fast {
		k = oracleKind
	}
	return newLimit(a, k)
}

func newLimit(a algorithm.Algorithm, k kind) (*Limit, error) {
	spec := a.Spec()
	family, known := algorithm.FamilyOf(spec.Kind)
	if !known {
		return nil, fmt.Errorf("sim: kind %q is not allowed: must be in algorithm.Families", spec.Kind)
	}
	r, capacity := family.Parameters(spec)
	l := &Limit{
		Kind: spec.Kind, Units: r.Units, Period: int64(r.Per / time.Microsecond), Capacity: capacity,
		Aligned: family.Aligned, name: family.Name, spec: spec, bound: family.Bound, kind: k,
	}
	if _, fast := kinds[l.Kind]; !fast {
		if _, err := oracleOf(family.Name); err != nil {
			return nil, err
		}
	}
	divisor := exact.GCD(l.Units, l.Period)
	l.rate = rate{l.Units / divisor, l.Period / divisor}
	l.Full = k.full(l)
	return l, nil
}

// Start returns the model of a slot that was never used.
func (l *Limit) Start() Model { return l.kind.start(l) }

// StartTrueTime returns the model that measures admissions in true time. Where clocks
// vary, aligned windows may begin at any instant.
func (l *Limit) StartTrueTime(clocksVary bool) Model {
	if clocksVary && l.Kind == algorithm.KindFixedWindow {
		return l.bucket(2 * l.Units)
	}
	if clocksVary && l.Kind == algorithm.KindCalendarWindow { // of which some are shorter than the period
		return l.bucket(3 * l.Units)
	}
	return l.Start()
}

// StartLate returns the model that measures what is used up to late µs after it was charged:
// its Room for nothing says whether that keeps within what the limit then allows. A window has
// no more for it, where units end with their window. nil: nothing of that kind is used late.
func (l *Limit) StartLate(late int64) Model {
	switch l.Kind {
	case algorithm.KindGCRA, algorithm.KindTokenBucket:
		return l.bucket(l.Capacity + l.Slack(late))
	case algorithm.KindFixedWindow, algorithm.KindCalendarWindow, algorithm.KindSlidingCounter:
		return l.Start()
	}
	return nil
}

// IsEarlierWindow reports whether an instant lies in an earlier aligned window than a later one.
func (l *Limit) IsEarlierWindow(at, later int64) bool {
	switch {
	case !l.Aligned:
		return false
	case oracle.Kind(l.name) == oracle.CalendarWindow:
		start, _ := oracle.NewCalendar(l.spec.Identity).Window(later)
		return at < start
	}
	return at/l.Period < later/l.Period
}

// KnowsTakes reports whether the state knows when units were taken, for as long as they count: then what is given
// back leaves no trace, whatever came in between.
func (l *Limit) KnowsTakes() bool {
	switch l.Kind {
	case algorithm.KindFixedWindow, algorithm.KindCalendarWindow, algorithm.KindSlidingCounter, algorithm.KindSlidingLog:
		return true
	}
	return false
}

// Bound returns the most units that the limit admits to one slot in a closed interval
// of length µs; the largest int64 where no bound is stated.
func (l *Limit) Bound(length int64) int64 {
	if l.bound == nil {
		return math.MaxInt64
	}
	return l.bound(l.spec, time.Duration(length)*time.Microsecond)
}

// Slack returns how many more units pass where the clocks of decisions differ by off
// µs.
func (l *Limit) Slack(off int64) int64 { return l.kind.slack(l, off) }

// rate is units per µs, in lowest terms.
type rate struct{ units, per int64 }
