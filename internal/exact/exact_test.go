package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func bigOf(w Wide) *big.Int {
	n := new(big.Int).SetUint64(w.hi)
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(w.lo))
}

func TestWideComputesAsBigNumbersDo(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 10_000 {
		a, b := r.Int64N(1<<r.Int64N(63)|1), r.Int64N(1<<r.Int64N(63)|1)
		c, d := 1+r.Int64N(1<<r.Int64N(62)), r.Int64N(1<<r.Int64N(62)|1)
		p, q := Product(a, b), Product(c, d)
		sum, difference := new(big.Int).Add(bigOf(p), bigOf(q)), new(big.Int).Sub(bigOf(p), bigOf(q))
		if difference.Sign() < 0 {
			difference.SetInt64(0)
		}
		if bigOf(p.Plus(q)).Cmp(sum) != 0 || bigOf(p.Minus(q)).Cmp(difference) != 0 || p.Above(q) != (bigOf(p).Cmp(bigOf(q)) > 0) {
			t.Fatal(a, b, c, d)
		}
		floor, rest := new(big.Int).QuoRem(bigOf(p), big.NewInt(c), new(big.Int))
		ceil := new(big.Int).Set(floor)
		if rest.Sign() > 0 {
			ceil.Add(ceil, big.NewInt(1))
		}
		most := big.NewInt(math.MaxInt64)
		for _, n := range []*big.Int{floor, ceil} {
			if n.Cmp(most) > 0 {
				n.Set(most)
			}
		}
		if p.Floor(c) != floor.Int64() || p.Ceil(c) != ceil.Int64() {
			t.Fatal(a, b, c, p.Floor(c), p.Ceil(c), floor, ceil)
		}
		if g := new(big.Int).GCD(nil, nil, big.NewInt(a+1), big.NewInt(c)); g.Int64() != GCD(a+1, c) {
			t.Fatal(a+1, c, GCD(a+1, c), g)
		}
	}
}

func TestWideSaturatesWhereAQuotientDoesNotFit(t *testing.T) {
	for _, w := range []Wide{Product(math.MaxInt64, math.MaxInt64), {0, 1 << 63}} {
		if w.Floor(1) != math.MaxInt64 || w.Ceil(1) != math.MaxInt64 {
			t.Errorf("%+v: %d and %d", w, w.Floor(1), w.Ceil(1))
		}
	}
	if !(Wide{}).IsZero() || Product(1, 1).IsZero() {
		t.Error("IsZero is wrong")
	}
}
