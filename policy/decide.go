package policy

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/rethrow"
)

// decide asks the limits of v, and fills in what they answer.
func (e *Enforcer) decide(ctx context.Context, id string, v *Verdict, at algorithm.Instant, ask ask, take bool) error {
	blocked := false
	for i := range v.Rules {
		r := &v.Rules[i]
		r.Allowed = r.Action == ActionExempt
		if r.Action == ActionBlock || r.Action == ActionMissing {
			r.RetryAfter, r.Standing = waitUntil(r.Until, at), Throttled
			blocked = blocked || r.Enforced
		}
	}
	var shadows *rethrow.Group // most requests meet none
	if !e.inOrder {
		shadows = startShadows(ctx, id, v.Rules, ask)
	}
	var err error
	if !blocked {
		err = e.decideEnforced(ctx, id, v, ask, take)
	}
	if e.inOrder {
		for rule := range shadowsOf(v.Rules) {
			decideShadow(ctx, id, rule, ask)
		}
	}
	if shadows != nil {
		shadows.Wait()
	}
	for i := range v.Rules {
		if r := &v.Rules[i]; r.Decided {
			r.Standing = e.standings.of(r, at, take)
		}
	}
	v.summarize(err == nil)
	return err
}

// startShadows asks each rule in shadow on a goroutine of its own. It returns nil where
// there is none.
func startShadows(ctx context.Context, id string, rules []RuleVerdict, ask ask) (running *rethrow.Group) {
	for rule := range shadowsOf(rules) {
		if running == nil {
			running = new(rethrow.Group)
		}
		running.Go(func() { decideShadow(ctx, id, rule, ask) })
	}
	return running
}

// shadowsOf yields the limits of each rule in shadow that has to be asked.
func shadowsOf(rules []RuleVerdict) iter.Seq[[]RuleVerdict] {
	return func(yield func([]RuleVerdict) bool) {
		for len(rules) > 0 {
			n, asked, blocked := 0, false, false
			for n < len(rules) && rules[n].rule == rules[0].rule {
				asked = asked || rules[n].Action == ActionAsk
				blocked = blocked || rules[n].Action == ActionBlock || rules[n].Action == ActionMissing
				n++
			}
			rule := rules[:n]
			rules = rules[n:]
			if asked && !blocked && !rule[0].Enforced && !yield(rule) {
				return
			}
		}
	}
}

// decideEnforced asks all enforced limits, all or nothing.
func (e *Enforcer) decideEnforced(ctx context.Context, id string, v *Verdict, ask ask, take bool) error {
	asks, places := asksOf(id, v.Rules, true)
	if len(asks) == 0 {
		return nil
	}
	result, err := ask(ctx, asks...)
	failed := err != nil
	if failed {
		result, err = e.fallback(ctx, v, places, asks, err, take)
	}
	if err != nil {
		return err
	}
	for i, place := range places {
		v.Rules[place].set(result.Decisions[i])
		v.Rules[place].FailedOver = failed
	}
	v.Delay = result.Delay
	return nil
}

// decideShadow asks the limits of one rule in shadow, all or nothing, as they would be
// asked if the rule were alone.
func decideShadow(ctx context.Context, id string, rule []RuleVerdict, ask ask) {
	if id != "" {
		id = shadowID(id, rule[0].Rule)
	}
	asks, places := asksOf(id, rule, false)
	result, err := ask(ctx, asks...)
	for i, place := range places {
		if err != nil {
			rule[place].Err = err
		} else {
			rule[place].set(result.Decisions[i])
		}
	}
}

// shadowID names what a request is charged by one rule in shadow. It is the ID of no other
// rule and of no other request: the length says where the ID ends, and a text above maxID is
// no ID of a request.
func shadowID(id, rule string) string {
	return fmt.Sprintf("%-*s", maxID+1, fmt.Sprintf("%s %d %s", rule, len(id), id))
}

// asksOf returns what to ask, and for which of the limits.
func asksOf(id string, rules []RuleVerdict, enforced bool) (asks []weir.Ask, places []int) {
	asks, places = make([]weir.Ask, 0, len(rules)), make([]int, 0, len(rules))
	for i := range rules {
		if r := &rules[i]; r.Action == ActionAsk && r.Enforced == enforced {
			ask := r.ask()
			ask.ID = id
			asks, places = append(asks, ask), append(places, i)
		}
	}
	return asks, places
}

// ask is the question to the limit.
func (r *RuleVerdict) ask() weir.Ask {
	a := r.Limit.ForN(r.slotKey(), r.Cost)
	a.Shadow = !r.Enforced
	return a
}

func (r *RuleVerdict) set(d weir.Decision) {
	r.Decided, r.Allowed, r.Decision, r.RetryAfter = true, d.Allowed, d, d.RetryAfter
}

// waitUntil is how long something that ends at until denies.
func waitUntil(until, at algorithm.Instant) time.Duration {
	if until == 0 {
		return weir.Never
	}
	return time.Duration(until-at) * time.Microsecond
}
