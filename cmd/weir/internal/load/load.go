// Package load sends requests to a target at a fixed rate, or from a fixed number of
// callers, and measures how long answers take.
//
// At a fixed rate (an open loop) a latency counts from the instant at which the request
// was due, not from the one at which it was sent. A target that stands still for a second
// so makes all requests of that second late, as it would those of users. A loop in which
// each caller waits for its answer (a closed loop) asks less of a slow target and leaves
// out what it did not ask: Gil Tene calls that coordinated omission.
package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Target is what is put under load. Ask is called concurrently, and bounds itself by a
// time-out.
type Target interface {
	Ask(ctx context.Context, key string) Answer
}

// Answer is what became of a request.
type Answer struct {
	Allowed  bool
	Degraded bool   // the target has answered without its store
	Failure  string // the kind of error, without a key; "" for an answer
}

// NotSent is the kind of error of a request that found no free caller until the end.
const NotSent = "not sent"

// Arrivals are when the requests of an open loop are due.
type Arrivals string

const (
	Constant Arrivals = "constant" // at equal distances
	Poisson  Arrivals = "poisson"  // at independent, exponential distances
)

// Bounds of options.
const (
	MaxRate     = 10_000_000
	MaxRequests = 1_000_000_000
	MaxCallers  = 100_000
	MaxDuration = 24 * time.Hour
)

// Options are the load.
type Options struct {
	// Rate is the number of requests a second; 0 is a closed loop.
	Rate     int
	Arrivals Arrivals
	// Callers is the number of requests that may be under way at the same time.
	Callers int
	// Ramp is how long the load grows before Duration begins. Its requests are not measured.
	Ramp     time.Duration
	Duration time.Duration
	// Grace is how long after the end requests of an open loop that are overdue are sent.
	Grace time.Duration
	Keys  *Keys
	Seed  uint64
	// Sleep waits in an open loop; nil is time.Sleep. One caller at a time calls it.
	Sleep func(time.Duration)
	// Progress is called after each answer, concurrently; nil is nobody.
	Progress func()
}

// Check says which option is not allowed.
func (o *Options) Check() error {
	seconds := (o.Duration + o.Ramp).Seconds()
	switch {
	case o.Rate < 0 || o.Rate > MaxRate:
		return fmt.Errorf("--rate: %d is not allowed: must be 1 to %d", o.Rate, MaxRate)
	case o.Callers < 1 || o.Callers > MaxCallers:
		return fmt.Errorf("--callers: %d is not allowed: must be 1 to %d", o.Callers, MaxCallers)
	case o.Duration < time.Millisecond || o.Duration > MaxDuration:
		return fmt.Errorf("--duration: %s is not allowed: must be 1ms to %s", o.Duration, MaxDuration)
	case o.Ramp < 0 || o.Ramp > MaxDuration:
		return fmt.Errorf("--ramp: %s is not allowed: must be 0s to %s", o.Ramp, MaxDuration)
	case float64(o.Rate)*seconds > MaxRequests:
		return fmt.Errorf("--rate: %d in %s is not allowed: must be at most %d requests", o.Rate, o.Duration+o.Ramp, MaxRequests)
	}
	return nil
}

// Run puts the load on the target. Where ctx ends before the load does, the error is that
// of ctx.
func Run(ctx context.Context, target Target, o Options) (*Result, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Sleep == nil || o.Rate == 0 { // the callers of a closed loop begin independently
		o.Sleep = time.Sleep
	}
	r := &run{Options: o, target: target, record: newRecord(&o), turn: make(chan struct{}, 1), start: time.Now()}
	r.turn <- struct{}{}
	r.due = newSchedule(&o)
	r.draw = rand.New(rand.NewPCG(o.Seed, 0))
	var callers sync.WaitGroup
	for i := range o.Callers {
		callers.Go(func() {
			if o.Rate == 0 {
				r.askAgainAndAgain(ctx, i)
			} else {
				r.askWhenDue(ctx)
			}
		})
	}
	callers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.result(r.now()), nil
}

// run is a load that runs. Times are since its start.
type run struct {
	Options
	target Target
	record *record
	start  time.Time

	turn    chan struct{} // holds one token: whoever has it takes the next request
	waiting atomic.Int64  // callers that wait for the turn
	// The rest belongs to whoever has the turn.
	due       *schedule
	draw      *rand.Rand
	vacant    bool          // no caller waited for the turn when it was handed on
	busyUntil time.Duration // until when all callers were busy the last time
}

func (r *run) now() time.Duration { return time.Since(r.start) }

func (r *run) end() time.Duration { return r.Ramp + r.Duration }

// askAgainAndAgain is a caller of a closed loop.
func (r *run) askAgainAndAgain(ctx context.Context, caller int) {
	draw := rand.New(rand.NewPCG(r.Seed, uint64(caller)+1))
	if !r.sleepUntil(ctx, r.Ramp/time.Duration(r.Callers)*time.Duration(caller)) {
		return
	}
	for ctx.Err() == nil {
		sent := r.now()
		if sent >= r.end() {
			return
		}
		r.ask(ctx, request{due: sent, sent: sent, key: r.Keys.draw(draw)})
	}
}

// askWhenDue is a caller of an open loop. The callers take turns: the one whose turn it is
// waits until the next request is due, hands the turn on, and sends.
func (r *run) askWhenDue(ctx context.Context) {
	for {
		r.waiting.Add(1)
		select {
		case <-r.turn:
		case <-ctx.Done():
		}
		r.waiting.Add(-1)
		if ctx.Err() != nil {
			return // without the turn, or with one that nobody waits for any more
		}
		at, more := r.due.next()
		if !more {
			r.turn <- struct{}{}
			return
		}
		next := request{due: at, key: r.Keys.draw(r.draw)}
		if r.vacant {
			r.busyUntil = r.now()
		}
		free := r.busyUntil <= next.due
		if !r.sleepUntil(ctx, next.due) {
			return
		}
		next.sent = r.now()
		r.vacant = r.waiting.Load() == 0
		r.turn <- struct{}{}
		r.record.late(&next, free)
		if next.sent > r.end()+r.Grace {
			r.record.add(&next, next.sent, Answer{Failure: NotSent})
			continue
		}
		r.ask(ctx, next)
	}
}

// request is one request: when it was due, and when it was sent.
type request struct {
	due, sent time.Duration
	key       string
}

func (r *run) ask(ctx context.Context, next request) {
	answer := r.target.Ask(ctx, next.key)
	if ctx.Err() != nil {
		return // whatever it says, it was interrupted
	}
	r.record.add(&next, r.now(), answer)
	if r.Progress != nil {
		r.Progress()
	}
}

// near is how much of a wait is left to Sleep, which cannot be interrupted.
const near = 20 * time.Millisecond

// sleepUntil waits, and reports whether ctx has not ended.
func (r *run) sleepUntil(ctx context.Context, until time.Duration) bool {
	if wait := until - r.now() - near; wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
	}
	if wait := until - r.now(); wait > 0 {
		r.Sleep(wait)
	}
	return ctx.Err() == nil
}
