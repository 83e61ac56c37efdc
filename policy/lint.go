package policy

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// The kinds of findings.
const (
	lintUnreachable   = "unreachable"    // what no request can meet
	lintCost          = "cost"           // a cost above what a limit ever admits
	lintAttribute     = "attribute"      // an attribute that nothing gives
	lintUnmatched     = "unmatched"      // requests that meet no rule
	lintBudget        = "budget"         // a budget over a day or more, by a limit that refills all the time
	lintDoubledBurst  = "doubled-burst"  // a fixed window that admits twice its limit around its edge
	lintIPv6          = "ipv6"           // IPv6 addresses without a prefix
	lintUnboundedKeys = "unbounded-keys" // as many keys as somebody likes to make
	lintCluster       = "cluster"        // rules whose limits a cluster cannot decide in one call
	lintShards        = "shards"         // shards that do not spread a key, or that a limit has no units for
	lintLease         = "lease"          // leases that are never taken, or that answer where the rule says closed
)

// LintKinds returns all kinds of findings.
func LintKinds() []string {
	return []string{lintUnreachable, lintCost, lintAttribute, lintUnmatched, lintBudget, lintDoubledBurst, lintIPv6, lintUnboundedKeys, lintCluster, lintShards, lintLease}
}

// Finding is something in a policy that is allowed and probably not meant.
type Finding struct {
	// Kind is one of LintKinds.
	Kind string
	// Path is what it is about; empty where that is the whole policy.
	Path Path
	Text string
	// Line and Column are where Path stands in the text.
	Line, Column int
}

// LintOptions are the optional settings of File.Lint. nil means all defaults.
type LintOptions struct {
	// At is the instant for which it is looked: what has ended by then is a finding. The
	// zero time finds nothing ended.
	At time.Time
	// Attributes are those that the application gives. With none, all are taken to be
	// given.
	Attributes []string
}

// Lint finds what is allowed in a policy and probably not meant, in the order of the
// text. Its time grows with the square of the number of rules that can meet in a request.
func (f *File) Lint(opts *LintOptions) []Finding {
	if opts == nil {
		opts = &LintOptions{}
	}
	l := &linter{File: f, opts: *opts}
	if at, err := algorithm.InstantOf(opts.At); err == nil && !opts.At.IsZero() {
		l.at = at
	}
	l.exceptions()
	for i := range f.Policy.Rules {
		l.rule(i)
		l.shards(i)
		l.lease(i)
	}
	l.attributes()
	l.specs()
	l.cluster()
	l.unmatched()
	slices.SortStableFunc(l.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Text, b.Text))
	})
	return l.found
}

// linter collects findings.
type linter struct {
	*File
	opts  LintOptions
	at    algorithm.Instant // 0: nothing has ended
	found []Finding
}

func (l *linter) add(kind string, at Path, format string, args ...any) {
	line, column := l.Place(at)
	l.found = append(l.found, Finding{Kind: kind, Path: at, Text: fmt.Sprintf(format, args...), Line: line, Column: column})
}

// ended reports whether what ends at an instant has ended.
func (l *linter) ended(until algorithm.Instant) bool { return l.at > 0 && !live(until, l.at) }

// exceptions looks at subjects, overrides and lists.
func (l *linter) exceptions() {
	for i, s := range l.Policy.Subjects {
		for j, before := range l.Policy.Subjects[:i] {
			if reflect.DeepEqual(s.Match, before.Match) && (s.Tier == "" || before.Tier != "") && covers(before.Limits, s.Limits) {
				l.add(lintUnreachable, Path{"subjects", i}, "subjects[%d] matches the same and comes first", j)
			}
		}
	}
	for i, o := range l.Policy.Overrides {
		if l.ended(l.Compiled.overrides.all[i].until) {
			l.add(lintUnreachable, Path{"overrides", i}, "the override ended at %s", o.Until.Format(time.RFC3339))
			continue
		}
		for j, before := range l.Policy.Overrides[:i] {
			if o.Rule == before.Rule && (before.Name == "" || o.Name == before.Name) && reflect.DeepEqual(o.Match, before.Match) && !o.Until.After(before.Until) {
				l.add(lintUnreachable, Path{"overrides", i}, "overrides[%d] is about the same, comes first and ends no earlier", j)
			}
		}
	}
	for _, list := range []struct {
		name    string
		written []Entry
		read    []entry
	}{{"deny", l.Policy.Lists.Deny, l.Compiled.deny.all}, {"allow", l.Policy.Lists.Allow, l.Compiled.allow.all}} {
		for i := range list.read {
			if l.ended(list.read[i].until) {
				l.add(lintUnreachable, Path{"lists", list.name, i}, "the entry ended at %s", list.written[i].Until.Format(time.RFC3339))
			}
			if never := l.contradiction(list.read[i].where); never != "" {
				l.add(lintUnreachable, Path{"lists", list.name, i}, "no value of %s meets the match", never)
			}
		}
	}
}

// covers reports whether a map has all names of another.
func covers(all, some map[string]Spec) bool {
	for name := range some {
		if _, has := all[name]; !has {
			return false
		}
	}
	return true
}

// contradiction returns the attribute of a condition that no value meets, or "".
func (l *linter) contradiction(where conditions) string {
	for _, c := range where {
		open := len(c.values) == 0 || slices.ContainsFunc(c.values, func(v string) bool { return !slices.Contains(c.notValues, v) })
		if c.indexable() && c.prefixes == nil && !open {
			return l.Compiled.attributes.all[c.attribute].name
		}
	}
	return ""
}

func (l *linter) rule(i int) {
	at, r := Path{"rules", i}, &l.Compiled.rules[i]
	if r.off {
		return
	}
	if never := l.contradiction(r.where); never != "" {
		l.add(lintUnreachable, at, "no value of %s meets the match", never)
	}
	if l.ended(r.until) {
		l.add(lintUnreachable, at, "the rule ended at %s", l.Policy.Rules[i].Active.Until.Format(time.RFC3339))
	}
	for _, c := range r.where {
		if onlyAbsent(&c) && r.onMissing == SkipMissing && slices.Contains(l.keyOf(r), c.attribute) {
			l.add(lintUnreachable, at, "the rule is for requests without %s, and skips requests without it, since it is in the key",
				l.Compiled.attributes.all[c.attribute].name)
		}
	}
	for j := range l.Compiled.rules {
		if other := &l.Compiled.rules[j]; slices.Contains(other.replaces, int32(i)) && other.always() && other.percent == 100 {
			l.add(lintUnreachable, at, "%s replaces it, and applies to every request", other.id)
		}
	}
	l.cost(at, i)
	for _, number := range l.keyOf(r) {
		if a := l.Compiled.attributes.all[number]; a.typ == Address || a.secret {
			l.add(lintUnboundedKeys, at.with("key"), "there is a state for each %s that somebody sends: a store in memory needs MaxKeys", a.name)
		}
	}
}

func (l *linter) keyOf(r *rule) []int {
	k := &l.Compiled.keys[r.key]
	if k.colocate >= 0 {
		return append([]int{k.colocate}, k.attributes...)
	}
	return k.attributes
}

// always reports whether a rule applies to every request.
func (r *rule) always() bool {
	return !r.off && len(r.where) == 0 && len(r.patterns) == 0 && r.from == 0 && r.until == 0
}

// cost compares the cost of a rule with what its limits admit to a fresh key.
func (l *linter) cost(at Path, i int) {
	r, written := &l.Compiled.rules[i], l.Policy.Rules[i].Cost
	highest := r.cost.normal
	what := fmt.Sprintf("a cost of %d", highest)
	if written.Attribute != "" && written.Max > highest {
		highest, what = written.Max, fmt.Sprintf("a cost of up to %d", written.Max)
	}
	for s := range specsOf(r) {
		capacity, of := s.capacity, ""
		if r.shards > 0 {
			parts := s.divided(r.shards).parts
			capacity, of = parts[len(parts)-1].capacity, fmt.Sprintf("one of %d shards of ", len(parts))
		}
		if capacity < highest {
			l.add(lintCost, at.with("cost"), "%s is above the %d that %s%s admits at most: such a request never passes", what, capacity, of, s.text)
		}
	}
}

// attributes looks at what is read of requests.
func (l *linter) attributes() {
	for name, a := range l.Policy.Attributes {
		if a.Type == Address && a.IPv6Prefix > 64 {
			l.add(lintIPv6, Path{"attributes", name, "ipv6_prefix"}, "one client has 2^%d addresses or more, and a state for each: 64 is usual", a.IPv6Prefix-64)
		}
		lower := strings.ToLower(name)
		if a.Type != Address && (lower == "ip" || strings.HasSuffix(lower, "_ip") || strings.HasPrefix(lower, "ip_") || strings.Contains(lower, "addr")) {
			l.add(lintIPv6, Path{"attributes", name}, "an address that is read as a text: one IPv6 client has 2^64 of them; type address is by prefix")
		}
	}
	if len(l.opts.Attributes) == 0 {
		return
	}
	missing := func(at Path, name string) {
		if !slices.Contains(l.opts.Attributes, name) {
			l.add(lintAttribute, at, "nothing gives the attribute %s", name)
		}
	}
	for i, r := range l.Policy.Rules {
		at := Path{"rules", i}
		for j, name := range r.Key {
			missing(at.with("key", j), name)
		}
		for name := range r.Match.Attributes {
			missing(at.with("match", "attributes", name), name)
		}
		if r.Cost.Attribute != "" {
			missing(at.with("cost", "attribute"), r.Cost.Attribute)
		}
		if r.Colocate != "" {
			missing(at.with("colocate"), r.Colocate)
		}
	}
	match := func(at Path, where Conditions) {
		for name := range where {
			missing(at.with("match", name), name)
		}
	}
	for i, s := range l.Policy.Subjects {
		match(Path{"subjects", i}, s.Match)
	}
	for i, o := range l.Policy.Overrides {
		match(Path{"overrides", i}, o.Match)
	}
	for i, e := range l.Policy.Lists.Deny {
		match(Path{"lists", "deny", i}, e.Match)
	}
	for i, e := range l.Policy.Lists.Allow {
		match(Path{"lists", "allow", i}, e.Match)
	}
}

// specs looks at every limit that is written in the policy.
func (l *linter) specs() {
	for i := range l.Compiled.rules {
		at := Path{"rules", i}
		for _, limit := range l.Compiled.rules[i].limits {
			below := at.with("limit")
			switch {
			case l.Compiled.rules[i].byEndpoint:
				below = at.with("endpoints", limit.name)
			case limit.name != "":
				below = at.with("limits", limit.name)
			}
			l.spec(below, limit.own.base)
			l.scheduled(at, limit.own.schedule)
		}
	}
	for name, t := range l.Policy.Tiers {
		for limit := range t.Limits {
			l.spec(Path{"tiers", name, "limits", limit}, l.Compiled.tiers[l.Compiled.tierNumbers[name]].limits[limit])
		}
		for _, schedule := range l.Compiled.tiers[l.Compiled.tierNumbers[name]].schedule {
			l.scheduled(Path{"tiers", name}, schedule)
		}
	}
	for i, s := range l.Compiled.subjects.all {
		for _, name := range slices.Sorted(maps.Keys(s.limits)) {
			l.spec(Path{"subjects", i, "limits", name}, s.limits[name])
		}
	}
	for i, o := range l.Compiled.overrides.all {
		l.spec(Path{"overrides", i, "limit"}, o.limit)
	}
}

// scheduled looks at what a schedule says of a limit.
func (l *linter) scheduled(at Path, schedule []scheduled) {
	for _, entry := range schedule {
		l.spec(at.with("schedule", entry.number), entry.spec)
	}
}

// doubled is the largest limit of a fixed window of which nobody minds the double.
const doubled = 100

func (l *linter) spec(at Path, s *spec) {
	if s == nil || s.action != ActionAsk {
		return
	}
	family, known := algorithm.FamilyOf(s.algorithm.Spec().Kind)
	if !known {
		return // a user's family: its parameters may mean something else
	}
	rate, _ := family.Parameters(s.algorithm.Spec())
	switch {
	case (s.family == "gcra" || s.family == "token-bucket") && rate.Per >= 24*time.Hour:
		l.add(lintBudget, at, "%s refills all the time: over a day it admits up to the burst more than a day's share; calendar-window, fixed-window and sliding-log are budgets", s.text)
	case (s.family == "fixed-window" || family.Calendar && rate.Per <= 24*time.Hour) && rate.Units > doubled:
		l.add(lintDoubledBurst, at, "%s admits up to %d within a moment around the edge of a window: sliding-counter and gcra do not", s.text, 2*rate.Units)
	}
}

// unmatched says whether there are requests that meet no rule.
func (l *linter) unmatched() {
	for i := range l.Compiled.rules {
		r := &l.Compiled.rules[i]
		if r.always() && r.percent > 0 && (r.onMissing != SkipMissing || len(l.keyOf(r)) == 0) {
			return
		}
	}
	l.add(lintUnmatched, Path{"rules"}, "no enforced rule applies to every request: what meets no rule is allowed")
}
