package policy

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/divide"
	"github.com/weirgo/weir/internal/document/words"
)

// tier is a tier.
type tier struct {
	name       string
	parent     int              // that it extends; -1: none
	limits     map[string]*spec // its own
	schedule   map[string][]scheduled
	algorithms []string // names of families, also those of its parent; nil: all
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

	parts sync.Map // of int, the shards of a rule, to *division
}

// division is what became of a spec for rules with some number of shards.
type division struct {
	parts []*spec
	err   error // says what can be divided
}

// divided returns the parts of a spec for a rule with shards, 1 or more. It computes them once.
func (s *spec) divided(shards int) *division {
	if d, known := s.parts.Load(shards); known {
		return d.(*division)
	}
	algorithms, err := divide.Parts(s.algorithm, shards)
	d := &division{make([]*spec, len(algorithms)), err}
	for i, a := range algorithms {
		if i > 0 && a == algorithms[i-1] {
			d.parts[i] = d.parts[i-1]
			continue
		}
		d.parts[i] = &spec{text: s.text, algorithm: a, family: s.family, capacity: capacityOf(a)}
	}
	kept, _ := s.parts.LoadOrStore(shards, d)
	return kept.(*division)
}

// serves reports whether a limit may be that of a rule: it can be divided where the rule has
// shards.
func (s *spec) serves(r *rule) bool {
	return s.action != ActionAsk || r.shards == 0 || s.divided(r.shards).err == nil
}

// divide refuses a spec that cannot be divided, for a rule with shards. 0 shards is a rule
// without.
func (c *compiler) divide(at Path, s *spec, shards int) {
	if s == nil || s.action != ActionAsk || shards == 0 {
		return
	}
	if err := s.divided(shards).err; err != nil {
		c.refuse(at, string(s.text), err.Error()+", where the rule has shards", "")
	}
}

// capacityOf returns what a fresh key admits.
func capacityOf(a algorithm.Algorithm) int64 {
	_, fresh := a.Step(algorithm.State{}, 0, algorithm.Request{})
	return fresh.Limit
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
		s.capacity = capacityOf(s.algorithm)
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
			e.Suggestion = words.Nearest(strings.Trim(p.Value, `"`), familyNames(c.registry))
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

// limitOfTiers returns the limit of a name that each tier has, its own or its parent's; without
// a base where it has none, or one that was refused.
func (c *compiler) limitOfTiers(name string) (byTier []limit, has []bool) {
	byTier, has = make([]limit, len(c.to.tiers)), make([]bool, len(c.to.tiers))
	for _, i := range c.tierOrder {
		t := &c.to.tiers[i]
		if byTier[i].base, has[i] = t.limits[name]; !has[i] && t.parent >= 0 {
			parent := &byTier[t.parent]
			byTier[i].base, has[i] = parent.base, has[t.parent]
			if byTier[i].extends = parent; len(parent.schedule) == 0 {
				byTier[i].extends = parent.extends
			}
		}
		byTier[i].schedule = t.schedule[name]
	}
	return byTier, has
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
	c.to.tiers = make([]tier, len(names))
	for i, name := range names {
		c.to.tiers[i] = tier{name: name, parent: -1, limits: c.tierLimits(name)}
	}
	done := make([]bool, len(names))
	for i := range names {
		for _, at := range slices.Backward(c.lineage(i, done)) {
			t := &c.to.tiers[at]
			if t.algorithms = slices.Clone(c.policy.Tiers[t.name].Algorithms); t.algorithms == nil && t.parent >= 0 {
				t.algorithms = c.to.tiers[t.parent].algorithms
			}
			c.to.restricted = c.to.restricted || t.algorithms != nil
			c.tierOrder = append(c.tierOrder, at)
			done[at] = true
		}
	}
	c.tierSchedules()
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

// lineage returns a tier, the tier that it extends, and so on up to one that is done. In a
// cycle each tier is refused, and the first has no parent.
func (c *compiler) lineage(from int, done []bool) (all []int) {
	place := map[int]int{} // of each in all
	for at := from; !done[at]; {
		place[at] = len(all)
		all = append(all, at)
		t := &c.to.tiers[at]
		extends := c.policy.Tiers[t.name].Extends
		if extends == "" {
			break
		}
		next, known := c.to.tierNumbers[extends]
		if !known {
			c.unknown(Path{"tiers", t.name, "extends"}, extends, "tier", maps.Keys(c.policy.Tiers))
			break
		}
		if start, met := place[next]; met {
			c.refuseTierCycle(all[start:])
			break
		}
		t.parent = next
		at = next
	}
	return all
}

// refuseTierCycle refuses tiers each of which extends the next, and the last the first.
func (c *compiler) refuseTierCycle(numbers []int) {
	names := make([]string, len(numbers))
	for i, number := range numbers {
		names[i] = c.to.tiers[number].name
	}
	for i, name := range names {
		around := slices.Concat(names[i:], names[:i])
		c.refuse(Path{"tiers", name, "extends"}, c.policy.Tiers[name].Extends, "a tier that does not extend this one", c.cycle(around, name))
	}
}
