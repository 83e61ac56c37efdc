package policy

import "slices"

// cluster looks for rules whose limits a cluster cannot decide in one call: they can meet
// in one request, and their states lie wherever their keys send them.
func (l *linter) cluster() {
	rules := l.Compiled.rules
	for j := range rules {
		for i := range rules[:j] {
			if l.together(&rules[i], &rules[j]) || !l.meet(&rules[i], &rules[j]) {
				continue
			}
			l.add(lintCluster, Path{"rules", j}, "a cluster refuses requests that meet this rule and %s, which have other keys: "+
				"the same colocate on both decides them in one call", rules[i].id)
			break
		}
	}
}

// together reports whether the states of two rules lie together for every request.
func (l *linter) together(a, b *rule) bool {
	if a.key == b.key && a.shards == 0 && b.shards == 0 {
		return true // shards of a key lie apart
	}
	colocate := l.Compiled.keys[a.key].colocate
	return colocate >= 0 && colocate == l.Compiled.keys[b.key].colocate
}

// meet reports whether two rules can be enforced for one request, as far as their match
// tells: true where it does not.
func (l *linter) meet(a, b *rule) bool {
	if a.off || b.off || a.percent == 0 || b.percent == 0 {
		return false
	}
	if a.until != 0 && b.from >= a.until || b.until != 0 && a.from >= b.until {
		return false
	}
	if l.replacesRule(a, b) || l.replacesRule(b, a) {
		return false
	}
	for i := range a.where {
		for j := range b.where {
			if a.where[i].attribute == b.where[j].attribute && apart(&a.where[i], &b.where[j]) {
				return false
			}
		}
	}
	if len(a.patterns) == 0 || len(b.patterns) == 0 {
		return true
	}
	for i := range a.patterns {
		for j := range b.patterns {
			if overlap(&a.patterns[i], &b.patterns[j]) {
				return true
			}
		}
	}
	return false
}

// replacesRule reports whether one enforced rule replaces another for all keys.
func (l *linter) replacesRule(r, other *rule) bool {
	for _, i := range r.replaces {
		if &l.Compiled.rules[i] == other && r.percent == 100 {
			return true
		}
	}
	return false
}

// apart reports whether no value meets two conditions on one attribute.
func apart(a, b *condition) bool {
	if excludes(a, b) || excludes(b, a) {
		return true
	}
	if !a.positive() || !b.positive() {
		return false
	}
	if a.absent && b.absent || a.present && !onlyAbsent(b) || b.present && !onlyAbsent(a) {
		return false
	}
	if a.prefixes != nil && b.prefixes != nil {
		return false // networks may lie in each other
	}
	for _, v := range a.values {
		for _, w := range b.values {
			if v == w {
				return false
			}
		}
	}
	return true
}

// excludes reports whether all values of a condition are excluded by another.
func excludes(a, b *condition) bool {
	if !a.indexable() || a.prefixes != nil {
		return false
	}
	for _, v := range a.values {
		if _, found := slices.BinarySearch(b.notValues, v); !found {
			return false
		}
	}
	return true
}

func onlyAbsent(c *condition) bool {
	return c.absent && !c.present && len(c.values) == 0 && c.prefixes == nil
}
