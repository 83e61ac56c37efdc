package traffic

import (
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

// constant yields the n-th arrival at ⌊n·P/L⌋, from n = 0, plus a jitter that is
// less than would reach past the arrival after it.
type constant struct {
	walk
	jitter int64 // millionths of the gap
	draw   *random.Stream
}

func newConstant(p scenario.Process, e env) *constant {
	return &constant{newWalk(micros(p.Rate.Per), p.Rate.Units), int64(p.Jitter), e.gaps}
}

func (c *constant) next() (at, client int64, ok bool) {
	at = c.walk.next()
	if c.jitter > 0 {
		// The gap is below 2^45, so that this fits: gap·jitter is computed in parts.
		gap := c.walk.at - at
		most := gap/random.Million*c.jitter + gap%random.Million*c.jitter/random.Million
		at += c.draw.Uniform(0, most)
	}
	return at, 0, at <= maxAt
}

// poisson has independent gaps of mean 1/λ, each −ln(U)/λ.
type poisson struct {
	clock
	mean float64 // µs
	draw *random.Stream
}

func newPoisson(p scenario.Process, e env) *poisson {
	return &poisson{mean: 1 / perMicro(p.Rate), draw: e.gaps}
}

func (p *poisson) next() (at, client int64, ok bool) {
	ok = p.add(float64(p.draw.Unit() * p.mean))
	return p.at, 0, ok
}

// batch has a Poisson process of batches, all arrivals of one at the same instant.
type batch struct {
	poisson
	size  int64 // millionths: exact, or the mean
	fixed bool
	left  int64 // of the present batch
}

func newBatch(p scenario.Process, e env) *batch {
	return &batch{poisson: *newPoisson(p, e), size: int64(p.Batch), fixed: p.Sizes == "fixed"}
}

func (b *batch) next() (at, client int64, ok bool) {
	if b.left == 0 {
		if _, _, ok := b.poisson.next(); !ok {
			return 0, 0, false
		}
		if b.left = b.size / random.Million; !b.fixed {
			b.left = b.draw.Geometric(b.size)
		}
	}
	b.left--
	return b.at, 0, true
}

// drip sends one request each gap, to the microsecond.
type drip struct{ at, gap int64 }

func newDrip(p scenario.Process, _ env) *drip { return &drip{gap: micros(p.Gap + p.Offset)} }

func (d *drip) next() (at, client int64, ok bool) {
	at = d.at
	d.at += d.gap
	return at, 0, at <= maxAt
}
