package script

import "time"

// expiry ends the waits of callers with a time-out. There is one timer for all of a dispatcher:
// it is set for the earliest end when it was set, and looks then for who still waits. Most
// have their answer by then, so it is set about once a time-out, and not once a caller. A timer
// of each caller, and the case for it in a select, were a fifth of the processor's time of a
// decision of 256 callers of one key, who decide a quarter more without: 22 to 26 times
// redis_rate in place of 18 to 20. (go run ./bench -only 'server/.*/256/one/admitted'.)
type expiry struct {
	dispatcher *dispatcher
	base       time.Time
	timer      *time.Timer   // nil until there is a time-out
	next       time.Duration // when it fires, from base; 0 where it is not set
}

func (e *expiry) init(d *dispatcher) { e.dispatcher, e.base = d, time.Now() }

// of is when the wait of p ends, from base; 0 for never.
func (e *expiry) of(p *pending) time.Duration {
	if p.timeout == 0 {
		return 0
	}
	return max(0, time.Since(e.base)+p.timeout) // below 0 it is beyond all Durations
}

// arm makes sure that the timer fires at a time, at the latest; 0 for never. The caller holds
// mu of the dispatcher, as of all that follow.
func (e *expiry) arm(until time.Duration) {
	if until == 0 || e.next > 0 && e.next <= until {
		return
	}
	e.next = until
	if after := until - time.Since(e.base); e.timer == nil {
		e.timer = time.AfterFunc(after, e.fire)
	} else {
		e.timer.Reset(after)
	}
}

// stop stops the timer of a dispatcher that is closed. A timer that is set keeps the store
// reachable for the garbage collector.
func (e *expiry) stop() {
	if e.timer != nil {
		e.timer.Stop()
	}
}

// fire gives up all whose time is over.
func (e *expiry) fire() {
	d := e.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	now, next := time.Since(e.base), time.Duration(0)
	var late []*pending
	over := func(until time.Duration) bool {
		if until > now && (next == 0 || until < next) {
			next = until
		}
		return until > 0 && until <= now
	}
	for g := range d.batcher.Waiters() { // first: they are not to be sent any more
		if over(g.Value.until) {
			late = append(late, g.Value)
		}
	}
	for _, c := range d.live {
		if over(c.direct.at) {
			c.direct.end()
		}
		for _, g := range c.Groups {
			// One that is answered may be somewhere else by now, and then has another call.
			if p := g.Value; p.call == c && p.state.Load() == waiting && over(p.until) {
				late = append(late, p)
			}
		}
	}
	for _, p := range late {
		d.giveUp(p, nil)
	}
	e.next = 0
	e.arm(next)
}
