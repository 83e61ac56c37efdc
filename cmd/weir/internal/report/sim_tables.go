package report

import (
	"fmt"
	"strconv"

	"github.com/weirgo/weir/cmd/weir/internal/report/chart"
	"github.com/weirgo/weir/sim/result"
)

// sideBySide adds what can be compared between results and between limits.
func (p *page) sideBySide(results []*result.Result) error {
	limits := limitsOf(results)
	s := section{Title: "Side by side", Tables: []table{callers(results), limitTable(limits)}}
	if len(limits) == 1 {
		s.Title = "In numbers"
	}
	if t := expectations(results); len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	return p.add(s, outcomes(results), worstWindows(limits))
}

// callers is what callers saw, a column for each result.
func callers(results []*result.Result) table {
	t := table{Title: "What callers saw", Head: []string{"number"}}
	for _, r := range results {
		t.Head = append(t.Head, show(r.Limit))
	}
	var all rows
	row := func(name string, of func(*result.Result) cell) { addRow(&all, name, results, of) }
	counted := func(name string, of func(*result.Counts) int64) {
		row(name, func(r *result.Result) cell { return number(of(&r.Totals)) })
	}
	counted("requests", func(c *result.Counts) int64 { return c.Arrivals })
	counted("attempts", func(c *result.Counts) int64 { return c.Attempts })
	counted("units offered", func(c *result.Counts) int64 { return c.OfferedUnits })
	counted("admitted", func(c *result.Counts) int64 { return c.Admitted })
	row("of requests", func(r *result.Result) cell { return right(Percent(r.Totals.Admitted, r.Totals.Arrivals)) })
	counted("units admitted", func(c *result.Counts) int64 { return c.AdmittedUnits })
	counted("denied", func(c *result.Counts) int64 { return c.Denied })
	counted("degraded", func(c *result.Counts) int64 { return c.Degraded })
	counted("errors", func(c *result.Counts) int64 { return c.Errors })
	counted("unknown", func(c *result.Counts) int64 { return c.Unknown })
	counted("throttled", func(c *result.Counts) int64 { return c.Throttled })
	counted("gave up", func(c *result.Counts) int64 { return c.GaveUp })
	counted("waiting at the end", func(c *result.Counts) int64 { return c.Waiting })
	row("repeats per success", func(r *result.Result) cell {
		if r.Totals.Admitted == 0 {
			return right("–")
		}
		return right(fmt.Sprintf("%.2f", float64(r.Totals.Attempts-r.Totals.Arrivals)/float64(r.Totals.Admitted)))
	})
	row("fairness (Jain)", func(r *result.Result) cell { return right(jain(r)) })
	row("keys", func(r *result.Result) cell { return number(r.Fairness.Keys) })
	wait := func(name string, percent int64) {
		row(name, func(r *result.Result) cell {
			var sum int64
			for _, b := range r.Waits {
				sum += b.Count
			}
			return right(quantile(r.Waits, sum, percent))
		})
	}
	wait("wait of half", 50)
	wait("wait of 99 %", 99)
	row("RetryAfter: told", func(r *result.Result) cell { return number(r.RetryAfter.Told) })
	row("RetryAfter: kept, and admitted", func(r *result.Result) cell { return number(r.RetryAfter.Kept) })
	row("RetryAfter: came back too early, and denied", func(r *result.Result) cell { return number(r.RetryAfter.Early) })
	row("RetryAfter off by", func(r *result.Result) cell {
		n := r.RetryAfter.MaxErrorMicros
		c := number(n)
		c.Text = unbroken(chart.Duration(n))
		return c
	})
	row("events", func(r *result.Result) cell { return number(r.Events) })
	row("their digest", func(r *result.Result) cell { return cell{Text: r.Digest, Class: hash} })
	t.Rows = all
	return t
}

// limitTable is what each limit let through, a column for each.
func limitTable(limits []limitOf) table {
	t := table{Title: "What each limit let through", Head: []string{"number"}}
	for _, l := range limits {
		t.Head = append(t.Head, l.label())
	}
	var all rows
	row := func(name string, of func(limitOf) cell) { addRow(&all, name, limits, of) }
	row("spec", func(l limitOf) cell { return right(l.Spec) })
	row("decisions of the server", func(l limitOf) cell { return number(l.Executed) })
	row("of them admissions", func(l limitOf) cell { return number(l.ExecutedAllowed) })
	row("units charged", func(l limitOf) cell { return number(l.ExecutedUnits) })
	row("keys charged", func(l limitOf) cell { return number(l.Keys) })
	row("worst window", func(l limitOf) cell { return number(l.Worst.Units) })
	row("worst window: of a limit of", func(l limitOf) cell { return number(l.Worst.LimitUnits) })
	row("worst window: and a bound of", func(l limitOf) cell { return number(l.Worst.BoundUnits) })
	row("worst window: ended at", func(l limitOf) cell { return right(chart.Duration(l.Worst.AtMicros)) })
	row("over-admitted", func(l limitOf) cell {
		if l.OverUnits > l.OverBoundUnits {
			return bad(Digits(l.OverUnits))
		}
		return number(l.OverUnits)
	})
	row("faults explain", func(l limitOf) cell { return number(l.OverBoundUnits) })
	row("false denials", func(l limitOf) cell { return number(l.FalseDenials) })
	row("units falsely denied", func(l limitOf) cell { return number(l.FalselyDeniedUnits) })
	row("units forgotten", func(l limitOf) cell { return number(l.ForgottenUnits) })
	t.Rows = all
	return t
}

// expectations is what the scenario expected, and what came of it.
func expectations(results []*result.Result) table {
	t := table{Title: "What the scenario expects", Head: []string{"number", "limit", "at least", "at most", "it was", "outcome"}}
	bound := func(n *int64) cell {
		if n == nil {
			return right("")
		}
		return right(Digits(*n))
	}
	for _, r := range results {
		for _, e := range r.Expected {
			met := right("met")
			if !e.Met {
				met = bad("missed")
			}
			t.Rows = append(t.Rows, []cell{word(e.Metric), word(show(e.Limit)), bound(e.Min), bound(e.Max), right(Digits(e.Value)), met})
		}
	}
	return t
}

// resultTables are the tables of one result.
func resultTables(r *result.Result, faults []result.Fault) []table {
	var all []table
	if len(faults) > 0 {
		all = append(all, faultTable(faults))
	}
	if len(r.Traffic) > 1 {
		all = append(all, trafficTable(r))
	}
	if len(r.Fairness.Top) > 0 {
		all = append(all, clientTable(r))
	}
	if t := traceTable(r); len(t.Rows) > 0 {
		all = append(all, t)
	}
	return all
}

// faultTable is what happened in the time of each fault, a column for each.
func faultTable(faults []result.Fault) table {
	t := table{Title: "Faults, in the time until their effects were over", Head: []string{"number"}}
	for i, f := range faults {
		t.Head = append(t.Head, strconv.Itoa(i+1)+" "+f.Kind)
	}
	var all rows
	row := func(name string, of func(result.Fault) cell) { addRow(&all, name, faults, of) }
	moment := func(name string, of func(result.Fault) int64) {
		row(name, func(f result.Fault) cell { return right(chart.Duration(of(f))) })
	}
	counted := func(name string, of func(result.Fault) int64) {
		row(name, func(f result.Fault) cell { return number(of(f)) })
	}
	moment("from", func(f result.Fault) int64 { return f.FromMicros })
	moment("to", func(f result.Fault) int64 { return f.ToMicros })
	moment("acts until", func(f result.Fault) int64 { return f.UntilMicros })
	counted("attempts", func(f result.Fault) int64 { return f.Attempts })
	counted("admitted", func(f result.Fault) int64 { return f.Admitted })
	counted("denied", func(f result.Fault) int64 { return f.Denied })
	counted("degraded", func(f result.Fault) int64 { return f.Degraded })
	counted("errors", func(f result.Fault) int64 { return f.Errors })
	counted("unknown", func(f result.Fault) int64 { return f.Unknown })
	counted("over-admitted", func(f result.Fault) int64 { return f.OverUnits })
	counted("false denials", func(f result.Fault) int64 { return f.FalseDenials })
	counted("units falsely denied", func(f result.Fault) int64 { return f.FalselyDeniedUnits })
	counted("units forgotten", func(f result.Fault) int64 { return f.ForgottenUnits })
	t.Rows = all
	return t
}

func clientTable(r *result.Result) table {
	f := &r.Fairness
	title := fmt.Sprintf("The busiest %d of %s", len(f.Top), Count(f.Keys, "key"))
	if n := int64(len(f.Top)); n == f.Keys {
		title = "All keys"
	}
	if f.Partial {
		title += "; there were too many to remember, so that one that came back may count twice"
	}
	t := table{Title: title, Head: []string{"key", "attempts", "units offered", "units admitted", "share"}}
	for _, c := range f.Top {
		t.Rows = append(t.Rows, []cell{
			word(show(c.Key)), number(c.Attempts), number(c.OfferedUnits), number(c.AdmittedUnits), right(Percent(c.AdmittedUnits, c.OfferedUnits)),
		})
	}
	return t
}

// trafficTable is what each traffic asked for and got, a column for each.
func trafficTable(r *result.Result) table {
	t := table{Title: "Traffic", Head: []string{"number"}}
	for _, c := range r.Traffic {
		t.Head = append(t.Head, show(c.Name))
	}
	var all rows
	row := func(name string, of func(result.Traffic) int64) {
		addRow(&all, name, r.Traffic, func(c result.Traffic) cell { return number(of(c)) })
	}
	row("requests", func(c result.Traffic) int64 { return c.Arrivals })
	row("attempts", func(c result.Traffic) int64 { return c.Attempts })
	row("units offered", func(c result.Traffic) int64 { return c.OfferedUnits })
	row("admitted", func(c result.Traffic) int64 { return c.Admitted })
	row("units admitted", func(c result.Traffic) int64 { return c.AdmittedUnits })
	row("denied", func(c result.Traffic) int64 { return c.Denied })
	row("degraded", func(c result.Traffic) int64 { return c.Degraded })
	row("errors", func(c result.Traffic) int64 { return c.Errors })
	row("unknown", func(c result.Traffic) int64 { return c.Unknown })
	row("throttled", func(c result.Traffic) int64 { return c.Throttled })
	row("gave up", func(c result.Traffic) int64 { return c.GaveUp })
	t.Rows = all
	return t
}

// traceTable is what of the traces was no request of the run.
func traceTable(r *result.Result) table {
	t := table{Title: "Traces", Head: []string{"trace of", "left out", "bad lines", "the first"}}
	for _, c := range r.Traffic {
		if c.BadLines > 0 || c.LeftOut > 0 {
			t.Rows = append(t.Rows, []cell{word(show(c.Name)), number(c.LeftOut), number(c.BadLines), line(visible(c.FirstBad))})
		}
	}
	return t
}

// cornerTable is how often each corner was seen, a column for each result.
func cornerTable(results []*result.Result) table {
	t := table{Title: "Corners", Head: []string{"corner"}}
	for _, r := range results {
		t.Head = append(t.Head, show(r.Limit))
	}
	for i, g := range results[0].Goals {
		row := []cell{title(g.Name)}
		for _, r := range results {
			if i < len(r.Goals) {
				row = append(row, number(r.Goals[i].Count))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
