package policy

import (
	"fmt"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Explanation says what a policy looked at for a request, what applies, and why. It holds
// keys, which are made of the values of attributes: personal data.
type Explanation struct {
	// List is what the lists say, and Entry the entry that says so. Where it is not None,
	// no rule is looked at.
	List  ListAction
	Entry ListEntry
	// Denies and Allows are how many entries the lists have.
	Denies, Allows int
	// Tier is the tier of the request, where one of the limits asked for it.
	Tier        string
	TierSource  TierSource
	UnknownTier bool
	// Rules are all rules, in the order of the policy.
	Rules []ExplainedRule
}

// ExplainedRule is what came of one rule.
type ExplainedRule struct {
	Rule string
	// Applies says whether the rule applies, or why not.
	Applies Applies
	// Detail is the attribute whose condition does not hold or that is missing in the key,
	// or the rule that replaces this one; "" for the other answers.
	Detail string
	// Endpoint is the pattern that the request has met; "" where the rule has no
	// endpoints.
	Endpoint string
	// Limits are those that are asked.
	Limits []PlannedLimit
}

// Explain returns how Resolve comes to its Plan. It is a pure function as Resolve is, but
// looks at every rule: its time and memory grow with the policy. It looks up no Terms; see
// Enforcer.Explain.
func (c *Compiled) Explain(r Request, at algorithm.Instant) Explanation {
	return c.explainWith(&r, at, nil)
}

// explainWith is Explain with the look-up of the application.
func (c *Compiled) explainWith(r *Request, at algorithm.Instant, lookup func() *terms) Explanation {
	var p Plan
	c.resolve(&p, r, at, lookup)
	e := Explanation{
		List: p.List, Entry: p.Entry, Denies: len(c.deny.all), Allows: len(c.allow.all),
		Tier: p.Tier, TierSource: p.TierSource, UnknownTier: p.UnknownTier,
	}
	if p.List != None {
		return e
	}
	for number := range c.rules {
		e.Rules = append(e.Rules, c.explain(&p, int32(number), at))
	}
	return e
}

func (c *Compiled) explain(p *Plan, number int32, at algorithm.Instant) ExplainedRule {
	r := &c.rules[number]
	s := &p.resolution
	e := ExplainedRule{Rule: r.id}
	a, why := c.applies(s, number, at)
	e.Applies = why
	switch why {
	case OtherAttributes:
		for _, where := range r.where {
			if !where.holds(s.values[where.attribute]) {
				e.Detail = c.attributes.all[where.attribute].name
				break
			}
		}
	case KeyMissing:
		for _, name := range r.keyNames {
			if !s.values[c.attributes.number[name]].set {
				e.Detail = name
				break
			}
		}
	case RuleApplies:
		if a.pattern >= 0 {
			e.Endpoint = r.patterns[a.pattern].text
		}
		if by := c.replacing(s, number); by != "" {
			e.Applies, e.Detail = RuleReplaced, by
			break
		}
		for _, l := range p.Limits {
			if l.rule == r {
				e.Limits = append(e.Limits, l)
			}
		}
	}
	return e
}

// replacing returns the rule that replaces another, or "".
func (c *Compiled) replacing(s *resolution, number int32) string {
	for _, replaced := range s.applied {
		if replaced.rule != number || !replaced.replaced {
			continue
		}
		for _, by := range s.applied {
			for _, other := range c.rules[by.rule].replaces {
				if other == number && (by.enforced || !replaced.enforced) {
					return c.rules[by.rule].id
				}
			}
		}
	}
	return ""
}

// String returns the explanation as text: a line for the lists, one for each rule, and
// below a rule that applies one for each of its limits.
func (e Explanation) String() string {
	var b strings.Builder
	switch e.List {
	case Denied:
		fmt.Fprintf(&b, "denied by lists.deny[%d]%s\n", e.Entry.Index, e.Entry.text())
		return b.String()
	case Exempt:
		fmt.Fprintf(&b, "exempt by lists.allow[%d]%s\n", e.Entry.Index, e.Entry.text())
		return b.String()
	}
	fmt.Fprintf(&b, "lists: none of %d denials and %d exemptions applies\n", e.Denies, e.Allows)
	if e.TierSource != TierUnused {
		fmt.Fprintf(&b, "tier: %s, from %s\n", e.Tier, e.TierSource)
	}
	if e.UnknownTier {
		b.WriteString("tier: the request names one that the policy does not have\n")
	}
	applied := false
	for i := range e.Rules {
		e.Rules[i].write(&b)
		applied = applied || e.Rules[i].Applies == RuleApplies
	}
	if !applied {
		b.WriteString("no rule applies: the request is allowed\n")
	}
	return b.String()
}

func (e ListEntry) text() string {
	text := ""
	if e.Reason != "" {
		text = ": " + e.Reason
	}
	if e.Until != 0 {
		text += ", until " + e.Until.Time().Format(time.RFC3339Nano)
	}
	return text
}

func (r *ExplainedRule) write(b *strings.Builder) {
	fmt.Fprintf(b, "rule %s: %s", r.Rule, r.Applies)
	switch {
	case r.Applies == RuleReplaced:
		b.WriteString(" by " + r.Detail)
	case r.Detail != "":
		b.WriteString(": " + r.Detail)
	case r.Endpoint != "":
		b.WriteString(", by " + r.Endpoint)
	}
	b.WriteString("\n")
	for i := range r.Limits {
		r.Limits[i].write(b)
	}
}

// layer says where the limit comes from.
func (l *PlannedLimit) layer() string {
	if l.When == "" {
		return l.Source.String()
	}
	return l.Source.String() + " at " + l.When
}

func (l *PlannedLimit) write(b *strings.Builder) {
	fmt.Fprintf(b, "  limit %s: ", l.Limit.Name)
	switch l.Action {
	case ActionMissing:
		b.WriteString("denies, because a key attribute is missing")
	case ActionBlock:
		b.WriteString("blocks, from " + l.layer())
	case ActionExempt:
		b.WriteString("exempts, from " + l.layer())
	default:
		fmt.Fprintf(b, "%s, from %s, %d for %s", l.Spec, l.layer(), l.Cost, l.Key)
		if l.Shards > 0 {
			fmt.Fprintf(b, ", from one of %d shards", l.Shards)
		}
		if l.Leased {
			b.WriteString(", leased")
		}
	}
	if l.Until != 0 {
		b.WriteString(", until " + l.Until.Time().Format(time.RFC3339Nano))
	}
	if l.Reason != "" {
		b.WriteString(" (" + l.Reason + ")")
	}
	if !l.Enforced {
		b.WriteString(", in shadow")
	}
	b.WriteString("\n")
}
