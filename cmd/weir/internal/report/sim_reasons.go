package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// why names what explains the excess of a limit: the faults that acted then, or else the
// last before it, the failure mode, and the clocks. less says what other faults let through.
func (s *Simulation) why(l limitOf) (reasons, less string) {
	from, to := l.Worst.AtMicros-l.Worst.WindowMicros, l.Worst.AtMicros
	if l.Worst.Units <= l.Worst.BoundUnits { // it adds up over several windows
		from, to = l.OverMicros, l.OverMicros
	}
	acted := func(f *result.Fault) bool { return f.FromMicros <= to && f.UntilMicros >= from && s.explains(l.of, f) }
	if !slices.ContainsFunc(l.of.Faults, func(f result.Fault) bool { return acted(&f) }) {
		last := int64(-1)
		for _, f := range l.of.Faults {
			if f.FromMicros <= to {
				last = max(last, f.FromMicros)
			}
		}
		acted = func(f *result.Fault) bool { return f.FromMicros == last }
	}
	all := s.faults(l.of, func(f *result.Fault) int64 {
		if acted(f) {
			return 1 + f.Degraded + f.ForgottenUnits
		}
		return 0
	}, false)
	var lost int64
	for i := range l.of.Faults {
		if f := &l.of.Faults[i]; acted(f) {
			lost = min(lost+f.ForgottenUnits, l.ForgottenUnits)
		}
	}
	if lost > 0 {
		all = append(all, Count(lost, "unit")+" of all keys were lost")
	}
	if byMode := s.byMode(l.of, acted); byMode != "" {
		all = append(all, byMode)
	}
	other := func(f *result.Fault) int64 {
		if acted(f) || !s.explains(l.of, f) || len(l.of.Limits) > 1 { // of several it may be of another
			return 0
		}
		return f.OverUnits
	}
	if others := s.faults(l.of, other, false); others != nil {
		less = " Less was over-admitted when " + list(others) + "."
	}
	return because(append(all, s.clocks()...)), less
}

// explains reports whether more can have been admitted because of a fault: states were lost,
// clocks were wrong, or nodes decided without the server.
func (s *Simulation) explains(r *result.Result, f *result.Fault) bool {
	switch f.Kind {
	case "clock":
		return true
	case "eviction":
		return f.ForgottenUnits > 0
	case "failover", "restart":
		if f.ForgottenUnits > 0 {
			return true
		}
	}
	return f.Degraded > 0 && (r.Policy != nil || s.nodes().OnFailure != "closed")
}

// byMode says how many nodes decided without the server in the time of some faults, and how many
// decisions they made; "" where none did.
func (s *Simulation) byMode(r *result.Result, which func(f *result.Fault) bool) string {
	var decided int64
	alone := map[int64]bool{}
	nodes := s.nodes()
	for i := range r.Faults {
		f := &r.Faults[i]
		if !which(f) || f.Degraded == 0 {
			continue
		}
		decided += f.Degraded
		of := s.faultOf(i, f).Nodes
		for n := range nodes.Count {
			if of == nil || slices.Contains(of, n) {
				alone[n] = true
			}
		}
	}
	if decided == 0 {
		return ""
	}
	text := s.failureMode(r) + " (" + Count(min(decided, r.Totals.Degraded), "decision") + " for all keys)"
	if nodes.OnFailure == "local" && len(alone) > 1 {
		text += fmt.Sprintf(", so each of %d nodes decided alone, %s", len(alone), share(nodes))
	}
	if nodes.Breaker {
		text += ", until breakers had closed"
	}
	return text
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

// mostReasons is how many kinds of faults a sentence names at most.
const mostReasons = 3

// faults returns a text for each kind of fault that has a part in something: when it acted, and
// what it did, in the order of time. part returns the part of a fault, 0 for none. Of more than
// mostReasons kinds those with the largest parts are named, and the others are counted. Where
// showParts is set, and there are several, each text ends with its part.
func (s *Simulation) faults(r *result.Result, part func(f *result.Fault) int64, showParts bool) (texts []string) {
	type group struct {
		text  string
		at    []string
		part  int64
		first int
	}
	var groups []*group
	for _, i := range byTime(r) {
		f := &r.Faults[i]
		n := part(f)
		if n == 0 {
			continue
		}
		text := s.fault(i, f)
		at := slices.IndexFunc(groups, func(g *group) bool { return g.text == text })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &group{text: text, first: at})
		}
		groups[at].at = append(groups[at].at, Duration(f.FromMicros))
		groups[at].part += n
	}
	others := len(groups) - mostReasons
	if others > 0 {
		slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(b.part, a.part) })
		groups = groups[:mostReasons]
		slices.SortFunc(groups, func(a, b *group) int { return cmp.Compare(a.first, b.first) })
	}
	for _, g := range groups {
		if n := len(g.at); n > mostReasons {
			g.at = append(g.at[:mostReasons:mostReasons], fmt.Sprintf("%d more times", n-mostReasons))
		}
		text := "at " + list(g.at) + " " + g.text
		if showParts && len(groups) > 1 {
			text += " (" + Digits(g.part) + ")"
		}
		texts = append(texts, text)
	}
	if others > 0 {
		texts = append(texts, Count(int64(others), "other fault")+" acted too")
	}
	return texts
}

// list joins one text or more as a sentence does: a, b and c.
func list(all []string) string {
	if n := len(all) - 1; n > 0 {
		return strings.Join(all[:n], ", ") + " and " + all[n]
	}
	return all[0]
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

// faultOf is a fault as the scenario has it.
func (s *Simulation) faultOf(index int, f *result.Fault) scenario.Fault {
	if s.Ran != nil && index < len(s.Ran.Faults) {
		return s.Ran.Faults[index]
	}
	return scenario.Fault{Kind: f.Kind}
}

// fault says what a fault did.
func (s *Simulation) fault(index int, f *result.Fault) string {
	of := s.faultOf(index, f)
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
		if len(of.Nodes) == 1 {
			text = strings.NewReplacer("were cut", "was cut", "lost their local states", "lost its local states").Replace(text)
		}
	}
	if f.Servers != nil {
		text = strings.NewReplacer("the store", servers(f.Servers), "the server", servers(f.Servers)).Replace(text)
	}
	return text
}
