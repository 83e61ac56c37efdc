package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/policy"
)

// diff shows what changes from one policy to another.
func (c *policyCommand) diff(ctx context.Context, s *streams) error {
	var fields [2]map[string]string
	for i, name := range c.Files {
		file, err := loadPolicy(ctx, name, s.in, nil)
		if err != nil {
			return readingError(err)
		}
		if fields[i], err = flatten(&file.Policy); err != nil {
			return err
		}
	}
	changes := compareFields(fields[0], fields[1])
	for _, line := range changes {
		if _, err := fmt.Fprintln(s.out, line); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		return answerError{fmt.Errorf("the policies differ: %s", counted(len(changes), "change", "changes"))}
	}
	return nil
}

// flatten returns the values of a policy by their paths. Rules are named by their IDs,
// and subjects, overrides and entries by what they match, so that a rule that only moves
// does not change.
func flatten(p *policy.Policy) (map[string]string, error) {
	named := map[string]any{"version": p.Version, "attributes": p.Attributes, "default_tier": p.DefaultTier, "tiers": p.Tiers}
	rules := map[string]any{}
	for _, r := range p.Rules {
		rules[r.ID] = r
	}
	exceptions := func(name string, match policy.Conditions, more ...string) string {
		where, _ := json.Marshal(match) // of texts: cannot fail
		return name + "[" + strings.Join(append([]string{string(where)}, more...), " ") + "]"
	}
	// Several with one match are told apart by their place among themselves.
	add := func(key string, value any) {
		for unique := key; ; unique += "'" {
			if _, has := named[unique]; !has {
				named[unique] = value
				return
			}
		}
	}
	named["rules"] = rules
	for _, x := range p.Subjects {
		add(exceptions("subjects", x.Match), map[string]any{"tier": x.Tier, "limits": x.Limits})
	}
	for _, x := range p.Overrides {
		add(exceptions("overrides", x.Match, x.Rule, x.Name), map[string]any{"limit": x.Limit, "until": x.Until, "reason": x.Reason})
	}
	for _, x := range p.Lists.Deny {
		add(exceptions("lists.deny", x.Match), map[string]any{"until": x.Until, "reason": x.Reason, "listed": true})
	}
	for _, x := range p.Lists.Allow {
		add(exceptions("lists.allow", x.Match), map[string]any{"until": x.Until, "reason": x.Reason, "listed": true})
	}
	text, err := json.Marshal(named)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	all := map[string]string{}
	flattenInto(all, "", tree)
	return all, nil
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
			lines = append(lines, fmt.Sprintf("+ %s: %s", path, next))
		case !has:
			lines = append(lines, fmt.Sprintf("- %s: %s", path, old))
		default:
			lines = append(lines, fmt.Sprintf("~ %s: %s → %s%s", path, old, next, whatOfStates(old, next)))
		}
	}
	return lines
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
