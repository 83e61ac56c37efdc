package policy

import "slices"

// index finds the numbers of those conditions that a request may meet, by the values of
// the request. The numbers are positions in the list that the conditions belong to.
type index struct {
	always   []int32
	values   map[indexed][]int32
	prefixes []attributePrefixes
}

type indexed struct {
	attribute int
	value     string
}

type attributePrefixes struct {
	attribute int
	table     *prefixTable
}

// add puts number i under one condition, or among those that are always looked at where
// by is nil.
func (x *index) add(i int, by *condition) {
	if by == nil {
		x.always = append(x.always, int32(i))
		return
	}
	for _, v := range by.values {
		if x.values == nil {
			x.values = map[indexed][]int32{}
		}
		at := indexed{by.attribute, v}
		x.values[at] = append(x.values[at], int32(i))
	}
	for _, p := range by.networks {
		x.tableOf(by.attribute).add(p, int32(i))
	}
}

func (x *index) tableOf(attribute int) *prefixTable {
	for _, p := range x.prefixes {
		if p.attribute == attribute {
			return p.table
		}
	}
	t := &prefixTable{}
	x.prefixes = append(x.prefixes, attributePrefixes{attribute, t})
	return t
}

// appendCandidates appends the numbers that a request with values may meet, some perhaps
// twice, in no order. given are the attributes that it has.
func (x *index) appendCandidates(to []int32, values []value, given []int) []int32 {
	to = append(to, x.always...)
	if len(x.values) > 0 {
		for _, a := range given {
			if text := values[a].text; text != "" {
				to = append(to, x.values[indexed{a, text}]...)
			}
		}
	}
	for _, p := range x.prefixes {
		to = p.table.appendAll(to, values[p.attribute].addr)
	}
	return to
}

// sorted brings candidates into the order of the policy, each once.
func sorted(candidates []int32) []int32 {
	slices.Sort(candidates)
	return slices.Compact(candidates)
}

// frequency counts how often values and patterns stand in conditions and rules, so that an
// index is made by the rarest.
type frequency struct {
	values   map[indexed]int
	networks map[indexed]int // by the text of a prefix
	patterns map[string]int
}

func newFrequency() *frequency {
	return &frequency{values: map[indexed]int{}, networks: map[indexed]int{}, patterns: map[string]int{}}
}

func (f *frequency) count(all conditions) {
	for i := range all {
		for _, v := range all[i].values {
			f.values[indexed{all[i].attribute, v}]++
		}
		for _, p := range all[i].networks {
			f.networks[indexed{all[i].attribute, p.String()}]++
		}
	}
}

// rarest returns the condition to index by, and how many others may share its place; nil
// where there is none.
func (f *frequency) rarest(all conditions) (by *condition, others int) {
	for i := range all {
		c := &all[i]
		if !c.indexable() {
			continue
		}
		most := 0
		for _, v := range c.values {
			most = max(most, f.values[indexed{c.attribute, v}])
		}
		for _, p := range c.networks {
			most = max(most, f.networks[indexed{c.attribute, p.String()}])
		}
		if by == nil || most < others {
			by, others = c, most
		}
	}
	return by, others
}

// indexOf indexes a list of conditions.
func indexOf(list []conditions) index {
	f := newFrequency()
	for _, all := range list {
		f.count(all)
	}
	var x index
	for i, all := range list {
		by, _ := f.rarest(all)
		x.add(i, by)
	}
	return x
}
