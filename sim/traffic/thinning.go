package traffic

import "github.com/weirgo/weir/sim/random"

// profile is a rate that changes with time.
type profile interface {
	// rate returns the rate per µs at an instant.
	rate(at int64) float64
	// bound returns a rate that is not exceeded from at to before until, which is
	// later than at.
	bound(at int64) (most float64, until int64)
}

// thinning is a Poisson process with the rate of a profile: arrivals are drawn at
// the bound, and each is kept with a chance of rate/bound (Lewis & Shedler 1979).
type thinning struct {
	clock
	profile profile
	most    float64
	until   int64
	draw    *random.Stream
}

func newThinning(p profile, draw *random.Stream) *thinning {
	return &thinning{profile: p, draw: draw}
}

func (t *thinning) next() (at, client int64, ok bool) {
	for {
		if t.at >= t.until {
			t.most, t.until = t.profile.bound(t.at)
		}
		before := t.clock
		if t.most <= 0 || !t.add(t.draw.Unit()/t.most) || t.at >= t.until {
			// Nothing before the bound ends. A Poisson process has no memory, so it
			// starts there anew.
			if t.until > maxAt {
				t.clock = before
				return 0, 0, false
			}
			t.clock = clock{at: t.until}
			continue
		}
		if rate := t.profile.rate(t.at); rate >= t.most || t.draw.Fraction() < rate/t.most {
			return t.at, 0, true
		}
	}
}
