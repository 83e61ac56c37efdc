package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// Explain returns how a request is decided now, as Compiled.Explain does, with what
// EnforcerOptions.Subjects says. It asks no store. The error is a clock that is outside of
// algorithm.InstantOf.
func (e *Enforcer) Explain(ctx context.Context, r Request) (Explanation, error) {
	at, err := algorithm.InstantOf(e.now())
	if err != nil {
		return Explanation{}, fmt.Errorf("policy: clock: %w", err)
	}
	c := e.policy.Load()
	return c.explainWith(&r, at, e.lookup(ctx, c, &r)), nil
}

// maxSurvey bounds the limits of a Survey.
const maxSurvey = store.MaxOps

// Survey returns how all limits stand that requests with these attributes may meet, on
// whatever endpoint: those of the rules whose conditions on attributes hold. Lists are not
// looked at, and neither is which rule replaces which. Each limit is asked for no unit, so
// that its numbers are those of now; a limit with Shards has the sum of them. A limit of
// which a key attribute is missing has no Key and is not Decided. Of the Verdict as a whole,
// Tier and Version count. Survey changes nothing. It is for pages that show how somebody
// stands: it looks at every rule, and asks for up to 1,000 limits; those behind them are
// left out.
func (e *Enforcer) Survey(ctx context.Context, who Attributes) (Verdict, error) {
	c := e.policy.Load()
	v := Verdict{Binding: -1, Version: c.version}
	at, err := algorithm.InstantOf(e.now())
	if err != nil {
		return v, fmt.Errorf("policy: clock: %w", err)
	}
	var p Plan
	r := Request{Attributes: who}
	c.survey(&p, &r, at, e.lookup(ctx, c, &r))
	v.Tier, v.TierSource = p.Tier, p.TierSource
	v.Rules = make([]RuleVerdict, len(p.Limits))
	for i := range p.Limits {
		r := &v.Rules[i]
		r.PlannedLimit = p.Limits[i]
		r.Allowed = r.Action == ActionExempt
		if r.Action == ActionBlock || r.Action == ActionMissing {
			r.RetryAfter, r.Standing = waitUntil(r.Until, at), Throttled
		}
	}
	if err := e.peekEach(ctx, v.Rules); err != nil {
		return v, err
	}
	for i := range v.Rules {
		if r := &v.Rules[i]; r.Decided {
			r.Standing = e.standings.of(r, at, false)
		}
	}
	return v, nil
}

// peekEach looks at limits together, or one by one where they lie on different nodes. A
// limit that is divided has the sums of its shards.
func (e *Enforcer) peekEach(ctx context.Context, rules []RuleVerdict) error {
	var asks []weir.Ask
	var places []int
	for i := range rules {
		for _, ask := range rules[i].Asks() {
			asks, places = append(asks, ask), append(places, i)
		}
	}
	if len(asks) == 0 {
		return nil
	}
	decisions, err := e.peekAll(ctx, asks)
	if err != nil {
		return err
	}
	for i, place := range places {
		r, d := &rules[place], decisions[i]
		if r.Decided {
			d.Limit, d.Remaining, d.Debt = d.Limit+r.Decision.Limit, d.Remaining+r.Decision.Remaining, d.Debt+r.Decision.Debt
			d.ResetAfter = max(d.ResetAfter, r.Decision.ResetAfter)
		}
		r.set(d)
	}
	return nil
}

// peekAll peeks in as few calls as a store takes.
func (e *Enforcer) peekAll(ctx context.Context, asks []weir.Ask) (all []weir.Decision, err error) {
	for part := range slices.Chunk(asks, store.MaxOps) {
		result, err := e.decider.Peek(ctx, part...)
		if errors.Is(err, store.ErrCrossNode) {
			result.Decisions = nil
			for i := range part {
				one, err := e.decider.Peek(ctx, part[i])
				if err != nil {
					return nil, err
				}
				result.Decisions = append(result.Decisions, one.Decisions...)
			}
			err = nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, result.Decisions...)
	}
	return all, nil
}

// survey writes into p the limits of all rules that who may meet.
func (c *Compiled) survey(p *Plan, r *Request, at algorithm.Instant, lookup func() *terms) {
	c.begin(p, r)
	p.lookup = lookup
	defer func() { p.lookup, p.terms = nil, nil }()
	for number := range c.rules {
		r := &c.rules[number]
		if r.off || !r.where.hold(p.values) || at < r.from || !live(r.until, at) {
			continue
		}
		text, missing := c.keyOf(&p.resolution, r.key)
		if missing {
			text = ""
		}
		enforced := r.percent == 100 || r.percent > 0 && percentile(r.id, text) < r.percent
		for pattern := range max(1, len(r.patterns)) {
			if pattern > 0 && !r.byEndpoint {
				break
			}
			c.plan(p, &applied{rule: int32(number), pattern: int32(pattern), key: text, enforced: enforced}, at)
		}
		if len(p.Limits) >= maxSurvey {
			p.Limits = p.Limits[:maxSurvey]
			break
		}
	}
	c.tierOf(p)
}
