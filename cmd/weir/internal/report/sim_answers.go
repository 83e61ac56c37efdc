package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// level is how good an answer is.
type level string

const (
	levelGood level = "good"
	levelNote level = "note" // neither: as it is meant to be
	levelOver level = "over" // more than the limit promises, denied within it, or no decision: no expectation forbids it
	levelBad  level = "bad"  // a rule, an expectation or a bound was missed
)

// answer is a sentence that says what happened, and why.
type answer struct {
	Level level
	Text  string
}

// answers are what happened, the worst first.
func (s *Simulation) answers() (all []answer) {
	if wrong := s.Wrong(); wrong != nil {
		all = append(all, answer{levelBad, capital(strings.Join(wrong, ", ")) + "."})
	}
	for _, r := range s.Results {
		for i := range r.Expected {
			if e := &r.Expected[i]; !e.Met {
				all = append(all, answer{levelBad, missing(e)})
			}
		}
	}
	var good, over, bad []answer
	sort := func(a answer) {
		switch a.Level {
		case levelBad:
			bad = append(bad, a)
		case levelOver:
			over = append(over, a)
		default:
			good = append(good, a)
		}
	}
	for _, r := range s.Results {
		for i := range r.Limits {
			sort(s.excess(limitOf{&r.Limits[i], r}))
		}
		for _, a := range s.lost(r) {
			sort(a)
		}
	}
	all = slices.Concat(all, bad, over, good)
	if s.Wrong() != nil {
		return all
	}
	text := "No rule was violated"
	if len(s.Results[0].Expected) > 0 {
		text += ", and every expectation was met"
	}
	if s.OnServer != "" {
		text += ", and the events are the same in memory and on " + s.Store
	}
	level := levelGood
	if over != nil {
		level = levelNote
		text += ": the faults and settings of the scenario explain all of the above"
	}
	return append(all, answer{level, text + "."})
}

// levelOf is levelBad where the scenario expects another value of one of the metrics of a
// limit, or of the run, and levelOver where nothing is missed.
func levelOf(r *result.Result, limit string, metrics ...string) level {
	for _, e := range r.Expected {
		if !e.Met && e.Limit == limit && slices.Contains(metrics, e.Metric) {
			return levelBad
		}
	}
	return levelOver
}

// level is how good the excess of the limit is.
func (l limitOf) level() level { return levelOf(l.of, l.Name, "over_units", "worst_units") }

// unit is what the limit counts.
func (l limitOf) unit() string {
	if t := &l.of.Totals; t.OfferedUnits != t.Attempts {
		return "unit"
	}
	return "request"
}

// over is a number of over-admitted units, with what they exceeded: numbers of algorithms that
// promise something else cannot be compared.
func (l limitOf) over(units int64) string {
	text := Digits(units)
	switch kind, _, _ := strings.Cut(l.Spec, ":"); kind {
	case "fixed-window", "calendar-window":
		return text + " in one window"
	case "sliding-log":
		return text + " in one period"
	case "sliding-counter":
		return text + " beyond its bound"
	}
	return text + " beyond rate and burst"
}

// excess says how much a limit let through, when, and why.
func (s *Simulation) excess(l limitOf) answer {
	w := &l.Worst
	window, units, limit := Duration(w.WindowMicros), Count(w.Units, l.unit()), Digits(w.LimitUnits)
	passed := fmt.Sprintf("%s: %s passed within %s at a limit of %s", l.label(), units, window, limit)
	over := l.over(l.OverUnits)
	var most cause
	less := ""
	if l.OverUnits > 0 || w.Units > w.BoundUnits {
		most = s.cause(l, l.OverMicros, l.OverMicros)
		less = s.less(l, most)
	}
	switch {
	case w.Units > w.BoundUnits:
		worst := s.cause(l, w.AtMicros-w.WindowMicros, w.AtMicros)
		if l.OverUnits > 0 && l.OverKey != w.Key {
			over += " for the key " + Quoted(l.OverKey)
		}
		if l.OverUnits > 0 {
			over += ", by " + Duration(l.OverMicros)
		}
		if l.OverUnits > 0 && !slices.Equal(most.faults, worst.faults) {
			over += ": " + most.text
		}
		return answer{l.level(), fmt.Sprintf("%s: %s of the key %s passed in the %s before %s, at a limit of %s and at most %s without faults: %s. Over-admitted: %s.%s",
			l.label(), units, Quoted(w.Key), window, Duration(w.AtMicros), limit, Digits(w.BoundUnits), worst.text, over, less)}
	case l.OverUnits > 0: // in intervals of other lengths: no fault explains the worst window
		return answer{l.level(), fmt.Sprintf("%s: over-admitted %s for the key %s, by %s: %s. No window of %s had more than %s of one key, and %s allows up to %s.%s",
			l.label(), over, Quoted(l.OverKey), Duration(l.OverMicros), most.text, window, units, Quoted(l.Spec), Digits(w.BoundUnits), less)}
	case w.Units > w.LimitUnits:
		return answer{levelNote, fmt.Sprintf("%s: as this algorithm allows, which is up to %s.", passed, Digits(w.BoundUnits))}
	}
	return answer{levelGood, passed + ", which was kept."}
}

// lost says what callers were denied or never told, and why.
func (s *Simulation) lost(r *result.Result) (all []answer) {
	if n := r.Totals.Errors + r.Totals.Unknown; n > 0 {
		reasons := s.faults(r, func(_ int, f *result.Fault) int64 {
			if f.Kind == "eviction" || f.Kind == "clock" || f.Kind == "duplication" { // which keep no answer away
				return 0
			}
			return f.Errors + f.Unknown
		}, true)
		all = append(all, answer{levelOf(r, r.Limit, "errors", "unknown"), fmt.Sprintf("%s: %s got no decision: %s.",
			Quoted(r.Limit), Count(n, "attempt"), because(append(reasons, s.failureMode(r))))})
	}
	var denied int64
	level := levelOver
	for _, l := range r.Limits {
		denied += l.FalseDenials
		if levelOf(r, l.Name, "false_denials") == levelBad {
			level = levelBad
		}
	}
	if denied > 0 {
		reasons := s.faults(r, func(_ int, f *result.Fault) int64 { return f.FalseDenials }, true)
		all = append(all, answer{level, fmt.Sprintf("%s: %s denied within the limit: %s.", Quoted(r.Limit), Count(denied, "attempt"), because(append(reasons, s.clocks(r)...)))})
	}
	return all
}

// helpers says what nodes have between a Limiter and the server.
func helpers(nodes scenario.Nodes) (text string) {
	if nodes.Breaker {
		text += ", a breaker"
	}
	if nodes.DenyCache > 0 {
		text += ", a deny cache"
	}
	if nodes.Lease != nil {
		text += ", leases"
	}
	return text
}

// setup says how the scenario was run, and what of it changes nothing.
func (s *Simulation) setup() (facts []Fact) {
	facts = []Fact{factf("run", "%s with seed %d on %s", Duration(s.Results[0].DurationMicros), s.Seed, Quoted(s.Store))}
	if s.Ran == nil {
		return facts
	}
	nodes, server := s.nodes(), scenario.Complete(s.Ran.Server)
	mode := nodes.OnFailure
	if mode == "local" && nodes.Count > 1 {
		mode += " " + share(nodes)
	}
	facts = append(facts, factf("nodes", "%s, on_failure %s, time-out %s%s; the clock of the %s decides",
		Digits(nodes.Count), mode, short(nodes.Timeout), helpers(nodes), server.Clock))
	if p := s.Results[0].Policy; p != nil {
		facts = append(facts, factf("policy", "version %s, rules with %s", p.Version, Count(int64(len(p.Rules)), "limit")))
	}
	if server.Count > 1 {
		facts = append(facts, factf("servers", "%s, over which a hash spreads the keys", Digits(server.Count)))
	}
	if nodes.Skew > 0 || nodes.Drift > 0 {
		facts = append(facts, factf("skew", "clocks of nodes are off by up to %s and drift by up to %s µs a second", short(nodes.Skew), Digits(nodes.Drift)))
	}
	for _, text := range s.ignored() {
		facts = append(facts, fact("ignored", text))
	}
	return facts
}

// text is the scenario as it was run, for a page.
func (s *Simulation) text() (all section) {
	if s.Ran == nil {
		return all
	}
	if text, err := s.Ran.YAML(); err == nil {
		all = section{Title: "The scenario", Fold: true, Lines: Visible(string(text))}
	}
	return all
}

func short(d time.Duration) string { return Duration(d.Microseconds()) }

// ignored says which settings of the scenario change nothing.
func (s *Simulation) ignored() (all []string) {
	nodes, server := s.nodes(), scenario.Complete(s.Ran.Server)
	has := func(kind string) bool {
		for _, f := range s.Ran.Faults {
			if f.Kind == kind {
				return true
			}
		}
		return false
	}
	// A node reads its own clock where its calls carry the time, and where it decides
	// alone.
	if server.Clock != "node" && nodes.OnFailure != "local" && !s.Ran.Governed() {
		if nodes.Skew > 0 || nodes.Drift > 0 {
			all = append(all, "nodes.skew and nodes.drift: the clock of the server decides, and no node decides alone")
		}
		for i, f := range s.Ran.Faults {
			if f.Kind == "clock" && f.Of == "nodes" {
				all = append(all, fmt.Sprintf("faults[%d]: the clock of the server decides, and no node decides alone", i))
			}
		}
	}
	if server.Clock == "node" {
		for i, f := range s.Ran.Faults {
			if f.Kind == "clock" && f.Of != "nodes" {
				all = append(all, fmt.Sprintf("faults[%d]: the clocks of the nodes decide, so the clock of the server changes nothing", i))
			}
		}
	}
	if server.Lag > 0 && !has("failover") {
		all = append(all, "server.lag: there is no fault of the kind failover")
	}
	if s.Ran.Network.Repeats && !has("duplication") {
		all = append(all, "network.repeats: there is no fault of the kind duplication")
	}
	return all
}
