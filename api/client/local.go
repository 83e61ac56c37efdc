package client

import (
	"context"
	"errors"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/store"
)

// local answers in place of the service.
type local struct {
	limiter *weir.MultiLimiter
	limits  map[string]weir.Limit
	check   weir.Limit
	once    bool // whether the store knows IDs
}

func newLocal(o *Local) (*local, error) {
	limiter, err := weir.NewMultiLimiter(o.Store, nil)
	if err != nil {
		return nil, errors.Join(ErrInvalid, err)
	}
	l := &local{limiter: limiter, limits: map[string]weir.Limit{}, check: o.Check, once: store.FeaturesOf(o.Store).Once != nil}
	for _, limit := range o.Limits {
		if _, twice := l.limits[limit.Name]; twice {
			return nil, refused("Local.Limits", "two limits "+limit.Name, "one limit for each name")
		}
		if limit.Name == "" || limit.Algorithm == nil {
			return nil, refused("Local.Limits", "a limit without a name or an algorithm", "what weir.ParseLimit returns")
		}
		l.limits[limit.Name] = limit
	}
	if (o.Check.Name == "") != (o.Check.Algorithm == nil) {
		return nil, refused("Local.Check", "a limit without a name or an algorithm", "what weir.ParseLimit returns, or the zero Limit")
	}
	return l, nil
}

// covers returns the error of a call that a failure mode answers for.
func (c *Client) covers(ctx context.Context, err error) (*Error, bool) {
	var e *Error
	return e, ctx.Err() == nil && errors.As(err, &e) && isFailure(e.Code)
}

// answer answers for one limit, or returns the error.
func (c *Client) answer(ctx context.Context, limit, key string, n int64, err error) (Decision, error) {
	e, covered := c.covers(ctx, err)
	if !covered {
		return Decision{}, err
	}
	switch c.opts.OnFailure {
	case weir.FailOpen:
		return open(e), nil
	case weir.FailLocal:
		if l, known := c.local.limits[limit]; known {
			return c.local.take(ctx, l.ForN(key, n), e)
		}
	}
	return Decision{}, err
}

// answerCheck answers for the policy, or returns the error.
func (c *Client) answerCheck(ctx context.Context, r *Request, err error) (Decision, error) {
	e, covered := c.covers(ctx, err)
	if !covered {
		return Decision{}, err
	}
	switch {
	case c.opts.OnFailure == weir.FailOpen:
		return open(e), nil
	case c.opts.OnFailure == weir.FailLocal && c.local.check.Algorithm != nil:
		cost := int64(1)
		if r.Cost != nil {
			cost = *r.Cost
		}
		return c.local.take(ctx, c.local.check.ForN(r.Dimension.String()+":"+r.Identifier, cost), e)
	}
	return Decision{}, err
}

// open admits without counting.
func open(cause *Error) Decision {
	return Decision{Decision: weir.Decision{Allowed: true, Degraded: true, Cause: cause}}
}

func (l *local) take(ctx context.Context, ask weir.Ask, cause *Error) (Decision, error) {
	result, err := l.limiter.Take(ctx, l.ask(ctx, ask))
	if err != nil {
		return Decision{}, errors.Join(err, cause)
	}
	return degraded(result.Decisions[0], cause), nil
}

// ask gives an ask the idempotency key of its call, where the store knows IDs.
func (l *local) ask(ctx context.Context, ask weir.Ask) weir.Ask {
	if l.once {
		ask.ID = keyOf(ctx)
	}
	return ask
}

func degraded(d weir.Decision, cause *Error) Decision {
	d.Degraded, d.Cause = true, cause
	return Decision{Decision: d}
}
