package world

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
)

// Clock is a clock.Mock whose reading is its own: each move of a Mock sleeps for
// 1 ms, and moving one by years would fire every tick of every ticker.
type Clock struct {
	*clock.Mock
	nanos atomic.Int64 // since the Unix epoch
	tick  atomic.Int64 // added by each reading

	onRead atomic.Pointer[context.CancelFunc]
}

func newClock() *Clock { return &Clock{Mock: clock.NewMock()} }

// Now implements clock.Clock.
func (c *Clock) Now() time.Time {
	if f := c.onRead.Load(); f != nil {
		(*f)()
	}
	return time.Unix(0, c.nanos.Add(c.tick.Load()))
}

// Since implements clock.Clock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Until implements clock.Clock.
func (c *Clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// Set makes the clock show an instant and nearly 1 µs more, which a store has to
// cut off.
func (c *Clock) Set(at algorithm.Instant) { c.nanos.Store(int64(at)*1000 + 999) }

// SetTime makes the clock show a time, which may be out of the bounds of instants.
func (c *Clock) SetTime(t time.Time) { c.nanos.Store(t.UnixNano()) }

// Instant is what the clock shows.
func (c *Clock) Instant() algorithm.Instant { return algorithm.Instant(c.nanos.Load() / 1000) }

// AddPerReading makes each reading of the clock later than the last by whole microseconds;
// 0 makes the clock stand still.
func (c *Clock) AddPerReading(micros int64) { c.tick.Store(1000 * micros) }

// OnRead calls f at each reading, also from several goroutines. nil ends that.
func (c *Clock) OnRead(f context.CancelFunc) {
	if f == nil {
		c.onRead.Store(nil)
		return
	}
	c.onRead.Store(&f)
}
