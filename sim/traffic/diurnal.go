package traffic

import (
	"cmp"
	"time"

	"github.com/weirgo/weir/sim/random"
)

// diurnal is a rate that swings as a sine around its mean: r·(1 + a·sin 2πt/T).
type diurnal struct {
	mean, swing   float64 // per µs
	period, phase int64
}

func newDiurnal(p Process, env processEnv) (process, error) {
	const day = 24 * time.Hour
	defaults(&p.Amplitude, 600_000)
	defaults(&p.Period, day)
	if err := cmp.Or(p.Rate.check(env.of, "rate"),
		between(env.of, "amplitude", p.Amplitude, 1, one),
		span(env.of, "period", p.Period, time.Microsecond, longest),
		span(env.of, "phase", p.Phase, 0, p.Period)); err != nil {
		return nil, err
	}
	mean := p.Rate.perMicro()
	d := &diurnal{mean: mean, swing: float64(mean * p.Amplitude.float()), period: micros(p.Period), phase: micros(p.Phase)}
	return newThinning(d, env.gaps), nil
}

func (d *diurnal) rate(at int64) float64 {
	turn := float64((at+d.phase)%d.period) / float64(d.period)
	return d.mean + float64(d.swing*random.SinTurn(turn))
}

func (d *diurnal) bound(int64) (most float64, until int64) { return d.mean + d.swing, maxAt + 1 }
