package traffic

import (
	"math"
	"testing"
	"testing/fstest"
	"time"

	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

func TestTimeNeverGoesBack(t *testing.T) {
	for _, l := range loads {
		var last int64
		for i, a := range take(t, source(t, l.load), 100_000) {
			if a.At < last {
				t.Fatalf("%s: arrival %d is at %d, after %d", l.name, i, a.At, last)
			}
			last = a.At
		}
	}
}

// count returns the number of arrivals from one instant to before another. Calls on
// one source go on from each other.
func count(t *testing.T, s *Stream, until time.Duration) (n int64) {
	t.Helper()
	for a, ok := s.Next(); ok && a.At < micros(until); a, ok = s.Next() {
		n++
	}
	return n
}

func TestMeanRateOverALongRun(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a million requests of each process")
	}
	for _, c := range []struct {
		name   string
		length time.Duration
		want   float64
		off    float64 // the part that it may be off
	}{
		{"constant", 3000 * time.Second, 7000, 0},
		{"constant/jitter", 1000 * time.Second, 100_000, 0.00002},
		{"poisson", 10_000 * time.Second, 1_000_000, 0.004},
		{"poisson/fast", 50 * time.Millisecond, 1_000_000, 0.004},
		{"mmpp/on off", 20_000 * time.Second, 2_000_000, 0.08},
		{"mmpp/two rates", 10_000 * time.Second, 1_000_000, 0.04},
		{"mmpp/fit", 10_000 * time.Second, 1_000_000, 0.02},
		{"pareto", 20_000 * time.Second, 2_000_000, 0.1},
		{"pareto/clients", 10_000 * time.Second, 1_000_000, 0.04},
		{"batch", 10_000 * time.Second, 1_000_000, 0.01},
		{"batch/fixed", 10_000 * time.Second, 1_000_000, 0.012},
		{"diurnal", 10_020 * time.Second, 1_002_000, 0.004},
		{"counts", 180 * 60 * time.Second, 1_080_000, 0.004},
		// The edges are at 6.5 s and then each 10 s; each second is attacked.
		{"boundary", 1000 * time.Second, 10_000, 0},
		{"counter", 999*time.Second + 500*time.Millisecond, 34 * 199, 0.02},
		{"drip", 100 * time.Second, 10_001, 0.0001},
	} {
		if got := float64(count(t, source(t, named(t, c.name)), c.length)); math.Abs(got-c.want) > c.off*c.want {
			t.Errorf("%s: %v arrivals in %v, want %v ± %v%%", c.name, got, c.length, c.want, 100*c.off)
		}
	}
}

func named(t testing.TB, name string) scenario.Traffic {
	t.Helper()
	for _, l := range loads {
		if l.name == name {
			return l.load
		}
	}
	t.Fatalf("no load %s", name)
	return scenario.Traffic{}
}

// gaps returns the moments of the gaps of a source: mean in µs, squared coefficient
// of variation, and correlation of neighbours.
func gaps(t *testing.T, s *Stream, n int) (mean, cv2, lag float64) {
	t.Helper()
	list := take(t, s, n+1)
	var sum, squares, products float64
	last := 0.0
	for i := range n {
		gap := float64(list[i+1].At - list[i].At)
		sum += gap
		squares += gap * gap
		products += gap * last
		last = gap
	}
	mean = sum / float64(n)
	variance := squares/float64(n) - mean*mean
	return mean, variance / mean / mean, (products/float64(n-1) - mean*mean) / variance
}

func TestGapsHaveTheirShape(t *testing.T) {
	for _, c := range []struct {
		name           string
		process        scenario.Process
		mean, cv2, lag float64
		offMean        float64
		offCV2, offLag float64
	}{
		{"poisson", scenario.Process{Kind: "poisson", Rate: rate(100, time.Second)}, 10_000, 1, 0, 0.004, 0.02, 0.005},
		{"independent fit", scenario.Process{Kind: "mmpp", Rate: rate(100, time.Second), CV2: 4 * one}, 10_000, 4, 0, 0.01, 0.1, 0.01},
		{"correlated fit", scenario.Process{Kind: "mmpp", Rate: rate(100, time.Second), CV2: 5 * one, Lag: 200_000}, 10_000, 5, 0.2, 0.02, 0.15, 0.02},
		{"nearly poisson fit", scenario.Process{Kind: "mmpp", Rate: rate(100, time.Second), CV2: 1_100_000, Lag: 20_000}, 10_000, 1.1, 0.02, 0.01, 0.02, 0.005},
		{"extreme fit", scenario.Process{Kind: "mmpp", Rate: rate(100, time.Second), CV2: 50 * one, Lag: 450_000}, 10_000, 50, 0.45, 0.25, 12, 0.1},
	} {
		mean, cv2, lag := gaps(t, source(t, scenario.Traffic{Process: c.process}), 1_000_000)
		if math.Abs(mean-c.mean) > c.offMean*c.mean || math.Abs(cv2-c.cv2) > c.offCV2 || math.Abs(lag-c.lag) > c.offLag {
			t.Errorf("%s: mean %v, cv² %v, lag %v; want %v, %v, %v", c.name, mean, cv2, lag, c.mean, c.cv2, c.lag)
		}
	}
}

// The moments of the fitted process, worked out from its matrices rather than from
// the formulas of the fit: with D₀ = Q − Λ and D₁ = Λ, phase probabilities φ at
// arrivals, E[X] = φ·M·1, E[X²] = 2·φ·M²·1 and E[X₀X₁] = φ·M·P·M·1, where M = −D₀⁻¹
// and P = M·D₁.
func TestFitHasExactlyTheMomentsAskedFor(t *testing.T) {
	for _, cv2 := range []scenario.Decimal{1_010_000, 2 * one, 5 * one, 100 * one, 10_000 * one} {
		for _, part := range []float64{0, 0.01, 0.5, 0.99} {
			lag := scenario.Decimal(part * (1 - 1/float(cv2)) / 2 * 1e6)
			p := scenario.Process{Kind: "mmpp", Rate: rate(100, time.Second), CV2: cv2, Lag: lag}
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			var m mmpp
			m.fit(p)
			r1, r2 := 1/m.stay[0], 1/m.stay[1]
			a, b, c, d := m.rate[0]+r1, -r1, -r2, m.rate[1]+r2 // −D₀
			det := a*d - b*c
			inv := [2][2]float64{{d / det, -b / det}, {-c / det, a / det}}
			total := m.rate[0]*r2 + m.rate[1]*r1
			phi := [2]float64{m.rate[0] * r2 / total, m.rate[1] * r1 / total}
			ones := apply(inv, [2]float64{1, 1})
			mean := dot(phi, ones)
			second := 2 * dot(phi, apply(inv, ones))
			joint := dot(phi, apply(inv, apply(inv, [2]float64{m.rate[0] * ones[0], m.rate[1] * ones[1]})))
			variance := second - mean*mean
			for _, got := range []struct{ got, want float64 }{
				{mean, 10_000}, {variance / mean / mean, float(cv2)}, {1 + (joint-mean*mean)/variance, 1 + float(lag)},
			} {
				if math.Abs(got.got-got.want) > 1e-6*got.want {
					t.Errorf("cv² %v, lag %v: %v, want %v", cv2, lag, got.got, got.want)
				}
			}
		}
	}
}

func apply(m [2][2]float64, v [2]float64) [2]float64 { return [2]float64{dot(m[0], v), dot(m[1], v)} }

func dot(a, b [2]float64) float64 { return a[0]*b[0] + a[1]*b[1] }

// Index of dispersion of counts per second: 1 for Poisson, more with clusters, and
// growing with the length of the interval for self-similar traffic.
func TestParetoIsBurstyOnEveryScale(t *testing.T) {
	dispersion := func(name string, second int64) float64 {
		const n = 2000
		var counts [n]float64
		s := source(t, named(t, name))
		for a, ok := s.Next(); ok && a.At < n*second; a, ok = s.Next() {
			counts[a.At/second]++
		}
		var sum, squares float64
		for _, c := range counts {
			sum += c
			squares += c * c
		}
		mean := sum / n
		return (squares/n - mean*mean) / mean
	}
	if got := dispersion("poisson", 1e6); got < 0.85 || got > 1.15 {
		t.Errorf("poisson: dispersion %v, want 1", got)
	}
	short, long := dispersion("pareto", 1e6), dispersion("pareto", 1e7)
	if short < 2.5 || long < 1.8*short {
		t.Errorf("pareto: dispersion %v in 1 s and %v in 10 s, want above 2.5 and at least 1.8 times as much", short, long)
	}
}

func TestBatchArrivesAtOneInstant(t *testing.T) {
	list := take(t, source(t, named(t, "batch/fixed")), 10_000)
	for i := 0; i < len(list); i += 10 {
		if list[i].At != list[i+9].At {
			t.Fatalf("batch %d is spread from %d to %d", i/10, list[i].At, list[i+9].At)
		}
	}
}

func TestFlashRisesHoldsAndFalls(t *testing.T) {
	s := source(t, scenario.Traffic{Process: scenario.Process{Kind: "flash", Rate: rate(100, time.Second), Peak: 20 * one,
		At: 100 * time.Second, Ramp: 10 * time.Second, Hold: 10 * time.Second, Decay: 100 * time.Second}})
	for _, c := range []struct {
		until time.Duration
		want  float64
	}{
		{100 * time.Second, 10_000},  // the base
		{105 * time.Second, 2875},    // 100 to 1050 a second
		{110 * time.Second, 7625},    // to 2000
		{120 * time.Second, 20_000},  // the top
		{220 * time.Second, 130_103}, // 100 s · (100 + 1900·(1 − 1/e))
		{5000 * time.Second, 478_000 + 1900*100/math.E},
	} {
		if got := float64(count(t, s, c.until)); math.Abs(got-c.want) > 5*math.Sqrt(c.want) {
			t.Errorf("until %v: %v arrivals, want %v", c.until, got, c.want)
		}
	}
}

func TestDiurnalSwings(t *testing.T) {
	s := source(t, scenario.Traffic{Process: scenario.Process{Kind: "diurnal", Rate: rate(1000, time.Second), Period: 400 * time.Second, Phase: 50 * time.Second}})
	swing := 1000 * 0.6 * 100 * 2 * math.Sqrt2 / math.Pi // over the quarter around the peak
	for quarter, want := range []float64{100_000 + swing, 100_000, 100_000 - swing, 100_000} {
		if got := float64(count(t, s, time.Duration(quarter+1)*100*time.Second)); math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("quarter %d: %v arrivals, want %v", quarter, got, want)
		}
	}
}

func TestCountsFollowTheListOnceOrAgain(t *testing.T) {
	files := fstest.MapFS{"day.txt": {Data: []byte("# requests per minute\n6000\n\n0 # nothing\n 12000\n")}}
	env := testEnv()
	env.Files = files
	s, err := NewStream(&scenario.Traffic{Process: scenario.Process{Kind: "counts", File: "day.txt"}}, env)
	if err != nil {
		t.Fatal(err)
	}
	once := source(t, scenario.Traffic{Process: scenario.Process{Kind: "counts", Counts: []int64{6000, 0, 12_000}}})
	list := drain(s)
	if other := drain(once); digest(list) != digest(other) {
		t.Error("the file and the list differ")
	}
	var minutes [3]float64
	for _, a := range list {
		minutes[a.At/60_000_000]++
	}
	if math.Abs(minutes[0]-6000) > 400 || minutes[1] != 0 || math.Abs(minutes[2]-12_000) > 550 {
		t.Errorf("requests per minute %v, want 6000, 0, 12000", minutes)
	}
}

// A process of sources that are on and off for Pareto times is in equilibrium from its
// beginning: in the first seconds, and over an hour, the rate of many runs is the one that
// was asked for. Tails of 1.4 make the rate of a single run vary by a tenth.
func TestParetoHasItsRateFromTheBeginning(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: thousands of runs")
	}
	for _, c := range []struct {
		alpha  scenario.Decimal
		length time.Duration
		runs   uint64
	}{{1_400_000, 10 * time.Second, 4000}, {1_900_000, time.Minute, 1000}, {1_900_000, time.Hour, 100}} {
		n := int64(0)
		for seed := range c.runs {
			l := scenario.Traffic{Process: scenario.Process{Kind: "pareto", Rate: rate(50, time.Second), Alpha: c.alpha}}
			s, err := NewStream(&l, Env{Streams: random.New(seed), End: micros(c.length)})
			if err != nil {
				t.Fatal(err)
			}
			for _, more := s.Next(); more; _, more = s.Next() {
				n++
			}
		}
		if got := float64(n) / float64(c.runs) / c.length.Seconds(); math.Abs(got-50) > 0.5 {
			t.Errorf("α %v: %v a second in the first %v of %d runs, want 50 ± 1 %%", c.alpha, got, c.length, c.runs)
		} else {
			t.Logf("α %v, %v: %v a second", c.alpha, c.length, got)
		}
	}
}
