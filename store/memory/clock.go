package memorystore

import (
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// monotonic is the default clock: the wall time at its start plus monotonic
// time. It never goes back, and a decision costs one reading of the monotonic
// clock and none of the wall clock.
type monotonic struct {
	start time.Time    // holds a monotonic reading
	base  atomic.Int64 // the wall time at start, in µs, and what catchUp added
}

func newMonotonic() (*monotonic, error) {
	now := time.Now()
	base, err := algorithm.InstantOf(now)
	if err != nil {
		return nil, err
	}
	m := &monotonic{start: now}
	m.base.Store(int64(base))
	return m, nil
}

// now is small enough for the compiler to inline, and with one variable more it is not. Together
// with denials.changed and the parts of a GCRA, which are inlined too, that makes a decision on
// a hot key a twentieth cheaper.
func (m *monotonic) now() algorithm.Instant {
	return min(algorithm.Instant(m.base.Load()+int64(uint64(time.Since(m.start))/uint64(time.Microsecond))), algorithm.MaxInstant)
}

// catchUp moves the clock forward to the wall time where it lags by more than a
// second: monotonic time stands still while a machine is suspended. It never
// moves it back. One goroutine calls it.
func (m *monotonic) catchUp(wall time.Time) {
	at, err := algorithm.InstantOf(wall)
	if err != nil {
		return // a wall clock that is this wrong is no reason to move ours
	}
	if lag := at - m.now(); lag > algorithm.Instant(time.Second/time.Microsecond) {
		m.base.Add(int64(lag))
	}
}

// injected is a clock of the user's. It may go back.
type injected struct {
	store.Clock
	most atomic.Int64 // the latest reading so far
}

func (c *injected) read() (algorithm.Instant, error) {
	now, err := algorithm.InstantOf(c.Now())
	if err != nil {
		return 0, err
	}
	for most := c.most.Load(); int64(now) > most; most = c.most.Load() {
		if c.most.CompareAndSwap(most, int64(now)) {
			break
		}
	}
	return now, nil
}

// latest is the latest reading of the clock so far: expiry goes by it, not by
// the instant of a request.
func (s *Store) latest() algorithm.Instant {
	if s.injected != nil {
		return algorithm.Instant(s.injected.most.Load())
	}
	return s.monotonic.now()
}
