package traffic

import (
	"cmp"
	"math"
	"time"

	"github.com/weirgo/weir/sim/random"
)

// mmpp is a Poisson process whose rate is one of two, each for an exponential
// time. State 0 is on, 1 is off.
type mmpp struct {
	clock
	state int
	left  float64    // µs until the state ends
	rate  [2]float64 // per µs
	stay  [2]float64 // mean µs in a state
	draw  *random.Stream
}

func newMMPP(p Process, env processEnv) (process, error) {
	m := &mmpp{draw: env.gaps}
	var err error
	if p.Rate.IsZero() && p.CV2 == 0 && p.Lag == 0 {
		err = m.fromRates(p, env.of)
	} else {
		err = m.fromFit(p, env.of)
	}
	if err != nil {
		return nil, err
	}
	// It starts in either state as often as it is in it.
	total := m.stay[0] + m.stay[1]
	if m.draw.Fraction() >= m.stay[0]/total {
		m.state = 1
	}
	m.left = float64(m.draw.Unit() * m.stay[m.state])
	return m, nil
}

// fewest is how many arrivals there must be in a turn of on and off, on average:
// fewer would make a search for the next arrival endless.
const fewest = 1e-3

func (m *mmpp) fromRates(p Process, of string) error {
	if err := cmp.Or(p.OnRate.check(of, "on_rate"),
		span(of, "on", p.On, time.Microsecond, longest),
		span(of, "off", p.Off, time.Microsecond, longest)); err != nil {
		return err
	}
	m.rate[0] = p.OnRate.perMicro()
	if !p.OffRate.IsZero() {
		if err := p.OffRate.check(of, "off_rate"); err != nil {
			return err
		}
		m.rate[1] = p.OffRate.perMicro()
	}
	m.stay = [2]float64{float64(micros(p.On)), float64(micros(p.Off))}
	if float64(m.rate[0]*m.stay[0])+float64(m.rate[1]*m.stay[1]) < fewest {
		return refuse(of, "on_rate", p.OnRate.String(), "enough for an arrival in 1000 turns of on and off")
	}
	return nil
}

// fromFit finds the process that has the mean rate, the squared coefficient of
// variation c² of the gaps and the correlation ρ of neighbouring gaps.
//
// The gaps of an MMPP-2 are a mix of two exponentials, and the correlation at lag k
// is γ^k·(1 − 1/c²)/2 with γ = λ₁λ₂/D, where D = λ₁λ₂ + λ₁r₂ + λ₂r₁ and r are the rates
// of leaving the states (Fischer & Meier-Hellstern 1993, and Heindl 2004 for the
// form with γ). Three numbers leave one free; the mix is taken with balanced means,
// which gives, for a mean rate of 1:
//
//	D       = 2/(c² + 1)
//	r₁ + r₂ = (1 − γ)·D
//	λ₁ + λ₂ = 2(c² + γ)/(c² + 1),  λ₁λ₂ = γD
//	r₂      = (D(1 − γ) − λ₂(r₁ + r₂))/(λ₁ − λ₂)
//
// It has a solution for every c² above 1 and every γ from 0 to below 1: 0 is an
// interrupted Poisson process, whose gaps are independent.
func (m *mmpp) fromFit(p Process, of string) error {
	for _, given := range []struct {
		field string
		set   bool
		value string
	}{
		{"on_rate", !p.OnRate.IsZero(), p.OnRate.String()}, {"off_rate", !p.OffRate.IsZero(), p.OffRate.String()},
		{"on", p.On != 0, p.On.String()}, {"off", p.Off != 0, p.Off.String()},
	} {
		if given.set {
			return refuse(of, given.field, given.value, "absent where rate, cv2 and lag describe the process")
		}
	}
	if err := cmp.Or(p.Rate.check(of, "rate"), between(of, "cv2", p.CV2, one+1000, 10_000*one)); err != nil {
		return err
	}
	c2 := p.CV2.float()
	gamma := 2 * p.Lag.float() / (1 - 1/c2)
	if p.Lag < 0 || gamma > 0.9999 {
		most := Decimal(math.Floor(0.9999 * (1 - 1/c2) / 2 * float64(one)))
		return refuse(of, "lag", p.Lag.String(), "from 0 to "+most.String()+" with a cv2 of "+p.CV2.String())
	}
	d := 2 / (c2 + 1)
	leave := float64((1 - gamma) * d)
	half := (c2 + gamma) / (c2 + 1)
	root := math.Sqrt(float64(half*half) - float64(gamma*d))
	on := half + root
	off := float64(gamma*d) / on
	leaveOff := (leave - float64(off*leave)) / (on - off)
	rate := p.Rate.perMicro()
	m.rate = [2]float64{float64(on * rate), float64(off * rate)}
	m.stay = [2]float64{1 / float64((leave-leaveOff)*rate), 1 / float64(leaveOff*rate)}
	return nil
}

func (m *mmpp) next() (at, client int64, ok bool) {
	for {
		gap := math.Inf(1)
		if rate := m.rate[m.state]; rate > 0 {
			gap = m.draw.Unit() / rate
		}
		if gap < m.left {
			m.left -= gap
			ok = m.add(gap)
			return m.at, 0, ok
		}
		// The state ends first. A Poisson process has no memory, so the rest of the
		// gap is drawn anew.
		if !m.add(m.left) {
			return m.at, 0, false
		}
		m.state = 1 - m.state
		m.left = float64(m.draw.Unit() * m.stay[m.state])
	}
}
