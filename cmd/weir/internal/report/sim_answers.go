package report

import (
	"cmp"
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
	levelOver level = "over" // more or less than the limit, which nothing forbids
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

// over says of a number of units what they were over-admitted beyond: numbers of limits that
// count over other intervals cannot be compared.
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
	why, less := "", ""
	if l.OverUnits > 0 || w.Units > w.BoundUnits {
		why, less = s.why(l)
	}
	switch {
	case w.Units > w.BoundUnits:
		return answer{l.level(), fmt.Sprintf("%s: %s of the key %s passed in the %s before %s, at a limit of %s and at most %s without faults: %s. Over-admitted: %s, by %s.%s",
			l.label(), units, Quoted(w.Key), window, Duration(w.AtMicros), limit, Digits(w.BoundUnits), why, l.over(l.OverUnits), Duration(l.OverMicros), less)}
	case l.OverUnits > 0: // in intervals of other lengths: no fault explains the worst window
		return answer{l.level(), fmt.Sprintf("%s: over-admitted %s, by %s: %s. No window of %s had more than %s of one key, as this algorithm allows at a limit of %s.%s",
			l.label(), l.over(l.OverUnits), Duration(l.OverMicros), why, window, units, limit, less)}
	case w.Units > w.LimitUnits:
		return answer{levelNote, fmt.Sprintf("%s: as this algorithm allows, which is up to %s.", passed, Digits(w.BoundUnits))}
	}
	return answer{levelGood, passed + ", which was kept."}
}

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

// explains reports whether a fault can be why more was admitted: because states were lost,
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

// byMode says who decided without the server in the time of some faults, and how often; ""
// where nobody did.
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

// faults say when and what the faults of a result did that have a part in something, in
// order of time: those with the largest parts, where there are many. Where they are several
// each has its part with it, if parts adds up.
func (s *Simulation) faults(r *result.Result, part func(f *result.Fault) int64, parts bool) (texts []string) {
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
		if parts && len(groups) > 1 {
			text += " (" + Digits(g.part) + ")"
		}
		texts = append(texts, text)
	}
	if others > 0 {
		texts = append(texts, Count(int64(others), "other fault")+" acted too")
	}
	return texts
}

// list joins texts as a sentence does.
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

// lost says what callers were denied or never told, and why.
func (s *Simulation) lost(r *result.Result) (all []answer) {
	if n := r.Totals.Errors + r.Totals.Unknown; n > 0 {
		reasons := s.faults(r, func(f *result.Fault) int64 {
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
		reasons := s.faults(r, func(f *result.Fault) int64 { return f.FalseDenials }, true)
		all = append(all, answer{level, fmt.Sprintf("%s: %s denied within the limit: %s.", Quoted(r.Limit), Count(denied, "attempt"), because(append(reasons, s.clocks()...)))})
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
