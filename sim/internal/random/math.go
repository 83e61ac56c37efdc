package random

import "math"

// Log returns the natural logarithm of x, to about 15 digits and the same ones
// on every platform. It is −Inf for what is not above 0, and +Inf for +Inf.
func Log(x float64) float64 {
	switch {
	case !(x > 0):
		return math.Inf(-1)
	case math.IsInf(x, 1):
		return x
	}
	fraction, exponent := math.Frexp(x) // exact
	if fraction < math.Sqrt2/2 {
		fraction *= 2
		exponent--
	}
	// ln f = 2·artanh(t), t = (f − 1)/(f + 1), |t| < 0.172: the series of artanh.
	t := (fraction - 1) / (fraction + 1)
	// It is summed up in pairs, so that a processor can work on several concurrently.
	t2 := float64(t * t)
	t4 := float64(t2 * t2)
	t8 := float64(t4 * t4)
	low := 1 + float64(t2*(1.0/3)) + float64(t4*(1.0/5+float64(t2*(1.0/7))))
	middle := 1.0/9 + float64(t2*(1.0/11)) + float64(t4*(1.0/13+float64(t2*(1.0/15))))
	high := 1.0/17 + float64(t2*(1.0/19))
	sum := low + float64(t8*(middle+float64(t8*high)))
	return float64(float64(exponent)*math.Ln2) + float64(2*float64(t*sum))
}

// Exp returns e^x, to about 15 digits and the same ones on every platform. It is
// 0 below −700, and +Inf above 700.
func Exp(x float64) float64 {
	switch {
	case x > 700:
		return math.Inf(1)
	case !(x >= -700):
		return 0
	}
	// e^x = 2^k · e^r with |r| ≤ ln 2 / 2. ln 2 is split so that k·high is exact.
	const high, low = 0x1.62e42fee00000p-1, 0x1.a39ef35793c76p-33
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	r := x - float64(k*high) - float64(k*low)
	r2 := float64(r * r)
	r4 := float64(r2 * r2)
	first := 1 + r + float64(r2*(1.0/2+float64(r*(1.0/6))))
	second := 1.0/24 + float64(r*(1.0/120)) + float64(r2*(1.0/720+float64(r*(1.0/5040))))
	third := 1.0/40_320 + float64(r*(1.0/362_880)) + float64(r2*(1.0/3_628_800+float64(r*(1.0/39_916_800))))
	fourth := 1.0/479_001_600 + float64(r*(1.0/6_227_020_800))
	sum := first + float64(r4*(second+float64(r4*(third+float64(r4*fourth)))))
	return math.Ldexp(sum, int(k)) // exact
}

// SinTurn returns the sine of x turns, sin 2πx, to about 10 digits and the same
// ones on every platform. Only the fraction of x counts. It is 0 for what is no
// number, and for infinities.
func SinTurn(x float64) float64 {
	x -= math.Floor(x)
	switch {
	case x > 0.75:
		x -= 1
	case x > 0.25:
		x = 0.5 - x
	case !(x >= 0):
		return 0
	}
	y := float64(2 * math.Pi * x) // from −π/2 to π/2
	y2 := float64(y * y)
	y4 := float64(y2 * y2)
	y8 := float64(y4 * y4)
	low := 1 - float64(y2*(1.0/6)) + float64(y4*(1.0/120-float64(y2*(1.0/5040))))
	high := 1.0/362_880 - float64(y2*(1.0/39_916_800)) + float64(y4*(1.0/6_227_020_800-float64(y2*(1.0/1_307_674_368_000))))
	return float64(y * (low + float64(y8*high)))
}
