package load

import (
	"math"
	"math/rand/v2"
	"time"
)

// schedule is when requests are due. In the ramp the rate grows evenly from 0.
type schedule struct {
	rate, ramp float64 // per second, seconds
	end        time.Duration
	position   float64    // of the next request, in requests
	random     *rand.Rand // of its distances; nil where they are equal
}

func newSchedule(o *Options) *schedule {
	s := &schedule{rate: float64(o.Rate), ramp: o.Ramp.Seconds(), end: o.Ramp + o.Duration}
	if o.Arrivals == Poisson {
		s.random = rand.New(rand.NewPCG(o.Seed, 1<<63))
		s.position = s.random.ExpFloat64()
	}
	return s
}

// next returns when the next request is due, and false behind the last.
func (s *schedule) next() (time.Duration, bool) {
	// Until t, rate·t²/(2·ramp) requests are due in the ramp, and rate·ramp/2 in all of it.
	seconds, inRamp := 0.0, s.rate*s.ramp/2
	if s.position < inRamp {
		seconds = math.Sqrt(2 * s.ramp * s.position / s.rate)
	} else {
		seconds = s.ramp + (s.position-inRamp)/s.rate
	}
	due := time.Duration(math.Round(seconds * float64(time.Second)))
	if s.random == nil {
		s.position++
	} else {
		s.position += s.random.ExpFloat64()
	}
	return due, due < s.end
}
