package oracle

import "math/big"

// The algorithms with a rate work in ticks, whole numbers of the smallest part
// that their rate in lowest terms can express: 1/L' of a µs where time is
// counted, 1/P' of a unit where tokens are.

func times(a int64, b *big.Int) *big.Int { return new(big.Int).Mul(big.NewInt(a), b) }
func plus(a, b *big.Int) *big.Int        { return new(big.Int).Add(a, b) }
func minus(a, b *big.Int) *big.Int       { return new(big.Int).Sub(a, b) }

func larger(a, b *big.Int) *big.Int {
	if a.Cmp(b) >= 0 {
		return a
	}
	return b
}

func smaller(a, b *big.Int) *big.Int {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}

// floorDivide returns ⌊a/b⌋ for b > 0: Euclidean division rounds down there.
func floorDivide(a, b *big.Int) *big.Int { return new(big.Int).Div(a, b) }

// ceilDivide returns ⌈a/b⌉ for b > 0.
func ceilDivide(a, b *big.Int) *big.Int {
	n := floorDivide(new(big.Int).Neg(a), b)
	return n.Neg(n)
}

// floorTicks returns r in ticks of 1/denominator, rounded down.
func floorTicks(r *big.Rat, denominator *big.Int) *big.Int {
	return floorDivide(new(big.Int).Mul(r.Num(), denominator), r.Denom())
}

// ceilTicks returns r in ticks of 1/denominator, rounded up.
func ceilTicks(r *big.Rat, denominator *big.Int) *big.Int {
	return ceilDivide(new(big.Int).Mul(r.Num(), denominator), r.Denom())
}

// ceil rounds r up to a whole number. It panics where that does not fit: no
// answer is so long.
func ceil(r *big.Rat) int64 {
	n := ceilDivide(r.Num(), r.Denom())
	if !n.IsInt64() {
		panic("oracle: " + r.String() + " does not fit")
	}
	return n.Int64()
}
