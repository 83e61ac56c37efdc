package traffic

import (
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/random"
)

// refusal is a config that must be refused, and the field and value that the error
// must name.
type refusal[T any] struct {
	config       T
	field, value string
}

func checkRefusal(t *testing.T, err error, field, value string) {
	t.Helper()
	var p *algorithm.ParameterError
	if !errors.As(err, &p) {
		t.Errorf("%s %s: error %v, want a ParameterError", field, value, err)
		return
	}
	if p.Field != field || p.Value != value || p.Allowed == "" || !strings.HasPrefix(p.Of, "traffic: ") {
		t.Errorf("error %q, want one that names %s and %s", err, field, value)
	}
}

func TestProcessRefusesWhatIsOutside(t *testing.T) {
	rate := Rate{100, time.Second}
	for _, c := range []refusal[Process]{
		{Process{}, "kind", `""`},
		{Process{Kind: "posson", Rate: rate}, "kind", "posson"},
		{Process{Kind: "poisson", Rate: rate, Jitter: one / 2}, "jitter", "0.5"},
		{Process{Kind: "drip", Gap: time.Second, Rate: rate}, "rate", "100/1s"},
		{Process{Kind: "constant", Rate: rate, Counts: []int64{1}}, "counts", "[1]"},
		{Process{Kind: "constant"}, "rate", "0/0s"},
		{Process{Kind: "constant", Rate: Rate{-1, time.Second}}, "rate", "-1/1s"},
		{Process{Kind: "constant", Rate: Rate{1, 1500}}, "rate", "1/1.5µs"},
		{Process{Kind: "constant", Rate: Rate{1, math.MaxInt64}}, "rate", "1/2562047h47m16.854775807s"},
		{Process{Kind: "constant", Rate: Rate{1001, time.Microsecond}}, "rate", "1001/1µs"},
		{Process{Kind: "constant", Rate: Rate{math.MaxInt64, time.Hour}}, "rate", "9223372036854775807/1h"},
		{Process{Kind: "constant", Rate: rate, Jitter: one + 1}, "jitter", "1.000001"},
		{Process{Kind: "constant", Rate: rate, Jitter: -1}, "jitter", "-0.000001"},
		{Process{Kind: "poisson"}, "rate", "0/0s"},
		{Process{Kind: "mmpp"}, "on_rate", "0/0s"},
		{Process{Kind: "mmpp", OnRate: rate, Off: time.Second}, "on", "0s"},
		{Process{Kind: "mmpp", OnRate: rate, On: time.Second}, "off", "0s"},
		{Process{Kind: "mmpp", OnRate: rate, OffRate: Rate{1, 0}, On: 1000, Off: 1000}, "off_rate", "1/0s"},
		{Process{Kind: "mmpp", OnRate: Rate{1, longest}, On: 1000, Off: 1000}, "on_rate", "1/9600h"},
		{Process{Kind: "mmpp", Rate: rate, On: time.Second}, "on", "1s"},
		{Process{Kind: "mmpp", Rate: rate, OnRate: rate}, "on_rate", "100/1s"},
		{Process{Kind: "mmpp", Rate: rate}, "cv2", "0"},
		{Process{Kind: "mmpp", CV2: 2 * one}, "rate", "0/0s"},
		{Process{Kind: "mmpp", Rate: rate, CV2: one}, "cv2", "1"},
		{Process{Kind: "mmpp", Rate: rate, CV2: math.MaxInt64}, "cv2", "9223372036854.775807"},
		{Process{Kind: "mmpp", Rate: rate, CV2: 2 * one, Lag: one / 4}, "lag", "0.25"},
		{Process{Kind: "mmpp", Rate: rate, CV2: 2 * one, Lag: -1}, "lag", "-0.000001"},
		{Process{Kind: "pareto", Rate: rate, Sources: -1}, "sources", "-1"},
		{Process{Kind: "pareto", Rate: rate, Sources: 100_001}, "sources", "100001"},
		{Process{Kind: "pareto", Rate: rate, Alpha: one}, "alpha", "1"},
		{Process{Kind: "pareto", Rate: rate, On: -time.Second}, "on", "-1s"},
		{Process{Kind: "pareto", Rate: rate, Off: 1}, "off", "1ns"},
		{Process{Kind: "pareto", Rate: Rate{1, longest}, Sources: 100_000}, "rate", "1/9600h"},
		{Process{Kind: "batch", Rate: rate, Batch: one - 1}, "batch", "0.999999"},
		{Process{Kind: "batch", Rate: rate, Batch: 2 * one, Sizes: "poisson"}, "sizes", "poisson"},
		{Process{Kind: "batch", Rate: rate, Batch: one + 1, Sizes: "fixed"}, "batch", "1.000001"},
		{Process{Kind: "batch"}, "rate", "0/0s"},
		{Process{Kind: "flash", Rate: rate, Peak: one / 2}, "peak", "0.5"},
		{Process{Kind: "flash", Rate: rate, At: -time.Second}, "at", "-1s"},
		{Process{Kind: "flash", Rate: rate, Ramp: 1}, "ramp", "1ns"},
		{Process{Kind: "flash", Rate: rate, Hold: math.MaxInt64}, "hold", "2562047h47m16.854775807s"},
		{Process{Kind: "flash", Rate: rate, Decay: -1000}, "decay", "-1µs"},
		{Process{Kind: "diurnal", Rate: rate, Amplitude: one + 1}, "amplitude", "1.000001"},
		{Process{Kind: "diurnal", Rate: rate, Period: 1}, "period", "1ns"},
		{Process{Kind: "diurnal", Rate: rate, Period: time.Hour, Phase: 2 * time.Hour}, "phase", "2h0m0s"},
		{Process{Kind: "counts"}, "counts", "0 numbers"},
		{Process{Kind: "counts", Counts: []int64{0, 0}}, "counts", "0 throughout"},
		{Process{Kind: "counts", Counts: []int64{5, -1}}, "counts[1]", "-1"},
		{Process{Kind: "counts", Counts: []int64{math.MaxInt64}}, "counts[0]", "9223372036854775807"},
		{Process{Kind: "counts", Counts: []int64{1}, Step: 10}, "step", "10ns"},
		{Process{Kind: "counts", Counts: []int64{1}, File: "a"}, "file", "a"},
		{Process{Kind: "counts", File: "a"}, "file", "a"},
		{Process{Kind: "boundary"}, "limit", "0/0s"},
		{Process{Kind: "boundary", Limit: rate, Delta: 501 * time.Millisecond}, "delta", "501ms"},
		{Process{Kind: "boundary", Limit: rate, Delta: -1000}, "delta", "-1µs"},
		{Process{Kind: "boundary", Limit: rate, Every: -1}, "every", "-1"},
		{Process{Kind: "boundary", Limit: Rate{1, time.Microsecond}}, "limit", "1µs"},
		{Process{Kind: "counter"}, "limit", "0/0s"},
		{Process{Kind: "drip"}, "gap", "0s"},
		{Process{Kind: "drip", Gap: time.Microsecond, Offset: -time.Microsecond}, "offset", "-1µs"},
		{Process{Kind: "drip", Gap: time.Second, Offset: 1}, "offset", "1ns"},
	} {
		_, err := NewSource(Load{Process: c.config}, testEnv())
		checkRefusal(t, err, c.field, c.value)
	}
}

func TestLoadRefusesWhatIsOutside(t *testing.T) {
	good := Process{Kind: "poisson", Rate: Rate{100, time.Second}}
	for _, c := range []refusal[Load]{
		{Load{Process: good, Start: -time.Second}, "start", "-1s"},
		{Load{Process: good, Start: time.Second, Stop: time.Second}, "stop", "1s"},
		{Load{Process: good, Stop: -time.Second}, "stop", "-1s"},
		{Load{Process: good, Count: -1}, "count", "-1"},
		{Load{Process: good, Keys: Keys{Kind: "hot"}}, "n", "0"},
		{Load{Process: good, Costs: Costs{Cost: -1}}, "cost", "-1"},
	} {
		_, err := NewSource(c.config, testEnv())
		checkRefusal(t, err, c.field, c.value)
	}
	env := testEnv()
	env.Epoch = -1
	_, err := NewSource(Load{Process: good}, env)
	checkRefusal(t, err, "epoch", "-1")
	env = testEnv()
	env.Client = -1
	_, err = NewSource(Load{Process: good}, env)
	checkRefusal(t, err, "client", "-1")
}

func TestKeysRefuseWhatIsOutside(t *testing.T) {
	for _, c := range []refusal[Keys]{
		{Keys{Kind: "two"}, "kind", "two"},
		{Keys{N: 5}, "n", "5"},
		{Keys{Kind: "client", Share: 1}, "share", "0.000001"},
		{Keys{Kind: "uniform", N: 10, Alpha: new(one)}, "alpha", "1"},
		{Keys{Kind: "uniform"}, "n", "0"},
		{Keys{Kind: "uniform", N: 1_000_001}, "n", "1000001"},
		{Keys{Kind: "hot", N: 1, Share: one + 1}, "share", "1.000001"},
		{Keys{Kind: "zipf", N: 10}, "alpha", "left out"},
		{Keys{Kind: "zipf", N: -1, Alpha: new(one)}, "n", "-1"},
		{Keys{Kind: "zipf", N: 10, Alpha: new(2*one + 1)}, "alpha", "2.000001"},
		{Keys{Kind: "zipf", N: 10, Alpha: new(Decimal(-1))}, "alpha", "-0.000001"},
	} {
		_, err := NewKeys(c.config, random.New(1).Stream("keys"))
		checkRefusal(t, err, c.field, c.value)
	}
}

func TestCostsRefuseWhatIsOutside(t *testing.T) {
	for _, c := range []refusal[Costs]{
		{Costs{Kind: "free"}, "kind", "free"},
		{Costs{Mean: one}, "mean", "1"},
		{Costs{Cost: algorithm.MaxUnits + 1}, "cost", "1000000000001"},
		{Costs{Kind: "geometric"}, "mean", "0"},
		{Costs{Kind: "geometric", Mean: one}, "mean", "1"},
		{Costs{Kind: "geometric", Mean: 2 * one, Max: -1}, "max", "-1"},
		{Costs{Kind: "log-normal"}, "median", "0"},
		{Costs{Kind: "log-normal", Median: 1, Sigma: 11 * one}, "sigma", "11"},
		{Costs{Kind: "list"}, "list", "0 costs"},
		{Costs{Kind: "list", List: []int64{1, -2}}, "list[1]", "-2"},
		{Costs{Kind: "list", List: []int64{1, 2}, Weights: []int64{1}}, "weights", "1 weights"},
		{Costs{Kind: "list", List: []int64{1, 2}, Weights: []int64{1, -1}}, "weights[1]", "-1"},
		{Costs{Kind: "list", List: []int64{1, 2}, Weights: []int64{0, 0}}, "weights", "0 throughout"},
		{Costs{Kind: "list", List: []int64{1}, Weights: []int64{math.MaxInt64}}, "weights[0]", "9223372036854775807"},
		{Costs{Kind: "mix"}, "large", "0"},
		{Costs{Kind: "mix", Large: 5, Share: 2 * one}, "share", "2"},
	} {
		_, err := NewCosts(c.config, random.New(1).Stream("costs"))
		checkRefusal(t, err, c.field, c.value)
	}
}

func TestRetriesRefuseWhatIsOutside(t *testing.T) {
	for _, c := range []refusal[Retries]{
		{Retries{Kind: "forever"}, "kind", "forever"},
		{Retries{Attempts: 3}, "attempts", "3"},
		{Retries{Kind: "immediate"}, "attempts", "0"},
		{Retries{Kind: "immediate", Attempts: 1001}, "attempts", "1001"},
		{Retries{Kind: "immediate", Attempts: 1, Wait: 1}, "wait", "1ns"},
		{Retries{Kind: "fixed", Attempts: -1}, "attempts", "-1"},
		{Retries{Kind: "fixed", Wait: 1}, "wait", "1ns"},
		{Retries{Kind: "exponential", Base: -1000}, "base", "-1µs"},
		{Retries{Kind: "full-jitter", Base: time.Second, Cap: time.Millisecond}, "cap", "1ms"},
		{Retries{Kind: "equal-jitter", Cap: math.MaxInt64}, "cap", "2562047h47m16.854775807s"},
		{Retries{Kind: "decorrelated-jitter", Jitter: time.Second}, "jitter", "1s"},
		{Retries{Kind: "obey", Jitter: -1000}, "jitter", "-1µs"},
		{Retries{Kind: "obey", Offset: 500}, "offset", "500ns"},
		{Retries{Kind: "obey", Wait: -1000}, "wait", "-1µs"},
	} {
		_, err := NewRetry(c.config)
		checkRefusal(t, err, c.field, c.value)
	}
}

func TestClosedLoopAndThrottleRefuseWhatIsOutside(t *testing.T) {
	for _, c := range []refusal[ClosedLoop]{
		{ClosedLoop{}, "callers", "0"},
		{ClosedLoop{Callers: 1_000_001}, "callers", "1000001"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "normal"}}, "kind", "normal"},
		{ClosedLoop{Callers: 1, Think: Distribution{Mean: -1000}}, "mean", "-1µs"},
		{ClosedLoop{Callers: 1, Think: Distribution{Max: 1000}}, "max", "1µs"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "uniform", Low: 2000, High: 1000}}, "low", "2µs"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "uniform", High: 1}}, "high", "1ns"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "exponential"}}, "mean", "0s"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "exponential", Mean: 1000, Max: -1000}}, "max", "-1µs"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "pareto", Mean: 1000, Alpha: one}}, "alpha", "1"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "pareto"}}, "mean", "0s"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "log-normal"}}, "median", "0s"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "log-normal", Median: 1000, Sigma: -1}}, "sigma", "-0.000001"},
	} {
		checkRefusal(t, c.config.Check(), c.field, c.value)
	}
	if err := (ClosedLoop{Callers: 1}).Check(); err != nil {
		t.Errorf("one caller that does not think: %v", err)
	}
	for _, c := range []refusal[Throttle]{
		{Throttle{Factor: one - 1}, "factor", "0.999999"},
		{Throttle{Factor: 101 * one}, "factor", "101"},
		{Throttle{Window: time.Microsecond}, "window", "1µs"},
		{Throttle{Window: 25 * time.Hour}, "window", "25h0m0s"},
	} {
		_, err := NewGate(c.config)
		checkRefusal(t, err, c.field, c.value)
	}
}

func TestCountsFileErrorsNameTheLine(t *testing.T) {
	env := testEnv()
	env.Files = fstest.MapFS{"bad.txt": {Data: []byte("1\n2\nthree\n")}, "minus.txt": {Data: []byte("-1\n")},
		"empty.txt": {Data: []byte("# nothing\n")}, "long.txt": {Data: []byte(strings.Repeat("1", 100_000))}}
	for file, want := range map[string]string{
		"bad.txt": `line 3 "three"`, "minus.txt": `line 1 "-1"`, "empty.txt": "counts 0 numbers", "long.txt": "token too long",
	} {
		_, err := NewSource(Load{Process: Process{Kind: "counts", File: file}}, env)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", file, err, want)
		}
	}
	_, err := NewSource(Load{Process: Process{Kind: "counts", File: "none.txt"}}, env)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
}

func TestUnneededFieldErrorSaysWhatTheKindTakes(t *testing.T) {
	_, err := NewSource(Load{Process: Process{Kind: "constant", Rate: Rate{1, time.Second}, Alpha: one}}, testEnv())
	const want = "traffic: process constant: alpha 1 is not allowed: must be absent: the kind takes rate, jitter"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
