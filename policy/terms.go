package policy

import (
	"maps"
	"slices"

	"github.com/weirgo/weir/algorithm"
)

// Terms are what an application keeps for somebody beside the policy: see SubjectLookup.
// In each layer the policy comes first: its overrides, subjects and attribute tier count
// where they have something for a request, and Terms where they do not. What names a rule,
// a limit or a tier that the policy does not have is passed over, and so is a limit that cannot be
// divided where the rule has Shards.
type Terms struct {
	// Tier is the name of a tier; "" is none.
	Tier string
	// Limits are specs by name, as those of a Subject.
	Limits map[string]Spec
	// Overrides replace limits of rules until they end. Their Match must be empty. An
	// override of a rule with several limits, without a Name and with a Limit that is
	// neither Block nor Unlimited, is passed over.
	Overrides []Override
}

// terms are Terms that were read.
type terms struct {
	tier      string
	limits    map[string]*spec
	overrides []termsOverride
}

type termsOverride struct {
	rule string
	override
}

// readTerms reads the specs and instants of Terms. What is wrong is an *InvalidError.
func readTerms(t *Terms, registry *algorithm.Registry) (*terms, error) {
	c := &compiler{registry: registry, specs: map[Spec]*spec{}}
	into := &terms{tier: t.Tier, limits: make(map[string]*spec, len(t.Limits))}
	for _, name := range slices.Sorted(maps.Keys(t.Limits)) {
		into.limits[name] = c.spec(Path{"limits", name}, t.Limits[name])
	}
	for i, o := range t.Overrides {
		at := Path{"overrides", i}
		if len(o.Match) > 0 {
			c.refuse(at.with("match"), "", "left out: an override of Terms is for one subject", "")
		}
		if o.Until.IsZero() {
			c.refuse(at.with("until"), "", "an instant", "an override without an end")
		}
		into.overrides = append(into.overrides, termsOverride{o.Rule, override{
			name: o.Name, limit: c.spec(at.with("limit"), o.Limit), until: c.instant(at.with("until"), o.Until), reason: o.Reason,
		}})
	}
	if len(c.errors) > 0 {
		return nil, &InvalidError{Fields: c.errors}
	}
	return into, nil
}

// overrideOf returns the override of a limit, or nil.
func (t *terms) overrideOf(c *Compiled, p *Plan, rule *rule, l *ruleLimit, at algorithm.Instant) *override {
	for i := range t.overrides {
		o := &t.overrides[i]
		several := o.name == "" && len(rule.limits) > 1 && o.limit.action == ActionAsk
		if o.rule == rule.id && !several && (o.name == "" || o.name == l.name) && live(o.until, at) && o.limit.serves(rule) && c.permitted(p, o.limit) {
			return &o.override
		}
	}
	return nil
}

// termsOf returns what was looked up for a request, looked up once; nil where there is
// nothing.
func (p *Plan) termsOf() *terms {
	if !p.looked && p.lookup != nil {
		p.looked, p.terms = true, p.lookup()
	}
	return p.terms
}

// customLimit returns the limit that limits of one subject have for a limit of a rule.
func customLimit(limits map[string]*spec, l *ruleLimit) *spec {
	limit := limits[l.state]
	if limit == nil && l.tier != "" {
		limit = limits[l.tier]
	}
	return limit
}
