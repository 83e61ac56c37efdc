package policy

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// EnforcerOptions are the optional settings of an Enforcer. nil means all defaults.
type EnforcerOptions struct {
	// OnFailure is for rules that do not say what to answer when the store cannot. "" is
	// FailClosed.
	OnFailure OnFailure
	// Local answers where OnFailure is FailLocal: usually a weir.MultiLimiter on a store in
	// memory. Required where the Enforcer or a rule says FailLocal.
	Local weir.Decider
	// Subjects looks up the tier and the limits that somebody has beside the policy. nil:
	// there is nothing beside it.
	Subjects *SubjectLookup
	// Clock says when overrides, entries of lists and rules begin and end. nil is the
	// wall clock.
	Clock store.Clock
	// Sequential decides rules in shadow one after the other behind the others, instead
	// of concurrently. It is for deciders that wait for nothing, such as those in memory,
	// and for simulations.
	Sequential bool
	// Observer, where it is not nil, sees each answer of Decide, and each error of the decider.
	Observer Observer
	// Leases says that the decider has leases for the limits of rules with Rule.Lease: its
	// store is a resilience.Lease whose Only asks Compiled.Leased of the policy that decides. A
	// policy with such a rule is refused where it is false.
	Leases bool
	// Random returns a number from 0 to n − 1, each as likely as another, for n from 1; any
	// other number panics. It chooses the shard that is asked where a rule has Shards and the
	// request no ID. It must be safe for concurrent use. nil is that of math/rand/v2.
	Random func(n int) int
	// Standings is how many keys that are not Normal are remembered. 0 is 10,000.
	Standings int
}

// Observer sees what an Enforcer answers, and cannot change it. It is called on the
// caller's goroutine after the answer is known, so it must be quick; it is called
// concurrently. The limits themselves are seen by the weir.Observer of the decider, those
// in shadow with weir.Observation.Shadow.
type Observer interface {
	// ObserveVerdict gets an answer of Decide, or its error. A Request or a clock that is refused
	// before the policy is asked is not seen. v must be neither changed nor kept.
	ObserveVerdict(ctx context.Context, v *Verdict, err error)
}

// Enforcer decides requests by a policy. It is safe for concurrent use. A decision costs
// the calls of the decider: one Take for all enforced limits, and one for each rule in
// shadow.
type Enforcer struct {
	decider   weir.Decider
	policy    atomic.Pointer[Compiled]
	onFailure OnFailure
	local     weir.Decider
	subjects  *termsCache // nil: there is no look-up
	now       func() time.Time
	leases    bool
	random    func(n int) int
	inOrder   bool
	standings *standings
	observer  Observer
	plans     sync.Pool // of *Plan
	counters  counters
}

// NewEnforcer returns an Enforcer that asks a decider. The decider should be one that
// returns errors (weir.FailClosed, the default of a MultiLimiter): the rules say what to
// answer when the store cannot. A nil decider or policy, and an option outside its bounds,
// give an error that matches store.ErrInvalid.
func NewEnforcer(d weir.Decider, c *Compiled, opts *EnforcerOptions) (*Enforcer, error) {
	if opts == nil {
		opts = &EnforcerOptions{}
	}
	e := &Enforcer{
		decider: d, onFailure: opts.OnFailure, local: opts.Local, now: time.Now, inOrder: opts.Sequential,
		leases: opts.Leases, random: opts.Random,
		standings: newStandings(opts.Standings), observer: opts.Observer,
	}
	switch {
	case d == nil:
		return nil, refused("decider", "nil", "a decider")
	case opts.OnFailure != "" && opts.OnFailure != FailClosed && opts.OnFailure != FailOpen && opts.OnFailure != FailLocal:
		return nil, refused("EnforcerOptions.OnFailure", strconv.Quote(string(opts.OnFailure)), "closed, open or local")
	case opts.Standings < 0:
		return nil, refused("EnforcerOptions.Standings", strconv.Itoa(opts.Standings), "0 (10,000) or more")
	}
	if e.onFailure == "" {
		e.onFailure = FailClosed
	}
	if e.random == nil {
		e.random = rand.IntN
	}
	if opts.Clock != nil {
		e.now = opts.Clock.Now
	}
	if opts.Subjects != nil {
		subjects, err := newTermsCache(opts.Subjects, e.now)
		if err != nil {
			return nil, err
		}
		e.subjects = subjects
	}
	e.plans.New = func() any { return new(Plan) }
	if _, err := e.Swap(c); err != nil {
		return nil, err
	}
	return e, nil
}

func refused(field, value, allowed string) error {
	return &store.InputError{Op: -1, Field: field, Value: value, Allowed: allowed}
}

// Swap replaces the policy, and returns the one before. A request is decided by one of
// the two from start to end. States go on: limits are told apart by their names. A policy
// that needs EnforcerOptions.Local or Leases, where there is none, is refused, and the one
// before stays.
func (e *Enforcer) Swap(c *Compiled) (before *Compiled, err error) {
	if c == nil {
		return nil, refused("policy", "nil", "what Compile returns")
	}
	if !e.leases {
		for i := range c.rules {
			if r := &c.rules[i]; r.leased && !r.off {
				return nil, refused("EnforcerOptions.Leases", "false", "true, with a decider that has leases, which the rule "+r.id+" asks for with lease: true")
			}
		}
	}
	if e.local == nil {
		if e.onFailure == FailLocal {
			return nil, refused("EnforcerOptions.Local", "nil", "a decider, which OnFailure: local asks")
		}
		for i := range c.rules {
			if c.rules[i].onFailure == FailLocal {
				return nil, refused("EnforcerOptions.Local", "nil", "a decider, which the rule "+c.rules[i].id+" asks with on_failure: local")
			}
		}
	}
	return e.policy.Swap(c), nil
}

// Policy returns the policy that decides now.
func (e *Enforcer) Policy() *Compiled { return e.policy.Load() }

// Decide answers a request: all enforced limits in one Take, all or nothing, and each
// rule in shadow by itself. A refusal is a Verdict. An error means that there is no
// decision, and that Verdict.Allowed is false: what the decider returned where no
// OnFailure answers for it, a *CrossNodeError, a *store.InputError for Times or ID of the
// Request, or a clock that is outside of algorithm.InstantOf.
func (e *Enforcer) Decide(ctx context.Context, r Request) (Verdict, error) {
	return e.answer(ctx, &r, e.decider.Take, true)
}

// Peek returns what Decide would answer now, and changes nothing. Of a rule with Shards it
// looks at one shard, chosen as Decide chooses it.
func (e *Enforcer) Peek(ctx context.Context, r Request) (Verdict, error) {
	return e.answer(ctx, &r, e.decider.Peek, false)
}

// ask is Take or Peek of a decider.
type ask func(ctx context.Context, asks ...weir.Ask) (weir.Result, error)

func (e *Enforcer) answer(ctx context.Context, r *Request, ask ask, take bool) (Verdict, error) {
	c := e.policy.Load()
	if err := r.check(); err != nil {
		return Verdict{Binding: -1, Version: c.version}, err
	}
	at, err := algorithm.InstantOf(e.now())
	if err != nil {
		return Verdict{Binding: -1, Version: c.version}, fmt.Errorf("policy: clock: %w", err)
	}
	p := e.plans.Get().(*Plan)
	defer e.plans.Put(p)
	c.resolve(p, r, at, e.lookup(ctx, c, r))
	v := Verdict{
		Binding: -1, List: p.List, Entry: p.Entry, Tier: p.Tier, TierSource: p.TierSource, Version: c.version,
		Allowed: p.List != Denied,
	}
	if p.List == Denied {
		v.RetryAfter, v.Standing = waitUntil(p.Entry.Until, at), Throttled
	}
	if r.MaxDelay != 0 {
		ask = within(r.MaxDelay, ask)
	}
	if len(p.Limits) > 0 {
		v.Rules = make([]RuleVerdict, len(p.Limits))
		for i := range p.Limits {
			v.Rules[i].PlannedLimit = p.Limits[i]
			v.Rules[i].Cost = r.costOf(p.Limits[i].Cost)
		}
		e.chooseShards(r.ID, v.Rules)
		err = e.decide(ctx, r.ID, &v, at, ask, take)
	}
	if take {
		e.counters.count(p, &v, err)
		if e.observer != nil {
			// A copy: a pointer to v would move every Verdict to the heap.
			seen := v
			e.observer.ObserveVerdict(ctx, &seen, err)
		}
	}
	return v, err
}

// chooseShards chooses the shards that are asked: by the ID of a request, if it has one, so
// that it meets the same shards again. The limits of one rule that have the same number of
// shards have the same shard, so that a cluster decides them in one call.
func (e *Enforcer) chooseShards(id string, rules []RuleVerdict) {
	for i := range rules {
		r := &rules[i]
		if r.Shards == 0 {
			continue
		}
		switch {
		case i > 0 && rules[i-1].rule == r.rule && rules[i-1].Shards == r.Shards:
			r.shard = rules[i-1].shard
		case id != "":
			h := fnv.New32a()
			_, _ = io.WriteString(h, id) // a hash takes everything
			r.shard = int(h.Sum32() % uint32(r.Shards))
		default:
			r.shard = e.random(r.Shards)
		}
		r.spec = r.spec.divided(r.rule.shards).parts[r.shard]
		r.Limit.Algorithm = r.spec.algorithm
	}
}

// within is ask with a bound on the Delay.
func within(maxDelay time.Duration, ask ask) ask {
	return func(ctx context.Context, asks ...weir.Ask) (weir.Result, error) {
		for i := range asks {
			asks[i].MaxDelay = maxDelay
		}
		return ask(ctx, asks...)
	}
}

const (
	maxID = 100 // shadowID has room for the name of a rule
	// maxCost is above all capacities, and far enough below what a Go int64 holds.
	maxCost = 1 << 62
)

func (r *Request) check() error {
	if r.Times < 0 {
		return refused("Request.Times", strconv.FormatInt(r.Times, 10), "0 (1) or more")
	}
	if len(r.ID) > maxID {
		return refused("Request.ID", strconv.Itoa(len(r.ID))+" bytes long", "at most "+strconv.Itoa(maxID)+" bytes long")
	}
	return nil
}

// costOf is the cost of the request in a limit where one request costs n.
func (r *Request) costOf(n int64) int64 {
	switch {
	case r.Look:
		return 0
	case r.Times > 1 && n > maxCost/r.Times:
		return maxCost
	case r.Times > 1:
		return n * r.Times
	}
	return n
}
