package traffic

import "github.com/weirgo/weir/sim/scenario"

// boundary attacks a fixed window of limit N: N requests in the last δ of a window
// and N in the first δ of the next, so that 2N pass within 2δ. Attacks on every edge
// would find the windows after the first one used up: half would be refused, and no
// more than N would pass around an edge.
type boundary struct {
	limit, delta, stride int64 // stride is from one attacked edge to the next
	edge                 int64 // the present one
	half                 int   // 0 before the edge, 1 after it
	done                 int64 // requests of this half so far
	walk                 walk
}

// nextEdge returns the first edge of a window at or after a time.
func nextEdge(e env, window, from int64) int64 {
	past := (e.epoch + from) % window
	if past == 0 {
		return from
	}
	return from + window - past
}

func newBoundary(p scenario.Process, e env) *boundary {
	window := micros(p.Limit.Per)
	b := &boundary{limit: p.Limit.Units, delta: micros(p.Delta), stride: p.Every * window}
	b.edge = nextEdge(e, window, b.delta)
	b.walk = newWalk(b.delta, b.limit)
	return b
}

func (b *boundary) next() (at, client int64, ok bool) {
	if b.done == b.limit {
		b.done = 0
		b.walk = newWalk(b.delta, b.limit)
		if b.half = 1 - b.half; b.half == 0 {
			b.edge += b.stride
		}
	}
	b.done++
	at = b.edge + b.walk.next()
	if b.half == 0 {
		at -= b.delta
	}
	return at, 0, at <= maxAt
}

// counter attacks a sliding counter of limit N: N requests in the last µs of a
// window W, then one at ⌈k·W/N⌉ after the edge for k = 1 to N − 1, each as soon as
// the count of the window before has faded enough. So 2N − 1 pass within a W, where
// W/N is at least 2 µs. Then it rests for a window, and begins again.
type counter struct {
	limit, window int64
	edge          int64
	done          int64 // requests of this round so far
	walk          walk
}

func newCounter(p scenario.Process, e env) *counter {
	c := &counter{limit: p.Limit.Units, window: micros(p.Limit.Per)}
	c.edge = nextEdge(e, c.window, 1)
	c.begin()
	return c
}

// begin starts a round.
func (c *counter) begin() {
	c.done = 0
	c.walk = newWalk(c.window, c.limit)
	c.walk.next() // k = 0 is the edge itself
}

func (c *counter) next() (at, client int64, ok bool) {
	if c.done >= c.limit {
		// ⌈k·W/N⌉. Where it is W, which N above W brings, the window is over.
		after := c.walk.at
		if c.walk.rest > 0 {
			after++
		}
		if c.done < 2*c.limit-1 && after < c.window {
			c.done++
			c.walk.next()
			at = c.edge + after
			return at, 0, at <= maxAt
		}
		c.edge += 3 * c.window
		c.begin()
	}
	c.done++
	at = c.edge - 1
	return at, 0, at <= maxAt
}
