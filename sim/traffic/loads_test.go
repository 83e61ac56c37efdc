package traffic

import (
	"testing"
	"time"

	"github.com/weirgo/weir/sim/random"
)

// loads has each kind of process, of keys and of costs: most tests run on all.
var loads = []struct {
	name string
	load Load
}{
	{"constant", Load{Process: Process{Kind: "constant", Rate: Rate{7, 3 * time.Second}}}},
	{"constant/jitter", Load{Process: Process{Kind: "constant", Rate: Rate{100, time.Second}, Jitter: one}}},
	{"poisson", Load{Process: Process{Kind: "poisson", Rate: Rate{100, time.Second}}}},
	{"poisson/fast", Load{Process: Process{Kind: "poisson", Rate: Rate{20, time.Microsecond}}}},
	{"mmpp/on off", Load{Process: Process{Kind: "mmpp", OnRate: Rate{1000, time.Second}, On: time.Second, Off: 9 * time.Second}}},
	{"mmpp/two rates", Load{Process: Process{Kind: "mmpp", OnRate: Rate{300, time.Second}, OffRate: Rate{50, time.Second}, On: time.Second, Off: 4 * time.Second}}},
	{"mmpp/fit", Load{Process: Process{Kind: "mmpp", Rate: Rate{100, time.Second}, CV2: 5 * one, Lag: 200_000}}},
	{"pareto", Load{Process: Process{Kind: "pareto", Rate: Rate{100, time.Second}}}},
	{"pareto/clients", Load{
		Process: Process{Kind: "pareto", Rate: Rate{100, time.Second}, Sources: 20, Alpha: 1_900_000, On: 100 * time.Millisecond, Off: 300 * time.Millisecond},
		Keys:    Keys{Kind: "client", Name: "caller"}}},
	{"batch", Load{Process: Process{Kind: "batch", Rate: Rate{25, time.Second}}}},
	{"batch/fixed", Load{Process: Process{Kind: "batch", Rate: Rate{10, time.Second}, Batch: 10 * one, Sizes: "fixed"}}},
	{"flash", Load{Process: Process{Kind: "flash", Rate: Rate{10, time.Second}, At: time.Minute}}},
	{"diurnal", Load{Process: Process{Kind: "diurnal", Rate: Rate{100, time.Second}, Period: time.Minute}}},
	{"counts", Load{Process: Process{Kind: "counts", Counts: []int64{6000, 0, 12_000}, Repeat: true}}},
	{"boundary", Load{Process: Process{Kind: "boundary", Limit: Rate{100, 10 * time.Second}}}},
	{"counter", Load{Process: Process{Kind: "counter", Limit: Rate{100, 10 * time.Second}}}},
	{"drip", Load{Process: Process{Kind: "drip", Gap: 10 * time.Millisecond, Offset: -time.Microsecond}}},
	{"keys/hot", keyed(Keys{Kind: "hot", N: 100})},
	{"keys/zipf", keyed(Keys{Kind: "zipf", N: 1000, Alpha: new(Decimal(800_000))})},
	{"keys/uniform", keyed(Keys{Kind: "uniform", N: 1000, Name: "user"})},
	{"keys/spray", keyed(Keys{Kind: "spray"})},
	{"costs/geometric", priced(Costs{Kind: "geometric", Mean: 4 * one})},
	{"costs/log-normal", priced(Costs{Kind: "log-normal", Median: 500})},
	{"costs/list", priced(Costs{Kind: "list", List: []int64{0, 1, 10}, Weights: []int64{1, 8, 1}})},
	{"costs/mix", priced(Costs{Kind: "mix", Large: 100})},
}

func keyed(k Keys) Load {
	return Load{Process: Process{Kind: "poisson", Rate: Rate{100, time.Second}}, Keys: k}
}

func priced(c Costs) Load {
	return Load{Process: Process{Kind: "poisson", Rate: Rate{100, time.Second}}, Costs: c}
}

// testEnv starts 3.5 s after a window of 10 s begins.
func testEnv() Env {
	return Env{Streams: random.New(1).Under("traffic/test"), Epoch: 1_767_225_603_500_000}
}

func source(t testing.TB, l Load) Source {
	t.Helper()
	s, err := NewSource(l, testEnv())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// take returns the next n arrivals.
func take(t testing.TB, s Source, n int) []Arrival {
	t.Helper()
	list := make([]Arrival, n)
	for i := range list {
		var ok bool
		if list[i], ok = s.Next(); !ok {
			t.Fatalf("it ended after %d arrivals (%v)", i, Err(s))
		}
	}
	return list
}

// drain returns all arrivals.
func drain(s Source) []Arrival {
	var list []Arrival
	for a, ok := s.Next(); ok; a, ok = s.Next() {
		list = append(list, a)
	}
	return list
}
