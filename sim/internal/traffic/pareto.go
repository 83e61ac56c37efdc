package traffic

import (
	"github.com/weirgo/weir/sim/internal/heap"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

// pareto is many sources that are on and off for Pareto times and, while on, send
// at one constant rate. Their sum is self-similar, with a Hurst parameter of
// (3 − α)/2 (Willinger et al. 1997).
type pareto struct {
	sources heap.Heap[onOff] // the next to send comes first
	gap     float64          // µs of on time from one arrival of a source to its next
	scale   [2]float64
	alpha   float64
	draw    *random.Stream
}

// onOff is one source.
type onOff struct {
	clock         // its next arrival
	left  float64 // µs of on time after that arrival
	index int64
}

func newPareto(p scenario.Process, e env) *pareto {
	on, off, alpha := float64(micros(p.On)), float64(micros(p.Off)), float(p.Alpha)
	perTurn := perMicro(p.Rate) / float64(p.Sources) * (on + off)
	shape := (alpha - 1) / alpha // scale ÷ mean
	s := &pareto{
		sources: make(heap.Heap[onOff], p.Sources),
		gap:     on / perTurn,
		scale:   [2]float64{float64(on * shape), float64(off * shape)},
		alpha:   alpha,
		draw:    e.gaps,
	}
	for i := range s.sources {
		s.sources[i] = s.start(int64(i), on/(on+off))
	}
	s.sources.Init()
	return s
}

// stay draws how long a source is on (0) or off (1).
func (s *pareto) stay(state int) float64 {
	return float64(s.scale[state] * random.Exp(s.draw.Unit()/s.alpha))
}

// residual draws how long a stay still lasts at an instant that is chosen apart from it.
// Such an instant meets long stays more often: with a mean stay μ = m·α/(α − 1) and the
// scale m, the rest is above x with a chance of 1 − x/μ up to m, and of (m/x)^(α−1)/α
// from there on (the equilibrium distribution of renewal theory; Cox 1962).
func (s *pareto) residual(state int) float64 {
	e := s.draw.Unit() // the chance is exp(−e)
	if beyond := e - random.Log(s.alpha); beyond > 0 {
		return float64(s.scale[state] * random.Exp(beyond/(s.alpha-1)))
	}
	mean := s.scale[state] * s.alpha / (s.alpha - 1)
	return float64(mean * (1 - random.Exp(-e)))
}

// start puts a source somewhere within a stay, on with that chance, and somewhere
// within a gap, so that the process is stationary from its beginning.
func (s *pareto) start(index int64, on float64) onOff {
	src := onOff{index: index}
	state := 0
	if s.draw.Fraction() >= on {
		state = 1
	}
	rest := s.residual(state)
	first := float64(s.gap * s.draw.Fraction())
	if state == 0 {
		src.left = rest
	} else if !src.add(rest) {
		src.at = maxAt + 1
		return src
	} else {
		src.left = s.stay(0)
	}
	s.advance(&src, first)
	return src
}

// advance moves a source to its next arrival, which comes after that much time of
// being on. A source that has none before maxAt is moved beyond it.
func (s *pareto) advance(src *onOff, need float64) {
	for need >= src.left {
		need -= src.left
		if !src.add(src.left) || !src.add(s.stay(1)) {
			src.at = maxAt + 1
			return
		}
		src.left = s.stay(0)
	}
	src.left -= need
	if !src.add(need) {
		src.at = maxAt + 1
	}
}

func (s *pareto) next() (at, client int64, ok bool) {
	first := &s.sources[0]
	if first.at > maxAt {
		return 0, 0, false
	}
	at, client = first.at, first.index
	s.advance(first, s.gap)
	s.sources.Fix()
	return at, client, true
}

// Before orders sources by their next arrival.
func (a onOff) Before(b onOff) bool { return a.at < b.at || a.at == b.at && a.index < b.index }
