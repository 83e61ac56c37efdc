package policy

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/weirgo/weir/algorithm"
)

// tier is a tier with what it inherits.
type tier struct {
	name       string
	limits     map[string]*spec
	algorithms []string // names of families; nil: all
}

// allows reports whether a limit of a subject or an override may be used in the tier.
func (t *tier) allows(s *spec) bool {
	return t.algorithms == nil || s.action != ActionAsk || slices.Contains(t.algorithms, s.family)
}

// spec is a Spec that was read.
type spec struct {
	text      Spec
	action    Action // ActionAsk, ActionBlock or ActionExempt
	algorithm algorithm.Algorithm
	family    string
	capacity  int64 // what a fresh key admits
}

// spec reads a Spec, or returns nil where it is refused. Equal texts give the same spec.
func (c *compiler) spec(at Path, text Spec) *spec {
	if s, known := c.specs[text]; known {
		return s
	}
	s := &spec{text: text}
	switch text {
	case Block:
		s.action = ActionBlock
	case Unlimited:
		s.action = ActionExempt
	default:
		var err error
		if s.algorithm, err = c.registry.Parse(string(text)); err != nil {
			c.refuseSpec(at, text, err)
			return nil
		}
		s.family, _, _ = strings.Cut(string(text), ":")
		_, fresh := s.algorithm.Step(algorithm.State{}, 0, algorithm.Request{})
		s.capacity = fresh.Limit
	}
	c.specs[text] = s
	return s
}

func (c *compiler) refuseSpec(at Path, text Spec, err error) {
	e := &FieldError{Path: at, Value: string(text), Problem: err.Error()}
	if p := (*algorithm.ParameterError)(nil); errors.As(err, &p) {
		e.Problem, e.Allowed = p.Field+" "+p.Value+" is not allowed", p.Allowed
		if p.Field == "text" {
			e.Problem = ""
		}
		if p.Field == "algorithm" {
			e.Suggestion = nearest(strings.Trim(p.Value, `"`), familyNames(c.registry))
		}
	}
	if text == "" {
		e.Problem, e.Allowed = "no limit", "such as gcra:100/1m,burst=20, "+string(Unlimited)+", or "+string(Block)+" to block"
	}
	c.add(e)
}

// familyNames returns the names of algorithms, as specs have them.
func familyNames(r *algorithm.Registry) []string {
	var names []string
	for _, f := range r.Families() {
		names = append(names, f.Name)
	}
	return names
}

func (c *compiler) compileTiers() {
	names := slices.Sorted(maps.Keys(c.policy.Tiers))
	if len(names) > 0 {
		c.attribute(nil, tierAttribute)
	}
	c.to.tierNumbers = map[string]int{}
	for i, name := range names {
		c.name(Path{"tiers", name}, name)
		c.to.tierNumbers[name] = i
	}
	own := make(map[string]map[string]*spec, len(names))
	for _, name := range names {
		own[name] = c.tierLimits(name)
	}
	for _, name := range names {
		t := tier{name: name, limits: map[string]*spec{}}
		for _, ancestor := range c.lineage(name) {
			for limit, s := range own[ancestor] {
				if _, has := t.limits[limit]; !has {
					t.limits[limit] = s
				}
			}
			if t.algorithms == nil {
				t.algorithms = c.policy.Tiers[ancestor].Algorithms
			}
		}
		t.algorithms = slices.Clone(t.algorithms)
		c.to.restricted = c.to.restricted || t.algorithms != nil
		c.to.tiers = append(c.to.tiers, t)
	}
	if name := c.policy.DefaultTier; name != "" {
		if i, known := c.to.tierNumbers[name]; known {
			c.to.defaultTier = i
		} else {
			c.unknown(Path{"default_tier"}, name, "tier", slices.Values(names))
		}
	}
}

// tierLimits reads what stands in one tier itself.
func (c *compiler) tierLimits(name string) map[string]*spec {
	at := Path{"tiers", name}
	declared := c.policy.Tiers[name]
	limits := map[string]*spec{}
	for _, limit := range slices.Sorted(maps.Keys(declared.Limits)) {
		here := at.with("limits", limit)
		c.name(here, limit)
		limits[limit] = c.spec(here, declared.Limits[limit])
	}
	known := familyNames(c.registry)
	for i, family := range declared.Algorithms {
		if !slices.Contains(known, family) {
			c.unknown(at.with("algorithms", i), family, "algorithm", slices.Values(known))
		}
	}
	return limits
}

// lineage returns a tier, the tier that it extends, and so on.
func (c *compiler) lineage(name string) []string {
	var all []string
	for at := name; at != "" && len(all) < len(c.policy.Tiers); { // a cycle of others is refused there
		declared, known := c.policy.Tiers[at]
		if !known {
			break // refused where it is extended, below
		}
		all = append(all, at)
		next := declared.Extends
		if next == name {
			c.refuse(Path{"tiers", name, "extends"}, c.policy.Tiers[name].Extends, "a tier that does not extend this one", c.cycle(all, next))
			break
		}
		if _, known := c.policy.Tiers[next]; next != "" && !known && at == name {
			c.unknown(Path{"tiers", name, "extends"}, next, "tier", maps.Keys(c.policy.Tiers))
		}
		at = next
	}
	return all
}
