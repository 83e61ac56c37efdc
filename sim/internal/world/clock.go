package world

import (
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/store"
)

// clock is a clock of the simulated world, which may be off.
type clock struct {
	epoch int64 // the instant of true time 0
	off   int64 // µs by which it is ahead, as of since
	since int64 // true time
	drift int64 // µs that it gains a second, from since on
}

// read returns what it shows at a true time: an instant, in µs since 1970.
func (c *clock) read(now int64) int64 {
	return min(max(c.epoch+now+c.ahead(now), 0), int64(algorithm.MaxInstant))
}

// ahead returns by how many µs it is ahead.
func (c *clock) ahead(now int64) int64 {
	if c.drift == 0 {
		return c.off
	}
	gone := now - c.since
	return c.off + gone/random.Million*c.drift + gone%random.Million*c.drift/random.Million
}

// change adds to its offset and its drift.
func (c *clock) change(now, step, drift int64) {
	c.off = c.ahead(now) + step
	c.since = now
	c.drift += drift
}

// ManualClock is the clock of a store: the simulator sets it to the instant of each
// call.
type ManualClock struct{ At int64 }

var _ store.Clock = (*ManualClock)(nil)

// Now implements store.Clock.
func (c *ManualClock) Now() time.Time { return time.UnixMicro(c.At) }
