package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// Simulation is what came of one scenario.
type Simulation struct {
	Scenario string           `json:"scenario"`
	Seed     uint64           `json:"seed"`
	Store    string           `json:"store"`   // the URL without user and password
	Results  []*result.Result `json:"results"` // at least one
	Differs  []Difference     `json:"differs,omitempty"`

	Ran     *scenario.Scenario `json:"-"` // what was run
	Dropped int                `json:"-"` // expectations that --limit left out
	// Rerun is the command that runs it again in memory, and OnServer what it needs
	// for the server.
	Rerun, OnServer string `json:"-"`
}

// Difference says where a server has done something else than memory.
type Difference struct {
	Limit       string `json:"limit"`
	Memory      string `json:"memory_digest"`
	Server      string `json:"server_digest"`
	Event       int64  `json:"event"`
	Columns     string `json:"columns"`
	MemoryEvent string `json:"memory_event"`
	ServerEvent string `json:"server_event"`
}

// Failed returns the first result that violates a rule, or else the first that misses
// an expectation; nil where all is well.
func Failed(results []*result.Result) *result.Result {
	for _, r := range results {
		if r.Failure != nil {
			return r
		}
	}
	for _, r := range results {
		if !r.OK() {
			return r
		}
	}
	return nil
}

// Wrong says what is wrong, in parts; nil where all is well.
func (s *Simulation) Wrong() (wrong []string) {
	violated, missed := 0, int64(0)
	for _, r := range s.Results {
		if r.Failure != nil {
			violated++
		}
		for _, e := range r.Expected {
			if !e.Met {
				missed++
			}
		}
	}
	if violated > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d runs violated a rule", violated, len(s.Results)))
	}
	if missed > 0 {
		wrong = append(wrong, Count(missed, "expectation")+" missed")
	}
	if n := len(s.Differs); n > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d runs went otherwise on %s than in memory", n, len(s.Results), s.Store))
	}
	return wrong
}

// Document is the report for people.
func (s *Simulation) Document() *Document {
	d := &Document{Title: "Simulation: " + Quoted(s.Scenario), Command: s.Rerun + s.OnServer, Answers: s.answers()}
	d.Lead = []Fact{fact("scenario", Quoted(s.Scenario))}
	if about := s.Results[0].About; about != "" {
		d.Lead = append(d.Lead, fact("about", Visible(about)))
	}
	d.Lead = append(d.Lead, s.setup()...)
	if s.Wrong() != nil {
		d.Footer = []Fact{fact("replay", d.Command)}
	}
	if Failed(s.Results) != nil {
		d.Footer = append(d.Footer, fact("shrink", s.Rerun+" --shrink"))
	}
	limits := limitsOf(s.Results)
	d.add(section{Title: "Each limit in short", Quiet: true, Tables: filled(s.headline(limits))}, s.expectations())
	for _, r := range s.Results {
		if r.Failure != nil {
			d.add(violation(r.Failure))
		}
	}
	for i := range s.Differs {
		d.add(s.Differs[i].section())
	}
	d.add(s.figures()...)
	d.add(section{
		Title: "In numbers", Quiet: true,
		Tables: filled(rulesTable(s.Results[0].Policy), listsTable(s.Results[0].Policy), callers(s.Results), limitTable(limits), trafficTable(s.Results), reservedTable(s.Results), serverTable(s.Results), s.faultTable(), traceTable(s.Results[0])),
	}, s.text(), more(s.Results))
	return d
}

// headline is one row for each limit.
func (s *Simulation) headline(limits []limitOf) table {
	t := table{Title: "Each limit in short", Head: []string{"limit", "spec", "admitted", "most in a window", "limit", "over-admitted", "wait of 99 %"}}
	for i, l := range limits {
		spec := l.Spec
		if s.Ran != nil && i < len(s.Ran.Limits) && s.Ran.Limits[i].Groups > 0 {
			spec += " for each of " + Count(s.Ran.Limits[i].Groups, "group") + " of keys"
		}
		window := right(Digits(l.Worst.Units) + " in " + Duration(l.Worst.WindowMicros))
		over := l.overCell(l.OverUnits)
		if l.OverUnits > 0 {
			over.Class = string(l.level())
		}
		if l.Worst.Units > l.Worst.BoundUnits {
			window.Class = string(l.level())
		}
		t.Rows = append(t.Rows, []cell{word(l.label()), word(spec), right(Percent(l.of.Totals.Admitted, l.of.Totals.Arrivals)),
			window, number(l.Worst.LimitUnits), over, right(waited(l.of, l.of.Wait.P99Micros))})
	}
	return t
}

// violation says what went wrong in a run, and what happened before.
func violation(f *result.Failure) section {
	lines := []string{f.Columns}
	for _, l := range f.Last {
		lines = append(lines, strings.TrimRight(Visible(l), " "))
	}
	return section{
		Title: fmt.Sprintf("Violation of %s, %s", f.Rule, Quoted(f.Limit)),
		Text: []string{
			fmt.Sprintf("Rule %s was violated by limit %s: %s", f.Rule, Quoted(f.Limit), Visible(f.Text)),
			fmt.Sprintf("It was event %s, %s after the start, which ended the run. It stands last of the %d events that are shown.", Digits(f.Event), Duration(f.Micros), len(f.Last)),
		},
		Lines: strings.Join(lines, "\n"),
	}
}

func (d *Difference) section() section {
	return section{
		Title: "Difference of " + Quoted(d.Limit),
		Text: []string{fmt.Sprintf("Limit %s did not go as in memory: event %s differs. The digest is %s in memory and %s on the server.",
			Quoted(d.Limit), Digits(d.Event), d.Memory, d.Server)},
		Lines: fmt.Sprintf("       %s\nmemory %s\nserver %s", d.Columns, Visible(d.MemoryEvent), Visible(d.ServerEvent)),
	}
}

// limitOf is a limit of a result.
type limitOf struct {
	*result.Limit
	of *result.Result
}

// label is what tables and pictures call the limit: with its spec where a rule has given
// out several.
func (l limitOf) label() string {
	for i := range l.of.Limits {
		if other := &l.of.Limits[i]; other.Name == l.Name && other.Spec != l.Spec {
			return Quoted(l.Name + " " + l.Spec)
		}
	}
	return Quoted(l.Name)
}

func limitsOf(results []*result.Result) (all []limitOf) {
	for _, r := range results {
		for i := range r.Limits {
			all = append(all, limitOf{&r.Limits[i], r})
		}
	}
	return all
}

// byTime are the indexes of the faults in the order in which they began.
func byTime(r *result.Result) (indexes []int) {
	for i := range r.Faults {
		indexes = append(indexes, i)
	}
	slices.SortStableFunc(indexes, func(a, b int) int { return cmp.Compare(r.Faults[a].FromMicros, r.Faults[b].FromMicros) })
	return indexes
}

// inTime returns the faults in the order in which they began, which numbers them.
func inTime(r *result.Result) (faults []result.Fault) {
	for _, i := range byTime(r) {
		faults = append(faults, r.Faults[i])
	}
	return faults
}

// Bounds writes what an expectation allows.
func Bounds(e *result.Expected) string {
	switch {
	case e.Max == nil:
		return "at least " + Digits(*e.Min)
	case e.Min == nil:
		return "at most " + Digits(*e.Max)
	case *e.Min == *e.Max:
		return Digits(*e.Min)
	}
	return Digits(*e.Min) + " to " + Digits(*e.Max)
}

// waited writes a percentile of the waits of a result.
func waited(r *result.Result, micros int64) string {
	if r.Totals.Admitted == 0 {
		return "–"
	}
	return shortened(micros)
}

// shortened writes a wait with three digits.
func shortened(micros int64) string {
	if micros == 0 {
		return "none"
	}
	scale := int64(1)
	for micros/scale >= 1000 {
		scale *= 10
	}
	return Duration((micros + scale/2) / scale * scale)
}

func jain(r *result.Result) string {
	return strconv.FormatFloat(float64(r.Fairness.JainMillionths)/1e6, 'f', 3, 64)
}
