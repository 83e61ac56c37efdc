package httplimit

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
)

// source asks the limits about a request, and fills in c.v.
type source interface {
	decide(r *http.Request, c *call)
	// settle replaces what was taken by the actual costs of the limits.
	settle(ctx context.Context, t *taken, actual func(limit string, taken int64) int64) error
}

// call is what the decision of one request needs. It is reused.
type call struct {
	v    Verdict
	asks []weir.Ask // for v.Decisions, where they are not those of a policy
	// settles reports whether verdict, of a policy, will be needed.
	settles bool
	verdict *policy.Verdict
	// limits and one are what v.Limits and v.Decisions may point into.
	limits []weir.Limit
	one    [1]weir.Decision
}

var calls = sync.Pool{New: func() any { return new(call) }}

func (c *call) release() {
	clear(c.asks) // keys are not kept
	clear(c.limits)
	*c = call{asks: c.asks[:0], limits: c.limits[:0]}
	calls.Put(c)
}

// single asks a Limiter.
type single struct {
	limiter  *weir.Limiter
	rule     Rule
	maxDelay time.Duration
	limits   []weir.Limit
	policy   string
}

func (s *single) decide(r *http.Request, c *call) {
	key, cost, ok := s.rule.ask(r, &c.v)
	if !ok {
		return
	}
	var d weir.Decision
	var err error
	if s.maxDelay == 0 {
		d, err = s.limiter.AllowN(r.Context(), key, cost) // which has a shorter path
	} else {
		d, err = s.limiter.AllowWithin(r.Context(), key, cost, s.maxDelay)
	}
	if err != nil {
		c.v = Verdict{Err: err}
		return
	}
	c.one[0] = d
	if c.settles {
		c.asks = append(c.asks, s.rule.Limit.ForN(key, cost))
	}
	c.v = Verdict{
		Allowed: d.Allowed, Limits: s.limits, Decisions: c.one[:],
		RetryAfter: d.RetryAfter, Delay: d.Delay, policy: s.policy,
	}
	if cost == 0 {
		c.v.Delay = 0 // of a unit, and the request has taken none
	}
}

// multi asks a Decider.
type multi struct {
	decider  weir.Decider
	rules    []Rule
	maxDelay time.Duration
	policy   string // of all rules
}

func (m *multi) decide(r *http.Request, c *call) {
	for i := range m.rules {
		rule := &m.rules[i]
		key, cost, ok := rule.ask(r, &c.v)
		if ok {
			ask := rule.Limit.ForN(key, cost)
			ask.MaxDelay = m.maxDelay
			c.asks = append(c.asks, ask)
			c.limits = append(c.limits, rule.Limit)
		} else if !c.v.Allowed {
			return
		}
	}
	if len(c.asks) == 0 {
		c.v = Verdict{Allowed: true}
		return
	}
	result, err := m.decider.Take(r.Context(), c.asks...)
	if err != nil {
		c.v = Verdict{Err: err}
		return
	}
	c.v = Verdict{Limits: c.limits}
	c.v.set(result)
	if len(c.asks) == len(m.rules) {
		c.v.policy = m.policy
	}
}

// ask returns what the limit of a rule is asked. Where it is not asked, v says why.
func (rule *Rule) ask(r *http.Request, v *Verdict) (key string, cost int64, ok bool) {
	key, ok = rule.Key(r)
	if !ok || key == "" {
		switch rule.Absent {
		case AbsentSkip:
			*v = Verdict{Allowed: true}
			return "", 0, false
		case AbsentShared:
			key = sharedKey
		default:
			*v = Verdict{Blocked: missing}
			return "", 0, false
		}
	} else if key[0] == sharedKey[0] && rule.Absent == AbsentShared {
		key = sharedKey[:1] + key // a path value and a user name can hold a NUL
	}
	cost = 1
	if rule.Cost != nil {
		cost = rule.Cost(r)
	}
	if cost < 0 {
		*v = Verdict{Err: errCost}
		return "", 0, false
	}
	return key, cost, true
}
