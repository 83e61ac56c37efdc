package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// Shrink returns the smallest scenario that it finds by leaving things out of s and that
// still violates. It leaves out faults, then traffic, expectations, limits and items of
// other lists; then it makes the scenario shorter; then it leaves out fields, and makes
// numbers smaller and rounds them. It begins anew until nothing can be left out. s must be valid and violate itself; it is not changed.
//
// It calls violates some hundred times. A scenario that violates a rule only by the
// chance of its draws may lose that with any of them: the result violates too, and is
// not always the smallest.
func Shrink(s *Scenario, violates func(*Scenario) bool) *Scenario {
	h := &shrinker{violates: violates}
	h.keep(s)
	for range 20 {
		before := h.text
		for _, list := range []string{"faults", "traffic", "expect", "limits", ""} {
			h.each(func(n node) bool { return (n.name == list || list == "") && h.without(n) })
		}
		h.shorten()
		h.each(h.drop)
		h.each(h.reduce)
		if h.text == before {
			break
		}
	}
	return h.best
}

// shrinker works on the tree of the text of a scenario: of yaml.MapSlice, []any and
// scalars. Trees are never changed, but copied.
type shrinker struct {
	violates func(*Scenario) bool
	best     *Scenario
	text     string // of best
	tree     any    // of text
}

// keep makes s the best.
func (h *shrinker) keep(s *Scenario) {
	text, err := s.YAML()
	if err == nil {
		h.best, h.text = s, string(text)
		err = yaml.UnmarshalWithOptions(text, &h.tree, yaml.UseOrderedMap())
	}
	if err != nil {
		panic("scenario: its own text cannot be read: " + err.Error())
	}
}

// try keeps a tree if it is a valid scenario, another one than the best, and still
// violates. Faults after the end go, and expectations of limits that are gone.
func (h *shrinker) try(tree any) bool {
	text, err := yaml.Marshal(tree)
	if err != nil {
		return false
	}
	s := new(Scenario)
	if _, err := decode(text, s); err != nil {
		return false
	}
	s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return f.At >= s.Duration })
	s.Expect = slices.DeleteFunc(s.Expect, func(e Expect) bool {
		return e.Limit != "" && !slices.ContainsFunc(s.Limits, func(l Limit) bool { return l.Name == e.Limit })
	})
	if text, err = s.YAML(); err != nil || string(text) == h.text || s.Validate() != nil || !h.violates(s) {
		return false
	}
	h.keep(s)
	return true
}

// node is a node of the tree: its place, as indices from the root, and its name, such as
// traffic.0.keys.
type node struct {
	place []int
	name  string
	value any
}

// each calls do with every node, the outer ones first, again and again until it returns
// false.
func (h *shrinker) each(do func(node) bool) {
	for i := 0; ; {
		all := nodesOf(node{value: h.tree}, nil)
		if i >= len(all) {
			return
		}
		if !do(all[i]) {
			i++
		}
	}
}

// nodesOf appends a node and the nodes below it.
func nodesOf(n node, all []node) []node {
	all = append(all, n)
	below := func(i int, name string, value any) {
		all = nodesOf(node{append(slices.Clone(n.place), i), strings.TrimPrefix(n.name+"."+name, "."), value}, all)
	}
	switch v := n.value.(type) {
	case yaml.MapSlice:
		for i, item := range v {
			below(i, item.Key.(string), item.Value)
		}
	case []any:
		for i, item := range v {
			below(i, fmt.Sprint(i), item)
		}
	}
	return all
}

// gone is the value of a node that is left out.
type gone struct{}

// replaced returns the tree with another value at a place.
func replaced(tree any, place []int, value any) any {
	if len(place) == 0 {
		return value
	}
	i := place[0]
	switch v := tree.(type) {
	case yaml.MapSlice:
		v = slices.Clone(v)
		if v[i].Value = replaced(v[i].Value, place[1:], value); v[i].Value == any(gone{}) {
			v = slices.Delete(v, i, i+1)
		}
		return v
	case []any:
		v = slices.Clone(v)
		v[i] = replaced(v[i], place[1:], value)
		return v
	}
	panic("scenario: no node there")
}

// without leaves out parts of a list: halves first, then smaller pieces, then single
// items (ddmin of Zeller & Hildebrandt 2002).
func (h *shrinker) without(n node) bool {
	list, is := n.value.([]any)
	for size := len(list); is && size > 0; size /= 2 {
		for from := 0; from < len(list); from += size {
			left := slices.Delete(slices.Clone(list), from, min(from+size, len(list)))
			if h.try(replaced(h.tree, n.place, left)) {
				return true
			}
		}
	}
	return false
}

// kept are the fields that are not left out: the first have steps of their own, and
// without the others of a traffic there could be far more requests, and a run could take
// too long.
var kept = regexp.MustCompile(`^(|name|seed|duration|limits|traffic|faults|expect)$|\.\d+$|^traffic.*\.(attempts|count|stop|think.*)$`)

// drop leaves out a field.
func (h *shrinker) drop(n node) bool {
	return !kept.MatchString(n.name) && h.try(replaced(h.tree, n.place, gone{}))
}

// shorten makes the scenario shorter: by halves, then by eighths.
func (h *shrinker) shorten() {
	for _, part := range []time.Duration{2, 8} {
		for h.best.Duration > time.Millisecond {
			shorter := rounded(int64(h.best.Duration-h.best.Duration/part)/1000, 2) * 1000
			i := slices.IndexFunc(h.tree.(yaml.MapSlice), func(item yaml.MapItem) bool { return item.Key == "duration" })
			if !h.try(replaced(h.tree, []int{i}, time.Duration(shorter).String())) {
				break
			}
		}
	}
}

// reduce makes a number smaller, by halves, and rounds a number that it keeps.
func (h *shrinker) reduce(n node) bool {
	if n.name == "seed" || n.name == "duration" || strings.HasPrefix(n.name, "expect") {
		return false
	}
	number, write := numberIn(n.value)
	if write == nil {
		return false
	}
	candidates := []int64{rounded(number/2, 1), rounded(number, 1), rounded(number, 2)}
	if _, isTime := n.value.(string); isTime && strings.HasPrefix(n.name, "traffic") && !strings.Contains(n.value.(string), "/") {
		candidates = candidates[2:] // with shorter times there could be far more requests
	}
	for _, smaller := range candidates {
		if smaller != number && smaller != 0 && h.try(replaced(h.tree, n.place, write(smaller))) {
			return true
		}
	}
	return false
}

// numberIn returns the number in a scalar, in whole units of what can be written, and
// what writes another: nil where it holds none.
func numberIn(value any) (n int64, write func(int64) any) {
	switch v := value.(type) {
	case uint64:
		return int64(v), func(n int64) any { return n }
	case int64:
		return v, func(n int64) any { return n }
	case string:
		var decimal Decimal
		if decimal.UnmarshalText([]byte(v)) == nil {
			return int64(decimal), func(n int64) any { return Decimal(n).String() }
		}
		if d, err := time.ParseDuration(v); err == nil {
			return int64(d / time.Microsecond), func(n int64) any { return (time.Duration(n) * time.Microsecond).String() }
		}
		if r, err := parseRate(v); err == nil {
			return r.Units, func(n int64) any { return Rate{Units: n, Per: r.Per}.String() }
		}
	}
	return 0, nil
}

// rounded cuts a number down to its first digits.
func rounded(n int64, digits int) int64 {
	most, scale := int64(1), int64(1)
	for range digits {
		most *= 10
	}
	for n/scale >= most || n/scale <= -most {
		scale *= 10
	}
	return n / scale * scale
}
