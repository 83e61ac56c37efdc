// Package engine answers what the service is asked for, for one tenant, in terms of Go:
// requests by a policy, limits by their names, reservations, resets. Protocols stand
// above it; it knows none.
package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
)

// Options are the optional settings of an Engine. nil means all defaults.
type Options struct {
	// Tenant is the name of the tenant: the attribute tenant of each request. "" is none.
	Tenant string
	// Policy decides requests. nil is a policy without rules, which allows everything.
	Policy *policy.Compiled
	// Limits are the limits that are asked by name.
	Limits []weir.Limit
	// OnFailure says what is answered where the store fails, for limits by name and for
	// rules that do not say. "" is policy.FailClosed.
	OnFailure policy.OnFailure
	// Local answers for the store where OnFailure, or that of a rule, is
	// policy.FailLocal. It stays the caller's. nil: such a policy is refused.
	Local store.Store
	// Timeout bounds a call to the store. 0 is 100 ms.
	Timeout time.Duration
	// Idempotency is how long an idempotency key counts. 0 is 5 min; 1 s to 24 h, less 1 s.
	Idempotency time.Duration
	// ReservationKey signs reservations: see weir.Options.ReservationKey. nil: there are
	// none.
	ReservationKey []byte
	// Enforcer are further settings of the policy.Enforcer; its OnFailure and Local are set
	// by the Engine. nil are the defaults.
	Enforcer *policy.EnforcerOptions
	// Observer sees the decision of each limit that is asked; see weir.Options.Observer. nil
	// is none.
	Observer weir.Observer
}

// Engine is what one tenant has. It is safe for concurrent use. A check costs one call to
// the store, and one more for each rule in shadow; with an idempotency key one more, and
// where it was used before two more.
type Engine struct {
	store    store.Store
	tenant   string
	enforcer *policy.Enforcer
	takes    *weir.MultiLimiter // without a failure mode: for the enforcer
	named    *weir.MultiLimiter // with that of the tenant: for limits by name
	limits   atomic.Pointer[map[string]weir.Limit]
	claims   *claims
	signed   bool
}

// New returns an Engine on a store, which stays the caller's. An option outside of its
// bounds gives an error that matches store.ErrInvalid.
func New(s store.Store, opts *Options) (*Engine, error) {
	if opts == nil {
		opts = &Options{}
	}
	e := &Engine{store: s, tenant: opts.Tenant, signed: opts.ReservationKey != nil}
	life := opts.Idempotency
	if life == 0 {
		life = 5 * time.Minute
	}
	if life < time.Second || life > store.MaxTTL-time.Second || life%time.Microsecond != 0 {
		return nil, &store.InputError{Op: -1, Field: "Options.Idempotency", Value: life.String(), Allowed: "0 (5m), or 1s to 23h59m59s in whole µs"}
	}
	// The ID outlives the claim that leads to it.
	common := weir.Options{Timeout: opts.Timeout, IDTTL: life + time.Second, ReservationKey: opts.ReservationKey, Observer: opts.Observer}
	var err error
	if e.takes, err = weir.NewMultiLimiter(s, &common); err != nil {
		return nil, err
	}
	named := common
	switch opts.OnFailure {
	case policy.FailOpen:
		named.OnFailure = weir.FailOpen
	case policy.FailLocal:
		named.OnFailure, named.Local = weir.FailLocal, opts.Local
	case policy.FailClosed, "":
	default:
		return nil, &store.InputError{Op: -1, Field: "Options.OnFailure", Value: string(opts.OnFailure), Allowed: "closed, open or local"}
	}
	if e.named, err = weir.NewMultiLimiter(s, &named); err != nil {
		return nil, err
	}
	if err := e.newEnforcer(opts, common); err != nil {
		return nil, err
	}
	if e.claims, err = newClaims(s, life, opts.Timeout); err != nil {
		return nil, err
	}
	return e, e.SetLimits(opts.Limits)
}

func (e *Engine) newEnforcer(opts *Options, local weir.Options) error {
	var o policy.EnforcerOptions
	if opts.Enforcer != nil {
		o = *opts.Enforcer
	}
	o.OnFailure, o.Local = opts.OnFailure, nil
	o.Sequential = o.Sequential || store.FeaturesOf(e.store).NoIO
	if opts.Local != nil {
		limiter, err := weir.NewMultiLimiter(opts.Local, &local)
		if err != nil {
			return err
		}
		o.Local = limiter
	}
	compiled := opts.Policy
	if compiled == nil {
		var err error
		if compiled, err = policy.Compile(policy.Policy{Version: policy.FormatVersion}, nil); err != nil {
			return err
		}
	}
	var err error
	e.enforcer, err = policy.NewEnforcer(e.takes, compiled, &o)
	return err
}

// SetLimits replaces the limits that are asked by name. States go on. Two limits with one
// name, and a limit that is not valid, are an error, and nothing is replaced.
func (e *Engine) SetLimits(limits []weir.Limit) error {
	byName := make(map[string]weir.Limit, len(limits))
	for i, l := range limits {
		if err := store.ValidateLimit(i, l.Algorithm); err != nil {
			return err
		}
		if _, twice := byName[l.Name]; twice || l.Name == "" {
			return &store.InputError{Op: i, Field: "Limit.Name", Value: fmt.Sprintf("%q", l.Name), Allowed: "a name that no other limit has"}
		}
		byName[l.Name] = l
	}
	e.limits.Store(&byName)
	return nil
}

// Limits returns the limits that are asked by name, in the order of the names.
func (e *Engine) Limits() []weir.Limit {
	byName := *e.limits.Load()
	limits := make([]weir.Limit, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		limits = append(limits, byName[name])
	}
	return limits
}

// Enforcer returns what decides by the policy: its Swap replaces the policy.
func (e *Engine) Enforcer() *policy.Enforcer { return e.enforcer }

// PolicyVersion is the version of the policy that decides now.
func (e *Engine) PolicyVersion() string { return e.enforcer.Policy().Version() }

// Tenant is the name of the tenant.
func (e *Engine) Tenant() string { return e.tenant }

// Check decides a request by the policy, and charges its cost where it is allowed.
//
// With an idempotency key it is charged once within the time of Options.Idempotency, also
// concurrently, on several nodes, and after a lost reply: a later call gets the same
// answer, Replayed. A denied request has charged nothing, and is decided anew. Another
// request under the same key is an error with the code KeyReused. Where the policy has
// changed in between so that it asks other limits, the request stays admitted, with the
// numbers of a look; where it asks them for another key, whose hash tag sorts first, the
// request is charged again.
func (e *Engine) Check(ctx context.Context, r Request) (Answer, error) {
	var p problems
	r.check("", &p)
	cost := int64(1)
	if r.Cost != nil {
		cost = *r.Cost
		checkUnits("cost", cost, &p)
	}
	r.Once.check(&p)
	if err := p.err(); err != nil {
		return Answer{}, err
	}
	asked := r.request(e.tenant)
	asked.Times, asked.Look = cost, cost == 0
	if r.Once == nil || asked.Look {
		v, err := e.enforcer.Decide(ctx, asked)
		if err != nil {
			return Answer{}, As(err)
		}
		return answerOf(v), nil
	}
	return e.checkOnce(ctx, r.Once, asked, cost)
}

// Quota says how the limits of a request stand, and changes nothing. Allowed and
// RetryAfter are those of one request; the other numbers are those of now. It costs two
// calls to the store.
func (e *Engine) Quota(ctx context.Context, s Subject) (Answer, error) {
	var p problems
	s.check("", &p)
	if err := p.err(); err != nil {
		return Answer{}, err
	}
	asked := s.request(e.tenant)
	one, err := e.enforcer.Peek(ctx, asked)
	if err != nil {
		return Answer{}, As(err)
	}
	asked.Look = true
	look, err := e.enforcer.Peek(ctx, asked)
	if err != nil {
		return Answer{}, As(err)
	}
	next, a := answerOf(one), answerOf(look)
	if len(next.Decisions) == len(a.Decisions) {
		for i := range a.Decisions {
			a.Decisions[i].Allowed, a.Decisions[i].RetryAfter = next.Decisions[i].Allowed, next.Decisions[i].RetryAfter
			if !next.Allowed && a.Decisions[i].Rule == next.Rule {
				a.Numbers, a.Rule = a.Decisions[i].Numbers, next.Rule
			}
		}
	}
	a.Allowed, a.RetryAfter, a.Standing = next.Allowed, next.RetryAfter, next.Standing
	return a, nil
}

// limit finds a limit by name.
func (e *Engine) limit(name string, p *problems) (weir.Limit, error) {
	if name == "" {
		p.add("limit_name", "empty", "the name of a limit of the configuration")
		return weir.Limit{}, nil
	}
	l, found := (*e.limits.Load())[name]
	if !found {
		return l, &Error{Code: UnknownLimit, Message: "no limit has the name " + shown(name)}
	}
	return l, nil
}

// ask makes an ask for a limit by name.
func (e *Engine) ask(name, key string, n int64, once *Once) (weir.Ask, error) {
	var p problems
	l, err := e.limit(name, &p)
	checkKey("key", key, &p)
	checkUnits("n", n, &p)
	once.check(&p)
	if invalid := p.err(); invalid != nil {
		return weir.Ask{}, invalid
	}
	return l.ForN(key, n), err
}

// AllowN asks the limit with a name for n units, all or none. 0 is a look. once is an
// idempotency key, as for Check, or nil.
func (e *Engine) AllowN(ctx context.Context, name, key string, n int64, once *Once) (LimitAnswer, error) {
	ask, err := e.ask(name, key, n, once)
	if err != nil {
		return LimitAnswer{}, err
	}
	if once != nil && n > 0 {
		return e.allowOnce(ctx, once, ask)
	}
	r, err := e.named.Take(ctx, ask)
	if err != nil {
		return LimitAnswer{}, As(err)
	}
	return limitAnswerOf(r.Decisions[0]), nil
}

// Reset makes a key of the limit with a name fresh. It is idempotent.
func (e *Engine) Reset(ctx context.Context, name, key string) error {
	ask, err := e.ask(name, key, 0, nil)
	if err != nil {
		return err
	}
	if err := e.named.Reset(ctx, ask); err != nil {
		return As(err)
	}
	return nil
}

// ResetSubject makes the keys of all rules that apply to a request fresh, also of those in
// shadow, and returns the rules. It is idempotent. With an error some may have been reset.
func (e *Engine) ResetSubject(ctx context.Context, s Subject) (rules []string, err error) {
	var p problems
	s.check("", &p)
	if err := p.err(); err != nil {
		return nil, err
	}
	// With what is looked up for the subject: an override may be of another algorithm, which
	// has a state of its own.
	explained, err := e.Explain(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, r := range explained.Rules {
		for _, l := range r.Limits {
			asks := l.Asks()
			for _, ask := range asks { // one after the other: a cluster may keep them on different nodes
				if err := e.named.Reset(ctx, ask); err != nil {
					return rules, As(err)
				}
			}
			if len(asks) > 0 && !slices.Contains(rules, l.Rule) {
				rules = append(rules, l.Rule)
			}
		}
	}
	return rules, nil
}

// Close makes later calls fail. The stores stay open.
func (e *Engine) Close() error {
	_ = e.takes.Close() // always nil
	_ = e.named.Close()
	return e.claims.close()
}
