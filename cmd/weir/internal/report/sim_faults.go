package report

import (
	"strconv"
	"strings"

	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// faultTexts say what faults did. What stands in braces is filled in: who, the nodes as a subject with its verb; of, the
// nodes; share, a part of messages; for, how long; by, how much.
var faultTexts = map[string]string{
	"partition":   "{who} cut off from the store{for}{by}",
	"loss":        "{share}messages{of} got lost{for}",
	"duplication": "{share}requests{of} arrived twice{for}",
	"reordering":  "{share}messages{of} overtook each other{for}{by}",
	"slow":        "the store was slow{for}{by}",
	"down":        "the store failed{for}",
	"restart":     "the store was down{for} and restarted{by}",
	"failover":    "the store was down{for} and failed over{by}",
	"eviction":    "the store forgot states{for}",
	"clock":       "the clock of {clock} was {by}",
	"crash":       "{who} crashed{for} and lost {its} local states",
	"freeze":      "the store stood still{for}",
	"dead":        "connections{of} to the store died without notice",
}

// faultOf is a fault as the scenario has it.
func (s *Simulation) faultOf(index int, f *result.Fault) scenario.Fault {
	if s.Ran != nil && index < len(s.Ran.Faults) {
		return s.Ran.Faults[index]
	}
	return scenario.Fault{Kind: f.Kind}
}

// fault says what a fault did: to whom, for how long and by how much.
func (s *Simulation) fault(index int, f *result.Fault) string {
	of := s.faultOf(index, f)
	lasted := ""
	if f.ToMicros > f.FromMicros {
		lasted = " for " + Duration(f.ToMicros-f.FromMicros)
	}
	text, known := faultTexts[f.Kind]
	if !known {
		return "there was a fault of the kind " + f.Kind + lasted
	}
	who, ofWhom, one := s.allNodes(), "", s.nodes().Count == 1
	if of.Nodes != nil {
		who, one = nodes(of.Nodes), len(of.Nodes) == 1
		ofWhom = " of " + who
	}
	was, its := " were", "their"
	if one {
		was, its = " was", "its"
	}
	clock := "the server"
	if of.Of == "nodes" {
		clock = who
	}
	if f.Kind == "crash" {
		was = ""
	}
	share := ""
	if of.Rate > 0 {
		share = Percent(int64(of.Rate), 1_000_000) + " of "
	}
	text = strings.NewReplacer("{who}", who+was, "{its}", its, "{of}", ofWhom, "{clock}", clock, "{share}", share, "{for}", lasted,
		"{by}", s.extent(&of, f)).Replace(text)
	if f.Servers != nil {
		text = strings.NewReplacer("the store", servers(f.Servers), "the server", servers(f.Servers)).Replace(text)
	}
	return text
}

// extent says how much a fault did.
func (s *Simulation) extent(of *scenario.Fault, f *result.Fault) string {
	switch {
	case f.Kind == "partition" && (of.Direction == "requests" || of.Direction == "replies"):
		return ", for " + of.Direction + " alone"
	case f.Kind == "reordering" && of.Delay > 0:
		return ", up to " + short(of.Delay) + " late"
	case f.Kind == "slow" && of.Delay > 0:
		return ", by " + short(of.Delay) + " a call at a time-out of " + short(s.nodes().Timeout)
	case f.Kind == "restart" && of.Data == "lost":
		return " without its data"
	case f.Kind == "failover" && f.ForgottenUnits > 0:
		return " without its last writes"
	case f.Kind == "clock":
		return clockChange(of, f)
	}
	return ""
}

// clockChange says how a clock was changed.
func clockChange(of *scenario.Fault, f *result.Fault) string {
	var all []string
	switch step := of.Step.Microseconds(); {
	case step > 0:
		all = append(all, "moved forward by "+Duration(step))
	case step < 0:
		all = append(all, "moved back by "+Duration(-step))
	}
	lasted := " a second for " + Duration(f.ToMicros-f.FromMicros)
	switch {
	case of.Drift > 0:
		all = append(all, "fast by "+Duration(of.Drift)+lasted)
	case of.Drift < 0:
		all = append(all, "slow by "+Duration(-of.Drift)+lasted)
	}
	if all == nil {
		return "wrong"
	}
	return list(all)
}

// allNodes names all nodes.
func (s *Simulation) allNodes() string {
	switch n := s.nodes().Count; {
	case s.Ran == nil:
		return "the nodes"
	case n > 1:
		return "all " + Count(n, "node")
	}
	return "the node"
}

// node names a node by its number.
func node(number int64) string { return "node " + strconv.FormatInt(number, 10) }

// nodes names nodes by their numbers.
func nodes(numbers []int64) string { return numbered("node", numbers) }

// servers names servers by their numbers.
func servers(numbers []int64) string { return numbered("server", numbers) }

// numbered names one or several of a kind by their numbers.
func numbered(kind string, numbers []int64) string {
	var names []string
	for _, n := range numbers {
		names = append(names, strconv.FormatInt(n, 10))
	}
	if len(names) == 1 {
		return kind + " " + names[0]
	}
	return kind + "s " + strings.Join(names, ", ")
}

// faultName names the fault with a place in the order of time.
func (s *Simulation) faultName(r *result.Result, place int) string {
	index := byTime(r)[place]
	f := &r.Faults[index]
	name := strconv.Itoa(place+1) + " " + f.Kind
	if f.Servers != nil {
		name += " of " + servers(f.Servers)
	}
	if of := s.faultOf(index, f); of.Nodes != nil {
		name += " of " + nodes(of.Nodes)
	}
	return name
}
