package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	simresult "github.com/weirgo/weir/sim/result"
)

// simColumn is what a column of the tables is about: one run, and one of its limits.
type simColumn struct {
	*simresult.Result
	limit *simresult.Limit
}

// simRow is a row of the tables: a name and what it shows of a column. A row that says
// nothing anywhere, "0" or "-", is left out where spare is true.
type simRow struct {
	name  string
	spare bool
	cell  func(c simColumn) string
}

func counted(n func(c simColumn) int64) func(simColumn) string {
	return func(c simColumn) string { return report.Digits(n(c)) }
}

// runRows are about requests.
var runRows = []simRow{
	{"requests", false, counted(func(c simColumn) int64 { return c.Totals.Arrivals })},
	{"attempts", false, counted(func(c simColumn) int64 { return c.Totals.Attempts })},
	{"admitted", false, counted(func(c simColumn) int64 { return c.Totals.Admitted })},
	{"", false, func(c simColumn) string { return report.Percent(c.Totals.Admitted, c.Totals.Arrivals) }},
	{"denied", false, counted(func(c simColumn) int64 { return c.Totals.Denied })},
	{"degraded", false, counted(func(c simColumn) int64 { return c.Totals.Degraded })},
	{"errors", false, counted(func(c simColumn) int64 { return c.Totals.Errors })},
	{"unknown", false, counted(func(c simColumn) int64 { return c.Totals.Unknown })},
	{"throttled", true, counted(func(c simColumn) int64 { return c.Totals.Throttled })},
	{"gave up", true, counted(func(c simColumn) int64 { return c.Totals.GaveUp })},
	{"waiting at the end", true, counted(func(c simColumn) int64 { return c.Totals.Waiting })},
	{"units offered", true, func(c simColumn) string { return unitsOf(c, c.Totals.OfferedUnits) }},
	{"units admitted", true, func(c simColumn) string { return unitsOf(c, c.Totals.AdmittedUnits) }},
	{"repeats per success", false, func(c simColumn) string { return ratio(c.Totals.Attempts-c.Totals.Arrivals, c.Totals.Admitted) }},
	{"wait of half, up to", false, func(c simColumn) string { return waitOf(c.Waits, 50) }},
	{"wait of 99 %, up to", false, func(c simColumn) string { return waitOf(c.Waits, 99) }},
	{"keys", false, counted(func(c simColumn) int64 { return c.Fairness.Keys })},
	{"fairness (Jain)", false, func(c simColumn) string {
		return fmt.Sprintf("%d.%06d", c.Fairness.JainMillionths/1_000_000, c.Fairness.JainMillionths%1_000_000)
	}},
	{"RetryAfter off by", true, func(c simColumn) string { return spanOr0(c.RetryAfter.MaxErrorMicros) }},
}

// limitRows are about one limit.
var limitRows = []simRow{
	{"worst window", false, counted(func(c simColumn) int64 { return c.limit.Worst.Units })},
	{"  of a limit of", false, counted(func(c simColumn) int64 { return c.limit.Worst.LimitUnits })},
	{"  and a bound of", false, counted(func(c simColumn) int64 { return c.limit.Worst.BoundUnits })},
	{"over-admitted", false, counted(func(c simColumn) int64 { return c.limit.OverUnits })},
	{"  faults explain", true, counted(func(c simColumn) int64 { return c.limit.OverBoundUnits })},
	{"false denials", false, counted(func(c simColumn) int64 { return c.limit.FalseDenials })},
	{"units forgotten", true, counted(func(c simColumn) int64 { return c.limit.ForgottenUnits })},
	{"keys of the curve", true, curveKeys},
}

// curveKeys says how many keys the curve is of where those are not all, and otherwise "0".
func curveKeys(c simColumn) string {
	l := c.limit
	text := report.Digits(l.CurveKeys) + " of " + report.Digits(l.CurveOf)
	switch {
	case l.CurveLate > 0:
		return text + ", " + report.Digits(l.CurveLate) + " late"
	case l.CurveKeys < l.CurveOf:
		return text
	}
	return "0"
}

// unitsOf is a number of units where costs differ from 1, and otherwise "0".
func unitsOf(c simColumn, units int64) string {
	if c.Totals.OfferedUnits == c.Totals.Attempts {
		return "0"
	}
	return report.Digits(units)
}

func spanOr0(micros int64) string {
	if micros == 0 {
		return "0"
	}
	return span(micros)
}

// waitOf returns the upper bound of the bucket that holds a percentile.
func waitOf(buckets []simresult.WaitBucket, percent int64) string {
	var all, sum int64
	for _, b := range buckets {
		all += b.Count
	}
	if all == 0 {
		return "-"
	}
	last := int64(0)
	for _, b := range buckets {
		if sum += b.Count; sum >= (all*percent+99)/100 {
			if b.UpToMicros < 0 {
				return "above " + span(last)
			}
			return span(b.UpToMicros)
		}
		last = b.UpToMicros
	}
	return "-"
}

// runColumns returns a column for each run.
func (r *simReport) runColumns() (all []simColumn) {
	for _, one := range r.Results {
		all = append(all, simColumn{one, &one.Limits[0]})
	}
	return all
}

// limitColumns returns a column for each limit of each run.
func (r *simReport) limitColumns() (all []simColumn) {
	for _, one := range r.Results {
		for i := range one.Limits {
			all = append(all, simColumn{one, &one.Limits[i]})
		}
	}
	return all
}

// writeRows writes a table with a column for each run or limit, unless all its rows are
// left out.
func writeRows(b *strings.Builder, title string, columns []simColumn, names func(simColumn) string, rows []simRow) {
	heading := []string{title}
	for _, c := range columns {
		heading = append(heading, names(c))
	}
	table := [][]string{heading}
	for _, row := range rows {
		cells, says := []string{row.name}, !row.spare
		for _, c := range columns {
			cell := row.cell(c)
			cells, says = append(cells, cell), says || cell != "0"
		}
		if says {
			table = append(table, cells)
		}
	}
	if len(table) > 1 {
		b.WriteByte('\n')
		writeTable(b, table, 1)
	}
}

func runName(c simColumn) string   { return c.Result.Limit }
func limitName(c simColumn) string { return c.limit.Name }

// totals writes what was counted: in one table where each limit has a run of its own.
func (r *simReport) totals(b *strings.Builder) {
	if !r.scenario.Together {
		writeRows(b, "", r.limitColumns(), limitName, append(runRows[:len(runRows):len(runRows)], limitRows...))
		return
	}
	writeRows(b, "", r.runColumns(), runName, runRows)
	writeRows(b, "", r.limitColumns(), limitName, limitRows)
}

// traffic writes how many requests of each traffic were admitted.
func (r *simReport) traffic(b *strings.Builder) {
	if len(r.scenario.Traffic) < 2 {
		return
	}
	var rows []simRow
	for i, t := range r.scenario.Traffic {
		rows = append(rows,
			simRow{t.Name, false, counted(func(c simColumn) int64 { return c.Traffic[i].Arrivals })},
			simRow{"  admitted", false, func(c simColumn) string { return report.Digits(c.Traffic[i].Admitted) }},
			simRow{"", false, func(c simColumn) string { return report.Percent(c.Traffic[i].Admitted, c.Traffic[i].Arrivals) }})
	}
	writeRows(b, "traffic", r.runColumns(), runName, rows)
}

// traces writes what of the traces came after the end and what is no request. It is the
// same in every run.
func (r *simReport) traces(b *strings.Builder) {
	rows := [][]string{{"trace of", "left out", "bad lines", "the first"}}
	for _, t := range r.Results[0].Traffic {
		if t.LeftOut > 0 || t.BadLines > 0 {
			rows = append(rows, []string{t.Name, report.Digits(t.LeftOut), report.Digits(t.BadLines), t.FirstBad})
		}
	}
	if len(rows) > 1 {
		b.WriteByte('\n')
		writeTable(b, rows, 4)
	}
}

// faults writes what happened while each fault had effects.
func (r *simReport) faults(b *strings.Builder) {
	rows := [][]string{{"fault", "limit", "from", "to", "acts until", "attempts", "admitted", "denied", "degraded", "errors", "unknown", "over-admitted", "false denials", "forgotten"}}
	for i := range r.Results[0].Faults {
		for _, one := range r.Results {
			f := &one.Faults[i]
			rows = append(rows, []string{f.Kind, one.Limit, span(f.FromMicros), span(f.ToMicros), span(f.UntilMicros),
				report.Digits(f.Attempts), report.Digits(f.Admitted), report.Digits(f.Denied), report.Digits(f.Degraded), report.Digits(f.Errors), report.Digits(f.Unknown),
				report.Digits(f.OverUnits), report.Digits(f.FalseDenials), report.Digits(f.ForgottenUnits)})
		}
	}
	if len(rows) > 1 {
		b.WriteByte('\n')
		writeTable(b, rows, 2)
	}
}

// expected writes what came of the expectations: a row for each number and its bounds.
func (r *simReport) expected(b *strings.Builder) {
	var names []string
	cells := map[string][]string{} // by name; one for each run
	for run, one := range r.Results {
		for i := range one.Expected {
			e := &one.Expected[i]
			name := e.Metric + ": " + bounds(e)
			if e.Limit != one.Limit { // of one limit of a run that has several
				name = e.Metric + " of " + e.Limit + ": " + bounds(e)
			}
			if cells[name] == nil {
				names = append(names, name)
				cells[name] = make([]string, len(r.Results))
			}
			value := report.Digits(e.Value)
			if !e.Met {
				value = "MISSED: " + value
			}
			cells[name][run] = value
		}
	}
	var rows []simRow
	for _, name := range names {
		rows = append(rows, simRow{name, false, func(c simColumn) string { return cells[name][slices.Index(r.Results, c.Result)] }})
	}
	if len(rows) > 0 {
		writeRows(b, "expected", r.runColumns(), runName, rows)
	}
	if r.dropped > 0 { // then there are no others
		fmt.Fprintf(b, "\nexpected: %s left out with --limit\n", report.Digits(int64(r.dropped)))
	}
}

// goals writes what happened at all of what ought to happen in some runs.
func (r *simReport) goals(b *strings.Builder) {
	var rows []simRow
	for i, g := range r.Results[0].Goals {
		rows = append(rows, simRow{g.Name, true, counted(func(c simColumn) int64 { return c.Goals[i].Count })})
	}
	writeRows(b, "corners that were seen", r.runColumns(), runName, rows)
}

// digests writes the digest of each run.
func (r *simReport) digests(b *strings.Builder) {
	rows := [][]string{{"digest", "of", "events"}}
	for _, one := range r.Results {
		rows = append(rows, []string{one.Digest, one.Limit, report.Digits(one.Events)})
	}
	b.WriteByte('\n')
	writeTable(b, rows, 2)
	if len(r.Differs) == 0 && r.Store != memoryURL {
		fmt.Fprintf(b, "The events are the same in memory and on %s.\n", r.Store)
	}
}
