package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/resilience/inflight"
)

// InFlightOptions are the optional settings of an InFlight. nil means all defaults.
type InFlightOptions struct {
	// Skip, where it is not nil, lets requests pass that it returns true for, uncounted.
	Skip func(*http.Request) bool
	// Cost returns the units that a request holds. nil is 1. 0 lets it pass uncounted;
	// below 0 is answered with status 500.
	Cost func(*http.Request) int64
	// Absent says what happens to a request without a key. 0 is AbsentDeny.
	Absent Absent
	// MaxWait is how long a request waits for a unit, in the queue of Limiter.Wait, and as
	// long as its context. 0 refuses immediately; below 0 is refused. Where it is not above
	// inflight.Options.Timeout, weir.FailOpen does not answer for a store that hangs.
	MaxWait time.Duration
	// Status is the status of a refusal: 429 (0 as well) where a limit is of one user, and
	// 503 where it protects the service.
	Status int
	// RetryAfter is what a refused client is told to wait: nobody knows when a unit comes
	// free. 0 is 1 s; below 0 is refused.
	RetryAfter time.Duration
	// Headers says which headers are sent: RateLimit-Policy has the limit, as in
	// "reports";q=20;qu="concurrent-requests", and Jitter is added to RetryAfter. There is
	// no RateLimit, and nothing of Legacy.
	Headers Headers
	// Denied is that of Options.
	Denied func(w http.ResponseWriter, r *http.Request, v *Verdict)
	// ReleaseFailed, where it is not nil, gets the error of a release: that of the store, in
	// which case the units come back at the end of the life of the hold, or
	// inflight.ErrExpired. It may be called after the answer.
	ReleaseFailed func(r *http.Request, err error)
}

// InFlight bounds how many requests are served at one time. It is safe for concurrent use.
//
// A request holds its units from before its handler is called until that returns, whatever
// comes of it: also where it panics, takes the connection over (they come back when the
// handler returns) or its client is gone. That is two calls to the store for a request; the
// second is made before the answer ends, within the time-out of the Limiter.
//
// Where the limit is adaptive, requests that end with a status of 500 or above, panic, take
// the connection over, or lose their client do not tell how long a request takes, and are ignored; the handler then
// gets a ResponseWriter that knows the status, as with Options.Settle.
type InFlight struct {
	limiter *inflight.Limiter
	rule    Rule
	opts    InFlightOptions
	limits  []weir.Limit
	policy  string
}

// NewInFlight returns an InFlight. A nil limiter or key, and an option outside of its bounds,
// give an error. What is answered where the store fails is for inflight.Options.OnFailure to
// say: by default status 503.
func NewInFlight(limiter *inflight.Limiter, key Key, opts *InFlightOptions) (*InFlight, error) {
	if limiter == nil {
		return nil, refuse("limiter", "nil", "an *inflight.Limiter")
	}
	m := &InFlight{limiter: limiter}
	if opts != nil {
		m.opts = *opts
	}
	o := &m.opts
	if key == nil {
		return nil, refuse("key", "nil", "a Key; Everyone for one limit on all requests")
	}
	if err := checkAbsent("InFlightOptions.Absent", o.Absent); err != nil {
		return nil, err
	}
	if err := o.Headers.check(); err != nil {
		return nil, err
	}
	if o.Status == 0 {
		o.Status = http.StatusTooManyRequests
	}
	if o.RetryAfter == 0 {
		o.RetryAfter = time.Second
	}
	if o.Denied == nil {
		o.Denied = WriteProblem
	}
	switch {
	case o.MaxWait < 0:
		return nil, refuse("InFlightOptions.MaxWait", o.MaxWait.String(), "0 (none) or more")
	case o.Status != http.StatusTooManyRequests && o.Status != http.StatusServiceUnavailable:
		return nil, refuse("InFlightOptions.Status", strconv.Itoa(o.Status), "429 or 503")
	case o.RetryAfter < 0:
		return nil, refuse("InFlightOptions.RetryAfter", o.RetryAfter.String(), "0 (1s) or more")
	}
	limit := limiter.Limit()
	m.rule = Rule{Key: key, Absent: max(o.Absent, AbsentDeny), Cost: o.Cost}
	m.limits = []weir.Limit{{Name: limit.Name}}
	m.policy = fmt.Sprintf(`%s;q=%d;qu="concurrent-requests"`, appendString(nil, limit.Name), limit.Units)
	return m, nil
}

// Handler returns a handler that calls next where a unit is free. Its method value is
// middleware for net/http and chi.
func (m *InFlight) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, end := m.Decide(r)
		m.opts.Headers.Write(w.Header(), v)
		switch {
		case !v.Allowed:
			answer(m.opts.Denied, w, r, v)
		case end == nil:
			next.ServeHTTP(w, r)
		case m.limiter.Adapts():
			serveAndEnd(next, w, r, end)
		default:
			defer end(&Outcome{}) // without recover: a panic goes on as it was
			next.ServeHTTP(w, r)
		}
	})
}

// Decide asks for the units of a request, waits as long as MaxWait, and writes nothing: the
// caller answers. Where it is Allowed and end is not nil, the caller calls end when the
// request has ended, whatever came of it: only the first call counts. The limit of the Verdict
// has a name and no algorithm, and its Decision no Remaining.
func (m *InFlight) Decide(r *http.Request) (v *Verdict, end func(*Outcome)) {
	if m.opts.Skip != nil && m.opts.Skip(r) {
		return &Verdict{Allowed: true}, nil
	}
	v = &Verdict{}
	key, cost, ok := m.rule.ask(r, v)
	if !ok {
		return v, nil
	}
	if cost == 0 {
		return &Verdict{Allowed: true}, nil
	}
	hold, err := m.acquire(r.Context(), key, cost)
	if err != nil {
		return &Verdict{Err: err}, nil
	}
	limit := m.limiter.Limit().Units
	v = &Verdict{Limits: m.limits, Decisions: []weir.Decision{{Limit: limit}}, policy: m.policy}
	if hold == nil || !hold.Allowed() {
		v.RetryAfter = m.opts.RetryAfter
		if cost > limit {
			v.RetryAfter = weir.Never
		}
		v.Decisions[0].RetryAfter = v.RetryAfter
		v.overload = m.opts.Status == http.StatusServiceUnavailable
		return v, nil
	}
	v.Allowed, v.Decisions[0].Allowed = true, true
	v.Decisions[0].Degraded, v.Decisions[0].Cause = hold.Cause() != nil, hold.Cause()
	ctx := r.Context()
	var ended atomic.Bool
	return v, func(o *Outcome) {
		if ended.Swap(true) {
			return
		}
		if o.Err != nil || o.Status >= http.StatusInternalServerError || o.Status == http.StatusSwitchingProtocols || ctx.Err() != nil {
			hold.Ignore()
		}
		if err := hold.Release(ctx); err != nil && m.opts.ReleaseFailed != nil {
			m.opts.ReleaseFailed(r, err)
		}
	}
}

// acquire returns nil for a unit that did not come free in time.
func (m *InFlight) acquire(ctx context.Context, key string, cost int64) (*inflight.Hold, error) {
	if m.opts.MaxWait == 0 || cost > m.limiter.Limit().Units {
		return m.limiter.AcquireN(ctx, key, cost)
	}
	within, cancel := context.WithTimeout(ctx, m.opts.MaxWait)
	defer cancel()
	hold, err := m.limiter.WaitN(within, key, cost)
	late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && !weir.IsFailure(err)
	if late || errors.Is(err, weir.ErrQueueFull) {
		return nil, nil
	}
	return hold, err
}

// Headers returns InFlightOptions.Headers, for adapters that write them elsewhere.
func (m *InFlight) Headers() Headers { return m.opts.Headers }
