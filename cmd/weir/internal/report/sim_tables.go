package report

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/weirgo/weir/sim/result"
)

// callers is what callers saw, a column for each result.
func callers(results []*result.Result) table {
	t := headed("What callers saw", results)
	counted := func(name string, of func(*result.Counts) int64) {
		counts(&t, name, results, func(r *result.Result) int64 { return of(&r.Totals) })
	}
	counted("requests", func(c *result.Counts) int64 { return c.Arrivals })
	counted("attempts, with repeats", func(c *result.Counts) int64 { return c.Attempts })
	counted("admitted", func(c *result.Counts) int64 { return c.Admitted })
	row(&t, "admitted, of requests", results, func(r *result.Result) cell { return percent(r.Totals.Admitted, r.Totals.Arrivals) })
	counted("denied", func(c *result.Counts) int64 { return c.Denied })
	counted("by the failure mode", func(c *result.Counts) int64 { return c.Degraded })
	counted("no decision, not charged", func(c *result.Counts) int64 { return c.Errors })
	counted("no decision, perhaps charged", func(c *result.Counts) int64 { return c.Unknown })
	counted("held back by the client", func(c *result.Counts) int64 { return c.Throttled })
	counted("never admitted", func(c *result.Counts) int64 { return c.GaveUp })
	counted("waiting at the end", func(c *result.Counts) int64 { return c.Waiting })
	if slices.ContainsFunc(results, func(r *result.Result) bool { return r.Totals.OfferedUnits != r.Totals.Attempts }) {
		counted("units offered", func(c *result.Counts) int64 { return c.OfferedUnits })
		counted("units admitted", func(c *result.Counts) int64 { return c.AdmittedUnits })
	}
	row(&t, "repeats per admission", results, func(r *result.Result) cell {
		c := number(r.Totals.Attempts - r.Totals.Arrivals)
		c.Text = ratio(r.Totals.Attempts-r.Totals.Arrivals, r.Totals.Admitted)
		return c
	})
	row(&t, "wait of half", results, func(r *result.Result) cell { return right(waited(r, r.Wait.P50Micros)) })
	row(&t, "wait of 99 %", results, func(r *result.Result) cell { return right(waited(r, r.Wait.P99Micros)) })
	counts(&t, "keys", results, func(r *result.Result) int64 { return r.Fairness.Keys })
	row(&t, "fairness (Jain)", results, func(r *result.Result) cell { return right(jain(r)) })
	row(&t, "RetryAfter off by", results, func(r *result.Result) cell { return duration(r.RetryAfter.MaxErrorMicros) })
	return t
}

// limitTable is what each limit let through, a column for each.
func limitTable(limits []limitOf) table {
	t := table{Title: "What each limit let through", Head: []string{measure}}
	for _, l := range limits {
		t.Head = append(t.Head, l.label())
	}
	counted := func(name string, of func(limitOf) int64) { counts(&t, name, limits, of) }
	counted("most in a window", func(l limitOf) int64 { return l.Worst.Units })
	counted("the limit", func(l limitOf) int64 { return l.Worst.LimitUnits })
	counted("most without faults", func(l limitOf) int64 { return l.Worst.BoundUnits })
	row(&t, "the window ended at", limits, func(l limitOf) cell { return right(Duration(l.Worst.AtMicros)) })
	row(&t, "over-admitted", limits, func(l limitOf) cell {
		if l.OverUnits > l.OverBoundUnits {
			return bad(l.over(l.OverUnits))
		}
		return l.overCell(l.OverUnits)
	})
	counted("faults explain up to", func(l limitOf) int64 { return l.OverBoundUnits })
	counted("denied within the limit", func(l limitOf) int64 { return l.FalseDenials })
	counted("denied within the limit, units", func(l limitOf) int64 { return l.FalselyDeniedUnits })
	counted("lost by the server, units", func(l limitOf) int64 { return l.ForgottenUnits })
	row(&t, "keys of the curve", limits, curveKeys)
	has := func(of func(limitOf) int64) bool {
		return slices.ContainsFunc(limits, func(l limitOf) bool { return of(l) > 0 })
	}
	if has(func(l limitOf) int64 { return l.OverBoundUnits }) {
		t.Notes = append(t.Notes, "faults explain up to: the most that lost states, failure modes and wrong clocks can over-admit")
	}
	if has(func(l limitOf) int64 { return l.FalseDenials }) {
		t.Notes = append(t.Notes, "denied within the limit: with room, had clocks been right and lost answers charged nothing")
	}
	return t
}

// overCell is a cell with over-admitted units.
func (l limitOf) overCell(units int64) cell {
	c := number(units)
	if units > 0 {
		c.Text = l.over(units)
	}
	return c
}

// curveKeys says how many keys the curve is of, where it is not of all.
func curveKeys(l limitOf) cell {
	if l.CurveLate == 0 && l.CurveKeys >= l.CurveOf {
		return number(0)
	}
	text := Digits(l.CurveKeys) + " of " + Digits(l.CurveOf)
	if l.CurveLate > 0 {
		text += ", " + Digits(l.CurveLate) + " late"
	}
	return right(text)
}

// expectations is what the scenario expected, and what came of it.
func (s *Simulation) expectations() section {
	t := table{Title: "What the scenario expects", Head: []string{"measure of", "limit", "expected", "it was", "outcome"}}
	for _, r := range s.Results {
		for i := range r.Expected {
			e := &r.Expected[i]
			outcome := word("met")
			if !e.Met {
				outcome = cell{"MISSED", classText + " " + classBad}
			}
			t.Rows = append(t.Rows, []cell{word(e.Metric), word(Quoted(e.Limit)), right(Bounds(e)), right(Digits(e.Value)), outcome})
		}
	}
	all := section{Title: t.Title}
	if len(t.Rows) > 0 {
		all.Tables = []table{t}
	}
	if s.Dropped > 0 { // then there are no others
		all.Text = []string{leftOut(s.Dropped) + "."}
	}
	return all
}

// rulesTable is what each limit of the rules of a policy did.
func rulesTable(p *result.Policy) table {
	t := table{Title: "Rules of the policy", Head: []string{"limit of a rule", "mode", "attempts", "denied", "would deny", "by failure mode", "no answer in shadow", "subjects"}}
	if p == nil {
		return t
	}
	for _, r := range p.Rules {
		t.Rows = append(t.Rows, []cell{word(Quoted(r.Limit)), word(r.Mode), number(r.Requests), number(r.Denied), number(r.WouldDeny),
			number(r.Degraded), number(r.ShadowErrors), number(r.Subjects)})
	}
	t.dropZeroColumns()
	return t
}

// listsTable is what was answered without any rule of a policy.
func listsTable(p *result.Policy) table {
	t := table{Title: "Without a rule of the policy", Head: []string{"attempts", "number"}}
	if p == nil {
		return t
	}
	for _, one := range []struct {
		name string
		n    int64
	}{{"denied by the deny list", p.DeniedByList}, {"exempt by the allow list", p.Exempt}, {"met no rule", p.Unmatched}} {
		if one.n > 0 {
			t.Rows = append(t.Rows, []cell{word(one.name), number(one.n)})
		}
	}
	return t
}

// trafficTable is what each traffic asked for and got, a column for each result.
func trafficTable(results []*result.Result) table {
	t := headed("Traffic", results)
	if len(results[0].Traffic) < 2 {
		return t
	}
	for i, one := range results[0].Traffic {
		name := Quoted(one.Name)
		counts(&t, name+": requests", results, func(r *result.Result) int64 { return r.Traffic[i].Arrivals })
		counts(&t, name+": admitted", results, func(r *result.Result) int64 { return r.Traffic[i].Admitted })
		row(&t, name+": admitted, of requests", results, func(r *result.Result) cell { return percent(r.Traffic[i].Admitted, r.Traffic[i].Arrivals) })
	}
	return t
}

// reservedTable is what became of the reservations of each traffic, a column for each result.
func reservedTable(results []*result.Result) table {
	t := headed("Reservations", results)
	for i, one := range results[0].Traffic {
		for _, c := range []struct {
			what string
			of   func(*result.Reservations) int64
		}{
			{"reserved", func(n *result.Reservations) int64 { return n.Made }},
			{"units estimated", func(n *result.Reservations) int64 { return n.EstimatedUnits }},
			{"settled", func(n *result.Reservations) int64 { return n.Settled }},
			{"units settled", func(n *result.Reservations) int64 { return n.ActualUnits }},
			{"of them cancelled", func(n *result.Reservations) int64 { return n.Cancelled }},
			{"of them more than was left", func(n *result.Reservations) int64 { return n.Clamped }},
			{"never settled", func(n *result.Reservations) int64 { return n.Never }},
			{"client does not know", func(n *result.Reservations) int64 { return n.Unsure }},
		} {
			if reservations(results, i) {
				counts(&t, Quoted(one.Name)+": "+c.what, results, func(r *result.Result) int64 {
					if n := r.Traffic[i].Reservations; n != nil {
						return c.of(n)
					}
					return 0
				})
			}
		}
	}
	return t
}

// reservations reports whether a traffic has any.
func reservations(results []*result.Result, traffic int) bool {
	return slices.ContainsFunc(results, func(r *result.Result) bool { return r.Traffic[traffic].Reservations != nil })
}

// serverTable is how requests for keys of each server ended, a column for each result.
func serverTable(results []*result.Result) table {
	t := headed("Servers", results)
	for i := range results[0].Servers {
		name := "server " + strconv.Itoa(i)
		counted := func(what string, of func(*result.Counts) int64) {
			counts(&t, name+": "+what, results, func(r *result.Result) int64 { return of(&r.Servers[i]) })
		}
		counted("attempts", func(c *result.Counts) int64 { return c.Attempts })
		counted("admitted", func(c *result.Counts) int64 { return c.Admitted })
		counted("by failure mode", func(c *result.Counts) int64 { return c.Degraded })
		counted("no decision", func(c *result.Counts) int64 { return c.Errors + c.Unknown })
	}
	return t
}

// faultTable is what happened in the time of each fault.
func (s *Simulation) faultTable() table {
	results := s.Results
	t := table{Title: "Faults, until their effects were over", Head: []string{"fault", "limit", "from", "to", "acts until",
		"attempts", "admitted", "denied", "by failure mode", "no decision", "over-admitted by then", "denied within the limit", "units lost"}}
	for i := range results[0].Faults {
		for _, r := range results {
			f := inTime(r)[i]
			over := number(f.OverUnits)
			if len(r.Limits) == 1 { // of several it is the most of any
				over = limitOf{&r.Limits[0], r}.overCell(f.OverUnits)
			}
			t.Rows = append(t.Rows, []cell{word(s.faultName(r, i)), word(Quoted(r.Limit)),
				right(Duration(f.FromMicros)), right(Duration(f.ToMicros)), right(Duration(f.UntilMicros)),
				number(f.Attempts), number(f.Admitted), number(f.Denied), number(f.Degraded), number(f.Errors + f.Unknown),
				over, number(f.FalseDenials), number(f.ForgottenUnits)})
		}
	}
	t.dropZeroColumns()
	if len(t.Rows) > 0 {
		t.Notes = []string{"acts until: its effect on states is over; a row counts from \"from\" until then, of all keys"}
	}
	return t
}

// clientTable is what the busiest clients of a result asked for and got.
func clientTable(r *result.Result) table {
	f := &r.Fairness
	title := fmt.Sprintf("%s: the busiest %d of %s", Quoted(r.Limit), len(f.Top), Count(f.Keys, "key"))
	if n := int64(len(f.Top)); n == f.Keys {
		title = Quoted(r.Limit) + ": all keys"
	}
	if f.Partial {
		title += "; there were too many to remember, so that one that came back may count twice"
	}
	t := table{Title: title, Head: []string{"key", "attempts", "units offered", "units admitted"}}
	for _, c := range f.Top {
		t.Rows = append(t.Rows, []cell{line(Quoted(c.Key)), number(c.Attempts), number(c.OfferedUnits), number(c.AdmittedUnits)})
	}
	return t
}

// traceTable is what of the traces was no request of a run. It is the same in every run.
func traceTable(r *result.Result) table {
	t := table{Title: "Traces", Head: []string{"trace of", "left out", "bad lines", "the first"}}
	for _, c := range r.Traffic {
		if c.BadLines > 0 || c.LeftOut > 0 {
			t.Rows = append(t.Rows, []cell{word(Quoted(c.Name)), number(c.LeftOut), number(c.BadLines), line(Visible(c.FirstBad))})
		}
	}
	return t
}

// more is the numbers that few ask for.
func more(results []*result.Result) section {
	corners := headed("Corner cases", results)
	for i, g := range results[0].Goals {
		counts(&corners, g.Name, results, func(r *result.Result) int64 { return r.Goals[i].Count })
	}
	limits := limitsOf(results)
	server := table{Title: "What the server did", Head: []string{measure}}
	for _, l := range limits {
		server.Head = append(server.Head, l.label())
	}
	counts(&server, "decisions of the server", limits, func(l limitOf) int64 { return l.Executed })
	counts(&server, "of them admissions", limits, func(l limitOf) int64 { return l.ExecutedAllowed })
	counts(&server, "units charged", limits, func(l limitOf) int64 { return l.ExecutedUnits })
	counts(&server, "keys charged", limits, func(l limitOf) int64 { return l.Keys })
	waits := headed("How good RetryAfter was", results)
	counts(&waits, "denied with a wait", results, func(r *result.Result) int64 { return r.RetryAfter.Denied })
	counts(&waits, "requests of the key after it, admitted", results, func(r *result.Result) int64 { return r.RetryAfter.Kept })
	counts(&waits, "requests of the key before its end, denied", results, func(r *result.Result) int64 { return r.RetryAfter.Early })
	digests := table{Title: "Digests", Head: []string{"limit", "events", "their digest"}}
	for _, r := range results {
		digests.Rows = append(digests.Rows, []cell{word(Quoted(r.Limit)), number(r.Events), {r.Digest, classHash}})
	}
	all := section{Title: "Corner cases, digests, the server, RetryAfter and keys", Quiet: true, Fold: true, Tables: filled(server, waits, corners, digests)}
	for _, r := range results {
		if len(r.Fairness.Top) > 0 {
			all.Tables = append(all.Tables, clientTable(r))
		}
	}
	return all
}

// headed is a table of measures with a column for each result.
func headed(title string, results []*result.Result) table {
	t := table{Title: title, Head: []string{measure}}
	for _, r := range results {
		t.Head = append(t.Head, Quoted(r.Limit))
	}
	return t
}

// filled returns the tables that have rows, and columns of numbers.
func filled(tables ...table) []table {
	return slices.DeleteFunc(tables, func(t table) bool { return len(t.Rows) == 0 || len(t.Head) == 1 })
}
