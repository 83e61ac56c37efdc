package resilience

import (
	"sync"
	"time"
)

// BreakerState is the state of a Breaker for one server.
type BreakerState int

const (
	// BreakerClosed: calls go to the store.
	BreakerClosed BreakerState = iota
	// BreakerOpen: calls are refused.
	BreakerOpen
	// BreakerHalfOpen: one call at a time goes to the store, as a probe; the others are
	// refused.
	BreakerHalfOpen
)

// String returns "closed", "open" or "half-open".
func (s BreakerState) String() string {
	switch s {
	case BreakerClosed:
		return "closed"
	case BreakerOpen:
		return "open"
	case BreakerHalfOpen:
		return "half-open"
	}
	return "state(?)"
}

// verdict is what a call says of the store.
type verdict int

const (
	success verdict = iota
	failure
	neither // the call says nothing
)

// parts is into how many parts the window is cut: calls leave it part by part.
const parts = 10

// circuit is the state machine of one server. It reads no clock: its caller brings the
// time since the start of the Breaker. Where that goes back, the latest counts.
type circuit struct {
	node     string
	settings *settings
	openFor  func() time.Duration // draws how long to stay open

	mu    sync.Mutex
	now   time.Duration // the latest
	state BreakerState
	// period counts the changes of state: a call that began in an earlier period says
	// nothing of this one.
	period  uint64
	window  [parts]part
	until   time.Duration // Open: when it ends. HalfOpen: when a probe without an end counts as failed
	probing bool          // HalfOpen: a probe is in flight
	passed  int64         // HalfOpen: probes that succeeded
	totals  BreakerStats
}

// part counts the calls of one part of the window.
type part struct{ number, calls, failures int64 }

// change is a change of state, for the caller to report; from and to are equal where
// there was none.
type change struct {
	from, to        BreakerState
	at              time.Duration
	calls, failures int64
}

// admit reports whether a call may go to the store, and in which period it began.
func (c *circuit) admit(now time.Duration) (period uint64, admitted bool, what change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = max(c.now, now)
	switch {
	case c.state == BreakerOpen && c.now >= c.until:
		what = c.turn(BreakerHalfOpen)
	case c.state == BreakerHalfOpen && c.probing && c.now >= c.until: // the probe never ended
		what = c.turn(BreakerOpen)
	}
	if c.state == BreakerOpen || c.state == BreakerHalfOpen && c.probing {
		c.totals.Refused++
		return 0, false, what
	}
	if c.state == BreakerHalfOpen {
		c.probing = true
		c.until = c.now + c.openFor()
		c.totals.Probes++
	}
	return c.period, true, what
}

// done takes what a call that was admitted says.
func (c *circuit) done(period uint64, v verdict, now time.Duration) change {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = max(c.now, now)
	if period != c.period {
		return change{}
	}
	if c.state == BreakerHalfOpen {
		c.probing = false
		switch v {
		case failure:
			return c.turn(BreakerOpen)
		case success:
			if c.passed++; c.passed >= c.settings.probes {
				return c.turn(BreakerClosed)
			}
		}
		return change{}
	}
	if v == neither {
		return change{}
	}
	s := c.part()
	s.calls++
	if v == success {
		return change{}
	}
	s.failures++
	calls, failures := c.counts()
	if calls < c.settings.minCalls || failures*100 < calls*c.settings.failurePercent {
		return change{}
	}
	return c.turn(BreakerOpen)
}

// turn changes the state.
func (c *circuit) turn(to BreakerState) change {
	what := change{from: c.state, to: to, at: c.now}
	what.calls, what.failures = c.counts()
	c.state = to
	c.period++
	c.probing, c.passed = false, 0
	switch to {
	case BreakerOpen:
		c.until = c.now + c.openFor()
		c.totals.Opened++
	case BreakerClosed:
		c.window = [parts]part{} // what failed before says nothing of the store now
	}
	return what
}

// part returns the part of the window that holds the present.
func (c *circuit) part() *part {
	number := c.number()
	s := &c.window[number%parts]
	if s.number != number {
		*s = part{number: number}
	}
	return s
}

// number of the present part.
func (c *circuit) number() int64 { return int64(c.now / (c.settings.window / parts)) }

// counts returns the calls and failures in the window.
func (c *circuit) counts() (calls, failures int64) {
	oldest := c.number() - parts + 1
	for _, s := range c.window {
		if s.number >= oldest {
			calls += s.calls
			failures += s.failures
		}
	}
	return calls, failures
}

// stats returns the state and the counts.
func (c *circuit) stats(now time.Duration) BreakerStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = max(c.now, now)
	s := c.totals
	s.Node, s.State = c.node, c.state
	s.Calls, s.Failures = c.counts()
	if c.state == BreakerOpen {
		s.OpenFor = max(0, c.until-c.now)
	}
	return s
}
