package rules

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/policy"
)

// Reference says what a policy means for a request.
type Reference struct {
	policy   *policy.Policy
	replaced map[string]bool // rules that others may replace
}

// NewReference returns the Reference of a policy that was compiled without an error.
func NewReference(p *policy.Policy) *Reference {
	r := &Reference{policy: p, replaced: map[string]bool{}}
	for i := range p.Rules {
		for _, id := range p.Rules[i].Replaces {
			r.replaced[id] = true
		}
	}
	return r
}

// Listed returns what the lists say of a request at an instant.
func (r *Reference) Listed(of policy.Attributes, at int64) policy.ListAction {
	matches := func(e policy.Entry) bool { return before(at, e.Until) && r.hold(e.Match, of) }
	switch {
	case slices.ContainsFunc(r.policy.Lists.Deny, matches):
		return policy.Denied
	case slices.ContainsFunc(r.policy.Lists.Allow, matches):
		return policy.Exempt
	}
	return policy.None
}

// Must returns the rules that certainly apply to a request: those without endpoints that
// no other rule replaces.
func (r *Reference) Must(of policy.Attributes, at int64) (all []*policy.Rule) {
	for i := range r.policy.Rules {
		rule := &r.policy.Rules[i]
		switch {
		case rule.Mode == policy.Off, len(rule.Match.Endpoints) > 0, len(rule.Endpoints) > 0, r.replaced[rule.ID]:
		case !rule.Active.From.IsZero() && at < rule.Active.From.UnixMicro(), !before(at, rule.Active.Until):
		case !r.hold(rule.Match.Attributes, of):
		default: // subjects cost the most, and few rules come to here
			if _, whole := r.Subject(rule, of); whole || rule.OnMissing != "" && rule.OnMissing != policy.SkipMissing {
				all = append(all, rule)
			}
		}
	}
	return all
}

// Subject names whom a rule limits: the values of the attributes of its key. whole reports
// whether all of them are there.
func (r *Reference) Subject(rule *policy.Rule, of policy.Attributes) (name string, whole bool) {
	names := slices.Clone(rule.Key)
	if rule.Colocate != "" {
		names = append(names, rule.Colocate)
	}
	slices.Sort(names)
	whole = true
	for _, n := range slices.Compact(names) {
		v := valueOf(of, n)
		whole = whole && v != ""
		name += n + strconv.Quote(v)
	}
	return name, whole
}

// Distinct reports whether different subjects of a rule have different keys: not where
// addresses are, of which many have one prefix.
func (r *Reference) Distinct(rule *policy.Rule) bool {
	return !slices.ContainsFunc(append(slices.Clone(rule.Key), rule.Colocate), r.isAddress)
}

func (r *Reference) isAddress(name string) bool {
	if declared, is := r.policy.Attributes[name]; is {
		return declared.Type == policy.Address
	}
	return name == "ip"
}

// hold reports whether all conditions hold.
func (r *Reference) hold(all policy.Conditions, of policy.Attributes) bool {
	for name, wanted := range all {
		if !r.holds(wanted, valueOf(of, name), r.isAddress(name)) {
			return false
		}
	}
	return true
}

// holds reports whether one of the values that are wanted is there, and none that is
// excluded.
func (r *Reference) holds(wanted []string, value string, address bool) bool {
	alternatives, met := false, false
	for _, w := range wanted {
		excluded, not := strings.CutPrefix(w, "!")
		switch {
		case not && value != "" && same(excluded, value, address):
			return false
		case not:
		case w == "*":
			alternatives, met = true, met || value != ""
		case w == "":
			alternatives, met = true, met || value == ""
		default:
			alternatives, met = true, met || value != "" && same(w, value, address)
		}
	}
	return met || !alternatives
}

// same compares a value of a condition with the value of a request.
func same(wanted, value string, address bool) bool {
	if !address {
		return wanted == value
	}
	a, err := netip.ParseAddr(strings.Trim(value, "[]"))
	if err != nil {
		withPort, err := netip.ParseAddrPort(value)
		if err != nil {
			return false
		}
		a = withPort.Addr()
	}
	a = a.Unmap().WithZone("")
	if p, err := netip.ParsePrefix(wanted); err == nil {
		return p.Contains(a)
	}
	w, err := netip.ParseAddr(wanted)
	return err == nil && w.Unmap() == a
}

func valueOf(of policy.Attributes, name string) string { return strings.Trim(of[name], " \t") }

// before reports whether an instant is before the end of something; the zero time is
// never.
func before(at int64, until time.Time) bool {
	if until.IsZero() {
		return true
	}
	end, err := algorithm.InstantOf(until)
	return err == nil && at < int64(end)
}
