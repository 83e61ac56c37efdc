package traffic

import (
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

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

func (t *thinning) next() (at, client int64, ok bool) {
	for {
		if t.at >= t.until {
			t.most, t.until = t.profile.bound(t.at)
		}
		before := t.clock
		if t.most <= 0 || !t.add(t.draw.Unit()/t.most) || t.at >= t.until {
			// No arrival before the bound ends. A Poisson process has no memory, so it
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

// flash is a flash crowd: a base rate, then a rise in a straight line to a
// multiple of it, a time at the top, and an exponential fall back.
type flash struct {
	base, excess        float64 // per µs; excess is peak − base
	start, top, falling int64   // when the rise begins, when it ends, when the fall begins
	decay               int64
}

func newFlash(p scenario.Process, e env) *thinning {
	base := perMicro(p.Rate)
	f := &flash{base: base, excess: float64(base * float(p.Peak-1_000_000)), decay: micros(p.Decay)}
	f.start = micros(p.At)
	f.top = f.start + micros(p.Ramp)
	f.falling = f.top + micros(p.Hold)
	return &thinning{profile: f, draw: e.gaps}
}

func (f *flash) rate(at int64) float64 {
	switch {
	case at < f.start:
		return f.base
	case at < f.top:
		return f.base + float64(f.excess*float64(at-f.start))/float64(f.top-f.start)
	case at < f.falling:
		return f.base + f.excess
	}
	return f.base + float64(f.excess*random.Exp(-float64(at-f.falling)/float64(f.decay)))
}

// bound cuts the rise into 16 pieces and the fall into eighths of its decay, so
// that few arrivals are drawn in vain. After 32 decays, where about 10^−10 of the
// base is left of the excess, one bound holds for good.
func (f *flash) bound(at int64) (most float64, until int64) {
	switch {
	case at < f.start:
		return f.base, f.start
	case at < f.top:
		until = min(at+(f.top-f.start)/16+1, f.top)
		return f.rate(until), until
	case at < f.falling:
		return f.base + f.excess, f.falling
	case (at-f.falling)/32 < f.decay:
		return f.rate(at), at + f.decay/8 + 1
	}
	return f.rate(at), maxAt + 1
}

// diurnal is a rate that swings as a sine around its mean: r·(1 + a·sin 2πt/T).
type diurnal struct {
	mean, swing   float64 // per µs
	period, phase int64
}

func newDiurnal(p scenario.Process, e env) *thinning {
	mean := perMicro(p.Rate)
	d := &diurnal{mean: mean, swing: float64(mean * float(p.Amplitude)), period: micros(p.Period), phase: micros(p.Phase)}
	return &thinning{profile: d, draw: e.gaps}
}

func (d *diurnal) rate(at int64) float64 {
	turn := float64((at+d.phase)%d.period) / float64(d.period)
	return d.mean + float64(d.swing*random.SinTurn(turn))
}

func (d *diurnal) bound(int64) (most float64, until int64) { return d.mean + d.swing, maxAt + 1 }
