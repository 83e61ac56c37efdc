package traffic

import (
	"cmp"
	"time"

	"github.com/weirgo/weir/sim/random"
)

// ClosedLoop is clients that wait for an answer and then think before they ask
// again, as data: C callers, so never more than C requests at once. Whoever runs
// the clients draws each think time.
type ClosedLoop struct {
	// Callers is how many there are, from 1 to 1000000; required.
	Callers int64 `yaml:"callers"`
	// Think is the time from an answer, or from giving up, to the next request.
	Think Distribution `yaml:"think,omitempty"`
}

// Check says what is wrong with it, as an *algorithm.ParameterError.
func (c ClosedLoop) Check() error {
	if err := between("closed loop", "callers", c.Callers, 1, 1_000_000); err != nil {
		return err
	}
	_, err := NewDelay(c.Think)
	return err
}

// Distribution is a random length of time, as data. A field that its kind does not
// take is refused; one that is left out takes the default in brackets.
type Distribution struct {
	// Kind is one of
	//   - fixed: always Mean, which may be 0s;
	//   - uniform: evenly from Low [0s] to High;
	//   - exponential: with that Mean;
	//   - pareto: with that Mean and the tail Alpha, above 1 to 10 [1.4];
	//   - log-normal: around Median, spread by Sigma, above 0 to 10 [1].
	// Left out it is fixed.
	Kind   string        `yaml:"kind,omitempty"`
	Mean   time.Duration `yaml:"mean,omitempty"`
	Low    time.Duration `yaml:"low,omitempty"`
	High   time.Duration `yaml:"high,omitempty"`
	Median time.Duration `yaml:"median,omitempty"`
	Alpha  Decimal       `yaml:"alpha,omitempty"`
	Sigma  Decimal       `yaml:"sigma,omitempty"`
	// Max cuts long draws off: more counts as Max
	// [9600h, the most that any field may hold].
	Max time.Duration `yaml:"max,omitempty"`
}

// Delay draws lengths of time.
type Delay interface {
	// Micros returns the next one in µs, from 0.
	Micros(draw *random.Stream) int64
}

var delayKinds = []kind[func(Distribution) (delay, error)]{
	{"fixed", "mean", newFixedDelay},
	{"uniform", "low high", newUniformDelay},
	{"exponential", "mean max", newExponentialDelay},
	{"pareto", "mean alpha max", newParetoDelay},
	{"log-normal", "median sigma max", newLogNormalDelay},
}

// NewDelay returns the delay of a distribution. It keeps nothing between draws: one
// delay serves all who draw from it. The error is an *algorithm.ParameterError.
func NewDelay(d Distribution) (Delay, error) {
	name := cmp.Or(d.Kind, "fixed")
	k, err := choose("distribution", name, delayKinds, d)
	if err != nil {
		return nil, err
	}
	d.Kind = "distribution " + name
	defaults(&d.Max, longest)
	if err := span(d.Kind, "max", d.Max, time.Microsecond, longest); err != nil {
		return nil, err
	}
	built, err := k.build(d)
	if err != nil {
		return nil, err
	}
	return built, nil
}

// delay is a Delay that one function draws.
type delay func(draw *random.Stream) int64

func (d delay) Micros(draw *random.Stream) int64 { return d(draw) }

func newFixedDelay(d Distribution) (delay, error) {
	mean := micros(d.Mean)
	return func(*random.Stream) int64 { return mean }, span(d.Kind, "mean", d.Mean, 0, longest)
}

func newUniformDelay(d Distribution) (delay, error) {
	low, high := micros(d.Low), micros(d.High)
	return func(s *random.Stream) int64 { return s.Uniform(low, high) },
		cmp.Or(span(d.Kind, "high", d.High, 0, longest), span(d.Kind, "low", d.Low, 0, d.High))
}

func newExponentialDelay(d Distribution) (delay, error) {
	mean, most := micros(d.Mean), micros(d.Max)
	return func(s *random.Stream) int64 { return min(s.Exponential(mean), most) },
		span(d.Kind, "mean", d.Mean, time.Microsecond, longest)
}

func newParetoDelay(d Distribution) (delay, error) {
	defaults(&d.Alpha, 1_400_000)
	alpha, most := int64(d.Alpha), micros(d.Max)
	scale := int64(float64(micros(d.Mean))*(d.Alpha.float()-1)/d.Alpha.float() + 0.5)
	return func(s *random.Stream) int64 { return min(s.Pareto(scale, alpha), most) },
		cmp.Or(span(d.Kind, "mean", d.Mean, time.Microsecond, longest), between(d.Kind, "alpha", d.Alpha, one+1000, 10*one))
}

func newLogNormalDelay(d Distribution) (delay, error) {
	defaults(&d.Sigma, one)
	median, sigma, most := micros(d.Median), int64(d.Sigma), micros(d.Max)
	return func(s *random.Stream) int64 { return min(s.LogNormal(median, sigma), most) },
		cmp.Or(span(d.Kind, "median", d.Median, time.Microsecond, longest), between(d.Kind, "sigma", d.Sigma, 1, 10*one))
}
