package ui

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/policy"
)

// policyView is the page about the policy.
type policyView struct {
	Version  string
	Revision int64
	Since    time.Time
	Err      string
	Facts    []sourceFact
	Before   string // the version before; "" where there was none
	Changes  []change
	Rules    rulesView
}

// change is what differs between two policies.
type change struct {
	What, How     string // how is added, removed or changed
	Before, After string // as JSON; "" for what must not be shown
}

func (h *Handler) policy(w http.ResponseWriter, r *http.Request) {
	if h.options.Policy == nil {
		h.fail(w, r, http.StatusNotFound, "This page knows no policy.")
		return
	}
	p := h.options.Policy()
	v := policyView{Revision: p.Revision, Since: p.Since, Rules: h.rules(shownRules)}
	if p.Err != nil {
		v.Err = p.Err.Error()
	}
	if p.File != nil {
		of := &p.File.Policy
		v.Version = p.File.Compiled.Version()
		v.Facts = []sourceFact{
			{"rules", int64(len(of.Rules))}, {"tiers", int64(len(of.Tiers))}, {"subjects", int64(len(of.Subjects))}, {"overrides", int64(len(of.Overrides))},
			{"denied by a list", int64(len(of.Lists.Deny))}, {"exempt by a list", int64(len(of.Lists.Allow))},
		}
		if p.Before != nil {
			v.Before = p.Before.Compiled.Version()
			v.Changes = changes(&p.Before.Policy, of)
		}
	}
	h.show(w, r, http.StatusOK, "policy", "Policy", v)
}

// changes are what differs between two policies: attributes, tiers and rules as they are, and
// of subjects, overrides and lists, which name people, that they differ.
func changes(before, after *policy.Policy) []change {
	all := compare("attribute", before.Attributes, after.Attributes)
	if before.DefaultTier != after.DefaultTier {
		all = append(all, change{"default tier", "changed", before.DefaultTier, after.DefaultTier})
	}
	all = append(all, compare("tier", before.Tiers, after.Tiers)...)
	byID := func(rules []policy.Rule) (ids []string, by map[string]policy.Rule) {
		by = map[string]policy.Rule{}
		for _, r := range rules {
			ids = append(ids, r.ID)
			by[r.ID] = r
		}
		return ids, by
	}
	idsBefore, rulesBefore := byID(before.Rules)
	idsAfter, rulesAfter := byID(after.Rules)
	all = append(all, compare("rule", rulesBefore, rulesAfter)...)
	in := func(by map[string]policy.Rule) func(string) bool {
		return func(id string) bool { _, has := by[id]; return !has }
	}
	if !slices.Equal(slices.DeleteFunc(idsBefore, in(rulesAfter)), slices.DeleteFunc(idsAfter, in(rulesBefore))) {
		all = append(all, change{What: "order of the rules", How: "changed"})
	}
	for _, part := range []struct {
		name          string
		before, after any
	}{
		{"subjects", before.Subjects, after.Subjects}, {"overrides", before.Overrides, after.Overrides},
		{"list deny", before.Lists.Deny, after.Lists.Deny}, {"list allow", before.Lists.Allow, after.Lists.Allow},
	} {
		if x, y := reflect.ValueOf(part.before), reflect.ValueOf(part.after); (x.Len() > 0 || y.Len() > 0) && !reflect.DeepEqual(part.before, part.after) {
			entries := func(n int) string { return fmt.Sprintf("%d entries, which are not shown", n) }
			all = append(all, change{part.name, "changed", entries(x.Len()), entries(y.Len())})
		}
	}
	return all
}

// compare compares what has names.
func compare[T any](what string, before, after map[string]T) (all []change) {
	names := map[string]bool{}
	for name := range before {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := before[name]
		is, has := after[name]
		c := change{What: what + " " + name, How: "changed"}
		if had {
			c.Before = asJSON(was)
		} else {
			c.How = "added"
		}
		if has {
			c.After = asJSON(is)
		} else {
			c.How = "removed"
		}
		if c.Before != c.After {
			all = append(all, c)
		}
	}
	return all
}

func asJSON(value any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // the template does
	if err := e.Encode(value); err != nil {
		return "(cannot be shown)"
	}
	return strings.TrimSpace(b.String())
}
