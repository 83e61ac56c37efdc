package policy

import (
	"context"
	"errors"

	"github.com/weirgo/weir"
)

// Settle replaces what Decide took for a request by what the request has really cost:
// the rest is given back, and the excess is charged, into debt where nothing is left. v is
// the Verdict of Decide; of one that is not Allowed nothing is settled. actual returns the
// cost that a limit should have taken, 0 or more; it gets the limits of rules in shadow,
// too. Call Settle once for a Verdict: it does not know whether it has settled before.
//
// The enforced limits are settled in one Take, and each rule in shadow in its own. A limit
// whose decision is Degraded is left as it is: the store did not count it. An error says
// that some of it was not settled, or that this is not known (store.ErrOutcomeUnknown);
// what was not settled keeps the cost that Decide took. A charge that would leave more
// than the largest debt is a *weir.DebtError.
func (e *Enforcer) Settle(ctx context.Context, v *Verdict, actual func(*RuleVerdict) int64) error {
	if !v.Allowed {
		return nil
	}
	settled := make([]weir.Ask, 0, len(v.Rules))
	for i := range v.Rules {
		if v.Rules[i].Enforced {
			settled = v.Rules[i].settle(settled, actual)
		}
	}
	errs := []error{e.take(ctx, settled)}
	for rule := range shadowsOf(v.Rules) {
		settled = settled[:0]
		allowed := true // it was asked all or nothing
		for i := range rule {
			allowed = allowed && (!rule[i].Decided || rule[i].Allowed)
		}
		for i := range rule {
			if allowed {
				settled = rule[i].settle(settled, actual)
			}
		}
		errs = append(errs, e.take(ctx, settled))
	}
	return errors.Join(errs...)
}

// settle appends what the actual cost needs.
func (r *RuleVerdict) settle(asks []weir.Ask, actual func(*RuleVerdict) int64) []weir.Ask {
	if !r.Decided || r.Decision.Degraded {
		return asks
	}
	if ask, differs := r.Limit.Settle(r.slotKey(), r.Cost, actual(r), r.Decision.At); differs {
		asks = append(asks, ask)
	}
	return asks
}

func (e *Enforcer) take(ctx context.Context, asks []weir.Ask) error {
	if len(asks) == 0 {
		return nil
	}
	result, err := e.decider.Take(ctx, asks...)
	for _, d := range result.Decisions {
		if err == nil && d.Degraded { // a failure mode of the decider has answered
			err = d.Cause
		}
	}
	return err
}
