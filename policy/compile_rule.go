package policy

import (
	"maps"
	"slices"
	"strconv"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/divide"
	"github.com/weirgo/weir/internal/document/words"
)

// rule is a Rule that was read.
type rule struct {
	id          string
	off         bool
	where       conditions
	patterns    []pattern
	own         *endpoints // where the rule is found by its attributes; nil if by its endpoints
	byEndpoint  bool       // limits has one for each pattern
	limits      []ruleLimit
	key         int      // in Compiled.keys
	keyNames    []string // of its attributes, sorted
	cost        cost
	onMissing   OnMissing
	onFailure   OnFailure
	percent     int // of the keys that it is enforced for
	from, until algorithm.Instant
	replaces    []int32
	shards      int // 0: limits are not divided
	leased      bool
	warnAt      int64
	calmAt      int64
}

// ruleLimit is one limit of a rule.
type ruleLimit struct {
	name   string  // among several
	state  string  // the name of its states
	own    limit   // has no base where it is from the tier only
	tier   string  // the name among the limits of tiers; "" if it is not from the tier
	byTier []limit // by tier; without a base: it has none
}

// cost is a Cost that was read.
type cost struct {
	attribute    int // -1: none
	normal, most int64
}

// key is what the keys of rules are made of.
type key struct {
	attributes []int // in the order of their names, without colocate
	colocate   int   // -1: none
}

func (c *compiler) compileRules() {
	ids := map[string]int{}
	c.ids = ids
	c.states, c.asked, c.to.leased = map[string][]int{}, map[string][]int{}, map[string]bool{}
	for i, r := range c.policy.Rules {
		at := Path{"rules", i}
		c.name(at.with("id"), r.ID)
		if first, twice := ids[r.ID]; twice {
			c.refuse(at.with("id"), r.ID, "unique", "is the id of rules["+strconv.Itoa(first)+"], too")
		} else {
			ids[r.ID] = i
		}
		c.to.rules = append(c.to.rules, c.rule(at, &r))
	}
	for i, r := range c.policy.Rules {
		for j, id := range r.Replaces {
			other, known := ids[id]
			switch {
			case !known:
				c.unknown(Path{"rules", i, "replaces", j}, id, "rule", maps.Keys(ids))
			case other != i || ids[r.ID] != i:
				c.to.rules[i].replaces = append(c.to.rules[i].replaces, int32(other))
			default:
				c.refuse(Path{"rules", i, "replaces", j}, id, "another rule", "a cycle: the rule itself")
			}
		}
	}
	c.refuseCycles()
}

// refuseCycles refuses rules that replace each other.
func (c *compiler) refuseCycles() {
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, len(c.to.rules))
	var above []string // the rules that are open, the outermost first
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		r := &c.to.rules[i]
		above = append(above, r.id)
		for j, other := range r.replaces {
			switch state[other] {
			case open:
				from := slices.Index(above, c.to.rules[other].id)
				c.refuse(Path{"rules", i, "replaces", j}, c.to.rules[other].id, "a rule that does not replace this one",
					c.cycle(above[from:], c.to.rules[other].id))
			case unseen:
				visit(int(other))
			}
		}
		above = above[:len(above)-1]
		state[i] = done
	}
	for i := range state {
		if state[i] == unseen {
			visit(i)
		}
	}
}

func (c *compiler) rule(at Path, r *Rule) rule {
	percent, known := r.Mode.percent()
	if !known {
		c.add(&FieldError{Path: at.with("mode"), Value: string(r.Mode), Allowed: "enforce, enforce N% with N from 1 to 100, shadow, or off",
			Suggestion: words.Nearest(string(r.Mode), []string{string(Enforce), string(Shadow), string(Off)})})
	}
	into := rule{
		id: r.ID, off: r.Mode == Off, percent: percent,
		where:     c.conditions(at.with("match", "attributes"), r.Match.Attributes),
		key:       c.key(at, r),
		cost:      c.cost(at.with("cost"), r.Cost),
		onMissing: oneOf(c, at.with("on_missing"), r.OnMissing, SkipMissing, DenyMissing, ShareMissing),
		onFailure: oneOf(c, at.with("on_failure"), r.OnFailure, "", FailClosed, FailLocal, FailOpen),
		from:      c.instant(at.with("active", "from"), r.Active.From),
		until:     c.instant(at.with("active", "until"), r.Active.Until),
		warnAt:    percentOf(c, at.with("warn_at"), r.WarnAt, 80),
		shards:    r.Shards, leased: r.Lease,
	}
	into.calmAt = percentOf(c, at.with("calm_at"), r.CalmAt, min(70, into.warnAt))
	if into.calmAt > into.warnAt {
		c.refuse(at.with("calm_at"), strconv.Itoa(r.CalmAt), "at most warn_at, "+strconv.FormatInt(into.warnAt, 10), "")
	}
	if into.until != 0 && into.from >= into.until {
		c.refuse(at.with("active", "until"), "", "later than from", "the rule is never active")
	}
	if r.Shards != 0 && (r.Shards < 2 || r.Shards > divide.MaxParts) {
		c.refuse(at.with("shards"), strconv.Itoa(r.Shards), "2 to "+strconv.Itoa(divide.MaxParts), "")
		into.shards = 0
	}
	if r.Lease && r.Shards != 0 {
		c.refuse(at.with("lease"), "true", "left out where the rule has shards", "")
	}
	if r.Lease && c.noLeases && !into.off {
		c.refuse(at.with("lease"), "true", "left out where the program has no leases", "")
	}
	for _, name := range append(slices.Clone(r.Key), r.Colocate) {
		if name != "" && !slices.Contains(into.keyNames, name) {
			into.keyNames = append(into.keyNames, name)
		}
	}
	slices.Sort(into.keyNames)
	c.limits(at, r, &into)
	c.ruleSchedule(at.with("schedule"), r, &into)
	return into
}

// oneOf returns a value that is one of known, the first where it is "".
func oneOf[T ~string](c *compiler, at Path, v T, known ...T) T {
	if v == "" {
		return known[0]
	}
	if slices.Contains(known, v) {
		return v
	}
	var names []string
	for _, k := range known {
		if k != "" {
			names = append(names, string(k))
		}
	}
	c.add(&FieldError{Path: at, Value: string(v), Allowed: listed(names), Suggestion: words.Nearest(string(v), names)})
	return known[0]
}

func percentOf(c *compiler, at Path, n int, normal int64) int64 {
	if n == 0 {
		return normal
	}
	if n < 1 || n > 100 {
		c.refuse(at, strconv.Itoa(n), "1 to 100", "")
	}
	return int64(n)
}

// limits reads the limits and endpoints of a rule.
func (c *compiler) limits(at Path, r *Rule, into *rule) {
	ways := 0
	for _, is := range []bool{r.Limit != LimitRef{}, len(r.Limits) > 0, len(r.Endpoints) > 0} {
		if is {
			ways++
		}
	}
	if ways != 1 {
		c.refuse(at, "", "one of limit, limits and endpoints", []string{"no limit", "", "limits in more than one way", "limits in more than one way"}[ways])
	}
	if r.Limit != (LimitRef{}) {
		into.limits = append(into.limits, c.limit(at.with("limit"), into, r.ID, "", r.Limit))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		here := at.with("limits", name)
		c.name(here, name)
		into.limits = append(into.limits, c.limit(here, into, r.ID+"/"+name, name, r.Limits[name]))
	}
	texts := r.Match.Endpoints
	where := at.with("match", "endpoints")
	if len(r.Endpoints) > 0 {
		if len(r.Match.Endpoints) > 0 {
			c.refuse(where, "", "left out where the rule has endpoints", "")
		}
		into.byEndpoint = true
		where = at.with("endpoints")
		texts = slices.Sorted(maps.Keys(r.Endpoints))
		for _, text := range texts {
			state := r.ID + " " + text
			if len(state) > maxState {
				c.refuse(where.with(text), text, strconv.Itoa(maxState-1-len(r.ID))+" bytes or fewer", "")
			}
			into.limits = append(into.limits, c.limit(where.with(text), into, state, text, r.Endpoints[text]))
		}
	}
	into.patterns = c.patterns(texts, func(i int) Path {
		if into.byEndpoint {
			return where.with(texts[i])
		}
		return where.with(i)
	})
}

// maxState is the longest name of a weir.Limit.
const maxState = 200

func (c *compiler) limit(at Path, r *rule, state, name string, ref LimitRef) ruleLimit {
	l := ruleLimit{name: name, state: state, tier: ref.Tier}
	c.states[state] = append(c.states[state], r.shards)
	if r.leased {
		c.to.leased[state] = true
	}
	if ref.Spec != "" || ref.Tier == "" {
		l.own.base = c.spec(at, ref.Spec)
		c.divide(at, l.own.base, r.shards)
	}
	if ref.Tier == "" {
		return l
	}
	c.asked[ref.Tier] = append(c.asked[ref.Tier], r.shards)
	if c.policy.DefaultTier == "" && l.own.base == nil {
		c.refuse(Path{"default_tier"}, "", "a tier", "no tier for requests that have no other, which "+at.String()+" asks for")
	}
	byTier, has := c.limitOfTiers(ref.Tier)
	if l.byTier = byTier; !slices.Contains(has, true) {
		c.unknown(at.with("tier"), ref.Tier, "limit of the tiers", c.tierLimitNames)
		return l
	}
	for i := range c.to.tiers {
		for s := range byTier[i].specs {
			c.divide(at.with("tier"), s, r.shards)
		}
		c.sameShards(at.with("tier"), &byTier[i], r.shards)
		if !has[i] && l.own.base == nil {
			c.refuse(at.with("tier"), ref.Tier, "a limit that every tier has, or beside a spec", "the tier "+c.to.tiers[i].name+" has no such limit")
		}
	}
	return l
}

// tierLimitNames yields the names of the limits of all tiers, some more than once.
func (c *compiler) tierLimitNames(yield func(string) bool) {
	for _, t := range c.to.tiers {
		for name := range t.limits {
			if !yield(name) {
				return
			}
		}
	}
}

func (c *compiler) cost(at Path, declared Cost) cost {
	into := cost{attribute: -1, normal: declared.Default, most: declared.Max}
	if declared.Attribute != "" {
		number, known := c.to.attributes.number[declared.Attribute]
		if _, is := builtIn[declared.Attribute]; is && !known {
			number, known = c.attribute(at, declared.Attribute), true
		}
		if !known {
			c.name(at.with("attribute"), declared.Attribute)
			number = c.addAttribute(declared.Attribute, Attribute{Type: Text})
		}
		if a := c.to.attributes.all[number]; a.typ == Address || a.secret {
			c.refuse(at.with("attribute"), declared.Attribute, "a text that is not secret", "")
		}
		into.attribute = number
		if declared.Default == 0 {
			c.refuse(at.with("default"), "", "1 to "+strconv.FormatInt(algorithm.MaxUnits, 10), "no cost for requests without the attribute")
		}
	} else if declared.Max != 0 {
		c.refuse(at.with("max"), strconv.FormatInt(declared.Max, 10), "left out without an attribute", "")
	}
	if into.normal == 0 {
		into.normal = 1
	}
	if into.most == 0 {
		into.most = algorithm.MaxUnits
	}
	if into.most < 1 || into.most > algorithm.MaxUnits {
		c.refuse(at.with("max"), strconv.FormatInt(declared.Max, 10), "1 to "+strconv.FormatInt(algorithm.MaxUnits, 10), "")
	} else if into.normal < 1 || into.normal > into.most {
		c.refuse(at.with("default"), strconv.FormatInt(declared.Default, 10), "1 to "+strconv.FormatInt(into.most, 10), "")
	}
	return into
}

// key returns the number of the key of a rule among those of all rules.
func (c *compiler) key(at Path, r *Rule) int {
	k := key{colocate: -1}
	if r.Colocate != "" {
		k.colocate = c.attribute(at.with("colocate"), r.Colocate)
	}
	names := slices.Clone(r.Key)
	slices.Sort(names)
	for i, name := range r.Key {
		c.attribute(at.with("key", i), name) // refuses it where it is not known
		if slices.Index(r.Key, name) < i {
			c.refuse(at.with("key", i), name, "once in a key", "")
		}
	}
	for _, name := range names {
		if number, known := c.to.attributes.number[name]; known && number != k.colocate {
			k.attributes = append(k.attributes, number)
		}
	}
	same := func(other key) bool {
		return other.colocate == k.colocate && slices.Equal(other.attributes, k.attributes)
	}
	if i := slices.IndexFunc(c.to.keys, same); i >= 0 {
		return i
	}
	c.to.keys = append(c.to.keys, k)
	return len(c.to.keys) - 1
}
