package sim

import (
	"math"
	"math/bits"
)

// wide is a whole number of 128 bits from 0. A level of units times a period does not
// fit into 64.
type wide struct{ hi, lo uint64 }

func product(a, b int64) (p wide) {
	p.hi, p.lo = bits.Mul64(uint64(a), uint64(b))
	return p
}

func (a wide) plus(b wide) wide {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return wide{hi, lo}
}

// less0 returns a − b, and 0 where that would be below.
func (a wide) less0(b wide) wide {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, borrow := bits.Sub64(a.hi, b.hi, borrow)
	if borrow > 0 {
		return wide{}
	}
	return wide{hi, lo}
}

// above says a > b.
func (a wide) above(b wide) bool { return a.hi > b.hi || a.hi == b.hi && a.lo > b.lo }

func (a wide) zero() bool { return a.hi|a.lo == 0 }

// over returns ⌈a/b⌉, and the largest number where it does not fit.
func (a wide) over(b int64) int64 {
	q, rest := a.divide(b)
	if rest > 0 && q < math.MaxInt64 {
		q++
	}
	return q
}

// under returns ⌊a/b⌋, and the largest number where it does not fit.
func (a wide) under(b int64) int64 {
	q, _ := a.divide(b)
	return q
}

func (a wide) divide(b int64) (quotient, rest int64) {
	if a.hi == 0 {
		q := a.lo / uint64(b)
		if q > math.MaxInt64 {
			return math.MaxInt64, 0
		}
		return int64(q), int64(a.lo % uint64(b))
	}
	if a.hi >= uint64(b) {
		return math.MaxInt64, 0
	}
	q, r := bits.Div64(a.hi, a.lo, uint64(b))
	if q > math.MaxInt64 {
		return math.MaxInt64, 0
	}
	return int64(q), int64(r)
}
