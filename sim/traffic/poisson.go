package traffic

import (
	"cmp"

	"github.com/weirgo/weir/sim/random"
)

// poisson has independent gaps of mean 1/λ, each −ln(U)/λ.
type poisson struct {
	clock
	mean float64 // µs
	draw *random.Stream
}

func newPoisson(p Process, env processEnv) (process, error) {
	if err := p.Rate.check(env.of, "rate"); err != nil {
		return nil, err
	}
	return &poisson{mean: 1 / p.Rate.perMicro(), draw: env.gaps}, nil
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

const (
	sizesGeometric = "geometric"
	sizesFixed     = "fixed"
)

func newBatch(p Process, env processEnv) (process, error) {
	defaults(&p.Batch, 4*one)
	defaults(&p.Sizes, sizesGeometric)
	fixed := p.Sizes == sizesFixed
	err := cmp.Or(p.Rate.check(env.of, "rate"), between(env.of, "batch", p.Batch, one, 1e6*one))
	switch {
	case err != nil:
		return nil, err
	case !fixed && p.Sizes != sizesGeometric:
		return nil, refuse(env.of, "sizes", p.Sizes, "geometric or fixed")
	case fixed && p.Batch%one != 0:
		return nil, refuse(env.of, "batch", p.Batch.String(), "a whole number where sizes is fixed")
	}
	return &batch{poisson: poisson{mean: 1 / p.Rate.perMicro(), draw: env.gaps}, size: int64(p.Batch), fixed: fixed}, nil
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
