// Package rules reads the policy of a scenario, and says what some of it means: from the
// policy as data, and apart from the resolution of package policy, which is compared with
// it.
package rules

import (
	"maps"
	"slices"

	"github.com/weirgo/weir/policy"
)

// secretKey is the key of secret attributes in every simulation: nothing of it is secret.
var secretKey = []byte("secrets of a simulation")

// Parse reads the text of a policy.
func Parse(text []byte) (*policy.File, error) {
	return policy.Parse(text, &policy.CompileOptions{SecretKey: secretKey})
}

// Limit is a limit of a rule.
type Limit struct {
	Name string // of its states
	Rule *policy.Rule
}

// Limits returns the limits of all rules, in the order of answers.
func Limits(p *policy.Policy) (all []Limit) {
	for i := range p.Rules {
		r := &p.Rules[i]
		if r.Limit != (policy.LimitRef{}) {
			all = append(all, Limit{r.ID, r})
		}
		for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
			all = append(all, Limit{r.ID + "/" + name, r})
		}
		for _, pattern := range slices.Sorted(maps.Keys(r.Endpoints)) {
			all = append(all, Limit{r.ID + " " + pattern, r})
		}
	}
	return all
}

// Specs returns the texts of the limits that a policy may ask for, each once: those of
// rules, tiers, schedules, subjects and overrides.
func Specs(p *policy.Policy) (all []string) {
	add := func(s policy.Spec) {
		if s != "" && s != policy.Block && s != policy.Unlimited && !slices.Contains(all, string(s)) {
			all = append(all, string(s))
		}
	}
	named := func(specs map[string]policy.Spec) {
		for _, name := range slices.Sorted(maps.Keys(specs)) {
			add(specs[name])
		}
	}
	scheduled := func(schedule []policy.Scheduled) {
		for _, entry := range schedule {
			add(entry.Limit)
			named(entry.Limits)
		}
	}
	refs := func(refs map[string]policy.LimitRef) {
		for _, name := range slices.Sorted(maps.Keys(refs)) {
			add(refs[name].Spec)
		}
	}
	for _, r := range p.Rules {
		add(r.Limit.Spec)
		refs(r.Limits)
		refs(r.Endpoints)
		scheduled(r.Schedule)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Tiers)) {
		named(p.Tiers[name].Limits)
		scheduled(p.Tiers[name].Schedule)
	}
	for _, s := range p.Subjects {
		named(s.Limits)
	}
	for _, o := range p.Overrides {
		add(o.Limit)
	}
	return all
}
