package policy

import (
	"net/netip"
	"slices"
)

// condition is what one attribute has to be.
type condition struct {
	attribute int
	absent    bool     // "" is among the alternatives
	present   bool     // "*" is
	values    []string // sorted
	prefixes  *prefixTable
	networks  []netip.Prefix // those of prefixes

	notValues   []string // sorted
	notPrefixes *prefixTable
}

// holds reports whether a value meets the condition.
func (c *condition) holds(v value) bool {
	if !v.set {
		return c.absent || !c.positive()
	}
	if contains(c.notValues, c.notPrefixes, v) {
		return false
	}
	return c.present || !c.positive() || contains(c.values, c.prefixes, v)
}

// positive reports whether the condition names alternatives, and not only exclusions.
func (c *condition) positive() bool {
	return c.absent || c.present || len(c.values) > 0 || c.prefixes != nil
}

// indexable reports whether every request that meets the condition has one of its values.
func (c *condition) indexable() bool { return c.positive() && !c.absent && !c.present }

func contains(values []string, prefixes *prefixTable, v value) bool {
	if prefixes != nil && prefixes.contains(v.addr) {
		return true
	}
	if len(values) == 0 {
		return false
	}
	_, found := slices.BinarySearch(values, v.text)
	return found
}

// conditions are those of a rule, a subject, an override or an entry; all have to hold.
type conditions []condition

func (all conditions) hold(values []value) bool {
	for i := range all {
		if !all[i].holds(values[all[i].attribute]) {
			return false
		}
	}
	return true
}
