package random

import (
	"math"
	"testing"
)

func TestLogExpAndSinTurnAreExactToTheStatedDigits(t *testing.T) {
	s := New(3).Stream("functions")
	for range 200_000 {
		x := math.Ldexp(1+s.Fraction(), int(s.Uniform(-1000, 1000)))
		if got, want := Log(x), math.Log(x); math.Abs(got-want) > 1e-15*math.Max(1, math.Abs(want)) {
			t.Fatalf("Log(%v) = %v, want %v", x, got, want)
		}
		x = 1 + (s.Fraction()-0.5)/1e6 // where the result is near 0
		if got, want := Log(x), math.Log(x); math.Abs(got-want) > 1e-15*math.Abs(want) {
			t.Fatalf("Log(%v) = %v, want %v", x, got, want)
		}
		x = 1400*s.Fraction() - 700
		if got, want := Exp(x), math.Exp(x); math.Abs(got-want) > 2e-15*want {
			t.Fatalf("Exp(%v) = %v, want %v", x, got, want)
		}
		x = 4*s.Fraction() - 2
		if got, want := SinTurn(x), math.Sin(2*math.Pi*x); math.Abs(got-want) > 1e-10 {
			t.Fatalf("SinTurn(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestFunctionsAtTheEdges(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"Log(1)", Log(1), 0}, {"Log(0)", Log(0), -inf}, {"Log(-1)", Log(-1), -inf},
		{"Log(NaN)", Log(math.NaN()), -inf}, {"Log(Inf)", Log(inf), inf},
		{"Exp(0)", Exp(0), 1}, {"Exp(701)", Exp(701), inf}, {"Exp(-701)", Exp(-701), 0},
		{"Exp(Inf)", Exp(inf), inf}, {"Exp(-Inf)", Exp(-inf), 0}, {"Exp(NaN)", Exp(math.NaN()), 0},
		{"SinTurn(0)", SinTurn(0), 0}, {"SinTurn(1)", SinTurn(1), 0}, {"SinTurn(1/2)", SinTurn(0.5), 0},
		{"SinTurn(Inf)", SinTurn(inf), 0}, {"SinTurn(NaN)", SinTurn(math.NaN()), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
	if got := Log(math.SmallestNonzeroFloat64); math.Abs(got+744.4400719213812) > 1e-12 {
		t.Errorf("Log of the smallest number = %v", got)
	}
}

// within fails unless got is in want·(1 ± tolerance).
func within(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s = %v, want %v ± %v%%", name, got, want, tolerance*100)
	}
}

// sample draws a million and returns mean, variance and the part above tail.
func sample(next func() float64, tail float64) (mean, variance, above float64) {
	const n = 1_000_000
	var sum, squares float64
	for range n {
		x := next()
		sum += x
		squares += x * x
		if x > tail {
			above++
		}
	}
	mean = sum / n
	return mean, squares/n - mean*mean, above / n
}

func TestExponentialHasItsMeanVarianceAndTail(t *testing.T) {
	s := New(1).Stream("exponential")
	mean, variance, above := sample(func() float64 { return float64(s.Exponential(1_000_000)) }, 3e6)
	within(t, "mean", mean, 1e6, 0.005)
	within(t, "variance", variance, 1e12, 0.02)
	within(t, "P(x > 3 means)", above, math.Exp(-3), 0.03)
}

func TestParetoHasItsMeanVarianceAndTail(t *testing.T) {
	s := New(1).Stream("pareto")
	const scale, alpha = 1e6, 5
	mean, variance, above := sample(func() float64 { return float64(s.Pareto(scale*alpha/(alpha-1), alpha*Million)) }, 2*scale)
	within(t, "mean", mean, scale*alpha/(alpha-1), 0.005)
	within(t, "variance", variance, scale*scale*alpha/(alpha-1)/(alpha-1)/(alpha-2), 0.1)
	within(t, "P(x > 2 scales)", above, math.Pow(2, -alpha), 0.03)
	_, _, above = sample(func() float64 { return float64(s.Pareto(6*scale, 1_200_000)) }, 100*scale)
	within(t, "P(x > 100 scales) at 1.2", above, math.Pow(100, -1.2), 0.05)
}

// Lengths of a few µs keep their mean, whatever the share of the fraction.
func TestParetoKeepsAShortMean(t *testing.T) {
	s := New(1).Stream("short")
	for _, m := range []int64{1, 2, 3, 5, 9} {
		mean, _, _ := sample(func() float64 { return float64(s.Pareto(m, 3*Million)) }, 1)
		within(t, "mean", mean, float64(m), 0.006)
	}
}

func TestLogNormalHasItsMeanVarianceAndTail(t *testing.T) {
	s := New(1).Stream("log-normal")
	const median, sigma = 1e6, 0.5
	mean, variance, above := sample(func() float64 { return float64(s.LogNormal(median, 500_000)) }, median)
	wide := math.Exp(sigma * sigma)
	within(t, "mean", mean, median*math.Sqrt(wide), 0.005)
	within(t, "variance", variance, median*median*wide*(wide-1), 0.03)
	within(t, "P(x > median)", above, 0.5, 0.01)
}

func TestGeometricHasItsMeanVarianceAndTail(t *testing.T) {
	s := New(1).Stream("geometric")
	for _, m := range []float64{1.5, 4, 100, 9_999, 10_001, 1e6} {
		mean, variance, above := sample(func() float64 { return float64(s.Geometric(int64(m * 1e6))) }, 1)
		within(t, "mean", mean, m, 0.01)
		within(t, "variance", variance, m*(m-1), 0.02)
		within(t, "P(x > 1)", above, 1-1/m, 0.005)
	}
}

func TestNormalHasItsMeanVarianceAndTail(t *testing.T) {
	s := New(1).Stream("normal")
	mean, variance, above := sample(s.Normal, 2)
	if math.Abs(mean) > 0.005 {
		t.Errorf("mean = %v, want 0", mean)
	}
	within(t, "variance", variance, 1, 0.01)
	within(t, "P(x > 2)", above, 0.0227501, 0.03)
}

func TestTransformsHoldTheirBounds(t *testing.T) {
	s := New(1).Stream("bounds")
	absurd := []int64{math.MinInt64, -1, 0, 1, 2, Million, Million + 1, 1 << 53, math.MaxInt64 - 1, math.MaxInt64}
	for range 200 {
		for _, a := range absurd {
			check := func(name string, b, got, lo int64) {
				if got < lo || got > Max {
					t.Fatalf("%s(%d, %d) = %d, outside %d to %d", name, a, b, got, lo, Max)
				}
			}
			check("Exponential", 0, s.Exponential(a), 0)
			check("Geometric", 0, s.Geometric(a), 1)
			for _, b := range absurd {
				check("Pareto", b, s.Pareto(a, b), 0)
				check("LogNormal", b, s.LogNormal(a, b), 0)
			}
		}
	}
	for _, got := range []int64{s.Exponential(0), s.Exponential(-5), s.Pareto(0, Million), s.LogNormal(0, Million)} {
		if got != 0 {
			t.Errorf("a scale of 0 gives %d", got)
		}
	}
	if got := s.LogNormal(1234, 0); got != 1234 {
		t.Errorf("LogNormal(1234, 0) = %d, want the median", got)
	}
	if got := s.Geometric(Million); got != 1 {
		t.Errorf("Geometric of mean 1 = %d", got)
	}
}

func TestRoundingIsToTheNearest(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want int64
	}{
		{-1, 0}, {0, 0}, {0.49, 0}, {0.5, 1}, {1.49, 1}, {1.5, 2}, {float64(Max) - 1, Max - 1},
		{float64(Max), Max}, {1e300, Max}, {math.Inf(1), Max}, {math.NaN(), 0},
	} {
		if got := round(c.x); got != c.want {
			t.Errorf("round(%v) = %d, want %d", c.x, got, c.want)
		}
	}
}

func BenchmarkExponential(b *testing.B) {
	s := New(1).Stream("benchmark")
	for b.Loop() {
		s.Exponential(1000)
	}
}

func BenchmarkN(b *testing.B) {
	s := New(1).Stream("benchmark")
	for b.Loop() {
		s.N(1000)
	}
}
