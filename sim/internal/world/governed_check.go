package world

import (
	"slices"

	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/sim/internal/check"
)

// check compares a verdict with what the policy means. at is the instant of the node at
// which it was asked for.
func (g *governed) check(a *attempt, r policy.Request, at int64, v *policy.Verdict, err error) {
	g.checkList(a, r, at, v, err)
	if v.List != policy.None {
		return
	}
	g.checkShadow(v, err)
	g.checkSubjects(r, at, v)
}

// checkList is the rule list.
func (g *governed) checkList(a *attempt, r policy.Request, at int64, v *policy.Verdict, err error) {
	w := g.world
	want := g.reference.Listed(r.Attributes, at)
	switch {
	case v.List != want:
		w.Fail(check.List, "the lists say %s, and the answer is %s", listNames[want], listNames[v.List])
	case want != policy.None && (err != nil || v.Allowed != (want == policy.Exempt)):
		w.Fail(check.List, "the lists say %s, and allowed is %t with the error %v", listNames[want], v.Allowed, err)
	case want != policy.None && a.asked > 0:
		w.Fail(check.List, "the lists say %s, and %d limits were asked", listNames[want], a.asked)
	}
}

var listNames = map[policy.ListAction]string{policy.None: "nothing", policy.Denied: "denied", policy.Exempt: "exempt"}

// checkShadow is the rule shadow: the answer follows from the enforced limits.
func (g *governed) checkShadow(v *policy.Verdict, err error) {
	allowed := err == nil
	for i := range v.Rules {
		r := &v.Rules[i]
		if mode := g.rules[g.named[r.Limit.Name]].Mode; r.Enforced && mode == policy.Shadow || !r.Enforced && (mode == "" || mode == policy.Enforce) {
			g.world.Fail(check.Shadow, "limit %s has the mode %q, and whether it was enforced is %t", r.Limit.Name, mode, r.Enforced)
		}
		allowed = allowed && (!r.Enforced || r.Allowed)
	}
	if v.Allowed != allowed {
		g.world.Fail(check.Shadow, "allowed is %t, and the enforced limits say %t", v.Allowed, allowed)
	}
}

// checkSubjects is the rule subject.
func (g *governed) checkSubjects(r policy.Request, at int64, v *policy.Verdict) {
	w := g.world
	for _, must := range g.reference.Must(r.Attributes, at) {
		if !slices.ContainsFunc(v.Rules, func(got policy.RuleVerdict) bool { return got.Rule == must.ID }) {
			w.Fail(check.Subject, "rule %s matches, and does not limit the request", must.ID)
		}
	}
	for i := range v.Rules {
		got := &v.Rules[i]
		rule := g.rules[g.named[got.Limit.Name]]
		subject, whole := g.reference.Subject(rule, r.Attributes)
		if !whole {
			continue // the rule skips it, denies it or has one key for all of its kind
		}
		of, by := ofLimit{got.Limit.Name, subject}, ofLimit{got.Limit.Name, got.Key}
		if key, known := g.keys[of]; known && key != got.Key {
			w.Fail(check.Subject, "limit %s has two keys for one subject", got.Limit.Name)
		}
		if owner, known := g.owners[by]; known && owner != subject && g.reference.Distinct(rule) {
			w.Fail(check.Subject, "limit %s has one key for two subjects", got.Limit.Name)
		}
		g.keys[of], g.owners[by] = got.Key, subject
	}
}
