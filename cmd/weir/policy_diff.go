package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/policy"
)

// diff shows what changes from one policy to another.
func (c *policyCommand) diff(ctx context.Context, s *streams) error {
	var files [2]*policy.File
	for i, name := range c.Files {
		file, err := loadPolicy(ctx, s, name, nil)
		if err != nil {
			return err
		}
		files[i] = file
	}
	secrets := secretNames{}
	var fields [2]map[string]string
	var orders [2]map[string][]string
	for i, file := range files {
		secrets.hide(&file.Policy, func(attribute string) bool {
			return files[0].Policy.Attributes[attribute].Secret || files[1].Policy.Attributes[attribute].Secret
		})
		var err error
		if fields[i], orders[i], err = flatten(&file.Policy); err != nil {
			return err
		}
	}
	changes := compareFields(fields[0], fields[1])
	for _, name := range []string{"subjects", "overrides"} {
		if moved(orders[0][name], orders[1][name]) {
			changes = append(changes, "~ "+name+": the order; the first that matches counts")
		}
	}
	for _, line := range changes {
		if _, err := fmt.Fprintln(s.out, line); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		return answerError{fmt.Errorf("the policies differ: %s", report.Count(int64(len(changes)), "change"))}
	}
	return nil
}

// secretNames are what stands for values of secret attributes: one name for each value,
// in both policies. A hash could be guessed.
type secretNames map[string]string

func (n secretNames) of(value string) string {
	if n[value] == "" {
		n[value] = fmt.Sprintf("secret-%d", len(n)+1)
	}
	return n[value]
}

// hide puts names in the place of the values of attributes that are secret: what changes is
// seen, and the value is not.
func (n secretNames) hide(p *policy.Policy, secret func(attribute string) bool) {
	hide := func(where policy.Conditions) {
		for _, name := range slices.Sorted(maps.Keys(where)) {
			if !secret(name) {
				continue
			}
			values := where[name]
			for i, text := range values {
				if excluded, not := strings.CutPrefix(text, "!"); not {
					values[i] = "!" + n.of(excluded)
				} else if text != "" && text != "*" {
					values[i] = n.of(text)
				}
			}
		}
	}
	for _, r := range p.Rules {
		hide(r.Match.Attributes)
	}
	for _, where := range exceptions(p) {
		hide(where)
	}
}

// exceptions are what the subjects, the overrides and the lists of a policy match.
func exceptions(p *policy.Policy) (all []policy.Conditions) {
	for _, x := range p.Subjects {
		all = append(all, x.Match)
	}
	for _, x := range p.Overrides {
		all = append(all, x.Match)
	}
	for _, x := range slices.Concat(p.Lists.Deny, p.Lists.Allow) {
		all = append(all, x.Match)
	}
	return all
}

// moved reports whether what both lists have stands in another order.
func moved(before, after []string) bool {
	common := func(list, other []string) []string {
		has := map[string]bool{}
		for _, s := range other {
			has[s] = true
		}
		return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !has[s] })
	}
	return !slices.Equal(common(before, after), common(after, before))
}

// flatten returns the values of a policy by their paths. Rules are named by their IDs,
// and subjects, overrides and entries by what they match, so that a rule that only moves
// does not change. orders are the paths of the subjects and of the overrides.
func flatten(p *policy.Policy) (all map[string]string, orders map[string][]string, err error) {
	named := map[string]any{"version": p.Version, "attributes": p.Attributes, "default_tier": p.DefaultTier, "tiers": p.Tiers}
	rules := map[string]any{}
	for _, r := range p.Rules {
		rules[r.ID] = r
	}
	path := func(name string, match policy.Conditions, more ...string) string {
		where, _ := json.Marshal(match) // of texts: cannot fail
		return name + "[" + strings.Join(append([]string{string(where)}, more...), " ") + "]"
	}
	// Several with one match are told apart by their place among themselves.
	add := func(key string, value any) (unique string) {
		for unique = key; ; unique += "'" {
			if _, has := named[unique]; !has {
				named[unique] = value
				return unique
			}
		}
	}
	orders = map[string][]string{}
	named["rules"] = rules
	for _, x := range p.Subjects {
		orders["subjects"] = append(orders["subjects"], add(path("subjects", x.Match), map[string]any{"tier": x.Tier, "limits": x.Limits}))
	}
	for _, x := range p.Overrides {
		key := path("overrides", x.Match, x.Rule, x.Name)
		orders["overrides"] = append(orders["overrides"], add(key, map[string]any{"limit": x.Limit, "until": x.Until, "reason": x.Reason}))
	}
	for _, x := range p.Lists.Deny {
		add(path("lists.deny", x.Match), map[string]any{"until": x.Until, "reason": x.Reason, "listed": true})
	}
	for _, x := range p.Lists.Allow {
		add(path("lists.allow", x.Match), map[string]any{"until": x.Until, "reason": x.Reason, "listed": true})
	}
	text, err := json.Marshal(named)
	if err != nil {
		return nil, nil, err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, nil, err
	}
	all = map[string]string{}
	flattenInto(all, "", tree)
	return all, orders, nil
}

func flattenInto(all map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			below := path + "." + name
			if path == "" {
				below = name
			}
			flattenInto(all, below, value)
		}
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, fmt.Sprint(item))
		}
		all[path] = "[" + strings.Join(items, ", ") + "]"
	case nil:
	case float64:
		all[path] = fmt.Sprintf("%.0f", v)
	default:
		if text := fmt.Sprint(v); text != "" && text != "0001-01-01T00:00:00Z" {
			all[path] = text
		}
	}
}

// compareFields returns a line for each field that differs, in the order of the paths.
func compareFields(before, after map[string]string) (lines []string) {
	paths := slices.Sorted(maps.Keys(before))
	for path := range after {
		if _, has := before[path]; !has {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		old, had := before[path]
		next, has := after[path]
		switch {
		case had && has && old == next:
		case !had:
			lines = append(lines, fmt.Sprintf("+ %s: %s%s", report.Quoted(path), report.Quoted(next), whatOfShards(path, "", next)))
		case !has:
			lines = append(lines, fmt.Sprintf("- %s: %s%s", report.Quoted(path), report.Quoted(old), whatOfShards(path, old, "")))
		default:
			lines = append(lines, fmt.Sprintf("~ %s: %s → %s%s", report.Quoted(path), report.Quoted(old), report.Quoted(next), whatOfStates(old, next)+whatOfShards(path, old, next)))
		}
	}
	return lines
}

// whatOfShards says what a change of the shards of a rule means for its states; "" where the
// path is of another field.
func whatOfShards(path, old, next string) string {
	before, errBefore := strconv.Atoi(old)
	after, errAfter := strconv.Atoi(next)
	switch {
	case !strings.HasPrefix(path, "rules.") || !strings.HasSuffix(path, ".shards"):
		return ""
	case errBefore == nil && errAfter == nil && after > before:
		return " (the states of the first " + old + " shards run on, the others start fresh)"
	case errBefore == nil && errAfter == nil:
		return " (the states of the first " + next + " shards run on)"
	case errBefore == nil || errAfter == nil:
		return " (starts fresh)"
	}
	return "" // a limit of the name shards
}

// whatOfStates says what a change of a limit means for its states; "" where the values
// are no limits.
func whatOfStates(old, next string) string {
	a, errA := algorithm.ParseSpec(old)
	b, errB := algorithm.ParseSpec(next)
	if errA != nil || errB != nil {
		return ""
	}
	if a.Spec().Kind != b.Spec().Kind || a.Spec().Identity != b.Spec().Identity {
		return " (starts fresh)"
	}
	return " (states run on)"
}
