package scenario

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// refusal is a config that must be refused, and the field and value that the error
// must name.
type refusal[T any] struct {
	config       T
	field, value string
}

// refusing checks that each config is refused with its field and value.
func refusing[T any](t *testing.T, all []refusal[T]) {
	t.Helper()
	for _, c := range all {
		var e *Error
		err := validate(reflect.ValueOf(&c.config), "")
		if !errors.As(err, &e) || e.Path != c.field || strings.Trim(e.Value, `"`) != c.value || e.Allowed == "" {
			t.Errorf("error %v, want one that names %s and %s", err, c.field, c.value)
		}
	}
}

func TestProcessRefusesWhatIsOutside(t *testing.T) {
	rate := Rate{Units: 100, Per: time.Second}
	refusing(t, []refusal[Process]{
		{Process{}, "kind", ""},
		{Process{Kind: "posson", Rate: rate}, "kind", "posson"},
		{Process{Kind: "poisson", Rate: rate, Jitter: one / 2}, "jitter", "0.5"},
		{Process{Kind: "drip", Gap: time.Second, Rate: rate}, "rate", "100/1s"},
		{Process{Kind: "constant", Rate: rate, Counts: []int64{1}}, "counts", "1 of them"},
		{Process{Kind: "constant"}, "rate", "0/0s"},
		{Process{Kind: "constant", Rate: Rate{Units: -1, Per: time.Second}}, "rate", "-1/1s"},
		{Process{Kind: "constant", Rate: Rate{Units: 1, Per: 1500}}, "rate", "1/1.5µs"},
		{Process{Kind: "constant", Rate: Rate{Units: 1, Per: math.MaxInt64}}, "rate", "1/2562047h47m16.854775807s"},
		{Process{Kind: "constant", Rate: Rate{Units: 1001, Per: time.Microsecond}}, "rate", "1001/1µs"},
		{Process{Kind: "constant", Rate: Rate{Units: math.MaxInt64, Per: time.Hour}}, "rate", "9223372036854775807/1h"},
		{Process{Kind: "constant", Rate: rate, Jitter: one + 1}, "jitter", "1.000001"},
		{Process{Kind: "constant", Rate: rate, Jitter: -1}, "jitter", "-0.000001"},
		{Process{Kind: "poisson"}, "rate", "0/0s"},
		{Process{Kind: "mmpp"}, "on_rate", "0/0s"},
		{Process{Kind: "mmpp", OnRate: rate, Off: time.Second}, "on", "0s"},
		{Process{Kind: "mmpp", OnRate: rate, On: time.Second}, "off", "0s"},
		{Process{Kind: "mmpp", OnRate: rate, OffRate: Rate{Units: 1, Per: 0}, On: 1000, Off: 1000}, "off_rate", "1/0s"},
		{Process{Kind: "mmpp", OnRate: Rate{Units: 1, Per: longest}, On: 1000, Off: 1000}, "on_rate", "1/9600h"},
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
		{Process{Kind: "pareto", Rate: Rate{Units: 1, Per: longest}, Sources: 100_000}, "rate", "1/9600h"},
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
		{Process{Kind: "counts"}, "counts", "left out"},
		{Process{Kind: "counts", Counts: []int64{0, 0}}, "counts", "0 throughout"},
		{Process{Kind: "counts", Counts: []int64{5, -1}}, "counts[1]", "-1"},
		{Process{Kind: "counts", Counts: []int64{math.MaxInt64}}, "counts[0]", "9223372036854775807"},
		{Process{Kind: "counts", Counts: []int64{1}, Step: 10}, "step", "10ns"},
		{Process{Kind: "counts", Counts: []int64{1}, File: "a"}, "file", "a"},
		{Process{Kind: "boundary"}, "limit", "0/0s"},
		{Process{Kind: "boundary", Limit: rate, Delta: 501 * time.Millisecond}, "delta", "501ms"},
		{Process{Kind: "boundary", Limit: rate, Delta: -1000}, "delta", "-1µs"},
		{Process{Kind: "boundary", Limit: rate, Every: -1}, "every", "-1"},
		{Process{Kind: "boundary", Limit: Rate{Units: 1, Per: time.Microsecond}}, "limit", "1/1µs"},
		{Process{Kind: "counter"}, "limit", "0/0s"},
		{Process{Kind: "drip"}, "gap", "0s"},
		{Process{Kind: "drip", Gap: time.Microsecond, Offset: -time.Microsecond}, "offset", "-1µs"},
		{Process{Kind: "drip", Gap: time.Second, Offset: 1}, "offset", "1ns"},
	})
}

func TestTrafficRefusesWhatIsOutside(t *testing.T) {
	good := Process{Kind: "poisson", Rate: Rate{Units: 100, Per: time.Second}}
	refusing(t, []refusal[Traffic]{
		{Traffic{Name: "t", Process: good, Start: -time.Second}, "start", "-1s"},
		{Traffic{Name: "t", Process: good, Start: time.Second, Stop: time.Second}, "stop", "1s"},
		{Traffic{Name: "t", Process: good, Stop: -time.Second}, "stop", "-1s"},
		{Traffic{Name: "t", Process: good, Count: -1}, "count", "-1"},
		{Traffic{Name: "t", Process: good, Keys: Keys{Kind: "hot"}}, "keys.n", "0"},
		{Traffic{Name: "t", Process: good, Costs: Costs{Cost: -1}}, "costs.cost", "-1"},
	})
}

func TestKeysRefuseWhatIsOutside(t *testing.T) {
	refusing(t, []refusal[Keys]{
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
	})
}

func TestCostsRefuseWhatIsOutside(t *testing.T) {
	refusing(t, []refusal[Costs]{
		{Costs{Kind: "free"}, "kind", "free"},
		{Costs{Mean: one}, "mean", "1"},
		{Costs{Cost: algorithm.MaxUnits + 1}, "cost", "1000000000001"},
		{Costs{Kind: "geometric"}, "mean", "0"},
		{Costs{Kind: "geometric", Mean: one}, "mean", "1"},
		{Costs{Kind: "geometric", Mean: 2 * one, Max: -1}, "max", "-1"},
		{Costs{Kind: "log-normal"}, "median", "0"},
		{Costs{Kind: "log-normal", Median: 1, Sigma: 11 * one}, "sigma", "11"},
		{Costs{Kind: "list"}, "list", "0 of them"},
		{Costs{Kind: "list", List: []int64{1, -2}}, "list[1]", "-2"},
		{Costs{Kind: "list", List: []int64{1, 2}, Weights: []int64{1}}, "weights", "1 of them"},
		{Costs{Kind: "list", List: []int64{1, 2}, Weights: []int64{1, -1}}, "weights[1]", "-1"},
		{Costs{Kind: "list", List: []int64{1, 2}, Weights: []int64{0, 0}}, "weights", "0 throughout"},
		{Costs{Kind: "list", List: []int64{1}, Weights: []int64{math.MaxInt64}}, "weights[0]", "9223372036854775807"},
		{Costs{Kind: "mix"}, "large", "0"},
		{Costs{Kind: "mix", Large: 5, Share: 2 * one}, "share", "2"},
	})
}

func TestRetriesRefuseWhatIsOutside(t *testing.T) {
	refusing(t, []refusal[Retries]{
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
	})
}

func TestClosedLoopAndThrottleRefuseWhatIsOutside(t *testing.T) {
	refusing(t, []refusal[ClosedLoop]{
		{ClosedLoop{}, "callers", "0"},
		{ClosedLoop{Callers: 1_000_001}, "callers", "1000001"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "normal"}}, "think.kind", "normal"},
		{ClosedLoop{Callers: 1, Think: Distribution{Mean: -1000}}, "think.mean", "-1µs"},
		{ClosedLoop{Callers: 1, Think: Distribution{Max: 1000}}, "think.max", "1µs"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "uniform", Low: 2000, High: 1000}}, "think.low", "2µs"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "uniform", High: 1}}, "think.high", "1ns"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "exponential"}}, "think.mean", "0s"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "exponential", Mean: 1000, Max: -1000}}, "think.max", "-1µs"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "pareto", Mean: 1000, Alpha: one}}, "think.alpha", "1"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "pareto"}}, "think.mean", "0s"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "log-normal"}}, "think.median", "0s"},
		{ClosedLoop{Callers: 1, Think: Distribution{Kind: "log-normal", Median: 1000, Sigma: -1}}, "think.sigma", "-0.000001"},
	})
	if err := validate(reflect.ValueOf(&ClosedLoop{Callers: 1}), ""); err != nil {
		t.Errorf("one caller that does not think: %v", err)
	}
	refusing(t, []refusal[Throttle]{
		{Throttle{Factor: one - 1}, "factor", "0.999999"},
		{Throttle{Factor: 101 * one}, "factor", "101"},
		{Throttle{Window: time.Microsecond}, "window", "1µs"},
		{Throttle{Window: 25 * time.Hour}, "window", "25h0m0s"},
	})
}

func TestUnneededFieldErrorSaysWhatTheKindTakes(t *testing.T) {
	err := Process{Kind: "constant", Rate: Rate{Units: 1, Per: time.Second}, Alpha: one}.Validate()
	const want = "scenario: alpha 1 is not allowed: must be absent: constant takes rate, jitter"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
