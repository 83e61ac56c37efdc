package report

import (
	"fmt"
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
	if all[0].Level == levelBad && s.Wrong() != nil {
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
	case w.Units > w.BoundUnits || l.OverUnits > 0:
		return answer{levelBad, fmt.Sprintf("%s: %s. Over-admitted: %s.", passed, s.why(l), Count(l.OverUnits, "unit"))}
	case w.Units > w.LimitUnits:
		return answer{levelNote, fmt.Sprintf("%s: as this algorithm allows, which is up to %s.", passed, Digits(w.BoundUnits))}
	}
	return answer{levelGood, passed + ", which was kept."}
}

// why names what explains the excess of a limit.
func (s *Simulation) why(l limitOf) string {
	from, to := l.Worst.AtMicros-l.Worst.WindowMicros, l.Worst.AtMicros
	if l.Worst.Units <= l.Worst.BoundUnits { // it adds up over several windows
		from, to = l.OverMicros, l.OverMicros
	}
	var reasons []string
	alone := false // nodes have decided by themselves
	for i, f := range l.of.Faults {
		if f.FromMicros > to || f.UntilMicros < from {
			continue
		}
		text := s.fault(i, &f)
		if len(reasons) == 0 || reasons[len(reasons)-1] != text {
			reasons = append(reasons, text)
		}
		alone = alone || f.Degraded > 0
	}
	nodes := s.nodes()
	if alone {
		reasons = append(reasons, "on_failure is "+nodes.OnFailure)
		if nodes.OnFailure == "local" && nodes.Count > 1 {
			reasons[len(reasons)-1] += fmt.Sprintf(", so each of %d nodes decided alone", nodes.Count)
		}
	}
	if s.Ran != nil && s.Ran.Server.Clock == "node" && (nodes.Skew > 0 || nodes.Drift > 0) {
		reasons = append(reasons, "the clocks of the nodes decide and differ")
	}
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

// fault says what a fault did.
func (s *Simulation) fault(index int, f *result.Fault) string {
	lasted := " for " + Duration(f.ToMicros-f.FromMicros)
	if f.ToMicros == f.FromMicros {
		lasted = ""
	}
	of := scenario.Fault{Kind: f.Kind}
	if s.Ran != nil && index < len(s.Ran.Faults) {
		of = s.Ran.Faults[index]
	}
	switch f.Kind {
	case "partition":
		return "the nodes were cut off from the store" + lasted
	case "loss":
		return "messages got lost" + lasted
	case "duplication":
		return "requests arrived twice" + lasted
	case "reordering":
		return "messages overtook each other" + lasted
	case "slow":
		return "the store was slow" + lasted
	case "down":
		return "the store failed" + lasted
	case "restart":
		if of.Data == "lost" {
			return "the store restarted without its data after " + Duration(f.ToMicros-f.FromMicros)
		}
		return "the store restarted after " + Duration(f.ToMicros-f.FromMicros)
	case "failover":
		text := "the store failed over after " + Duration(f.ToMicros-f.FromMicros)
		if f.ForgottenUnits > 0 {
			text += " and lost its last writes"
		}
		return text
	case "eviction":
		return "the store forgot states" + lasted
	case "clock":
		of.Of = strings.TrimSuffix(of.Of, "s")
		if of.Of == "" {
			of.Of = "server"
		}
		if of.Step != 0 {
			return fmt.Sprintf("the clock of a %s was moved by %s", of.Of, Duration(of.Step.Microseconds()))
		}
		return fmt.Sprintf("the clock of a %s ran wrongly%s", of.Of, lasted)
	case "crash":
		return "nodes crashed and lost their local states"
	}
	return "there was a fault of the kind " + f.Kind + lasted
}

// lost says what callers were denied or never told, and why.
func (s *Simulation) lost(r *result.Result) (all []answer) {
	var reasons []string
	for i, f := range r.Faults {
		if f.Errors+f.Unknown > 0 {
			reasons = append(reasons, s.fault(i, &f))
		}
	}
	if n := r.Totals.Errors + r.Totals.Unknown; n > 0 {
		text := fmt.Sprintf("%s: %s got no decision", Quoted(r.Limit), Count(n, "attempt"))
		if reasons != nil {
			text += ": " + strings.Join(reasons, ", and ") + ", and on_failure is " + s.nodes().OnFailure
		}
		all = append(all, answer{levelBad, text + "."})
	}
	var denied int64
	for _, l := range r.Limits {
		denied += l.FalseDenials
	}
	if denied > 0 {
		all = append(all, answer{levelBad, fmt.Sprintf("%s: %s of requests that were within the limit: what their callers never heard of was charged, or a clock was wrong.",
			Quoted(r.Limit), Count(denied, "denial"))})
	}
	return all
}

// setup says how the scenario was run, and what of it changes nothing.
func (s *Simulation) setup() section {
	first := s.Results[0]
	facts := []Fact{{"seed", fmt.Sprint(s.Seed)}, {"length", Duration(first.DurationMicros)}, {"store", Quoted(s.Store)}}
	all := section{Title: "How it was run", Quiet: true, Fold: true}
	if s.Ran == nil {
		all.Facts = facts
		return all
	}
	nodes, server := s.nodes(), scenario.Complete(s.Ran.Server)
	facts = append(facts,
		factf("nodes", "%s, on_failure %s, time-out %s", Digits(nodes.Count), nodes.OnFailure, short(nodes.Timeout)),
		factf("clock", "of the %s decides", server.Clock))
	if nodes.Skew > 0 || nodes.Drift > 0 {
		facts = append(facts, factf("skew", "clocks of nodes are off by up to %s and drift by up to %s µs a second", short(nodes.Skew), Digits(nodes.Drift)))
	}
	for _, text := range s.ignored() {
		facts = append(facts, Fact{"ignored", text})
	}
	all.Facts = facts
	if text, err := s.Ran.YAML(); err == nil {
		all.Lines, all.PageOnly = Visible(string(text)), true
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
	if server.Clock != "node" && nodes.OnFailure != "local" {
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
