package traffic

import (
	"time"

	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

// Delay draws a length of time in µs, from 0. It keeps nothing between draws: one Delay
// serves all who draw from it.
type Delay func(draw *random.Stream) int64

// NewDelay returns the Delay of a distribution.
func NewDelay(d scenario.Distribution) Delay {
	d = scenario.Complete(d)
	mean, most := micros(d.Mean), micros(d.Max)
	switch d.Kind {
	case "fixed":
		return func(*random.Stream) int64 { return mean }
	case "uniform":
		low, high := micros(d.Low), micros(d.High)
		return func(s *random.Stream) int64 { return s.Uniform(low, high) }
	case "exponential":
		return func(s *random.Stream) int64 { return min(s.Exponential(mean), most) }
	case "pareto":
		return func(s *random.Stream) int64 { return min(s.Pareto(mean, int64(d.Alpha)), most) }
	case "log-normal":
		return func(s *random.Stream) int64 { return min(s.LogNormal(micros(d.Median), int64(d.Sigma)), most) }
	}
	panic("traffic: no distribution " + d.Kind)
}

// Always reports whether a distribution is always the length d.
func Always(of scenario.Distribution, d time.Duration) bool {
	return (of.Kind == "" || of.Kind == "fixed") && of.Mean == d
}
