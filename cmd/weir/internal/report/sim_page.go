package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgo/weir/cmd/weir/internal/report/chart"
	"github.com/weirgo/weir/sim/result"
)

// errNoResults is returned where there is nothing to show.
var errNoResults = errors.New("report: no results: must be at least one")

// limitOf is a limit of a result.
type limitOf struct {
	*result.Limit
	shared bool // several limits have decided together
}

// label is what tables and pictures call the limit.
func (l limitOf) label() string { return show(l.Name) }

func limitsOf(results []*result.Result) (all []limitOf) {
	for _, r := range results {
		for i := range r.Limits {
			all = append(all, limitOf{&r.Limits[i], len(r.Limits) > 1})
		}
	}
	return all
}

// inTime returns the faults in the order in which they began, which numbers them.
func inTime(r *result.Result) []result.Fault {
	faults := slices.Clone(r.Faults)
	slices.SortStableFunc(faults, func(a, b result.Fault) int { return cmp.Compare(a.FromMicros, b.FromMicros) })
	return faults
}

// SimRun is how a scenario was run.
type SimRun struct {
	Store   string // the URL, without user and password
	Differs int    // in how many results events are others than in memory
	Command string // that runs it again
}

// SimHTML writes the results of a scenario as one HTML file, which needs nothing else.
// Equal results have equal bytes.
func SimHTML(w io.Writer, results []*result.Result, ran SimRun) error {
	if len(results) == 0 {
		return errNoResults
	}
	first := results[0]
	p := &page{
		Title: "Simulation: " + show(first.Scenario), About: visible(first.About), Verdict: simVerdict(results, ran.Differs), Command: ran.Command,
		Facts: []fact{
			{"store", show(ran.Store)},
			{"seed", strconv.FormatUint(first.Seed, 10)},
			{"length", chart.Duration(first.DurationMicros)},
			{"requests", requests(results)},
		},
	}
	err := p.failures(results)
	err = errors.Join(err, p.sideBySide(results))
	for _, r := range results {
		faults := inTime(r)
		err = errors.Join(err, p.add(section{
			Title: "Limit " + show(r.Limit), Text: specs(r), Tables: resultTables(r, faults),
		}, resultCharts(r, faults)...))
	}
	if err := errors.Join(err, p.add(section{Title: "Corners", Text: []string{cornersText}, Tables: []table{cornerTable(results)}})); err != nil {
		return err
	}
	return p.write(w)
}

const cornersText = "Behaviour that a run may come to. The checks have seen what has a count above 0; one run is not expected to come to all."

// SimPlot draws the results of a scenario into a file, whose name ends in .png or .svg.
// It replaces what is there.
func SimPlot(path string, results []*result.Result) error {
	if len(results) == 0 {
		return errNoResults
	}
	first := results[0]
	sheet := &chart.Sheet{Title: fmt.Sprintf("%s, seed %d, %s", show(first.Scenario), first.Seed, chart.Duration(first.DurationMicros))}
	sheet.Groups = append(sheet.Groups, []*chart.Chart{outcomes(results), worstWindows(limitsOf(results))})
	for _, r := range results {
		var group []*chart.Chart
		for _, c := range resultCharts(r, inTime(r)) {
			named := *c
			named.Title = show(r.Limit) + ": " + strings.ToLower(c.Title[:1]) + c.Title[1:]
			group = append(group, &named)
		}
		sheet.Groups = append(sheet.Groups, group)
	}
	drawn, err := sheet.Encode(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, drawn, 0o666)
}

// resultCharts are the pictures of one result.
func resultCharts(r *result.Result, faults []result.Fault) []*chart.Chart {
	var all []*chart.Chart
	if len(r.Series.Offered) > 0 {
		all = append(all, overTime(r, faults))
	}
	for _, l := range limitsOf([]*result.Result{r}) {
		if len(l.Curve) > 1 {
			all = append(all, arrivalCurve(l))
		}
	}
	if len(r.Waits) > 0 {
		all = append(all, waiting(r))
	}
	if len(r.Fairness.Top) > 0 {
		all = append(all, clients(r))
	}
	if len(faults) > 0 {
		all = append(all, faultWindows(r, faults))
	}
	return all
}

func requests(results []*result.Result) string {
	t := &results[0].Totals
	if len(results) == 1 {
		return fmt.Sprintf("%s, %s with repeats", Count(t.Arrivals, "arrival"), Count(t.Attempts, "attempt"))
	}
	least, most := t.Arrivals, t.Arrivals
	for _, r := range results {
		least, most = min(least, r.Totals.Arrivals), max(most, r.Totals.Arrivals)
	}
	if least == most {
		return Count(most, "arrival") + " for each limit"
	}
	return fmt.Sprintf("%s to %s for each limit: some callers wait for the answer", Digits(least), Count(most, "arrival"))
}

// specs says what the limits of a result are.
func specs(r *result.Result) (all []string) {
	for _, l := range r.Limits {
		text := l.Spec
		if len(r.Limits) > 1 {
			text = show(l.Name) + ": " + text
		}
		all = append(all, text)
	}
	return all
}

func simVerdict(results []*result.Result, differs int) *verdict {
	violated, missed := 0, 0
	for _, r := range results {
		if r.Failure != nil {
			violated++
		}
		for _, e := range r.Expected {
			if !e.Met {
				missed++
			}
		}
	}
	switch {
	case violated > 0:
		return &verdict{false, fmt.Sprintf("A rule was violated in %d of %s", violated, Count(int64(len(results)), "run"))}
	case differs > 0:
		return &verdict{false, fmt.Sprintf("Other events than in memory in %d of %s", differs, Count(int64(len(results)), "run"))}
	case missed > 0:
		return &verdict{false, "No rule was violated. Not met: " + Count(int64(missed), "expectation")}
	}
	return &verdict{true, "No rule was violated"}
}

// failures tells the story of each violation.
func (p *page) failures(results []*result.Result) error {
	for _, r := range results {
		f := r.Failure
		if f == nil {
			continue
		}
		lines := []string{f.Columns}
		for _, l := range f.Last {
			lines = append(lines, strings.TrimRight(visible(l), " "))
		}
		if err := p.add(section{
			Title: fmt.Sprintf("Violation of %s, %s", f.Rule, show(f.Limit)),
			Text: []string{
				visible(f.Text),
				fmt.Sprintf("It was event %s, %s after the start, which ended the run. It stands last of the %d events that are shown.", Digits(f.Event), chart.Duration(f.Micros), len(f.Last)),
			},
			Lines: strings.Join(lines, "\n"),
		}); err != nil {
			return err
		}
	}
	return nil
}

// visible replaces what a reader could not see, or what would turn a text around.
func visible(s string) string {
	return strings.Map(func(c rune) rune {
		if !strconv.IsPrint(c) {
			return '·'
		}
		return c
	}, s)
}
