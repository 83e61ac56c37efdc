package policy

import (
	"errors"
	"slices"
	"strconv"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
)

// resolution is what Resolve works with. It is kept in a Plan, so that its memory is used
// again.
type resolution struct {
	values     []value // by attribute
	given      []int   // the attributes with a value
	endpoint   endpoint
	search     search
	own        search // through the endpoints of one rule
	candidates []int32
	applied    []applied
	subjects   []int32 // those that match; read once
	overrides  []int32
	matched    bool // subjects and overrides have been read
	keys       []madeKey
	text       []byte
	tier       int // -1: none; read once
	tiered     bool
	lookup     func() *terms // the look-up of the application; nil: there is none
	terms      *terms        // what it found; nil: nothing
	looked     bool          // it was asked
}

type madeKey struct {
	number  int
	text    string
	missing bool
}

// applied is a rule that applies to a request.
type applied struct {
	rule     int32
	pattern  int32 // -1: none
	key      string
	missing  bool
	enforced bool
	replaced bool
}

// Resolve writes into p what the policy says of a request at an instant. It is a pure
// function: it reads no clock, does no I/O and asks no store. What p held is lost; its
// memory is used again, so that Resolve allocates the keys of the limits and nothing
// else (and the text of segments with escapes). The time that it takes depends on the
// rules that apply, hardly on the others. p must not be used concurrently.
func (c *Compiled) Resolve(p *Plan, r Request, at algorithm.Instant) { c.resolve(p, &r, at, nil) }

// resolve is Resolve with the look-up of the application.
func (c *Compiled) resolve(p *Plan, r *Request, at algorithm.Instant, lookup func() *terms) {
	c.begin(p, r)
	p.lookup = lookup
	defer func() { p.lookup, p.terms = nil, nil }() // it holds the request, and a Plan is kept
	if p.List, p.Entry = c.listed(&p.resolution, at); p.List != None {
		return
	}
	s := &p.resolution
	c.find(s)
	for _, number := range s.candidates {
		if a, why := c.applies(s, number, at); why == RuleApplies {
			s.applied = append(s.applied, a)
		}
	}
	c.replace(s)
	for i := range s.applied {
		if !s.applied[i].replaced {
			c.plan(p, &s.applied[i], at)
		}
	}
}

// begin empties p and reads the attributes of a request.
func (c *Compiled) begin(p *Plan, r *Request) {
	s := &p.resolution
	*p = Plan{Limits: p.Limits[:0], resolution: resolution{
		values: s.values, given: s.given, endpoint: s.endpoint, search: s.search, own: s.own, candidates: s.candidates[:0],
		applied: s.applied[:0], subjects: s.subjects[:0], overrides: s.overrides[:0], keys: s.keys[:0], text: s.text, tier: -1,
	}}
	clear(s.values)
	if len(s.values) != len(c.attributes.all) {
		s.values = make([]value, len(c.attributes.all))
	}
	s.given = s.given[:0]
	for name, text := range r.Attributes {
		number, known := c.attributes.number[name]
		if !known {
			continue
		}
		if s.values[number] = c.attributes.read(number, text); s.values[number].set {
			s.given = append(s.given, number)
		}
	}
	if c.depth > 0 {
		s.endpoint.set(r, c.depth)
	}
}

// listed returns what the lists say.
func (c *Compiled) listed(s *resolution, at algorithm.Instant) (ListAction, ListEntry) {
	if e, found := firstLive(&c.deny, s, at); found {
		return Denied, e
	}
	if e, found := firstLive(&c.allow, s, at); found {
		return Exempt, e
	}
	return None, ListEntry{}
}

func firstLive(l *list[entry], s *resolution, at algorithm.Instant) (e ListEntry, found bool) {
	for _, i := range l.matching(s) {
		if e := &l.all[i]; live(e.until, at) {
			return ListEntry{Index: int(i), Reason: e.reason, Until: e.until}, true
		}
	}
	return ListEntry{}, false
}

// matching returns the positions of the exceptions whose conditions hold, in order. The
// slice is s.candidates.
func (l *list[T]) matching(s *resolution) []int32 {
	s.candidates = s.candidates[:0]
	if len(l.all) == 0 {
		return nil
	}
	s.candidates = sorted(l.index.appendCandidates(s.candidates, s.values, s.given))
	kept := s.candidates[:0]
	for _, i := range s.candidates {
		if l.all[i].conditions().hold(s.values) {
			kept = append(kept, i)
		}
	}
	return kept
}

// find writes into s.candidates the rules that a request may meet, in order. Those that
// were found by their endpoints are in s.search, too.
func (c *Compiled) find(s *resolution) {
	s.candidates = c.index.appendCandidates(s.candidates[:0], s.values, s.given)
	c.endpoints.match(&s.search, &s.endpoint, len(c.rules))
	for _, t := range s.search.found {
		s.candidates = append(s.candidates, t.rule)
	}
	s.candidates = sorted(s.candidates)
}

// Applies says whether a rule applies to a request, or why it does not.
type Applies int

const (
	// RuleApplies: it applies.
	RuleApplies Applies = iota
	// RuleOff: its Mode is Off.
	RuleOff
	// OtherEndpoint: none of its endpoints matches.
	OtherEndpoint
	// OtherAttributes: a condition on an attribute does not hold.
	OtherAttributes
	// NotActive: the instant is outside of Rule.Active.
	NotActive
	// KeyMissing: a key attribute is missing, and the rule has SkipMissing.
	KeyMissing
	// RuleReplaced: another rule that applies replaces it.
	RuleReplaced
)

// String returns a few words, such as "other endpoint".
func (a Applies) String() string {
	return nameOf(int(a), "applies", "off", "other endpoint", "other attributes", "not active", "key attribute missing", "replaced")
}

// applies looks at one rule.
func (c *Compiled) applies(s *resolution, number int32, at algorithm.Instant) (applied, Applies) {
	r := &c.rules[number]
	if r.off {
		return applied{}, RuleOff
	}
	pattern, met := int32(-1), true
	if len(r.patterns) > 0 {
		pattern, met = c.patternOf(s, number)
	}
	if !met {
		return applied{}, OtherEndpoint
	}
	if !r.where.hold(s.values) {
		return applied{}, OtherAttributes
	}
	if at < r.from || !live(r.until, at) {
		return applied{}, NotActive
	}
	text, missing := c.keyOf(s, r.key)
	if missing && r.onMissing == SkipMissing {
		return applied{}, KeyMissing
	}
	return applied{
		rule: number, pattern: pattern, key: text, missing: missing,
		enforced: r.percent == 100 || r.percent > 0 && percentile(r.id, text) < r.percent,
	}, RuleApplies
}

// patternOf returns the pattern of a rule that a request has met.
func (c *Compiled) patternOf(s *resolution, number int32) (pattern int32, met bool) {
	if own := c.rules[number].own; own != nil {
		own.match(&s.own, &s.endpoint, 1)
		if len(s.own.found) == 0 {
			return -1, false
		}
		return s.own.found[0].limit, true
	}
	if len(s.search.found) == 0 {
		return -1, false
	}
	i := int(s.search.place[number]) // of this search or of an earlier one
	if i >= len(s.search.found) || s.search.found[i].rule != number {
		return -1, false
	}
	return s.search.found[i].limit, true
}

// replace marks the rules that others replace. A rule in shadow replaces rules in shadow
// only. A rule that is replaced still replaces others: what counts is that it applies.
func (c *Compiled) replace(s *resolution) {
	for i := range s.applied {
		by := &s.applied[i]
		for _, other := range c.rules[by.rule].replaces {
			j, found := slices.BinarySearchFunc(s.applied, other, func(a applied, rule int32) int { return int(a.rule - rule) })
			if found && (by.enforced || !s.applied[j].enforced) {
				s.applied[j].replaced = true
			}
		}
	}
}

// plan appends the limits of a rule that applies.
func (c *Compiled) plan(p *Plan, a *applied, at algorithm.Instant) {
	r := &c.rules[a.rule]
	limits := r.limits
	if r.byEndpoint {
		limits = limits[a.pattern : a.pattern+1]
	}
	units := c.costOf(&p.resolution, &r.cost)
	for i := range limits {
		l := &limits[i]
		planned := PlannedLimit{
			Rule: r.id, Name: l.name, Enforced: a.enforced, Limit: weir.Limit{Name: l.state}, Key: a.key, Cost: units, rule: r,
		}
		if a.missing && r.onMissing == DenyMissing {
			planned.Action, planned.Key = ActionMissing, ""
		} else {
			c.choose(p, &planned, a.rule, l, at)
		}
		p.Limits = append(p.Limits, planned)
	}
}

// choose fills in the limit of the highest layer that has one.
func (c *Compiled) choose(p *Plan, to *PlannedLimit, rule int32, l *ruleLimit, at algorithm.Instant) {
	limit, when := l.own.at(at)
	source := FromRule
	if o := c.overrideOf(p, rule, l, at); o != nil {
		limit, source, when, to.Until, to.Reason = o.limit, FromOverride, "", o.until, o.reason
	} else if custom := c.customOf(p, to.rule, l); custom != nil {
		limit, source, when = custom, FromSubject, ""
	} else if l.tier != "" {
		if t := c.tierOf(p); t >= 0 && l.byTier[t].base != nil {
			limit, when = l.byTier[t].at(at)
			source = FromTier
		}
	}
	to.When = when
	to.Action, to.Spec, to.Source, to.spec, to.whole = limit.action, limit.text, source, limit, limit
	to.Limit.Algorithm = limit.algorithm
	if r := to.rule; limit.action == ActionAsk {
		to.Leased = r.leased
		if r.shards > 0 {
			to.Shards = len(limit.divided(r.shards).parts)
		}
	}
}

func (c *Compiled) overrideOf(p *Plan, rule int32, l *ruleLimit, at algorithm.Instant) *override {
	c.matchExceptions(&p.resolution)
	for _, i := range p.overrides {
		o := &c.overrides.all[i]
		if o.rule == rule && (o.name == "" || o.name == l.name) && live(o.until, at) && c.permitted(p, o.limit) {
			return o
		}
	}
	if t := p.termsOf(); t != nil {
		return t.overrideOf(c, p, &c.rules[rule], l, at)
	}
	return nil
}

// customOf returns the limit that a subject has for itself.
func (c *Compiled) customOf(p *Plan, r *rule, l *ruleLimit) *spec {
	for _, i := range p.subjects {
		if limit := customLimit(c.subjects.all[i].limits, l); limit != nil && c.permitted(p, limit) {
			return limit
		}
	}
	if t := p.termsOf(); t != nil {
		if limit := customLimit(t.limits, l); limit != nil && limit.serves(r) && c.permitted(p, limit) {
			return limit
		}
	}
	return nil
}

// permitted reports whether the tier of a request lets it have a limit of its own.
func (c *Compiled) permitted(p *Plan, limit *spec) bool {
	if !c.restricted {
		return true
	}
	t := c.tierOf(p)
	return t < 0 || c.tiers[t].allows(limit)
}

// matchExceptions finds the subjects and overrides of a request, once.
func (c *Compiled) matchExceptions(s *resolution) {
	if s.matched {
		return
	}
	s.matched = true
	s.subjects = append(s.subjects, c.subjects.matching(s)...)
	s.overrides = append(s.overrides, c.overrides.matching(s)...)
}

// tierOf returns the tier of a request, found once; -1 where there is none.
func (c *Compiled) tierOf(p *Plan) int {
	if p.tiered {
		return p.tier
	}
	p.tiered = true
	p.tier, p.TierSource = c.findTier(p)
	if p.tier >= 0 {
		p.Tier = c.tiers[p.tier].name
	}
	return p.tier
}

func (c *Compiled) findTier(p *Plan) (int, TierSource) {
	if number, has := c.attributes.number[tierAttribute]; has && p.values[number].set {
		return c.named(p, p.values[number].text, TierFromAttribute)
	}
	c.matchExceptions(&p.resolution)
	for _, i := range p.subjects {
		if t := c.subjects.all[i].tier; t >= 0 {
			return t, TierFromSubject
		}
	}
	if t := p.termsOf(); t != nil && t.tier != "" {
		return c.named(p, t.tier, TierFromLookup)
	}
	return c.defaultTier, TierFromDefault
}

// named returns the tier of a name, or the default one.
func (c *Compiled) named(p *Plan, name string, source TierSource) (int, TierSource) {
	if t, known := c.tierNumbers[name]; known {
		return t, source
	}
	p.UnknownTier = true
	return c.defaultTier, TierFromDefault
}

// costOf returns what a request costs.
func (c *Compiled) costOf(s *resolution, declared *cost) int64 {
	if declared.attribute < 0 || !s.values[declared.attribute].set {
		return declared.normal
	}
	n, err := strconv.ParseInt(s.values[declared.attribute].text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && n > 0:
		return declared.most
	case err != nil || n < 0:
		return declared.normal
	}
	return min(n, declared.most)
}
