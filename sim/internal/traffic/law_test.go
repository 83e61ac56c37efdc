package traffic

import (
	"maps"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

// floor returns ⌊n·per/units⌋ in big whole numbers.
func floor(n, per, units int64) int64 {
	product := new(big.Int).Mul(big.NewInt(n), big.NewInt(per))
	return product.Quo(product, big.NewInt(units)).Int64()
}

func drawRate(t *rapid.T) scenario.Rate {
	per := rapid.OneOf(rapid.Int64Range(1, 10), rapid.Int64Range(1, 100_000_000), rapid.Int64Range(1, micros(longest))).Draw(t, "per µs")
	return rate(rapid.Int64Range(1, min(1e12, 1000*per)).Draw(t, "units"), time.Duration(per)*time.Microsecond)
}

func TestConstantNeverDrifts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t)
		s, err := NewStream(&scenario.Traffic{Process: scenario.Process{Kind: "constant", Rate: r}}, Env{End: maxAt + 1})
		if err != nil {
			t.Fatal(err)
		}
		for n := range rapid.Int64Range(1, 2000).Draw(t, "arrivals") {
			a, ok := s.Next()
			want := floor(n, micros(r.Per), r.Units)
			if ok != (want <= maxAt) || ok && a.At != want {
				t.Fatalf("%v: arrival %d at %d (%v), want %d", r, n, a.At, ok, want)
			}
			if !ok {
				return
			}
		}
	})
}

// Millions of arrivals at a rate whose gap is a fraction land where they should.
func TestConstantNeverDriftsInALongRun(t *testing.T) {
	for _, r := range []scenario.Rate{rate(7, 3*time.Second), rate(999_983, time.Second), rate(3, 1000*time.Microsecond)} {
		s := source(t, scenario.Traffic{Process: scenario.Process{Kind: "constant", Rate: r}})
		var last Arrival
		const n = 3_000_001
		for range n {
			last, _ = s.Next()
		}
		if want := floor(n-1, micros(r.Per), r.Units); last.At != want {
			t.Errorf("%v: arrival %d at %d, want %d", r, n-1, last.At, want)
		}
	}
}

// An arrival with jitter stays between its own place and that of the next.
func TestJitterKeepsWithinTheGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t)
		jitter := scenario.Decimal(rapid.Int64Range(0, int64(one)).Draw(t, "jitter"))
		env := Env{End: maxAt, Streams: random.New(rapid.Uint64().Draw(t, "seed"))}
		s, err := NewStream(&scenario.Traffic{Process: scenario.Process{Kind: "constant", Rate: r, Jitter: jitter}}, env)
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(200) {
			a, ok := s.Next()
			if !ok {
				return
			}
			from, to := floor(n, micros(r.Per), r.Units), floor(n+1, micros(r.Per), r.Units)
			if most := from + floor(to-from, int64(jitter), int64(one)); a.At < from || a.At > most {
				t.Fatalf("%v, jitter %v: arrival %d at %d, outside %d to %d", r, jitter, n, a.At, from, most)
			}
		}
	})
}

// Whatever the parameters, a process that is accepted keeps time in order and within
// its bounds.
func TestAcceptedProcessKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := func(name string) time.Duration {
			return time.Duration(rapid.OneOf(rapid.Int64Range(1, 5), rapid.Int64Range(1, 60_000_000), rapid.Int64Range(1, micros(longest))).Draw(t, name)) * time.Microsecond
		}
		decimal := func(name string, lo, hi scenario.Decimal) scenario.Decimal {
			return scenario.Decimal(rapid.Int64Range(int64(lo), int64(hi)).Draw(t, name))
		}
		p := scenario.Process{Kind: rapid.SampledFrom(slices.Sorted(maps.Keys(processes))).Draw(t, "kind")}
		switch p.Kind {
		case "constant":
			p.Rate, p.Jitter = drawRate(t), decimal("jitter", 0, one)
		case "poisson":
			p.Rate = drawRate(t)
		case "mmpp":
			if rapid.Bool().Draw(t, "fit") {
				p.Rate, p.CV2 = drawRate(t), decimal("cv2", one+1000, 10_000*one)
				p.Lag = decimal("lag", 0, one/2)
			} else {
				p.OnRate, p.On, p.Off = drawRate(t), span("on"), span("off")
			}
		case "pareto":
			p.Rate, p.Sources, p.Alpha = drawRate(t), rapid.Int64Range(1, 50).Draw(t, "sources"), decimal("alpha", one+1000, 10*one)
			p.On, p.Off = span("on"), span("off")
		case "batch":
			p.Rate, p.Batch = drawRate(t), decimal("batch", one, 1e6*one)
		case "flash":
			p.Rate, p.Peak, p.At = drawRate(t), decimal("peak", one, 10_000*one), span("at")
			p.Ramp, p.Hold, p.Decay = span("ramp"), span("hold"), span("decay")
		case "diurnal":
			p.Rate, p.Amplitude, p.Period = drawRate(t), decimal("amplitude", 1, one), span("period")
		case "counts":
			p.Counts, p.Step, p.Repeat = rapid.SliceOfN(rapid.Int64Range(0, 1000), 1, 10).Draw(t, "counts"), span("step"), rapid.Bool().Draw(t, "repeat")
		case "boundary":
			p.Limit, p.Every = drawRate(t), rapid.Int64Range(1, 1000).Draw(t, "every")
		case "counter":
			p.Limit = drawRate(t)
		case "drip":
			p.Gap, p.Offset = span("gap"), span("offset")
		}
		if p.Validate() != nil {
			return // refused: other tests say what must be accepted
		}
		env := Env{Streams: random.New(rapid.Uint64().Draw(t, "seed")), Epoch: rapid.Int64Range(0, 4e15).Draw(t, "epoch"), End: maxAt + 1}
		s, err := NewStream(&scenario.Traffic{Process: p, Start: span("start")}, env)
		if err != nil {
			t.Fatal(err)
		}
		var last int64
		for i := range 100 {
			a, ok := s.Next()
			if !ok {
				if again, ok := s.Next(); ok {
					t.Fatalf("%+v: after its end comes %v", p, again)
				}
				return
			}
			if a.At < last || a.At > maxAt {
				t.Fatalf("%+v: arrival %d at %d, after %d", p, i, a.At, last)
			}
			last = a.At
		}
	})
}
