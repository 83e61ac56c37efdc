package traffic

import (
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

// one is the number 1.
const one scenario.Decimal = 1_000_000

// longest is the longest time that a field may hold.
const longest = algorithm.MaxPeriod

func rate(units int64, per time.Duration) scenario.Rate { return scenario.Rate{Units: units, Per: per} }

// loads has each kind of process, of keys and of costs: most tests run on all.
var loads = []struct {
	name string
	load scenario.Traffic
}{
	{"constant", scenario.Traffic{Process: scenario.Process{Kind: "constant", Rate: rate(7, 3*time.Second)}}},
	{"constant/jitter", scenario.Traffic{Process: scenario.Process{Kind: "constant", Rate: rate(100, time.Second), Jitter: one}}},
	{"poisson", scenario.Traffic{Process: scenario.Process{Kind: "poisson", Rate: rate(100, time.Second)}}},
	{"poisson/fast", scenario.Traffic{Process: scenario.Process{Kind: "poisson", Rate: rate(20, time.Microsecond)}}},
	{"mmpp/on off", scenario.Traffic{Process: scenario.Process{Kind: "mmpp", OnRate: rate(1000, time.Second), On: time.Second, Off: 9 * time.Second}}},
	{"mmpp/two rates", scenario.Traffic{Process: scenario.Process{Kind: "mmpp", OnRate: rate(300, time.Second), OffRate: rate(50, time.Second), On: time.Second, Off: 4 * time.Second}}},
	{"mmpp/fit", scenario.Traffic{Process: scenario.Process{Kind: "mmpp", Rate: rate(100, time.Second), CV2: 5 * one, Lag: 200_000}}},
	{"pareto", scenario.Traffic{Process: scenario.Process{Kind: "pareto", Rate: rate(100, time.Second)}}},
	{"pareto/clients", scenario.Traffic{
		Process: scenario.Process{Kind: "pareto", Rate: rate(100, time.Second), Sources: 20, Alpha: 1_900_000, On: 100 * time.Millisecond, Off: 300 * time.Millisecond},
		Keys:    scenario.Keys{Kind: "client", Name: "caller"}}},
	{"batch", scenario.Traffic{Process: scenario.Process{Kind: "batch", Rate: rate(25, time.Second)}}},
	{"batch/fixed", scenario.Traffic{Process: scenario.Process{Kind: "batch", Rate: rate(10, time.Second), Batch: 10 * one, Sizes: "fixed"}}},
	{"flash", scenario.Traffic{Process: scenario.Process{Kind: "flash", Rate: rate(10, time.Second), At: time.Minute}}},
	{"diurnal", scenario.Traffic{Process: scenario.Process{Kind: "diurnal", Rate: rate(100, time.Second), Period: time.Minute}}},
	{"counts", scenario.Traffic{Process: scenario.Process{Kind: "counts", Counts: []int64{6000, 0, 12_000}, Repeat: true}}},
	{"boundary", scenario.Traffic{Process: scenario.Process{Kind: "boundary", Limit: rate(100, 10*time.Second)}}},
	{"counter", scenario.Traffic{Process: scenario.Process{Kind: "counter", Limit: rate(100, 10*time.Second)}}},
	{"drip", scenario.Traffic{Process: scenario.Process{Kind: "drip", Gap: 10 * time.Millisecond, Offset: -time.Microsecond}}},
	{"keys/hot", keyed(scenario.Keys{Kind: "hot", N: 100})},
	{"keys/zipf", keyed(scenario.Keys{Kind: "zipf", N: 1000, Alpha: new(scenario.Decimal(800_000))})},
	{"keys/uniform", keyed(scenario.Keys{Kind: "uniform", N: 1000, Name: "user"})},
	{"keys/spray", keyed(scenario.Keys{Kind: "spray"})},
	{"costs/geometric", priced(scenario.Costs{Kind: "geometric", Mean: 4 * one})},
	{"costs/log-normal", priced(scenario.Costs{Kind: "log-normal", Median: 500})},
	{"costs/list", priced(scenario.Costs{Kind: "list", List: []int64{0, 1, 10}, Weights: []int64{1, 8, 1}})},
	{"costs/mix", priced(scenario.Costs{Kind: "mix", Large: 100})},
}

func keyed(k scenario.Keys) scenario.Traffic {
	return scenario.Traffic{Process: scenario.Process{Kind: "poisson", Rate: rate(100, time.Second)}, Keys: k}
}

func priced(c scenario.Costs) scenario.Traffic {
	return scenario.Traffic{Process: scenario.Process{Kind: "poisson", Rate: rate(100, time.Second)}, Costs: c}
}

// testEnv starts 3.5 s after a window of 10 s begins.
func testEnv() Env {
	return Env{Streams: random.New(1).Under("traffic/test"), Epoch: 1_767_225_603_500_000, End: maxAt + 1}
}

func source(t testing.TB, l scenario.Traffic) *Stream {
	t.Helper()
	if err := l.Process.Validate(); err != nil {
		t.Fatal(err)
	}
	s, err := NewStream(&l, testEnv())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// take returns the next n arrivals.
func take(t testing.TB, s *Stream, n int) []Arrival {
	t.Helper()
	list := make([]Arrival, n)
	for i := range list {
		var ok bool
		if list[i], ok = s.Next(); !ok {
			t.Fatalf("it ended after %d arrivals (%v)", i, s.Err())
		}
	}
	return list
}

// drain returns all arrivals.
func drain(s *Stream) []Arrival {
	var list []Arrival
	for a, ok := s.Next(); ok; a, ok = s.Next() {
		list = append(list, a)
	}
	return list
}
