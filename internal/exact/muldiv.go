package exact

import "math/bits"

// MulDiv returns ⌊a·b/m⌋ and the remainder, through 128 bits. The caller makes
// sure that a and b are not negative and m is positive. A quotient of 2^63 or more
// saturates: it is 2^63 - 1, with the remainder 0.
func MulDiv(a, b, m int64) (quotient, remainder int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi|lo>>63 == 0 {
		return int64(lo / uint64(m)), int64(lo % uint64(m))
	}
	return div128(hi, lo, m)
}

// MulAddDiv returns ⌊(a·b + c)/m⌋ and the remainder, for −a·b ≤ c and the same
// ranges as MulDiv.
func MulAddDiv(a, b, c, m int64) (quotient, remainder int64) {
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

// Up rounds a quotient up, given its remainder.
func Up(quotient, remainder int64) int64 {
	if remainder > 0 {
		return quotient + 1
	}
	return quotient
}

// Lowest returns a/b in lowest terms. Both are from 1.
func Lowest(a, b int64) (numerator, denominator int64) {
	divisor := GCD(a, b)
	return a / divisor, b / divisor
}
