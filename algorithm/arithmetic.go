package algorithm

import "math/bits"

// mulDiv returns ⌊a·b/m⌋ and the remainder, through 128 bits. The caller makes
// sure that a and b are not negative, m is positive and the quotient is below
// 2^63. Every product here keeps to that by the bounds of Rate; a state that
// was not written by this package may not, so quotients saturate rather than
// panic.
func mulDiv(a, b, m int64) (quotient, remainder int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi|lo>>63 == 0 {
		return int64(lo / uint64(m)), int64(lo % uint64(m))
	}
	return div128(hi, lo, m)
}

// mulAddDiv returns ⌊(a·b + c)/m⌋ and the remainder, for −a·b ≤ c and the same
// ranges as mulDiv.
func mulAddDiv(a, b, c, m int64) (quotient, remainder int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	lo, carry := bits.Add64(lo, uint64(c), 0)
	hi += uint64(c>>63) + carry // the upper half of c is its sign
	if hi|lo>>63 == 0 {
		return int64(lo / uint64(m)), int64(lo % uint64(m))
	}
	return div128(hi, lo, m)
}

func div128(hi, lo uint64, m int64) (quotient, remainder int64) {
	if hi<<1|lo>>63 >= uint64(m) { // the dividend over 2^63, against m
		return 1<<63 - 1, 0
	}
	q, r := bits.Div64(hi, lo, uint64(m))
	return int64(q), int64(r)
}

// up rounds a quotient up, given its remainder.
func up(quotient, remainder int64) int64 {
	if remainder > 0 {
		return quotient + 1
	}
	return quotient
}
