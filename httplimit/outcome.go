package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/policy"
)

// Outcome is what came of a request, for Options.Settle.
type Outcome struct {
	// Limit is the name of the limit that is settled, and Taken the units that it took
	// when the request came in.
	Limit string
	Taken int64
	// Status is the status of the answer, also where the handler returned it as an
	// error. 499 where the client was gone before anything was written, 500 where the
	// handler panicked before, 101 where it took the connection over; gin and echo do
	// not say that it did: 200. For gRPC and Connect it is the HTTP status that the code
	// of the call stands for. An adapter may leave it 0 where nothing was written.
	Status int
	// Bytes is the size of the body as the handler wrote it; of a connection that was
	// taken over, what was written before. 0 for gRPC and Connect.
	Bytes int64
	// Header is the header of the answer. Do not change it. nil for gRPC.
	Header http.Header
	// Reply is the message of the answer to a unary call of gRPC or Connect, or nil.
	Reply any
	// Err is the error that the handler returned, for frameworks whose handlers return
	// errors, the error of the request's context where the client was gone before
	// anything was written, and ErrPanicked; else nil.
	Err error
}

// complete fills in the Status where nothing was written.
func (o *Outcome) complete(r *http.Request) {
	switch {
	case o.Status != 0:
	case o.Err != nil:
		o.Status = http.StatusInternalServerError
	case r.Context().Err() != nil:
		o.Status, o.Err = statusClientClosed, r.Context().Err()
	default:
		o.Status = http.StatusOK
	}
}

// statusClientClosed is the status of a request whose client was gone before anything was
// written, as nginx logs it.
const statusClientClosed = 499

// ErrPanicked is the Err of the Outcome of a handler that panicked, or ended its goroutine.
var ErrPanicked = errors.New("httplimit: the handler panicked")

// OnlyFailures is an Options.Settle: a request costs what it took where its status is 400
// or above, and nothing otherwise. For log-ins, count by what the client claims to be, such
// as the address: a request in flight holds its units until it has succeeded.
func OnlyFailures(_ *http.Request, o *Outcome) int64 {
	if o.Status >= http.StatusBadRequest {
		return o.Taken
	}
	return 0
}

// BodyBytes is an Options.Settle: a request costs the size of the body of its answer.
// Options.Cost should take an estimate, or the largest size.
func BodyBytes(_ *http.Request, o *Outcome) int64 { return o.Bytes }

// settleTimeout bounds settling by a Decider; a Limiter has a time-out of its own.
const settleTimeout = 5 * time.Second

// taken is what a request has taken, until it is settled.
type taken struct {
	m         *Middleware
	r         *http.Request
	asks      []weir.Ask      // of single and multi
	decisions []weir.Decision // of asks
	verdict   *policy.Verdict // of a policy
	ended     atomic.Bool
	outcome   Outcome

	// What asks and decisions point into where there is one limit.
	ask      [1]weir.Ask
	decision [1]weir.Decision
}

// end returns the function that settles a request which is allowed; nil where nothing is
// to be settled.
func (m *Middleware) end(r *http.Request, c *call) func(*Outcome) {
	if m.settle == nil || !c.v.Allowed {
		return nil
	}
	if t := m.taken(r, c); t != nil {
		return t.end
	}
	return nil
}

// cancel gives back what a request has taken that does not start.
func (m *Middleware) cancel(r *http.Request, c *call) {
	if m.settle == nil {
		return
	}
	if t := m.taken(r, c); t != nil {
		t.settle(func(string, int64) int64 { return 0 })
	}
}

// taken returns a copy of what a call has taken; nil for nothing.
func (m *Middleware) taken(r *http.Request, c *call) *taken {
	t := &taken{m: m, r: r, verdict: c.verdict}
	if t.verdict != nil {
		return t
	}
	t.asks, t.decisions = t.ask[:0], t.decision[:0]
	for i, d := range c.v.Decisions {
		if !d.Degraded { // the store has not counted it
			t.asks, t.decisions = append(t.asks, c.asks[i]), append(t.decisions, d)
		}
	}
	if len(t.asks) == 0 {
		return nil
	}
	return t
}

func (t *taken) end(o *Outcome) {
	if t.ended.Swap(true) {
		return
	}
	t.outcome = *o
	t.outcome.complete(t.r)
	t.settle(t.actual)
}

// actual returns the actual cost of a limit.
func (t *taken) actual(limit string, n int64) int64 {
	o := t.outcome // which Settle may keep
	o.Limit, o.Taken = limit, n
	return t.m.settle(t.r, &o)
}

// settle settles within a context that lives on where the request is gone.
func (t *taken) settle(actual func(limit string, taken int64) int64) {
	err := t.m.source.settle(context.WithoutCancel(t.r.Context()), t, actual)
	if err != nil && t.m.settleFailed != nil {
		t.m.settleFailed(t.r, err)
	}
}

func (s *single) settle(ctx context.Context, t *taken, actual func(string, int64) int64) error {
	asked := &t.asks[0]
	n := actual(asked.Limit.Name, asked.Cost)
	ask, differs := asked.Limit.Settle(asked.Key, asked.Cost, n, t.decisions[0].At)
	if !differs {
		return nil
	}
	var d weir.Decision
	var err error
	if ask.Verb == algorithm.Refund {
		d, err = s.limiter.Refund(ctx, ask.Key, ask.Cost, ask.At)
	} else {
		d, err = s.limiter.Charge(ctx, ask.Key, ask.Cost)
	}
	return notCounted(err, d)
}

// notCounted is the error of a settlement: also where a failure mode has answered for the
// store, which has not counted it then.
func notCounted(err error, decisions ...weir.Decision) error {
	for _, d := range decisions {
		if err == nil && d.Degraded {
			err = d.Cause
		}
	}
	return err
}

func (m *multi) settle(ctx context.Context, t *taken, actual func(string, int64) int64) error {
	var asks []weir.Ask
	for i := range t.asks {
		asked := &t.asks[i]
		n := actual(asked.Limit.Name, asked.Cost)
		if ask, differs := asked.Limit.Settle(asked.Key, asked.Cost, n, t.decisions[i].At); differs {
			asks = append(asks, ask)
		}
	}
	if len(asks) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	result, err := m.decider.Take(ctx, asks...)
	return notCounted(err, result.Decisions...)
}

func (p *enforced) settle(ctx context.Context, t *taken, actual func(string, int64) int64) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	return p.enforcer.Settle(ctx, t.verdict, func(r *policy.RuleVerdict) int64 {
		return actual(r.Limit.Name, r.Cost)
	})
}

// checkSettle refuses limits that know no other verb than a take.
func (o *Options) checkSettle(limits []weir.Limit) error {
	if o.Settle == nil {
		return nil
	}
	for i := range limits {
		if _, is := limits[i].Algorithm.(algorithm.Charger); !is {
			return refuse("Options.Settle", "a function", fmt.Sprintf("nil: the algorithm of the limit %q is no algorithm.Charger", limits[i].Name))
		}
	}
	return nil
}
