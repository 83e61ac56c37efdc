package random

import "math"

// Exponential draws from the exponential distribution of that mean, such as the
// gap before the next arrival in µs. Results run from 0 to Max; a mean below 0
// counts as 0, which gives 0. The largest result is about 37 means.
func (s *Stream) Exponential(mean int64) int64 {
	return round(float64(s.Unit() * float64(max(mean, 0))))
}

// Pareto draws from the Pareto distribution of that mean: it is above x with a chance of
// (scale/x)^α, where scale is mean·(α − 1)/α. The variance is infinite for α up to 2.
// Results run from 0 to Max; they are rounded up or down by chance, since rounding to the
// nearest number would change the mean of short lengths. A mean below 0 counts as 0, an α
// below 1.001 as 1.001.
func (s *Stream) Pareto(mean, alphaMillionths int64) int64 {
	alpha := float64(max(alphaMillionths, Million+Million/1000)) / float64(Million)
	scale := float64(float64(max(mean, 0)) * (alpha - 1) / alpha)
	return truncate(float64(scale*Exp(s.Unit()/alpha)) + s.Fraction())
}

// LogNormal draws median·e^(σ·z), z from the standard normal distribution. The
// mean is median·e^(σ²/2). Results run from 0 to Max; a median or σ below 0 counts
// as 0, a σ above 100 as 100.
func (s *Stream) LogNormal(median, sigmaMillionths int64) int64 {
	sigma := float64(min(max(sigmaMillionths, 0), 100*Million)) / float64(Million)
	return round(float64(float64(max(median, 0)) * Exp(float64(sigma*s.Normal()))))
}

// Geometric draws the number of tries up to and with the first success, where a
// success has a chance of 1 in mean. Results run from 1 to Max; a mean below 1
// counts as 1.
func (s *Stream) Geometric(meanMillionths int64) int64 {
	mean := float64(max(meanMillionths, Million)) / float64(Million)
	unit := s.Unit()
	if mean == 1 {
		return 1
	}
	// P(result > k) = (1 − 1/mean)^k, so the result is 1 + ⌊unit / −ln(1 − 1/mean)⌋.
	x := 1 / mean
	decay := -Log(1 - x)
	if x < 1e-4 { // 1 − x has lost digits of x; the series has not
		decay = x + float64(float64(x*x)*(0.5+float64(x/3)))
	}
	return 1 + min(truncate(unit/decay), Max-1)
}

// Unit draws from the exponential distribution of mean 1: from 0 to about 36.7.
// It is for those who add up gaps and keep the fraction.
func (s *Stream) Unit() float64 {
	return -Log(float64(s.Uint64()>>11+1) / (1 << 53))
}

// Fraction draws from 0 to below 1, evenly, in steps of 2^−53.
func (s *Stream) Fraction() float64 { return float64(s.Uint64()>>11) / (1 << 53) }

// Normal draws from the normal distribution of mean 0 and variance 1 (polar method of
// Marsaglia).
func (s *Stream) Normal() float64 {
	for {
		u, v := s.symmetric(), s.symmetric()
		square := float64(u*u) + float64(v*v)
		if square > 0 && square < 1 {
			return float64(u * math.Sqrt(-2*Log(square)/square))
		}
	}
}

// symmetric draws from −1 to 1, evenly, in steps of 2^−52.
func (s *Stream) symmetric() float64 {
	return float64(int64(s.Uint64())>>11) / (1 << 52)
}

// round returns the nearest whole number from 0 to Max; half goes up.
func round(x float64) int64 { return truncate(x + 0.5) }

// truncate drops the fraction of x and holds it between 0 and Max. It is 0 for
// what is no number.
func truncate(x float64) int64 {
	switch {
	case !(x > 0):
		return 0
	case x >= float64(Max):
		return Max
	}
	return int64(x)
}
