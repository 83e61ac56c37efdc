package acceptance_test

import (
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// start is where clocks of tests begin: the start of a day.
const start algorithm.Instant = 1_764_288_000_000_000

// handClock shows what it was set to.
type handClock struct {
	mu sync.Mutex
	at algorithm.Instant
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at.Time()
}

func (c *handClock) set(at algorithm.Instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}
