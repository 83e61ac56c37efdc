package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/internal/traffic"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// statisticsPage compares the simulator with theory.
const statisticsPage = "../docs/reference/statistics.md"

// sample is numbers that were measured in runs with different seeds.
type sample []float64

// interval returns the mean and half the width of its 95 % confidence interval.
func (s sample) interval() (mean, half float64) {
	var sum, squares float64
	for _, x := range s {
		sum += x
		squares += x * x
	}
	n := float64(len(s))
	mean = sum / n
	return mean, 1.96 * math.Sqrt(max(0, squares/n-mean*mean)/(n-1))
}

// measurement is a number with its theory.
type measurement struct {
	what   string
	theory float64
	runs   sample
	within float64 // the part of the theory that it may be off, besides chance; 0 is chance alone
}

// table returns the rows of measurements, and checks them: the theory lies within twice the
// confidence interval, which chance misses once in 10,000 rows, and within the part that
// is allowed.
func table(t *testing.T, title string, all []measurement) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "\n| %s | theory | measured | 95 %% interval | off |\n|---|---:|---:|---:|---:|\n", title)
	for _, m := range all {
		mean, half := m.runs.interval()
		off := (mean - m.theory) / m.theory
		fmt.Fprintf(&b, "| %s | %.4g | %.4g | ± %.2g | %.2f %% |\n", m.what, m.theory, mean, half, 100*off)
		if allowed := m.within*m.theory + 2*half; math.Abs(mean-m.theory) > allowed+1e-9*m.theory {
			t.Errorf("%s, %s: %v ± %v, and theory has %v", title, m.what, mean, half, m.theory)
		}
		if m.within > 0 && math.Abs(off) > m.within {
			t.Errorf("%s, %s: off by %.2f %%, want at most %.2f %%", title, m.what, 100*off, 100*m.within)
		}
	}
	return b.String()
}

// arrivalsOf returns the instants at which a traffic comes within some seconds.
func arrivalsOf(t *testing.T, process string, seed uint64, seconds int64) (all []int64) {
	t.Helper()
	s := parsed(t, "name: s\nduration: 1s\nlimits: [{name: l, spec: 'gcra:1/1s'}]\ntraffic: [{name: t, process: "+process+"}]\n")
	stream, err := traffic.NewStream(&s.Traffic[0], traffic.Env{Streams: random.New(seed), Epoch: scenario.Complete(*s).Start.UnixMicro(), End: seconds * 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	for a, more := stream.Next(); more; a, more = stream.Next() {
		all = append(all, a.At)
	}
	return all
}

// dispersion is the variance of counts per second over their mean.
func dispersion(at []int64, seconds int64) float64 {
	counts := make([]float64, seconds)
	for _, a := range at {
		counts[a/1_000_000]++
	}
	var sum, squares float64
	for _, c := range counts {
		sum += c
		squares += c * c
	}
	mean := sum / float64(seconds)
	return (squares/float64(seconds) - mean*mean) / mean
}

// onOffDispersion is the index of dispersion of counts in 1 s of a two-state process with
// one rate (Fischer & Meier-Hellstern 1993).
func onOffDispersion(rate, on, off float64) float64 {
	leave := 1/on + 1/off
	share := on / (on + off)
	return 1 + 2*rate*rate*share*(1-share)/(rate*share*leave)*(1-(1-math.Exp(-leave))/leave)
}

// TestStatistics: arrivals, waits, retries, keys and lengths are what theory says. The page
// has the numbers; -update writes them.
func TestStatistics(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: many runs, some seconds")
	}
	text := arrivalStatistics(t) + lengthStatistics(t) + queueStatistics(t) + retryStatistics(t) + keyStatistics(t)
	if t.Failed() || runtime.GOARCH != "amd64" {
		return // the last digits of the theory may differ elsewhere
	}
	writePart(t, statisticsPage, "statistics", text+"\n")
}

func arrivalStatistics(t *testing.T) string {
	const seconds = 600
	var rates, dispersions []measurement
	for _, p := range []struct {
		process          string
		rate, dispersion float64 // 0 is no simple theory
		runs             uint64
	}{
		{"{kind: constant, rate: 100/1s}", 100, 0, 2},
		{"{kind: constant, rate: 100/1s, jitter: 1}", 100, 0, 2},
		{"{kind: poisson, rate: 100/1s}", 100, 1, 30},
		{"{kind: mmpp, on_rate: 400/1s, on: 100ms, off: 300ms}", 100, onOffDispersion(400, 0.1, 0.3), 60},
		{"{kind: mmpp, rate: 100/1s, cv2: 5, lag: 0.2}", 100, 0, 30},
		{"{kind: pareto, rate: 100/1s, alpha: 1.9, on: 100ms, off: 500ms}", 100, 0, 100},
		{"{kind: batch, rate: 25/1s}", 100, 7, 60},                           // E[B²]/E[B] of a geometric B is 2·4 − 1
		{"{kind: batch, rate: 10/1s, batch: 10, sizes: fixed}", 100, 10, 60}, // B
		{"{kind: flash, rate: 50/1s, peak: 4, ramp: 100s, hold: 400s, decay: 100s}", // the area below its rate
			50 + 150*(50+400+100*(1-math.Exp(-1)))/600, 0, 10},
		{"{kind: diurnal, rate: 100/1s, period: 100s}", 100, 0, 20},
		{"{kind: counts, counts: [0, 200], step: 1s, repeat: true}", 100, 0, 20},
		{"{kind: drip, gap: 10ms}", 100, 0, 2},
	} {
		rate := measurement{what: "`" + p.process + "`", theory: p.rate, within: 0.01}
		spread := measurement{what: rate.what, theory: p.dispersion, within: 0.03}
		for seed := range p.runs {
			at := arrivalsOf(t, p.process, seed, seconds)
			rate.runs = append(rate.runs, float64(len(at))/seconds)
			if p.dispersion > 0 {
				spread.runs = append(spread.runs, dispersion(at, seconds))
			}
		}
		rates = append(rates, rate)
		if p.dispersion > 0 {
			dispersions = append(dispersions, spread)
		}
	}
	return table(t, "arrivals a second, in the first 10 minutes", rates) + table(t, "index of dispersion of counts in 1 s", dispersions)
}

func lengthStatistics(t *testing.T) string {
	var all []measurement
	for _, d := range []struct {
		length string
		mean   float64 // µs
	}{
		{"{mean: 5ms}", 5000},
		{"{kind: uniform, low: 1ms, high: 3ms}", 2000},
		{"{kind: exponential, mean: 1ms}", 1000},
		{"{kind: pareto, mean: 1ms, alpha: 3}", 1000},
		{"{kind: pareto, mean: 3us, alpha: 3}", 3},
		{"{kind: log-normal, median: 1ms, sigma: 0.5}", 1000 * math.Exp(0.125)},
	} {
		s := parsed(t, small+"network: {delay: "+d.length+"}\n")
		draw := traffic.NewDelay(s.Network.Delay)
		m := measurement{what: "`" + d.length + "`", theory: d.mean, within: 0.01}
		for seed := range uint64(20) {
			stream, sum := random.New(seed).Stream("length"), 0.0
			for range 20_000 {
				sum += float64(draw(stream))
			}
			m.runs = append(m.runs, sum/20_000)
		}
		all = append(all, m)
	}
	return table(t, "mean length in µs", all)
}

// waitInMD1 returns the time that a part of the requests of M/D/1 waits at most, in units
// of the service: the distribution is from Crommelin (1932).
func waitInMD1(rho, part float64) float64 {
	atMost := func(x float64) float64 {
		sum, term := 0.0, 0.0
		for k := 0.0; k <= x; k++ {
			term = math.Exp(rho * (x - k))
			for i := 1.0; i <= k; i++ {
				term *= -rho * (x - k) / i
			}
			sum += term
		}
		return (1 - rho) * sum
	}
	low, high := 0.0, 40.0
	for range 50 {
		if middle := (low + high) / 2; atMost(middle) >= part {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

func queueStatistics(t *testing.T) string {
	var all []measurement
	for _, rho := range []float64{0.5, 0.8, 0.9} {
		name := fmt.Sprintf("of M/D/1 at ρ = %.1f, ", rho)
		mean := measurement{what: "mean wait " + name + "100 ms of service", theory: rho * 100 / (2 * (1 - rho)), within: 0.03}
		half := measurement{what: "median wait " + name + "100 ms of service", theory: 100 * waitInMD1(rho, 0.5), within: 0.03}
		last := measurement{what: "wait of 99 % " + name + "100 ms of service", theory: 100 * waitInMD1(rho, 0.99), within: 0.05}
		for seed := range uint64(20) {
			r := runOf(t, seed, "5h", "leaky-bucket:10/1s,capacity=1000000", fmt.Sprintf("process: {kind: poisson, rate: %d/1s}", int(10*rho)))
			mean.runs = append(mean.runs, float64(r.Wait.MeanMicros)/1000)
			half.runs = append(half.runs, float64(r.Wait.P50Micros)/1000)
			last.runs = append(last.runs, float64(r.Wait.P99Micros)/1000)
		}
		all = append(all, mean, half, last)
	}
	return table(t, "queue of a leaky bucket, in ms", slices.DeleteFunc(all, func(m measurement) bool { return m.theory < 1 }))
}

// runOf runs one limit with one traffic.
func runOf(t *testing.T, seed uint64, duration, spec, more string) *result.Result {
	t.Helper()
	s := parsed(t, fmt.Sprintf("name: s\nseed: %d\nduration: %s\nlimits: [{name: l, spec: %q}]\ntraffic:\n  - {name: t, %s}\n", seed, duration, spec, more))
	return ran(t, s, nil)[0]
}

// retryStatistics: a thousand requests come while a server is down for ten seconds. Each
// is repeated until an attempt comes after that.
func retryStatistics(t *testing.T) string {
	const outage = 10_000.0 // ms
	const base, top = 100.0, 10_000.0
	// What a policy waits, from its definition (Brooker 2015).
	policies := []struct {
		retry string
		wait  func(r *rand.Rand, attempt int, last float64) float64
	}{
		{"{kind: none}", nil},
		{"{kind: immediate, attempts: 3}", nil},
		{"{kind: fixed, wait: 300ms}", func(*rand.Rand, int, float64) float64 { return 300 }},
		{"{kind: exponential}", func(_ *rand.Rand, a int, _ float64) float64 { return min(top, base*math.Exp2(float64(a))) }},
		{"{kind: full-jitter}", func(r *rand.Rand, a int, _ float64) float64 {
			return r.Float64() * min(top, base*math.Exp2(float64(a)))
		}},
		{"{kind: equal-jitter}", func(r *rand.Rand, a int, _ float64) float64 {
			c := min(top, base*math.Exp2(float64(a)))
			return c/2 + r.Float64()*c/2
		}},
		{"{kind: decorrelated-jitter}", func(r *rand.Rand, _ int, last float64) float64 {
			return min(top, base+r.Float64()*(3*max(last, base)-base))
		}},
		{"{kind: obey, wait: 300ms, jitter: 200ms}", func(r *rand.Rand, _ int, _ float64) float64 { return 300 + 200*r.Float64() }},
	}
	var all []measurement
	for i, p := range policies {
		m := measurement{what: "`" + p.retry + "`", theory: []float64{1, 4}[min(i, 1)], within: 0.01}
		if p.wait != nil {
			r := rand.New(rand.NewPCG(uint64(i), 9))
			attempts, requests := 0, 100_000
			for range requests {
				at, last := 0.0, 0.0
				for a := 0; at < outage; a++ {
					attempts++
					last = p.wait(r, a, last)
					at += last
				}
				attempts++ // the one that is admitted
			}
			m.theory = float64(attempts) / float64(requests)
		}
		for seed := range uint64(20) {
			s := parsed(t, fmt.Sprintf(`
name: s
seed: %d
duration: 2m
limits: [{name: l, spec: "gcra:1000000/1s"}]
traffic: [{name: t, process: {kind: batch, rate: 1/9600h, batch: 1000, sizes: fixed}, retry: %s}]
faults: [{kind: down, for: 10s}]
`, seed, p.retry))
			s.Traffic[0].Process = scenario.Process{Kind: "constant", Rate: scenario.Rate{Units: 1000, Per: 1000}} // a thousand in one µs
			s.Traffic[0].Count = 1000
			c := ran(t, s, nil)[0].Totals
			m.runs = append(m.runs, float64(c.Attempts)/float64(c.Arrivals))
		}
		all = append(all, m)
	}
	return table(t, "attempts of a request in an outage of 10 s", all)
}

func keyStatistics(t *testing.T) string {
	const requests = 50_000.0
	var all []measurement
	zipf := func(n int, alpha float64) (p []float64) {
		sum := 0.0
		for i := range n {
			p = append(p, math.Pow(float64(i+1), -alpha))
			sum += p[i]
		}
		for i := range p {
			p[i] /= sum
		}
		return p
	}
	hot := []float64{0.9}
	for range 100 {
		hot = append(hot, 0.001)
	}
	for _, k := range []struct {
		keys  string
		parts []float64
	}{
		{"{kind: uniform, n: 100}", zipf(100, 0)},
		{"{kind: hot, n: 100}", hot},
		{"{kind: zipf, n: 1000, alpha: 0.8}", zipf(1000, 0.8)},
		{"{kind: zipf, n: 100, alpha: 1.2}", zipf(100, 1.2)},
	} {
		squares := 0.0
		for _, p := range k.parts {
			squares += p * p
		}
		// Of n draws Σx is n, and the mean of Σx² is n + n(n − 1)·Σp².
		busiest := measurement{what: "share of the busiest key of `" + k.keys + "`, in %", theory: 100 * k.parts[0], within: 0.01}
		jain := measurement{what: "Jain index of `" + k.keys + "`", theory: requests / (float64(len(k.parts)) * (1 + (requests-1)*squares)), within: 0.01}
		for seed := range uint64(20) {
			r := runOf(t, seed, "50s", "gcra:1000000/1s", "process: {kind: constant, rate: 1000/1s}, keys: "+k.keys)
			name := "key-0"
			if k.parts[0] == 0.9 {
				name = "key-hot"
			}
			i := slices.IndexFunc(r.Fairness.Top, func(c result.Client) bool { return c.Key == name })
			if k.parts[0] > k.parts[1] && i >= 0 {
				busiest.runs = append(busiest.runs, 100*float64(r.Fairness.Top[i].Attempts)/requests)
			}
			jain.runs = append(jain.runs, float64(r.Fairness.JainMillionths)/1e6)
		}
		if len(busiest.runs) > 0 {
			all = append(all, busiest)
		}
		all = append(all, jain)
	}
	return table(t, "keys of 50,000 requests", all)
}

// writePart compares the part of a page that a test writes with its text, and writes it
// with -update.
func writePart(t *testing.T, page, name, part string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": written by the tests -->\n", "<!-- "+name+": end -->\n"
	before, rest, opened := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("%s has no part between %q and %q", page, begin, end)
	}
	switch whole := before + begin + part + end + after; {
	case whole == string(text):
	case !*update:
		t.Errorf("%s is not what the tests say; -update rewrites it:\n%s", page, part)
	default:
		if err := os.WriteFile(page, []byte(whole), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
