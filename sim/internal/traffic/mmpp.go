package traffic

import (
	"math"

	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
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

func newMMPP(p scenario.Process, e env) *mmpp {
	m := &mmpp{draw: e.gaps}
	if p.CV2 == 0 {
		m.rate[0] = perMicro(p.OnRate)
		if p.OffRate != (scenario.Rate{}) {
			m.rate[1] = perMicro(p.OffRate)
		}
		m.stay = [2]float64{float64(micros(p.On)), float64(micros(p.Off))}
	} else {
		m.fit(p)
	}
	// It starts in either state as often as it is in it.
	total := m.stay[0] + m.stay[1]
	if m.draw.Fraction() >= m.stay[0]/total {
		m.state = 1
	}
	m.left = float64(m.draw.Unit() * m.stay[m.state])
	return m
}

// fit finds the process that has the mean rate, the squared coefficient of
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
func (m *mmpp) fit(p scenario.Process) {
	c2 := float(p.CV2)
	gamma := 2 * float(p.Lag) / (1 - 1/c2)
	d := 2 / (c2 + 1)
	leave := float64((1 - gamma) * d)
	half := (c2 + gamma) / (c2 + 1)
	root := math.Sqrt(float64(half*half) - float64(gamma*d))
	on := half + root
	off := float64(gamma*d) / on
	leaveOff := (leave - float64(off*leave)) / (on - off)
	rate := perMicro(p.Rate)
	m.rate = [2]float64{float64(on * rate), float64(off * rate)}
	m.stay = [2]float64{1 / float64((leave-leaveOff)*rate), 1 / float64(leaveOff*rate)}
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
