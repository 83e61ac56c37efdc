package policy

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// limit is a limit of a rule or a tier, with other numbers at some times of the week.
type limit struct {
	base     *spec // nil: there is none
	schedule []scheduled
	extends  *limit // of a tier: the limit whose schedule counts after this one; nil: none
}

// scheduled is what an entry of a schedule says of one limit.
type scheduled struct {
	number int // of the entry
	when   *week
	text   string // Scheduled.When, and the Zone where there is one
	spec   *spec
}

// at returns the limit at an instant, and how the entry is named where it is of a schedule.
func (l *limit) at(at algorithm.Instant) (s *spec, when string) {
	for from := l; from != nil; from = from.extends {
		for i := range from.schedule {
			if entry := &from.schedule[i]; entry.when.includes(at) {
				return entry.spec, entry.text
			}
		}
	}
	return l.base, ""
}

// specs yields what the limit is at any time, but for the schedules that it extends: these are
// schedules of other tiers, too.
func (l *limit) specs(yield func(*spec) bool) {
	if l.base != nil && !yield(l.base) {
		return
	}
	for _, entry := range l.schedule {
		if entry.spec != nil && !yield(entry.spec) {
			return
		}
	}
}

// ruleSchedule reads the schedule of a rule, after its limits.
func (c *compiler) ruleSchedule(at Path, r *Rule, into *rule) {
	var names []string
	for i := range into.limits {
		if name := into.limits[i].name; name != "" {
			names = append(names, name)
		}
	}
	byName := c.schedule(at, r.Schedule, names, r.Limit != LimitRef{}, "limit of the rule")
	for i := range into.limits {
		l := &into.limits[i]
		if l.own.schedule = byName[l.name]; len(l.own.schedule) == 0 {
			continue
		}
		if l.own.base == nil && l.tier != "" {
			c.refuse(at, "", "in the tiers, whose limit it is", "the rule has no limit of its own")
			continue
		}
		for _, entry := range l.own.schedule {
			c.divide(at.with(entry.number), entry.spec, into.shards)
		}
		c.sameStates(at, &l.own)
		c.sameShards(at, &l.own, into.shards)
	}
}

// tierSchedules reads the schedules of all tiers, after their limits.
func (c *compiler) tierSchedules() {
	for _, i := range c.tierOrder {
		t := &c.to.tiers[i]
		if len(c.policy.Tiers[t.name].Schedule) > 0 {
			t.schedule = c.schedule(Path{"tiers", t.name, "schedule"}, c.policy.Tiers[t.name].Schedule, c.limitNames(i), false, "limit of the tier")
		}
	}
	names := map[string]bool{}
	for i := range c.to.tiers {
		for name := range c.to.tiers[i].schedule {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		byTier, _ := c.limitOfTiers(name)
		for _, i := range c.tierOrder {
			if t := &c.to.tiers[i]; len(t.schedule[name]) > 0 {
				c.sameStates(Path{"tiers", t.name, "schedule"}, &byTier[i])
			}
		}
	}
}

// limitNames returns the names of the limits that a tier has, also through those that it
// extends.
func (c *compiler) limitNames(tier int) []string {
	names := map[string]bool{}
	for ; tier >= 0; tier = c.to.tiers[tier].parent {
		for name := range c.to.tiers[tier].limits {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// maxScheduled bounds the entries of a schedule, all of which a decision may look at.
const maxScheduled = 100

// schedule reads a schedule of limits that have names, or of the one limit, "", of a rule. what
// says what has the names.
func (c *compiler) schedule(at Path, entries []Scheduled, names []string, one bool, what string) map[string][]scheduled {
	byName := map[string][]scheduled{}
	if len(entries) > maxScheduled {
		c.refuse(at, strconv.Itoa(len(entries))+" entries", "at most "+strconv.Itoa(maxScheduled), "")
		return byName
	}
	for i := range entries {
		entry, here := &entries[i], at.with(i)
		when := c.week(here, entry)
		if (entry.Limit == "") == (len(entry.Limits) == 0) {
			c.refuse(here, "", "one of limit and limits", "")
		}
		if entry.Limit != "" {
			if !one {
				c.refuse(here.with("limit"), string(entry.Limit), "limits, by the name of each "+what, "")
			} else if s := c.spec(here.with("limit"), entry.Limit); s != nil && when != nil {
				byName[""] = append(byName[""], scheduled{i, when, entry.shown(), s})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(entry.Limits)) {
			below := here.with("limits", name)
			if !slices.Contains(names, name) {
				c.unknown(below, name, what, slices.Values(names))
			} else if s := c.spec(below, entry.Limits[name]); s != nil && when != nil {
				byName[name] = append(byName[name], scheduled{i, when, entry.shown(), s})
			}
		}
	}
	return byName
}

// week reads the times of an entry; nil where they are refused.
func (c *compiler) week(at Path, entry *Scheduled) *week {
	zone := c.zone(entry.Zone)
	if zone == nil {
		c.refuse(at.with("zone"), entry.Zone, "the name of a zone, such as Europe/Berlin, or left out for UTC", "unknown zone")
		return nil
	}
	when, err := parseWeek(entry.When, zone)
	if err != nil {
		c.refuse(at.with("when"), entry.When, whenAllowed, err.Error())
	}
	return when
}

// shown is how an entry is named.
func (s *Scheduled) shown() string {
	if s.Zone == "" {
		return s.When
	}
	return s.When + " " + s.Zone
}

// zone returns the zone of a name; nil where there is none. A zone is read from the disk once for
// each policy.
func (c *compiler) zone(name string) *time.Location {
	if zone, known := c.zones[name]; known {
		return zone
	}
	zone, err := algorithm.LoadZone(name)
	if err != nil {
		zone = nil
	}
	c.zones[name] = zone
	return zone
}

// first returns a spec that fits, with which the others are compared: the base, or else the first
// one of the schedules, those that it extends before its own; nil where there is none.
func (l *limit) first(fits func(*spec) bool) *spec {
	if l.base != nil && fits(l.base) {
		return l.base
	}
	if l.extends != nil {
		if s := l.extends.first(fits); s != nil {
			return s
		}
	}
	for s := range l.specs {
		if fits(s) {
			return s
		}
	}
	return nil
}

// sameStates refuses a schedule under which the states of a limit start fresh.
func (c *compiler) sameStates(at Path, l *limit) {
	asks := func(s *spec) bool { return s.action == ActionAsk } // others touch no state
	first := l.first(asks)
	for s := range l.specs {
		if !asks(s) {
			continue
		}
		if is, has := s.algorithm.Spec(), first.algorithm.Spec(); is.Kind != has.Kind || is.Identity != has.Identity {
			c.refuse(at, string(s.text), "the algorithm, and of a window the period, of "+string(first.text), "states start fresh")
		}
	}
}

// sameShards refuses a schedule that changes into how many shards a limit is divided.
func (c *compiler) sameShards(at Path, l *limit, shards int) {
	if shards == 0 || len(l.schedule) == 0 {
		return
	}
	divides := func(s *spec) bool { return s.action == ActionAsk && s.divided(shards).err == nil }
	first := l.first(divides)
	for s := range l.specs {
		if !divides(s) {
			continue
		}
		if len(s.divided(shards).parts) != len(first.divided(shards).parts) {
			c.refuse(at, string(s.text), "as many shards as "+string(first.text)+" has room for", "states start fresh")
		}
	}
}
