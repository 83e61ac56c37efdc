package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/weirgo/weir/cmd/weir/internal/load"
	"github.com/weirgo/weir/cmd/weir/internal/report/chart"
)

// Load is the report of a load.
type Load struct {
	Target   string        `json:"target"`
	Limit    string        `json:"limit,omitempty"`
	Keys     string        `json:"keys"`
	Rate     int           `json:"rate,omitempty"` // 0: each caller asks again when it has its answer
	Arrivals load.Arrivals `json:"arrivals,omitempty"`
	Callers  int           `json:"callers"`
	Duration int64         `json:"duration_ns"`
	Ramp     int64         `json:"ramp_ns"`
	Seed     uint64        `json:"seed"`
	Bounds   []LoadBound   `json:"bounds"`
	*load.Result
}

// LoadBound is a bound of a load, and what was seen: ns, or errors.
type LoadBound struct {
	Of      string `json:"of"` // such as p95, or errors
	Allowed int64  `json:"allowed"`
	Seen    int64  `json:"seen"`
}

// Met reports whether the bound was kept.
func (b *LoadBound) Met() bool { return b.Seen <= b.Allowed }

func (b *LoadBound) String() string {
	if b.Of == "errors" {
		return fmt.Sprintf("%s, at most %s allowed", Count(b.Seen, "error"), Digits(b.Allowed))
	}
	return fmt.Sprintf("%s %s, at most %s allowed", b.Of, nanos(b.Seen), nanos(b.Allowed))
}

// nanos writes a time in ns with three digits.
func nanos(ns int64) string {
	if ns < 0 || ns >= 1e9 {
		return shortened(ns / 1000)
	}
	for _, u := range []struct {
		ns   float64
		name string
	}{{1e6, "ms"}, {1e3, "µs"}} {
		if v := float64(ns) / u.ns; v >= 1 {
			digits := 2
			for limit := 9.995; v >= limit && digits > 0; limit *= 10 {
				digits--
			}
			return strconv.FormatFloat(v, 'f', digits, 64) + " " + u.name
		}
	}
	return strconv.FormatInt(ns, 10) + " ns"
}

// latency is a cell with a time in ns.
func latency(ns int64) cell { return right(nanos(ns)) }

// how says what the load was.
func (l *Load) how() string {
	if l.Rate == 0 {
		return Count(int64(l.Callers), "caller") + ", each of which asks again when it has its answer"
	}
	return fmt.Sprintf("%s a second (%s), from at most %s", Digits(int64(l.Rate)), l.Arrivals, Count(int64(l.Callers), "caller"))
}

// answers are what happened, the worst first.
func (l *Load) answers() (all []answer) {
	for i := range l.Bounds {
		if b := &l.Bounds[i]; !b.Met() {
			all = append(all, answer{levelBad, "A bound was missed: " + b.String() + "."})
		}
	}
	text := fmt.Sprintf("%s to %s in %s: %s admitted, %s denied, %s.", Count(l.Requests, "request"), l.Target, nanos(l.Took),
		Digits(l.Admitted), Digits(l.Denied), Count(l.Errors, "error"))
	if l.Requests > 0 {
		text += fmt.Sprintf(" 95 %% were answered within %s, 99.9 %% within %s.", nanos(l.Latency.P95), nanos(l.Latency.P999))
	}
	first := answer{levelGood, text}
	if l.Errors > 0 || l.Requests == 0 {
		first.Level = levelBad
	}
	all = append(all, first)
	if n := l.Own.Requests; n > 0 {
		note := answer{levelNote, fmt.Sprintf("weir itself sent %s (%s) 1 ms late or more, at most by %s, although a caller was free: this machine was too busy.",
			Count(n, "request"), Percent(n, l.Requests), nanos(l.Own.Most))}
		if n*100 > l.Requests {
			note.Level = levelBad
			note.Text += " The latencies are too high by that."
		}
		all = append(all, note)
	}
	if n := l.Busy.Requests; n > 0 {
		all = append(all, answer{levelNote, fmt.Sprintf("%s (%s) waited 1 ms or more for a free caller, at most %s: the target was slower than the rate, or needs more --callers.",
			Count(n, "request"), Percent(n, l.Requests), nanos(l.Busy.Most))})
	}
	if l.Degraded > 0 {
		all = append(all, answer{levelNote, Count(l.Degraded, "answer") + " came without the store (degraded)."})
	}
	if l.Requests > 0 && len(l.Bounds) > 0 && all[0].Text == text {
		for i := range l.Bounds {
			all = append(all, answer{levelGood, "A bound was kept: " + l.Bounds[i].String() + "."})
		}
	}
	return all
}

// Missed are the bounds that were missed.
func (l *Load) Missed() (all []string) {
	for i := range l.Bounds {
		if b := &l.Bounds[i]; !b.Met() {
			all = append(all, b.String())
		}
	}
	return all
}

// Document is the report for people. command makes such a load again.
func (l *Load) Document(command string) *Document {
	d := &Document{Title: "Load on " + l.Target, Command: command, Answers: l.answers()}
	d.Lead = []Fact{fact("load", l.how()), fact("keys", l.Keys)}
	if l.Limit != "" {
		d.Lead = append(d.Lead, fact("limit", l.Limit))
	}
	d.Lead = append(d.Lead, fact("seed", strconv.FormatUint(l.Seed, 10)))
	if l.Took > 0 {
		answered := float64(l.Requests-l.Failures[load.NotSent]) * 1e9 / float64(l.Took)
		d.Lead = append(d.Lead, factf("answered", "%s a second", Digits(int64(answered+0.5))))
	}
	if l.Ramp > 0 {
		d.Lead = append(d.Lead, factf("ramp", "%s with %s and %s, which are not measured", nanos(l.Ramp), Count(l.RampRequests, "request"), Count(l.RampErrors, "error")))
	}
	times := section{Title: "Latency", Quiet: true}
	over := section{Title: "Over time", Fold: true, Stack: true}
	if l.Requests > 0 {
		times.Figures = []figure{{Chart: l.curve()}, {Chart: l.overTime()}}
		times.Tables = []table{l.percentiles()}
		over.Tables = []table{l.timeline()}
	}
	if l.Errors > 0 {
		t := table{Title: "Errors", Head: []string{"kind", "requests", "share"}}
		for _, kind := range slices.Sorted(maps.Keys(l.Failures)) {
			n := l.Failures[kind]
			t.Rows = append(t.Rows, []cell{{kind, className}, number(n), right(Percent(n, l.Requests))})
		}
		times.Tables = append(times.Tables, t)
	}
	d.add(times, over)
	return d
}

func (l *Load) percentiles() table {
	t := table{Title: "Latency", Head: []string{"latency", "from when due", "from when sent"}}
	if l.Rate == 0 {
		t.Head = t.Head[:2]
		t.Head[1] = "from when sent"
	}
	for _, r := range []struct {
		name         string
		due, service int64
	}{
		{"p50", l.Latency.P50, l.Service.P50}, {"p90", l.Latency.P90, l.Service.P90}, {"p95", l.Latency.P95, l.Service.P95},
		{"p99", l.Latency.P99, l.Service.P99}, {"p99.9", l.Latency.P999, l.Service.P999}, {"max", l.Latency.Max, l.Service.Max},
		{"mean", l.Latency.Mean, l.Service.Mean},
	} {
		t.Rows = append(t.Rows, []cell{{r.name, className}, latency(r.due), latency(r.service)}[:len(t.Head)])
	}
	return t
}

func (l *Load) timeline() table {
	t := table{Title: "Over time", Head: []string{"from", "requests", "admitted", "denied", "errors", "p50", "p99", "max"}}
	for _, p := range l.Parts {
		t.Rows = append(t.Rows, []cell{{Duration(p.At / 1000), className}, number(p.Requests), number(p.Admitted), number(p.Denied), number(p.Errors),
			latency(p.P50), latency(p.P99), latency(p.Max)})
	}
	return t
}

// Plot draws the load for a file whose name ends in .png or .svg.
func (l *Load) Plot(w io.Writer, name string) error {
	sheet := &chart.Sheet{Title: "Load on " + l.Target + ": " + l.how(), Groups: [][]*chart.Chart{{l.curve(), l.overTime()}}}
	return sheet.Write(w, name)
}

// micro is a time in ns as charts have it: in µs, at least one, for an axis by powers of ten.
func micro(ns int64) float64 { return max(float64(ns)/1000, 1) }

// curve is the latency by percentile.
func (l *Load) curve() *chart.Chart {
	lines := &chart.Lines{
		X: chart.Axis{Label: "one of … requests took longer", Scale: chart.Powers}, Y: chart.Axis{Label: "latency", Scale: chart.Lengths},
	}
	due, sent := chart.Series{Name: "from when due", Colour: chart.Blue}, chart.Series{Name: "from when sent", Colour: chart.Orange, Dashed: true}
	for _, p := range l.Curve {
		lines.At = append(lines.At, float64(p.Of))
		due.Values, sent.Values = append(due.Values, micro(p.Latency)), append(sent.Values, micro(p.Service))
	}
	lines.Series = []chart.Series{due, sent}
	if l.Rate == 0 {
		sent.Colour, sent.Dashed = chart.Blue, false
		lines.Series = []chart.Series{sent}
	}
	return &chart.Chart{Title: "Latency by percentile", Lines: lines, Text: fmt.Sprintf("Half of the requests took at most %s, 99 %% %s, 99.9 %% %s, and all %s.",
		nanos(l.Latency.P50), nanos(l.Latency.P99), nanos(l.Latency.P999), nanos(l.Latency.Max))}
}

// overTime is the latency by the time at which requests were due.
func (l *Load) overTime() *chart.Chart {
	lines := &chart.Lines{X: chart.Axis{Label: "time", Scale: chart.Durations}, Y: chart.Axis{Label: "latency", Scale: chart.Lengths}}
	names := []string{"p50", "p99", "max"}
	colours := []chart.Colour{chart.Blue, chart.Orange, chart.Vermilion}
	values := make([][]float64, len(names))
	worst := l.Parts[0]
	for _, p := range l.Parts {
		lines.At = append(lines.At, float64(p.At)/1000)
		for i, v := range []int64{p.P50, p.P99, p.Max} {
			values[i] = append(values[i], micro(v))
		}
		if p.Max > worst.Max {
			worst = p
		}
	}
	lines.At = append(lines.At, float64(l.Duration)/1000)
	for i, name := range names {
		values[i] = append(values[i], values[i][len(values[i])-1])
		lines.Series = append(lines.Series, chart.Series{Name: name, Colour: colours[i], Values: values[i], Steps: true})
	}
	return &chart.Chart{Title: "Latency over time", Lines: lines, Text: fmt.Sprintf("In parts of %s, by when requests were due. The worst is the one from %s, with a maximum of %s.",
		Duration(l.Width/1000), Duration(worst.At/1000), nanos(worst.Max))}
}
