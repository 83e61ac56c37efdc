package report

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// Exploration is what came of many seeds.
type Exploration struct {
	Store     string        `json:"store"`
	FirstSeed uint64        `json:"first_seed"`
	Wanted    int           `json:"seeds"` // that were asked for
	Explored  int           `json:"explored"`
	Runs      int64         `json:"runs"`
	Attempts  int64         `json:"attempts"`
	Events    int64         `json:"events"`
	Goals     []result.Goal `json:"goals"` // sums
	// Failed is the first scenario that failed, and Saved the file that holds it.
	Failed *Simulation `json:"failed,omitempty"`
	Saved  string      `json:"saved,omitempty"`

	Dropped int `json:"-"` // expectations that --limit left out
}

// Add counts the results of one seed.
func (x *Exploration) Add(s *Simulation) {
	x.Explored++
	for _, r := range s.Results {
		x.Runs++
		x.Attempts += r.Totals.Attempts
		x.Events += r.Events
		for _, g := range r.Goals { // not every scenario has all of them
			if i := slices.IndexFunc(x.Goals, func(h result.Goal) bool { return h.Name == g.Name }); i >= 0 {
				x.Goals[i].Count += g.Count
			} else {
				x.Goals = append(x.Goals, g)
			}
		}
	}
	if s.Wrong() != nil {
		x.Failed = s
	}
}

// Document is the report for people.
func (x *Exploration) Document() *Document {
	last := x.FirstSeed + uint64(x.Explored-1)
	d := &Document{Title: "Exploration", Lead: []Fact{
		factf("explored", "%s of %s, %d to %d, on %s", Digits(int64(x.Explored)), Count(int64(x.Wanted), "seed"), x.FirstSeed, last, Quoted(x.Store)),
		factf("runs", "%s, %s attempts, %s events", Digits(x.Runs), Digits(x.Attempts), Digits(x.Events)),
	}}
	if x.Dropped > 0 {
		d.Lead = append(d.Lead, fact("expected", leftOut(x.Dropped)))
	}
	seen := table{Title: "Corner cases", Head: []string{"corner case", "seen"}}
	for _, g := range x.Goals {
		seen.Rows = append(seen.Rows, []cell{{g.Name, className}, number(g.Count)})
	}
	d.add(section{Title: "Corner cases", Tables: []table{seen}})
	if x.Failed == nil {
		d.Answers = []answer{{levelGood, "All is well: no rule was violated, no expectation missed."}}
		return d
	}
	d.Lead = append(d.Lead, factf("failed", "seed %d, saved in %s", x.Failed.Seed, Quoted(x.Saved)))
	d.Next = x.Failed.Document()
	d.Next.Footer = append(d.Next.Footer, fact("saved", Quoted(x.Saved)))
	return d
}

// leftOut says how many expectations --limit or --policy has left out.
func leftOut(n int) string {
	return Count(int64(n), "expectation") + " of the scenario left out with --limit"
}

// Scenarios lists the built-in scenarios.
func Scenarios() *Document {
	t := table{Head: []string{"scenario", "what it shows"}}
	for _, b := range scenario.List() {
		t.Rows = append(t.Rows, []cell{word(b.Name), line(b.About)})
	}
	return &Document{Title: "Scenarios", Sections: []section{{Tables: []table{t}}}}
}

// Shrunk is what came of shrinking a scenario.
type Shrunk struct {
	Before, After  *scenario.Scenario
	Failed, Fails  *result.Result // before and after
	Tries          int64
	Saved, Command string
}

// Document is the report for people.
func (s *Shrunk) Document() *Document {
	t := table{Title: "Size", Head: []string{"", "length", "limits", "nodes", "traffics", "faults", "events"}}
	for _, one := range []struct {
		name string
		of   *scenario.Scenario
		got  *result.Result
	}{{"before", s.Before, s.Failed}, {"after", s.After, s.Fails}} {
		t.Rows = append(t.Rows, []cell{word(one.name), right(Duration(one.of.Duration.Microseconds())), right(strconv.Itoa(len(one.of.Limits))),
			number(max(1, one.of.Nodes.Count)), right(strconv.Itoa(len(one.of.Traffic))), right(strconv.Itoa(len(one.of.Faults))), number(one.got.Events)})
	}
	d := &Document{Title: "Shrunk", Command: s.Command, Lead: []Fact{
		factf("shrunk", "%s, in %s tries", Quoted(s.Before.Name), Digits(s.Tries)),
	}, Footer: []Fact{fact("saved", Quoted(s.Saved)), fact("replay", s.Command)}}
	d.add(section{Title: t.Title, Tables: []table{t}}, failure(s.Fails))
	return d
}

// failure says what a result violates or misses.
func failure(r *result.Result) section {
	if r.Failure != nil {
		return violation(r.Failure)
	}
	return section{Title: "Missed expectation", Text: []string{missing(Missed(r))}}
}

// missing says what was expected and is not so.
func missing(e *result.Expected) string {
	return fmt.Sprintf("%s of limit %s is %s: expected %s.", e.Metric, Quoted(e.Limit), Digits(e.Value), Bounds(e))
}

// Missed returns the first expectation that a result misses, or nil.
func Missed(r *result.Result) *result.Expected {
	for i := range r.Expected {
		if !r.Expected[i].Met {
			return &r.Expected[i]
		}
	}
	return nil
}
