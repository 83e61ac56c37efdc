// Package exact computes with whole numbers whose products need 128 bits. Every
// division says which way it rounds.
package exact

import (
	"math"
	"math/bits"
)

// GCD returns the greatest common divisor of two numbers from 1.
func GCD(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Wide is a whole number from 0 to 2^128 − 1. Its zero value is 0.
type Wide struct{ hi, lo uint64 }

// Product returns a·b, of two numbers from 0.
func Product(a, b int64) (p Wide) {
	p.hi, p.lo = bits.Mul64(uint64(a), uint64(b))
	return p
}

// Plus returns a + b, which must fit.
func (a Wide) Plus(b Wide) Wide {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return Wide{hi, lo}
}

// Minus returns a − b, or 0 where b is larger.
func (a Wide) Minus(b Wide) Wide {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, borrow := bits.Sub64(a.hi, b.hi, borrow)
	if borrow > 0 {
		return Wide{}
	}
	return Wide{hi, lo}
}

// Above reports whether a > b.
func (a Wide) Above(b Wide) bool { return a.hi > b.hi || a.hi == b.hi && a.lo > b.lo }

// IsZero reports whether a is 0.
func (a Wide) IsZero() bool { return a.hi|a.lo == 0 }

// Floor returns ⌊a/b⌋ for b from 1, and the largest int64 where that does not fit.
func (a Wide) Floor(b int64) int64 {
	q, _ := a.Divide(b)
	return q
}

// Ceil returns ⌈a/b⌉ for b from 1, and the largest int64 where that does not fit.
func (a Wide) Ceil(b int64) int64 {
	q, rest := a.Divide(b)
	if rest > 0 && q < math.MaxInt64 {
		q++
	}
	return q
}

// Divide returns ⌊a/b⌋ and the remainder for b from 1: the largest int64 and 0 where
// the quotient does not fit.
func (a Wide) Divide(b int64) (quotient, rest int64) {
	if a.hi >= uint64(b) {
		return math.MaxInt64, 0
	}
	q, r := bits.Div64(a.hi, a.lo, uint64(b))
	if q > math.MaxInt64 {
		return math.MaxInt64, 0
	}
	return int64(q), int64(r)
}
