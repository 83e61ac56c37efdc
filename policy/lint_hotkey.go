package policy

import "iter"

// specsOf yields the limits of a rule, of the rule itself and of the tiers, at all times, each
// once.
func specsOf(r *rule) iter.Seq[*spec] {
	return func(yield func(*spec) bool) {
		seen := map[*spec]bool{}
		for _, l := range r.limits {
			for _, layer := range append([]limit{l.own}, l.byTier...) {
				for s := range layer.specs {
					if s.action != ActionAsk || seen[s] {
						continue
					}
					seen[s] = true
					if !yield(s) {
						return
					}
				}
			}
		}
	}
}

// shards looks at a rule with shards.
func (l *linter) shards(i int) {
	at, r := Path{"rules", i, "shards"}, &l.Compiled.rules[i]
	if r.off || r.shards == 0 {
		return
	}
	if colocate := l.Compiled.keys[r.key].colocate; colocate >= 0 {
		l.add(lintShards, at, "colocate: %s keeps all shards of a key on one server of a cluster, and they deny requests earlier for nothing",
			l.Compiled.attributes.all[colocate].name)
	}
	for s := range specsOf(r) {
		if n := len(s.divided(r.shards).parts); n < r.shards {
			l.add(lintShards, at, "%s has room for %d shards, and not for %d: a shard has at least one unit of limit and burst", s.text, n, r.shards)
		}
	}
}

// leastLeased is the smallest capacity of which a lease is taken by default: a twentieth
// of it is two units.
const leastLeased = 40

// lease looks at a rule with leases.
func (l *linter) lease(i int) {
	at, r := Path{"rules", i, "lease"}, &l.Compiled.rules[i]
	if r.off || !r.leased {
		return
	}
	if r.onFailure == FailClosed {
		l.add(lintLease, at, "on_failure: closed denies when the store is gone, and units that a process holds are handed out for as long as a lease lasts")
	}
	for s := range specsOf(r) {
		switch {
		case s.family == "sliding-log" || s.family == "leaky-bucket":
			l.add(lintLease, at, "%s is never leased: gcra, token-bucket, fixed-window, calendar-window and sliding-counter are", s.text)
		case s.capacity < leastLeased:
			l.add(lintLease, at, "%s is never leased: its %d units are fewer than the %d of which a lease is taken", s.text, s.capacity, leastLeased)
		}
	}
	if len(r.limits) > 1 && !r.byEndpoint {
		l.add(lintLease, at, "the rule has %d limits, which are asked together: a lease answers for one limit alone", len(r.limits))
		return
	}
	for j := range l.Compiled.rules {
		if other := &l.Compiled.rules[j]; j != i && other.always() && l.meet(r, other) {
			l.add(lintLease, at, "%s applies to every request, and is asked together with this rule: a lease answers for one limit alone", other.id)
			return
		}
	}
}
