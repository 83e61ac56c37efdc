package live

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Frame is what is shown of a Span.
type Frame struct {
	// Title is the first line, such as where the page is.
	Title string
	// Width and Height are those of the terminal; 0 is any.
	Width, Height int
	// Rules is how many rules are shown at most. 0 is as many as Height has room for.
	Rules int
}

// Text is the frame as lines of plain text.
func (f Frame) Text(s Span) string {
	lines := []string{f.Title, ""}
	lines = append(lines, s.traffic()...)
	stores := s.stores()
	rules := s.rules()
	most := len(rules) - 1
	if f.Height > 0 {
		most = max(1, f.Height-len(lines)-len(stores)-4) // the empty lines, the head, the count of those left out
	}
	if f.Rules > 0 {
		most = f.Rules
	}
	if left := len(rules) - 1 - most; left > 0 {
		rules = rules[:most+1]
		lines = append(append(lines, ""), table(rules)...)
		lines = append(lines, fmt.Sprintf("%d more rules", left))
	} else if len(rules) > 1 {
		lines = append(append(lines, ""), table(rules)...)
	}
	lines = append(append(lines, ""), stores...)
	if f.Height > 0 && len(lines) > f.Height {
		lines = lines[:f.Height]
	}
	for i, line := range lines {
		lines[i] = cut(strings.TrimRight(line, " "), f.Width)
	}
	return strings.Join(lines, "\n") + "\n"
}

// traffic is what is asked and answered.
func (s Span) traffic() []string {
	result := func(r string) float64 { return s.rate("requests_total", labels{"result": r}) }
	allowed, denied, tried, failed := result("allowed"), result("denied"), result("shadow_denied"), result("error")
	quantiles := s.quantiles("latency_seconds", nil, 0.5, 0.95, 0.99)
	rows := [][]string{
		{"", "allowed/s", "denied/s", "denied", "shadow denied/s", "errors/s", "no store/s"},
		{"limits", number(allowed), number(denied), percent(denied / (allowed + denied)), number(tried), number(failed), number(s.rate("degraded_total", nil))},
	}
	lines := table(rows)
	lines = append(lines, "", fmt.Sprintf("decision  p50 %s  p95 %s  p99 %s", duration(quantiles[0]), duration(quantiles[1]), duration(quantiles[2])))
	reloads := fmt.Sprintf("policy    read %s ago", age(s.After.sum("config_age_seconds", nil)))
	if bad := s.After.sum("config_reload_total", labels{"result": "failure"}); bad > 0 {
		reloads += fmt.Sprintf(", %s reloads failed", number(bad))
	}
	return append(lines, reloads)
}

// rules are a row each, those that deny most first, below a head. Those of several Enforcers, such as
// of the tenants of a service, have its name in front.
func (s Span) rules() [][]string {
	type rule struct {
		of                             labels
		name                           string
		allowed, denied, tried, failed float64
	}
	var all []rule
	known := s.After.rulesOf("rule_decisions_total", "rule_limit")
	several := slices.ContainsFunc(known, func(of labels) bool { return of["enforcer"] != known[0]["enforcer"] })
	for _, of := range known {
		rate := func(result string) float64 {
			return s.rate("rule_decisions_total", labels{"enforcer": of["enforcer"], "rule": of["rule"], "result": result})
		}
		r := rule{of, of["rule"], rate("allowed") + rate("shadow_allowed"), rate("denied"), rate("shadow_denied"), rate("error")}
		if several {
			r.name = of["enforcer"] + ": " + r.name
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b rule) int {
		return cmp.Or(cmp.Compare(b.denied+b.tried, a.denied+a.tried), cmp.Compare(b.allowed+b.failed, a.allowed+a.failed))
	})
	rows := [][]string{{"rule", "limit", "allowed/s", "denied/s", "shadow denied/s", "errors/s", "fullest key", "keys"}}
	for _, r := range all {
		rows = append(rows, []string{
			r.name, s.limitsOf(r.of), number(r.allowed), number(r.denied), number(r.tried), number(r.failed),
			percent(s.After.sum("utilization_ratio", r.of)), number(s.After.sum("active_keys", r.of)),
		})
	}
	return rows
}

// rulesOf are the rules that families have, by their Enforcers and IDs.
func (p *Page) rulesOf(families ...string) (all []labels) {
	for _, family := range families {
		for _, m := range p.metrics(family, nil) {
			all = append(all, labels{"enforcer": label(m, "enforcer"), "rule": label(m, "rule")})
		}
	}
	slices.SortFunc(all, func(a, b labels) int {
		return cmp.Or(cmp.Compare(a["enforcer"], b["enforcer"]), cmp.Compare(a["rule"], b["rule"]))
	})
	return slices.CompactFunc(all, maps.Equal)
}

// limitsOf are the limits of a rule in the policy, such as 100/1m.
func (s Span) limitsOf(rule labels) string {
	var texts []string
	for _, m := range s.After.metrics("rule_limit", rule) {
		text := number(value(m))
		period := s.After.sum("rule_period_seconds", labels{"rule": rule["rule"], "enforcer": rule["enforcer"], "limit": label(m, "limit")})
		if period > 0 {
			text += "/" + exact(period)
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), " ")
}

var breakerNames = []string{"closed", "half open", "open"}

// stores are lines of the stores on servers and in memory.
func (s Span) stores() (lines []string) {
	rows := [][]string{{"store", "calls/s", "decisions/call", "p99 of a call", "waiting", "in flight", "errors/s", "breaker", "keys"}}
	names := append(s.After.values("store_commands_total", "store"), s.After.values("keys", "store")...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		of := labels{"store": name}
		keys, breaker := "", ""
		if s.After.metrics("keys", of) != nil {
			keys = number(s.After.sum("keys", of))
		}
		if all := s.After.metrics("breaker_state", of); all != nil {
			worst := 0
			for _, m := range all {
				worst = max(worst, min(int(value(m)), len(breakerNames)-1))
			}
			breaker = breakerNames[worst]
		}
		if s.After.metrics("store_commands_total", of) == nil {
			rows = append(rows, []string{name, "", "", "", "", "", "", breaker, keys})
			continue
		}
		mean, calls := s.summary("decisions_per_call", of)
		rows = append(rows, []string{
			name, number(calls), number(mean), duration(s.quantiles("store_call_seconds", of, 0.99)[0]), number(s.After.sum("store_waiting", of)),
			number(s.After.sum("store_calls_in_flight", of)), number(s.rate("redis_errors_total", of)), breaker, keys,
		})
	}
	if len(rows) > 1 {
		lines = table(rows)
	}
	for _, pool := range s.After.values("pool_connections", "pool") {
		of := func(state string) string {
			return number(s.After.sum("pool_connections", labels{"pool": pool, "state": state}))
		}
		line := fmt.Sprintf("connections  %s in use, %s idle", of("in_use"), of("idle"))
		if memory := s.After.sum("redis_memory_bytes", labels{"pool": pool}); memory > 0 {
			line += fmt.Sprintf("; memory of the server %s MB", strconv.FormatFloat(memory/1e6, 'f', 1, 64))
		}
		lines = append(lines, line)
	}
	return lines
}

// number is a rate or a count, short.
func number(f float64) string {
	switch {
	case math.IsNaN(f):
		return "-"
	case f >= 1e6:
		return strconv.FormatFloat(f/1e6, 'f', 1, 64) + "M"
	case f == math.Trunc(f), f >= 1e3:
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}

func percent(f float64) string {
	if math.IsNaN(f) {
		return "-"
	}
	return strconv.FormatFloat(100*f, 'f', 1, 64) + " %"
}

// duration is a time in seconds, with three digits.
func duration(seconds float64) string {
	switch {
	case math.IsNaN(seconds):
		return "-"
	case seconds < 1e-3:
		return digits(seconds*1e6) + " µs"
	case seconds < 1:
		return digits(seconds*1e3) + " ms"
	}
	return digits(seconds) + " s"
}

func digits(f float64) string {
	switch {
	case f >= 100:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 10:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

var units = []struct {
	of   time.Duration
	name string
}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}

// exact is a period in the largest unit of which it has a whole number.
func exact(seconds float64) string {
	d := time.Duration(math.Round(seconds*1e6)) * time.Microsecond
	for _, unit := range units {
		if d%unit.of == 0 {
			return strconv.FormatInt(int64(d/unit.of), 10) + unit.name
		}
	}
	return d.String()
}

// age is about how long ago something was, in its largest unit, such as 3m.
func age(seconds float64) string {
	for _, unit := range units {
		if n := int64(seconds / unit.of.Seconds()); n > 0 {
			return strconv.FormatInt(n, 10) + unit.name
		}
	}
	return "0s"
}
