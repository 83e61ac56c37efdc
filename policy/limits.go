package policy

import "github.com/weirgo/weir/algorithm"

// RuleLimit is a limit that a rule itself has, for everybody who has no other.
type RuleLimit struct {
	Rule string
	// Name is that of the limit among several of the rule; "" where it has one.
	Name      string
	Algorithm algorithm.Algorithm
}

// Limits returns the limits of all rules, in the order of the policy, and of a rule in that
// of the names of its limits. A limit that tiers alone have is left out, and so are a block,
// an exemption and a rule that is off. Schedules do not count. It allocates the slice: n limits, n entries.
func (c *Compiled) Limits() []RuleLimit {
	var all []RuleLimit
	for i := range c.rules {
		r := &c.rules[i]
		if r.off {
			continue
		}
		for k := range r.limits {
			if own := r.limits[k].own.base; own != nil && own.action == ActionAsk {
				all = append(all, RuleLimit{Rule: r.id, Name: r.limits[k].name, Algorithm: own.algorithm})
			}
		}
	}
	return all
}
