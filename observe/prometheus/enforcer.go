package promobserver

import (
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/policy"
)

var (
	unmatched   = declare(prometheus.CounterValue, "unmatched_requests_total", "Requests that no rule applied to.", "enforcer")
	tierLookups = declare(prometheus.CounterValue, "subject_lookups_total", "Look-ups of the tier and the limits of somebody.", "enforcer", "result")
	standings   = declare(prometheus.GaugeValue, "standings", "Keys that are remembered as near their limit.", "enforcer")

	ruleLimit  = declare(prometheus.GaugeValue, "rule_limit", "Units that a rule of the policy admits in its period, for those who have no other limit. limit is the name among several limits of the rule.", "enforcer", "rule", "limit")
	rulePeriod = declare(prometheus.GaugeValue, "rule_period_seconds", "The period of that limit.", "enforcer", "rule", "limit")
)

// AddEnforcer reads the counts of an Enforcer that are not by rule, and the limits of its
// policy: of the first Options.Rules. The counts by rule come from Collector.Enforcer: it is to be
// the Observer of e (policy.EnforcerOptions), with the same name.
func (c *Collector) AddEnforcer(name string, e *policy.Enforcer) {
	var limits policyLimits
	c.add("enforcer", name, func(to *sink) {
		s := e.Stats()
		to.put(unmatched, float64(s.Unmatched))
		to.put(tierLookups, float64(s.Lookups-s.LookupErrors), "found")
		to.put(tierLookups, float64(s.LookupErrors), "error")
		to.put(standings, float64(s.Standings))
		for _, l := range limits.of(e.Policy(), c.options.Rules) {
			to.put(ruleLimit, l.units, l.rule, l.name)
			if l.seconds > 0 {
				to.put(rulePeriod, l.seconds, l.rule, l.name)
			}
		}
	})
}

// policyLimits are the limits of a policy, read once for each.
type policyLimits struct {
	mu     sync.Mutex
	policy *policy.Compiled
	limits []policyLimit
}

type policyLimit struct {
	rule, name     string
	units, seconds float64 // seconds is 0 where it is not known
}

// of returns the first limits of a policy. The slice is not changed afterwards.
func (p *policyLimits) of(c *policy.Compiled, most int) []policyLimit {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.policy == c {
		return p.limits
	}
	all := c.Limits()
	p.policy, p.limits = c, make([]policyLimit, 0, min(len(all), most))
	for _, l := range all[:min(len(all), most)] {
		if !utf8.ValidString(l.Rule) || !utf8.ValidString(l.Name) {
			continue // it cannot be a label
		}
		units, seconds := rateOf(l.Algorithm)
		p.limits = append(p.limits, policyLimit{rule: l.Rule, name: l.Name, units: units, seconds: seconds})
	}
	return p.limits
}

// rateOf is the rate of an algorithm; of a user's own, what a fresh key admits.
func rateOf(a algorithm.Algorithm) (units, seconds float64) {
	spec := a.Spec()
	if f, known := algorithm.FamilyOf(spec.Kind); known {
		rate, _ := f.Parameters(spec)
		return float64(rate.Units), rate.Per.Seconds()
	}
	_, fresh := a.Step(algorithm.State{}, 0, algorithm.Request{})
	return float64(fresh.Limit), 0
}
