package model

import (
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/exact"
)

// bucket is a level that drains at a constant rate. It is the whole of GCRA, of the
// token bucket and of the leaky bucket as a queue, which differ only on a clock that
// goes back. For every limit it measures a bound of the form base + ⌊t·L/P⌋: the
// level is the largest A(s, t) − (t − s)·L/P over all s.
type bucket struct {
	rate
	top    exact.Wide // the burst, in the unit of level
	level  exact.Wide // 1/per units
	last   int64
	tokens bool // a clock that goes back changes nothing, instead of counting as debt
	queue  bool
}

// bucket returns a bucket that holds the bound base + ⌊t·L/P⌋ over any interval.
func (l *Limit) bucket(base int64) *bucket {
	return &bucket{
		rate: l.rate, top: exact.Product(base, l.rate.per),
		tokens: l.Kind == algorithm.KindTokenBucket, queue: l.Kind == algorithm.KindLeakyBucket,
	}
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

func (b *bucket) Room(at, cost int64) bool {
	return !b.levelAt(at).Plus(exact.Product(cost, b.per)).Above(b.top)
}

func (b *bucket) Retry(at, cost int64) int64 {
	d := b.levelAt(at).Plus(exact.Product(cost, b.per)).Minus(b.top).Ceil(b.units)
	if b.tokens && at < b.last {
		d += b.last - at
	}
	return d
}

func (b *bucket) Delay(at int64) int64 {
	if !b.queue {
		return 0
	}
	return b.levelAt(at).Ceil(b.units)
}

func (b *bucket) Charge(at, cost int64) {
	if at > b.last {
		b.level = b.level.Minus(exact.Product(at-b.last, b.units))
		b.last = at
	}
	b.level = b.level.Plus(exact.Product(cost, b.per))
}

func (b *bucket) Excess() (units int64, full bool) {
	if !b.level.Above(b.top) {
		return 0, b.level == b.top
	}
	return b.level.Minus(b.top).Ceil(b.per), false
}

func (b *bucket) Debt(at int64) int64 { return b.levelAt(at).Ceil(b.per) }

func (b *bucket) Fresh(at int64) bool {
	return b.level.IsZero() || at >= b.last && b.levelAt(at).IsZero()
}

func (b *bucket) Refund(charged, cost int64) {
	b.Charge(charged, 0)
	b.level = b.level.Minus(exact.Product(cost, b.per))
}

func (b *bucket) Clone() Model { c := *b; return &c }

// Fraction reports whether the level ends within a microsecond.
func (b *bucket) Fraction() bool {
	_, part := b.level.Divide(b.units)
	return part != 0
}
