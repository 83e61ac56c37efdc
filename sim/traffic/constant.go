package traffic

import "github.com/weirgo/weir/sim/random"

// constant yields the n-th arrival at ⌊n·P/L⌋, from n = 0, plus a jitter that is
// less than would reach past the arrival after it.
type constant struct {
	walk
	jitter int64 // millionths of the gap
	draw   *random.Stream
}

func newConstant(p Process, env processEnv) (process, error) {
	err := p.Rate.check(env.of, "rate")
	if err == nil {
		err = between(env.of, "jitter", p.Jitter, 0, one)
	}
	return &constant{newWalk(p.Rate.micros(), max(p.Rate.Units, 1)), int64(p.Jitter), env.gaps}, err
}

func (c *constant) next() (at, client int64, ok bool) {
	at = c.walk.next()
	if c.jitter > 0 {
		// The gap is below 2^45, so that this fits: gap·jitter is worked out in parts.
		gap := c.walk.at - at
		most := gap/random.Million*c.jitter + gap%random.Million*c.jitter/random.Million
		at += c.draw.Uniform(0, most)
	}
	return at, 0, at <= maxAt
}
