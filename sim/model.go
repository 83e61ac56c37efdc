package sim

import (
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/exact"
)

// model is what a limit means, worked out for one slot from its definition and apart
// from package algorithm. It is charged with what was admitted, also beyond the limit,
// so that it can say by how much. Instants are those of the decisions. Costs asked of
// room and retry are from 1 to the capacity.
type model interface {
	// room says whether the limit has room for a cost.
	room(at, cost int64) bool
	// retry returns after how many µs it would have room; room has said that it
	// has none.
	retry(at, cost int64) int64
	// charge takes a cost.
	charge(at, cost int64)
	// excess returns by how many units what was charged exceeds the bound of the
	// limit, right after a charge; full says that it just reaches it.
	excess() (units int64, full bool)
	// debt returns how many units still count at an instant, or a little more.
	debt(at int64) int64
	// fresh says that nothing that was charged counts any more.
	fresh(at int64) bool
	// refund takes back a cost that was charged at an instant.
	refund(charged, cost int64)
	// clone returns a copy.
	clone() model
}

// law is a limit as the simulator needs it.
type law struct {
	kind     string
	limit    int64 // units
	period   int64 // µs
	capacity int64
	rate     drain // in lowest terms
	full     int64 // µs from the fullest debt to fresh
	queue    bool  // a leaky bucket: admissions have a Delay
}

// newLaw returns the law of an algorithm of package algorithm.
func newLaw(a algorithm.Algorithm) *law {
	spec := a.Spec()
	l := &law{kind: spec.Kind, limit: spec.Params[0], period: spec.Params[1], capacity: spec.Params[0]}
	l.rate = newDrain(l.limit, l.period)
	l.full = l.period
	switch l.kind {
	case algorithm.KindGCRA, algorithm.KindTokenBucket, algorithm.KindLeakyBucket:
		l.capacity = spec.Params[2]
		l.full = exact.Product(l.capacity, l.rate.per).Ceil(l.rate.units)
		l.queue = l.kind == algorithm.KindLeakyBucket
	case algorithm.KindSlidingCounter:
		l.full = 2 * l.period
	}
	return l
}

// aligned says that the limit counts in windows with edges that a clock decides on: where
// clocks differ, so do the windows.
func (l *law) aligned() bool {
	return l.kind == algorithm.KindFixedWindow || l.kind == algorithm.KindSlidingCounter
}

// start returns the model of a slot that was never used.
func (l *law) start() model {
	switch l.kind {
	case algorithm.KindFixedWindow:
		return &fixed{law: l}
	case algorithm.KindSlidingCounter:
		return &counter{law: l, curve: *l.interval(l.limit)}
	case algorithm.KindSlidingLog:
		return &logged{law: l}
	}
	return l.interval(l.capacity)
}

// interval returns a bucket that holds the bound base + ⌊t·L/P⌋ over any interval.
func (l *law) interval(base int64) *bucket {
	return &bucket{drain: l.rate, burst: base, top: exact.Product(base, l.rate.per), tokens: l.kind == algorithm.KindTokenBucket}
}

// bound returns the most that a limit admits to one slot in a closed interval.
func (l *law) bound(length int64) int64 {
	switch l.kind {
	case algorithm.KindFixedWindow:
		return l.limit * (length/l.period + 2)
	case algorithm.KindSlidingLog:
		return l.limit * (length/l.period + 1)
	}
	return l.capacity + exact.Product(length, l.rate.units).Floor(l.rate.per)
}

// drain is a rate in lowest terms: units per so many µs.
type drain struct{ units, per int64 }

func newDrain(units, per int64) drain {
	d := exact.GCD(units, per)
	return drain{units / d, per / d}
}

// bucket is a level that drains at a constant rate. It is the whole of GCRA, of the
// token bucket and of the leaky bucket as a queue, which differ only on a clock that
// goes back, and for every limit it measures a bound of the form base + ⌊t·L/P⌋: the
// level is the largest A(s, t) − (t − s)·L/P over all s.
type bucket struct {
	drain
	burst  int64
	top    exact.Wide // burst, in the unit of level
	level  exact.Wide // 1/per units
	last   int64
	tokens bool // a clock that goes back changes nothing, instead of counting as debt
}

// levelAt returns the level that a decision at an instant meets.
func (b *bucket) levelAt(at int64) exact.Wide {
	switch {
	case b.level.IsZero():
		return exact.Wide{}
	case at >= b.last:
		return b.level.Minus(exact.Product(at-b.last, b.units))
	case b.tokens:
		return b.level
	}
	return b.level.Plus(exact.Product(b.last-at, b.units))
}

func (b *bucket) room(at, cost int64) bool {
	return !b.levelAt(at).Plus(exact.Product(cost, b.per)).Above(b.top)
}

func (b *bucket) retry(at, cost int64) int64 {
	d := b.levelAt(at).Plus(exact.Product(cost, b.per)).Minus(b.top).Ceil(b.units)
	if b.tokens && at < b.last {
		d += b.last - at
	}
	return d
}

// delay returns how long an admission at an instant waits for those before it.
func (b *bucket) delay(at int64) int64 { return b.levelAt(at).Ceil(b.units) }

func (b *bucket) charge(at, cost int64) {
	if at > b.last {
		b.level = b.level.Minus(exact.Product(at-b.last, b.units))
		b.last = at
	}
	b.level = b.level.Plus(exact.Product(cost, b.per))
}

func (b *bucket) excess() (units int64, full bool) {
	if !b.level.Above(b.top) {
		return 0, b.level == b.top
	}
	return b.level.Minus(b.top).Ceil(b.per), false
}

func (b *bucket) debt(at int64) int64 { return b.levelAt(at).Ceil(b.per) }

func (b *bucket) fresh(at int64) bool {
	return b.level.IsZero() || at >= b.last && b.levelAt(at).IsZero()
}

func (b *bucket) refund(charged, cost int64) {
	b.charge(charged, 0)
	b.level = b.level.Minus(exact.Product(cost, b.per))
}

func (b *bucket) clone() model { c := *b; return &c }
