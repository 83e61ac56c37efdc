package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	simresult "github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// simReport is what came of one scenario.
type simReport struct {
	Scenario string              `json:"scenario"`
	Seed     uint64              `json:"seed"`
	Store    string              `json:"store"` // the URL without user and password
	Results  []*simresult.Result `json:"results"`
	Differs  []simDifference     `json:"differs,omitempty"`

	scenario *scenario.Scenario
	dropped  int    // expectations that --limit left out
	rerun    string // the command that runs it again, in memory
	onServer string // what it needs for a server
}

// simDifference says where a server has done something else than memory.
type simDifference struct {
	Limit       string `json:"limit"`
	Memory      string `json:"memory_digest"`
	Server      string `json:"server_digest"`
	Event       int64  `json:"event"`
	Columns     string `json:"columns"`
	MemoryEvent string `json:"memory_event"`
	ServerEvent string `json:"server_event"`
}

// failed returns the first result that violates a rule, or misses an expectation; nil
// where all is well.
func (r *simReport) failed() *simresult.Result { return firstFailed(r.Results) }

func firstFailed(results []*simresult.Result) *simresult.Result {
	for _, one := range results {
		if one.Failure != nil {
			return one
		}
	}
	for _, one := range results {
		if !one.OK() {
			return one
		}
	}
	return nil
}

// missed returns the first expectation that a result misses.
func missed(one *simresult.Result) *simresult.Expected {
	for i := range one.Expected {
		if !one.Expected[i].Met {
			return &one.Expected[i]
		}
	}
	return nil
}

// verdict is the error that the command ends with.
func (r *simReport) verdict() error {
	violated, unmet := 0, int64(0)
	for _, one := range r.Results {
		if one.Failure != nil {
			violated++
		}
		for _, e := range one.Expected {
			if !e.Met {
				unmet++
			}
		}
	}
	var wrong []string
	if violated > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d runs violated a rule", violated, len(r.Results)))
	}
	if unmet > 0 {
		wrong = append(wrong, report.Count(unmet, "expectation")+" missed")
	}
	if n := len(r.Differs); n > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d runs went otherwise on %s than in memory", n, len(r.Results), r.Store))
	}
	if wrong == nil {
		return nil
	}
	return errors.New(r.Scenario + ": " + strings.Join(wrong, ", "))
}

// WriteJSON writes the report for programs.
func (r *simReport) WriteJSON(w io.Writer) error { return report.WriteJSON(w, r) }

// WriteText writes the report for a terminal.
func (r *simReport) WriteText(w io.Writer) error {
	var b strings.Builder
	r.head(&b)
	r.totals(&b)
	r.traffic(&b)
	r.traces(&b)
	r.faults(&b)
	r.expected(&b)
	r.goals(&b)
	r.digests(&b)
	for i := range r.Differs {
		r.Differs[i].write(&b)
	}
	if failed := r.failed(); failed != nil {
		writeFailure(&b, failed)
	}
	if r.verdict() != nil {
		fmt.Fprintf(&b, "\nreplay    %s%s\n", r.rerun, r.onServer)
		if r.failed() != nil {
			fmt.Fprintf(&b, "shrink    %s --shrink\n", r.rerun)
		}
	}
	return writeSimText(w, b.String())
}

func writeLine(b *strings.Builder, name, format string, args ...any) {
	fmt.Fprintf(b, "%-10s"+format+"\n", append([]any{name}, args...)...)
}

// head says what was run.
func (r *simReport) head(b *strings.Builder) {
	s := r.scenario
	writeLine(b, "scenario", "%s, seed %d", s.Name, s.Seed)
	if s.About != "" {
		writeLine(b, "about", "%s", s.About)
	}
	writeLine(b, "length", "%s", span(s.Duration.Microseconds()))
	writeLine(b, "store", "%s", r.Store)
	rows := [][]string{}
	for i, l := range s.Limits {
		heading := ""
		if i == 0 {
			heading = "limits  "
		}
		spec := l.Spec
		if l.Groups > 0 {
			spec += " for each of " + report.Count(l.Groups, "group") + " of keys"
		}
		rows = append(rows, []string{heading, l.Name, spec})
	}
	writeTable(b, rows, 3)
}

// writeFailure says what went wrong in a run, and what happened before.
func writeFailure(b *strings.Builder, one *simresult.Result) {
	if f := one.Failure; f != nil {
		fmt.Fprintf(b, "\nVIOLATED  rule %s\n", f.Rule)
		writeLine(b, "where", "%s, seed %d, limit %s", f.Scenario, f.Seed, f.Limit)
		writeLine(b, "what", "%s", f.Text)
		writeLine(b, "first", "event %s, %s µs after the start", report.Digits(f.Event), report.Digits(f.Micros))
		fmt.Fprintf(b, "\nthe last events\n%s\n", f.Columns)
		for _, line := range f.Last {
			fmt.Fprintln(b, line)
		}
		return
	}
	e := missed(one)
	fmt.Fprintf(b, "\nMISSED    %s is %s: expected %s\n", e.Metric, report.Digits(e.Value), bounds(e))
	writeLine(b, "where", "%s, seed %d, limit %s", one.Scenario, one.Seed, e.Limit)
}

// bounds writes what an expectation allows.
func bounds(e *simresult.Expected) string {
	switch {
	case e.Max == nil:
		return "at least " + report.Digits(*e.Min)
	case e.Min == nil:
		return "at most " + report.Digits(*e.Max)
	case *e.Min == *e.Max:
		return report.Digits(*e.Min)
	}
	return report.Digits(*e.Min) + " to " + report.Digits(*e.Max)
}

func (d *simDifference) write(b *strings.Builder) {
	fmt.Fprintf(b, "\nDIFFERS   limit %s: digest %s in memory, %s on the server\n", d.Limit, d.Memory, d.Server)
	writeLine(b, "first", "event %s", report.Digits(d.Event))
	fmt.Fprintf(b, "          %s\nmemory    %s\nserver    %s\n", d.Columns, d.MemoryEvent, d.ServerEvent)
}
