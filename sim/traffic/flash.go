package traffic

import (
	"cmp"
	"time"

	"github.com/weirgo/weir/sim/random"
)

// flash is a flash crowd: a base rate, then a rise in a straight line to a
// multiple of it, a time at the top, and an exponential fall back.
type flash struct {
	base, excess        float64 // per µs; excess is peak − base
	start, top, falling int64   // when the rise begins, when it ends, when the fall begins
	decay               int64
}

func newFlash(p Process, env processEnv) (process, error) {
	defaults(&p.Peak, 10*one)
	defaults(&p.Ramp, 10*time.Second)
	defaults(&p.Decay, 2*time.Minute)
	if err := cmp.Or(p.Rate.check(env.of, "rate"),
		between(env.of, "peak", p.Peak, one, 10_000*one),
		span(env.of, "at", p.At, 0, longest),
		span(env.of, "ramp", p.Ramp, time.Microsecond, longest),
		span(env.of, "hold", p.Hold, 0, longest),
		span(env.of, "decay", p.Decay, time.Microsecond, longest)); err != nil {
		return nil, err
	}
	base := p.Rate.perMicro()
	f := &flash{base: base, excess: float64(base * (p.Peak - one).float()), decay: micros(p.Decay)}
	f.start = micros(p.At)
	f.top = f.start + micros(p.Ramp)
	f.falling = f.top + micros(p.Hold)
	return newThinning(f, env.gaps), nil
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
