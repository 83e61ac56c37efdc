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
	levelBad  level = "bad"
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
	var good, bad []answer
	for _, r := range s.Results {
		for i := range r.Limits {
			a := s.excess(limitOf{&r.Limits[i], r})
			if a.Level == levelBad {
				bad = append(bad, a)
			} else {
				good = append(good, a)
			}
		}
		bad = append(bad, s.lost(r)...)
	}
	all = append(append(all, bad...), good...)
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
	if bad != nil {
		level = levelNote
	}
	return append(all, answer{level, text + "."})
}

// excess says how much a limit let through, and why.
func (s *Simulation) excess(l limitOf) answer {
	w := &l.Worst
	unit := "request"
	if t := &l.of.Totals; t.OfferedUnits != t.Attempts {
		unit = "unit"
	}
	passed := fmt.Sprintf("%s: %s passed within %s at a limit of %s", l.label(), Count(w.Units, unit), Duration(w.WindowMicros), Digits(w.LimitUnits))
	switch {
	case w.Units > w.BoundUnits:
		return answer{levelBad, fmt.Sprintf("%s: %s. Over-admitted: %s, in an interval that ended at %s.", passed, s.why(l), Count(l.OverUnits, "unit"), Duration(l.OverMicros))}
	case l.OverUnits > 0: // in intervals of other lengths: no fault explains the worst window
		return answer{levelBad, fmt.Sprintf("%s: over-admitted %s: %s. No window of %s had more than %s, as this algorithm allows at a limit of %s.",
			l.label(), Count(l.OverUnits, "unit"), s.why(l), Duration(w.WindowMicros), Count(w.Units, unit), Digits(w.LimitUnits))}
	case w.Units > w.LimitUnits:
		return answer{levelNote, fmt.Sprintf("%s: as this algorithm allows, which is up to %s.", passed, Digits(w.BoundUnits))}
	}
	return answer{levelGood, passed + ", which was kept."}
}

// why names what explains the excess of a limit: the faults that acted then, or else the
// last before it, the failure mode, and the clocks.
func (s *Simulation) why(l limitOf) string {
	from, to := l.Worst.AtMicros-l.Worst.WindowMicros, l.Worst.AtMicros
	if l.Worst.Units <= l.Worst.BoundUnits { // it adds up over several windows
		from, to = l.OverMicros, l.OverMicros
	}
	acted := func(f *result.Fault) bool { return f.FromMicros <= to && f.UntilMicros >= from }
	if !slices.ContainsFunc(l.of.Faults, func(f result.Fault) bool { return acted(&f) }) {
		last := int64(-1)
		for _, f := range l.of.Faults {
			if f.FromMicros <= to {
				last = max(last, f.FromMicros)
			}
		}
		acted = func(f *result.Fault) bool { return f.FromMicros == last }
	}
	reasons := s.faults(l.of, acted)
	nodes := s.nodes()
	if slices.ContainsFunc(l.of.Faults, func(f result.Fault) bool { return acted(&f) && f.Degraded > 0 }) {
		mode := s.failureMode(l.of)
		if nodes.OnFailure == "local" && nodes.Count > 1 {
			mode += fmt.Sprintf(", so each of %d nodes decided alone, %s", nodes.Count, share(nodes))
		}
		reasons = append(reasons, mode)
	}
	return because(append(reasons, s.clocks()...))
}

// share says how much of a limit a node has that decides alone.
func share(nodes scenario.Nodes) string {
	if nodes.LocalShare > 1 {
		return fmt.Sprintf("with 1/%d of the limit", nodes.LocalShare)
	}
	return "with the whole limit"
}

// failureMode says who decides without the server.
func (s *Simulation) failureMode(r *result.Result) string {
	if r.Policy != nil {
		return "each rule has its own on_failure"
	}
	return "on_failure is " + s.nodes().OnFailure
}

// faults say what the faults of a result did that are asked for.
func (s *Simulation) faults(r *result.Result, which func(f *result.Fault) bool) (texts []string) {
	for i := range r.Faults {
		if f := &r.Faults[i]; which(f) {
			if text := s.fault(i, f); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// clocks say that clocks differ which decide.
func (s *Simulation) clocks() []string {
	if nodes := s.nodes(); s.Ran != nil && s.Ran.Server.Clock == "node" && (nodes.Skew > 0 || nodes.Drift > 0) {
		return []string{"the clocks of the nodes decide and differ"}
	}
	return nil
}

// because joins reasons.
func because(reasons []string) string {
	if reasons == nil {
		return "no fault explains it"
	}
	return strings.Join(reasons, ", and ")
}

// nodes are the nodes of the scenario, with their defaults.
func (s *Simulation) nodes() scenario.Nodes {
	if s.Ran == nil {
		return scenario.Complete(scenario.Nodes{})
	}
	return scenario.Complete(s.Ran.Nodes)
}

// faultTexts say what faults did; %s is for how long.
var faultTexts = map[string]string{
	"partition":   "the nodes were cut off from the store%s",
	"loss":        "messages got lost%s",
	"duplication": "requests arrived twice%s",
	"reordering":  "messages overtook each other%s",
	"slow":        "the store was slow%s",
	"down":        "the store failed%s",
	"restart":     "the store was down%s and restarted",
	"failover":    "the store was down%s and failed over",
	"eviction":    "the store forgot states%s",
	"clock":       "the clock of %s was wrong",
	"crash":       "the nodes crashed%s and lost their local states",
	"freeze":      "the store stood still%s",
	"dead":        "connections to the store died without notice",
}

// fault says what a fault did.
func (s *Simulation) fault(index int, f *result.Fault) string {
	of := scenario.Fault{Kind: f.Kind}
	if s.Ran != nil && index < len(s.Ran.Faults) {
		of = s.Ran.Faults[index]
	}
	lasted := ""
	if f.ToMicros > f.FromMicros {
		lasted = " for " + Duration(f.ToMicros-f.FromMicros)
	}
	text, known := faultTexts[f.Kind]
	switch {
	case !known:
		return "there was a fault of the kind " + f.Kind + lasted
	case f.Kind == "clock" && of.Of == "nodes":
		lasted = "a node"
	case f.Kind == "clock":
		lasted = "the server"
	}
	text = strings.Replace(text, "%s", lasted, 1)
	if f.Kind == "clock" && of.Step != 0 {
		text = fmt.Sprintf("the clock of %s was moved by %s", lasted, Duration(of.Step.Microseconds()))
	}
	if f.Kind == "restart" && of.Data == "lost" {
		text += " without its data"
	}
	if f.Kind == "failover" && f.ForgottenUnits > 0 {
		text += " without its last writes"
	}
	if len(of.Nodes) > 0 {
		text = strings.Replace(text, "the nodes", Count(int64(len(of.Nodes)), "node"), 1)
	}
	if f.Servers != nil {
		text = strings.NewReplacer("the store", servers(f.Servers), "the server", servers(f.Servers)).Replace(text)
	}
	return text
}

// lost says what callers were denied or never told, and why.
func (s *Simulation) lost(r *result.Result) (all []answer) {
	if n := r.Totals.Errors + r.Totals.Unknown; n > 0 {
		reasons := s.faults(r, func(f *result.Fault) bool { return f.Errors+f.Unknown > 0 })
		all = append(all, answer{levelBad, fmt.Sprintf("%s: %s got no decision: %s.",
			Quoted(r.Limit), Count(n, "attempt"), because(append(reasons, s.failureMode(r))))})
	}
	var denied int64
	for _, l := range r.Limits {
		denied += l.FalseDenials
	}
	if denied > 0 {
		reasons := s.faults(r, func(f *result.Fault) bool { return f.FalseDenials > 0 })
		all = append(all, answer{levelBad, fmt.Sprintf("%s: %s denied within the limit: %s.", Quoted(r.Limit), Count(denied, "attempt"), because(append(reasons, s.clocks()...)))})
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
