package policy

import (
	"maps"
	"slices"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// list is a list of exceptions, and how those that a request may meet are found.
type list[T exception] struct {
	all   []T
	index index
}

type exception interface{ conditions() conditions }

type subject struct {
	where  conditions
	tier   int // -1: none
	limits map[string]*spec
}

type override struct {
	where  conditions
	rule   int32
	name   string
	limit  *spec
	until  algorithm.Instant
	reason string
}

type entry struct {
	where  conditions
	until  algorithm.Instant // 0: never
	reason string
}

func (s subject) conditions() conditions  { return s.where }
func (o override) conditions() conditions { return o.where }
func (e entry) conditions() conditions    { return e.where }

// live reports whether what ends at until has not ended.
func live(until, at algorithm.Instant) bool { return until == 0 || at < until }

func (l *list[T]) makeIndex() {
	all := make([]conditions, len(l.all))
	for i, e := range l.all {
		all[i] = e.conditions()
	}
	l.index = indexOf(all)
}

func (c *compiler) compileExceptions() {
	for i, s := range c.policy.Subjects {
		c.to.subjects.all = append(c.to.subjects.all, c.subject(Path{"subjects", i}, &s))
	}
	for i, o := range c.policy.Overrides {
		c.to.overrides.all = append(c.to.overrides.all, c.override(Path{"overrides", i}, &o))
	}
	c.to.deny.all = c.entries(Path{"lists", "deny"}, c.policy.Lists.Deny)
	c.to.allow.all = c.entries(Path{"lists", "allow"}, c.policy.Lists.Allow)
}

func (c *compiler) entries(at Path, entries []Entry) []entry {
	var all []entry
	for i, e := range entries {
		here := at.with(i)
		all = append(all, entry{
			where: c.exceptional(here.with("match"), e.Match), until: c.instant(here.with("until"), e.Until), reason: e.Reason,
		})
	}
	return all
}

func (c *compiler) subject(at Path, s *Subject) subject {
	into := subject{where: c.exceptional(at.with("match"), s.Match), tier: -1, limits: map[string]*spec{}}
	if s.Tier != "" {
		number, known := c.to.tierNumbers[s.Tier]
		if !known {
			c.unknown(at.with("tier"), s.Tier, "tier", maps.Keys(c.policy.Tiers))
		} else {
			into.tier = number
		}
	}
	if s.Tier == "" && len(s.Limits) == 0 {
		c.refuse(at, "", "a tier, limits or both", "it gives nothing")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Limits)) {
		here := at.with("limits", name)
		shards := slices.Concat(c.states[name], c.asked[name])
		if len(shards) == 0 {
			c.unknown(here, name, "limit of a rule or a tier", func(yield func(string) bool) {
				for _, names := range []map[string][]int{c.states, c.asked} {
					for known := range names {
						if !yield(known) {
							return
						}
					}
				}
			})
			continue
		}
		limit := c.spec(here, s.Limits[name])
		into.limits[name] = limit
		for _, n := range shards {
			c.divide(here, limit, n)
		}
		if limit != nil && into.tier >= 0 && !c.to.tiers[into.tier].allows(limit) {
			c.refuse(here, string(limit.text), "of "+listed(c.to.tiers[into.tier].algorithms)+", as the tier "+s.Tier+" says", "")
		}
	}
	return into
}

func (c *compiler) override(at Path, o *Override) override {
	into := override{
		where: c.exceptional(at.with("match"), o.Match), rule: -1, name: o.Name,
		limit: c.spec(at.with("limit"), o.Limit), until: c.instant(at.with("until"), o.Until), reason: o.Reason,
	}
	if o.Until.IsZero() {
		c.refuse(at.with("until"), "", "an instant such as "+time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC).Format(time.RFC3339), "an override without an end")
	}
	i, known := c.ids[o.Rule]
	if !known {
		c.unknown(at.with("rule"), o.Rule, "rule", maps.Keys(c.ids))
		return into
	}
	into.rule = int32(i)
	c.divide(at.with("limit"), into.limit, c.to.rules[i].shards)
	c.overriddenName(at, o, &c.to.rules[i], into.limit)
	return into
}

// overriddenName refuses a Name that the rule has not, and none where several limits would
// become the same.
func (c *compiler) overriddenName(at Path, o *Override, r *rule, limit *spec) {
	var names []string
	for _, l := range r.limits {
		if l.name != "" {
			names = append(names, l.name)
		}
	}
	switch {
	case o.Name != "" && !slices.Contains(names, o.Name):
		c.unknown(at.with("name"), o.Name, "limit of the rule", slices.Values(names))
	case o.Name == "" && len(names) > 1 && limit != nil && limit.action == ActionAsk:
		c.refuse(at.with("name"), "", "one of "+listed(names), "the rule has several limits")
	}
}

// makeIndex prepares the search for rules and exceptions.
func (c *compiler) makeIndex() {
	to := c.to
	to.subjects.makeIndex()
	to.overrides.makeIndex()
	to.deny.makeIndex()
	to.allow.makeIndex()
	f := newFrequency()
	for i := range to.rules {
		f.count(to.rules[i].where)
		for _, p := range to.rules[i].patterns {
			f.patterns[p.text]++
			to.depth = max(to.depth, len(p.segments))
		}
	}
	for i := range to.rules {
		r := &to.rules[i]
		if r.off {
			continue
		}
		c.place(f, i, r)
	}
}

// place puts a rule where the fewest others are: at its endpoints, or at the values of one
// of its attributes.
func (c *compiler) place(f *frequency, i int, r *rule) {
	by, others := f.rarest(r.where)
	same := 0
	for _, p := range r.patterns {
		same = max(same, f.patterns[p.text])
	}
	if len(r.patterns) > 0 && (by == nil || same <= others) {
		for n := range r.patterns {
			c.to.endpoints.add(&r.patterns[n], i, n)
		}
		return
	}
	c.to.index.add(i, by)
	if len(r.patterns) > 0 {
		r.own = &endpoints{}
		for n := range r.patterns {
			r.own.add(&r.patterns[n], 0, n)
		}
	}
}
