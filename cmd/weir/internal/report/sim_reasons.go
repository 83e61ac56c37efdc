package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// cause is what explains an excess of a limit.
type cause struct {
	faults []int // that acted, as indexes
	text   string
}

// cause names what explains the excess of a limit in a time: the faults that acted then, or else the last before it, the
// failure mode, and the clocks.
func (s *Simulation) cause(l limitOf, from, to int64) (c cause) {
	r := l.of
	last := int64(-1)
	for i := range r.Faults {
		f := &r.Faults[i]
		if f.FromMicros <= to && f.UntilMicros >= from && s.explains(r, f) {
			c.faults = append(c.faults, i)
		}
		if f.FromMicros <= to {
			last = max(last, f.FromMicros)
		}
	}
	if c.faults == nil {
		for i := range r.Faults {
			if r.Faults[i].FromMicros == last {
				c.faults = append(c.faults, i)
			}
		}
	}
	all := s.faults(r, func(i int, f *result.Fault) int64 {
		if slices.Contains(c.faults, i) {
			return 1 + f.Degraded + f.ForgottenUnits
		}
		return 0
	}, false)
	var lost int64
	for _, i := range c.faults {
		lost = min(lost+r.Faults[i].ForgottenUnits, l.ForgottenUnits)
	}
	if lost > 0 {
		most := ""
		if s.clocksVary(r) {
			most = "up to "
		}
		all = append(all, most+Count(lost, "unit")+" of all keys were lost")
	}
	if byMode := s.byMode(r, c.faults); byMode != "" {
		all = append(all, byMode)
	}
	if s.nodes().Lease != nil {
		all = append(all, "units of a lease are used after they were charged")
	}
	c.text = because(append(all, s.clocks(r)...))
	return c
}

// less says in which other faults less was over-admitted than the most, which a cause explains; "" for none.
func (s *Simulation) less(l limitOf, most cause) string {
	others := s.faults(l.of, func(i int, f *result.Fault) int64 {
		if slices.Contains(most.faults, i) || !s.explains(l.of, f) || len(l.of.Limits) > 1 || f.OverUnits >= l.OverUnits { // of several limits it may be of another
			return 0
		}
		return f.OverUnits
	}, false)
	if others == nil {
		return ""
	}
	return " Less was over-admitted when " + list(others) + "."
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
func (s *Simulation) byMode(r *result.Result, faults []int) string {
	var decided int64
	alone := map[int64]bool{}
	nodes := s.nodes()
	for _, i := range faults {
		f := &r.Faults[i]
		if f.Degraded == 0 {
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
func (s *Simulation) faults(r *result.Result, part func(i int, f *result.Fault) int64, showParts bool) (texts []string) {
	type group struct {
		text  string
		at    []string
		part  int64
		first int
	}
	var groups []*group
	for _, i := range byTime(r) {
		f := &r.Faults[i]
		n := part(i, f)
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

// clocks say which clocks differ that decide, and by how much.
func (s *Simulation) clocks(r *result.Result) []string {
	if s.Ran == nil || s.Ran.Server.Clock != "node" || r.Clocks == nil {
		return nil
	}
	var all []string
	for _, i := range farthest(r.Clocks) {
		off := r.Clocks[i].AheadMicros
		way := "ahead"
		if off < 0 {
			off, way = -off, "behind"
		}
		all = append(all, fmt.Sprintf("%s %s %s", node(int64(i)), Duration(off), way))
	}
	text := "the clocks of the nodes decide, at the start " + list(all)
	if len(all) < len(r.Clocks) {
		text += ", with the others in between"
	}
	return []string{text}
}

// clocksVary reports whether clocks that decide may go back or differ: then lost units are as many as each state can hold.
func (s *Simulation) clocksVary(r *result.Result) bool {
	return s.Ran != nil && s.Ran.Server.Clock == "node" || slices.ContainsFunc(r.Faults, func(f result.Fault) bool { return f.Kind == "clock" })
}

// farthest are the indexes of the clocks, or of those most behind and most ahead where there are more than mostReasons.
func farthest(clocks []result.Clock) (indexes []int) {
	for i := range clocks {
		indexes = append(indexes, i)
	}
	if len(clocks) <= mostReasons {
		return indexes
	}
	byOff := func(a, b int) int { return cmp.Compare(clocks[a].AheadMicros, clocks[b].AheadMicros) }
	return []int{slices.MinFunc(indexes, byOff), slices.MaxFunc(indexes, byOff)}
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
