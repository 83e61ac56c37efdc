package policy

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// conditions reads conditions by attribute.
func (c *compiler) conditions(at Path, by Conditions) conditions {
	var all conditions
	for _, name := range slices.Sorted(maps.Keys(by)) {
		here := at.with(name)
		number := c.attribute(here, name)
		if number < 0 {
			continue
		}
		if len(by[name]) == 0 {
			c.refuse(here, "", `a value or more: "*" is any value, "" is none`, "no value")
			continue
		}
		all = append(all, c.condition(here, number, by[name]))
	}
	return all
}

// exceptional reads the conditions of a subject, an override or an entry, which is about
// somebody.
func (c *compiler) exceptional(at Path, by Conditions) conditions {
	if len(by) == 0 {
		c.refuse(at, "", "one attribute or more", "it is about nobody")
	}
	return c.conditions(at, by)
}

func (c *compiler) condition(at Path, number int, values []string) condition {
	into := condition{attribute: number}
	for i, text := range values {
		here := at.with(i)
		excluded, not := strings.CutPrefix(text, "!")
		switch {
		case text == "":
			into.absent = true
		case text == "*":
			into.present = true
		case not && (excluded == "" || excluded == "*"):
			c.refuse(here, text, `"*" for any value, "" for none`, "")
		case not:
			c.alternative(here, number, excluded, &into.notValues, &into.notPrefixes, nil)
		default:
			c.alternative(here, number, text, &into.values, &into.prefixes, &into.networks)
		}
	}
	slices.Sort(into.values)
	into.values = slices.Compact(into.values)
	slices.Sort(into.notValues)
	return into
}

// alternative reads one value that an attribute may or must not have.
func (c *compiler) alternative(at Path, number int, text string, values *[]string, prefixes **prefixTable, networks *[]netip.Prefix) {
	a := &c.to.attributes
	if a.all[number].typ != Address {
		v := a.read(number, text)
		if !v.set || strings.Trim(text, " \t") != text {
			shown := text
			if a.all[number].secret {
				shown = ""
			}
			c.refuse(at, shown, "without spaces around it, as values are compared", "")
			return
		}
		*values = append(*values, v.text)
		return
	}
	prefix, problem, meant := parseNetwork(text)
	if problem != "" {
		c.add(&FieldError{Path: at, Value: text, Problem: problem, Allowed: "an address, or a network such as 203.0.113.0/24", Suggestion: meant})
		return
	}
	if *prefixes == nil {
		*prefixes = &prefixTable{}
	}
	(*prefixes).add(prefix, 0)
	if networks != nil {
		*networks = append(*networks, prefix)
	}
}

// parseNetwork reads an address or a network in CIDR form. meant is what a text that is
// nearly one was meant to be.
func parseNetwork(text string) (p netip.Prefix, problem, meant string) {
	if !strings.Contains(text, "/") {
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil:
			return p, "no address", ""
		case a.Zone() != "":
			return p, "addresses are compared without a zone", a.WithZone("").String()
		}
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), "", ""
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return p, "no network", ""
	case p.Addr().Is4In6():
		if p.Bits() < 96 {
			return p, "an IPv4 address in IPv6 form is compared as an IPv4 address", ""
		}
		return p, "an IPv4 address in IPv6 form is compared as an IPv4 address", netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96).Masked().String()
	case p.Masked() != p:
		return p, "bits behind the prefix are set", p.Masked().String()
	}
	return p, "", ""
}

// patterns reads the patterns of one rule, and refuses two that ServeMux refuses beside
// each other. at gives the path of a pattern by its position.
func (c *compiler) patterns(texts []string, at func(i int) Path) []pattern {
	all := make([]pattern, 0, len(texts))
	mux := http.NewServeMux()
	for i, text := range texts {
		p, err := parsePattern(text)
		if err != nil {
			c.refuse(at(i), text, "a pattern of net/http.ServeMux, such as POST /login, /api/ or /orders/{id}", patternProblem(err, text))
			continue
		}
		if accept(mux, text) != nil {
			c.refuse(at(i), text, "a pattern that is more specific or more general, or another rule", c.conflict(all, &p))
		}
		all = append(all, p)
	}
	return all
}

// conflict says which of the patterns before p ServeMux refuses it beside.
func (c *compiler) conflict(before []pattern, p *pattern) string {
	if len(c.errors) < mostExplained {
		for i := range before {
			if overlap(&before[i], p) && conflicts(before[i].text, p.text) {
				return fmt.Sprintf("conflicts with %q: neither is more specific", before[i].text)
			}
		}
	}
	return "conflicts with a pattern before it: neither is more specific"
}

// patternProblem is what ServeMux says of a pattern, without the pattern.
func patternProblem(err error, text string) string {
	return strings.TrimPrefix(err.Error(), fmt.Sprintf("parsing %q: ", text))
}
