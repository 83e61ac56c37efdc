package algorithm

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirgo/weir/internal/exact"
)

// operand draws numbers from 0 to most: small ones, large ones, and the
// neighbours of powers of two.
func operand(most int64) *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64Range(0, min(most, 9)),
		rapid.Int64Range(0, most),
		rapid.Map(rapid.Int64Range(0, 9), func(n int64) int64 { return max(0, most-n) }),
		rapid.Custom(func(t *rapid.T) int64 {
			power := int64(1) << rapid.IntRange(0, 62).Draw(t, "power")
			return min(most, max(0, power+rapid.Int64Range(-1, 1).Draw(t, "offset")))
		}),
	)
}

// mustDivide compares MulDiv and MulAddDiv with big integers: exact where the
// quotient is below 2^63, and the largest int64 where it is not.
func mustDivide(t interface {
	Helper()
	Fatalf(string, ...any)
}, a, b, c, m int64) {
	t.Helper()
	dividend := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	dividend.Add(dividend, big.NewInt(c))
	quotient, remainder := new(big.Int).DivMod(dividend, big.NewInt(m), new(big.Int))
	want := [2]int64{math.MaxInt64, 0}
	fits := quotient.IsInt64()
	if fits {
		want = [2]int64{quotient.Int64(), remainder.Int64()}
	}
	var got [2]int64
	if got[0], got[1] = exact.MulAddDiv(a, b, c, m); got != want {
		t.Fatalf("(%d·%d + %d)/%d: quotient and remainder %v, want %v", a, b, c, m, got, want)
	}
	if c != 0 {
		return
	}
	if got[0], got[1] = exact.MulDiv(a, b, m); got != want {
		t.Fatalf("%d·%d/%d: quotient and remainder %v, want %v", a, b, m, got, want)
	}
	if fits && remainder.Sign() > 0 && want[0] < math.MaxInt64 {
		if got := exact.Up(exact.MulDiv(a, b, m)); got != want[0]+1 {
			t.Fatalf("%d·%d/%d rounded up is %d, want %d", a, b, m, got, want[0]+1)
		}
	}
}

// A2: every combination of the operands at which something could go wrong.
func TestLawA2ProductsAreExactAtTheExtremes(t *testing.T) {
	longest := int64(MaxPeriod / time.Microsecond)
	full := int64(MaxTimeToFull / time.Microsecond)
	edges := []int64{
		0, 1, 2, 3, 7, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<32 + 1,
		MaxUnits - 1, MaxUnits, MaxUnits + 1, longest - 1, longest, full, full + 1, int64(MaxInstant),
		MaxWord, MaxWord + 1, 1<<62 - 1, 1 << 62, math.MaxInt64 - 1, math.MaxInt64,
	}
	rows := 0
	for _, a := range edges {
		for _, b := range edges {
			for _, m := range edges[1:] {
				mustDivide(t, a, b, 0, m)
				for _, c := range edges {
					mustDivide(t, a, b, c, m)
					if hi := new(big.Int).Mul(big.NewInt(a), big.NewInt(b)); hi.Cmp(big.NewInt(c)) >= 0 {
						mustDivide(t, a, b, -c, m)
					}
					rows++
				}
			}
		}
	}
	t.Logf("%d rows", rows)
}

// A2 on numbers drawn at random.
func TestLawA2ProductsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := operand(math.MaxInt64).Draw(t, "a")
		b := operand(math.MaxInt64).Draw(t, "b")
		m := max(1, operand(math.MaxInt64).Draw(t, "m"))
		c := operand(math.MaxInt64).Draw(t, "c")
		if rapid.Bool().Draw(t, "negative") {
			if product := new(big.Int).Mul(big.NewInt(a), big.NewInt(b)); product.IsInt64() {
				c = min(c, product.Int64())
			}
			c = -c
		}
		mustDivide(t, a, b, c, m)
		mustDivide(t, a, b, 0, m)
	})
	// A plain loop is a hundred times as fast as a draw.
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		a, b := int64(random.Uint64()>>(1+random.IntN(63))), int64(random.Uint64()>>(1+random.IntN(63)))
		mustDivide(t, a, b, 0, max(1, int64(random.Uint64()>>(1+random.IntN(63)))))
	}
}

// rational is a span as what it stands for.
func (s *schedule) rational(a span) *big.Rat {
	part := big.NewRat(a.part, s.units)
	return part.Add(part, new(big.Rat).SetInt64(a.whole))
}

// A1: the arithmetic of GCRA and leaky bucket, a span at a time, for rates and
// costs up to the bounds.
func TestLawA1SpansAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := Rate{
			Units: max(1, operand(MaxUnits).Draw(t, "limit")),
			Per:   time.Duration(max(1, operand(int64(MaxPeriod/time.Microsecond)).Draw(t, "period"))) * time.Microsecond,
		}
		unit := big.NewRat(int64(rate.Per/time.Microsecond), rate.Units)
		most := int64(MaxUnits)
		full := new(big.Rat).SetInt64(int64(MaxTimeToFull / time.Microsecond))
		if full.Quo(full, unit); full.Cmp(new(big.Rat).SetInt64(most)) < 0 {
			most = new(big.Int).Quo(full.Num(), full.Denom()).Int64()
		}
		burst := max(1, operand(most).Draw(t, "burst"))
		s, err := newSchedule(KindGCRA, "burst", rate, burst)
		if err != nil {
			t.Fatal(err)
		}
		if burst == most && most < MaxUnits {
			if _, err := newSchedule(KindGCRA, "burst", rate, burst+1); err == nil {
				t.Fatalf("%v accepts a burst of %d, which takes longer to fill than allowed", rate, burst+1)
			}
		}

		for range rapid.IntRange(1, 30).Draw(t, "spans") {
			mustSpan(t, &s, unit)
		}
	})
}

// mustSpan compares one cost and one debt under s with rationals.
func mustSpan(t *rapid.T, s *schedule, unit *big.Rat) {
	t.Helper()
	n := operand(s.burst).Draw(t, "n")
	cost := s.times(n)
	if want := new(big.Rat).Mul(unit, new(big.Rat).SetInt64(n)); s.rational(cost).Cmp(want) != 0 {
		t.Fatalf("%d units of %v: %v, want %v", n, unit, s.rational(cost), want)
	}
	// Debts go beyond what a burst takes, where a clock went back.
	debt := span{operand(2*int64(MaxInstant)).Draw(t, "debt"), operand(s.units-1).Draw(t, "part")}
	room := s.room(debt)
	want := new(big.Rat).Mul(unit, new(big.Rat).SetInt64(s.burst))
	want.Sub(want, s.rational(debt))
	if s.rational(room).Cmp(want) != 0 || room.part < 0 || room.part >= s.units {
		t.Fatalf("room after %v: %v, want %v", s.rational(debt), s.rational(room), want)
	}
	if got := s.rational(s.plus(debt, cost)); got.Cmp(new(big.Rat).Add(s.rational(debt), s.rational(cost))) != 0 {
		t.Fatalf("%v + %v: %v", s.rational(debt), s.rational(cost), got)
	}
	if got := room.less(cost); got != (want.Cmp(s.rational(cost)) < 0) {
		t.Fatalf("%v < %v: %v", want, s.rational(cost), got)
	}
	lack := new(big.Rat).Sub(s.rational(cost), want)
	if got, want := s.minus(cost, room).ceil(), ceilBig(lack); want.Cmp(big.NewInt(got)) != 0 {
		t.Fatalf("%v rounded up: %d, want %d", lack, got, want)
	}
	units := want.Quo(want, unit)
	left := new(big.Int).Div(units.Num(), units.Denom())
	if left.Sign() < 0 {
		return // see Outcome.Debt
	}
	if got := s.remaining(room); left.Cmp(big.NewInt(got)) != 0 {
		t.Fatalf("%d remain in %v of %v, want %d", got, s.rational(room), unit, left)
	}
}

// A1 for the token bucket: what it takes to gain n tokens less a part.
func TestLawA1WaitsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := Rate{
			Units: max(1, operand(MaxUnits).Draw(t, "limit")),
			Per:   time.Duration(max(1, operand(int64(MaxPeriod/time.Microsecond)).Draw(t, "period"))) * time.Microsecond,
		}
		b, err := NewTokenBucket(rate, 1)
		if err != nil {
			t.Skip("one unit takes longer than a bucket may")
		}
		n := max(1, operand(MaxUnits).Draw(t, "n"))
		part := operand(b.per-1).Draw(t, "part")
		lack := big.NewRat(-part, b.per)
		lack.Add(lack, new(big.Rat).SetInt64(n))
		wait := ceilBig(lack.Mul(lack, big.NewRat(int64(rate.Per/time.Microsecond), rate.Units)))
		if !wait.IsInt64() {
			t.Skip("longer than a bucket may take to fill")
		}
		if got := b.wait(n, part); got != wait.Int64() {
			t.Fatalf("%d less %d/%d tokens at %v: %d µs, want %d", n, part, b.per, rate, got, wait)
		}
	})
}

func ceilBig(r *big.Rat) *big.Int {
	n := new(big.Int).Neg(r.Num())
	n.Div(n, r.Denom())
	return n.Neg(n)
}

// A rate in lowest terms is the same rate, and no two of them are.
func TestLawE11RatesReduce(t *testing.T) {
	for _, test := range []struct {
		rate       Rate
		units, per int64
	}{
		{Rate{7, 3 * time.Second}, 7, 3_000_000},
		{Rate{1_000_000, 30 * 24 * time.Hour}, 1, 2_592_000},
		{Rate{1_000_003, 30 * 24 * time.Hour}, 1_000_003, 2_592_000_000_000},
		{Rate{10, time.Microsecond}, 10, 1},
		{Rate{MaxUnits, MaxPeriod}, 25, 864},
	} {
		if units, per := test.rate.reduced(); units != test.units || per != test.per {
			t.Errorf("%v: %s, want %s", test.rate, fmt.Sprint(units, "/", per), fmt.Sprint(test.units, "/", test.per))
		}
	}
}
