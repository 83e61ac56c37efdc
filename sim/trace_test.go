package sim

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// request is a request of a tape.
type request struct {
	At   int64
	Key  string
	Cost int64
}

// tape is a recording in memory.
type tape struct {
	records []request
	end     error // in place of io.EOF
	bad     int64
	failing error // of Close
	closed  *int
}

func (r *tape) Next() (at int64, key string, cost int64, err error) {
	if len(r.records) == 0 {
		if r.end != nil {
			return 0, "", 0, r.end
		}
		return 0, "", 0, io.EOF
	}
	a := r.records[0]
	r.records = r.records[1:]
	return a.At, a.Key, a.Cost, nil
}

func (r *tape) Bad() (int64, string) {
	if r.bad == 0 {
		return 0, ""
	}
	return r.bad, "line 3: it is no request"
}

func (r *tape) Close() error {
	*r.closed++
	return r.failing
}

// recorded is a scenario with two limits whose one traffic is a trace.
const recorded = `name: recorded
duration: 10s
limits:
  - {name: gcra, spec: "gcra:1/1s,burst=2"}
  - {name: window, spec: "fixed-window:2/1s"}
traffic:
  - name: log
    process: {kind: trace, file: logs/access.log, format: combined, key: path, speed: 0.5}
    stop: 8s
`

// second is an instant of a trace.
func second(n int64) int64 { return 1_700_000_000_000_000 + n*1_000_000 }

// played runs a scenario on copies of a tape and returns how many were closed.
func played(t *testing.T, s *scenario.Scenario, r tape) (results []*result.Result, opened, closed int, err error) {
	t.Helper()
	results, err = Run(context.Background(), s, &Options{Traces: func(p scenario.Process) (Recording, error) {
		if p.File != "logs/access.log" || p.Format != "combined" || p.Key != "path" {
			t.Errorf("asked for %+v", p)
		}
		opened++
		own := r
		own.closed = &closed
		return &own, nil
	}})
	return results, opened, closed, err
}

func TestTraceIsTraffic(t *testing.T) {
	s := parsed(t, recorded)
	results, opened, closed, err := played(t, s, tape{bad: 2, records: []request{
		{At: second(0), Key: "a", Cost: 2}, {At: second(0), Key: "a", Cost: 1}, {At: second(1), Key: "b", Cost: 1},
		{At: second(4), Key: "a", Cost: 1}, // at 8 s: too late
		{At: second(5), Key: "a", Cost: 1}, {At: second(6), Key: "c", Cost: 0},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if opened != 2 || closed != 2 {
		t.Errorf("%d were opened and %d closed: want one for each limit", opened, closed)
	}
	for _, r := range results {
		want := result.Traffic{Name: "log", BadLines: 2, FirstBad: "line 3: it is no request", LeftOut: 3, Counts: result.Counts{
			Arrivals: 3, Attempts: 3, OfferedUnits: 4, Admitted: 2, AdmittedUnits: 3, Denied: 1, GaveUp: 1,
		}}
		if diff := cmp.Diff(want, r.Traffic[0]); diff != "" || !r.OK() || r.Fairness.Keys != 2 {
			t.Errorf("%s: %d keys, %v (-want +got)\n%s", r.Limit, r.Fairness.Keys, r.Failure, diff)
		}
	}
}

// What a traffic says beside its process holds for a trace too.
func TestTraceWithTheOtherFields(t *testing.T) {
	records := make([]request, 1000)
	for i := range records {
		records[i] = request{At: second(0) + int64(i)*1000, Key: "k", Cost: 9}
	}
	s := parsed(t, strings.Replace(recorded, "    stop: 8s\n", `    start: 1s
    count: 500
    keys: {kind: uniform, n: 3}
    costs: {kind: fixed, cost: 1}
    retry: {kind: obey, attempts: 3}
    throttle: {factor: 1.1}
`, 1))
	var first, last int64 = -1, 0
	results, err := Run(context.Background(), s, &Options{
		Traces: func(scenario.Process) (Recording, error) { return &tape{records: records, closed: new(int)}, nil },
		Trace: func(e *result.Event) {
			if e.Kind == "asked" && first < 0 {
				first = e.Micros
			}
			last = e.Micros
			if e.Kind == "asked" && e.Cost != 1 || e.Key == "k" {
				t.Errorf("%v", e)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		c := r.Totals
		if r.Traffic[0].LeftOut != 500 { // above the count
			t.Errorf("%s: %d were left out", r.Limit, r.Traffic[0].LeftOut)
		}
		if c.Arrivals != 500 || c.Attempts <= 500 || c.Throttled == 0 || r.Fairness.Keys != 3 {
			t.Errorf("%s: %d keys, %+v", r.Limit, r.Fairness.Keys, c)
		}
	}
	if first != 1_000_000 || last < 2_000_000 {
		t.Errorf("it began at %d µs and ended at %d µs", first, last)
	}
}

func TestTraceThatFailsEndsTheRun(t *testing.T) {
	damaged := errors.New("damaged after line 7")
	good := request{At: second(0), Key: "a", Cost: 1}
	for _, c := range []struct {
		name string
		tape tape
		want string
	}{
		{"cannot be read", tape{records: []request{good}, end: damaged}, "scenario: line 8, column 34: traffic[0].process.file: logs/access.log: damaged after line 7"},
		{"nothing", tape{}, "traffic[0].process.file logs/access.log is not allowed: must be a trace of at least one request"},
		{"only bad lines", tape{bad: 5}, "of at least one request (5 lines cannot be used; line 3: it is no request)"},
		{"out of order", tape{records: []request{good, {At: 1}}}, "record 2"},
		{"cannot be read on", tape{records: []request{good, {At: second(100), Key: "a"}, {At: second(101), Key: "a"}}, end: damaged}, "scenario: line 8, column 34: traffic[0].process.file: logs/access.log: damaged after line 7"},
		{"cannot be closed", tape{records: []request{good}, failing: damaged}, "traffic[0].process: damaged"},
	} {
		results, opened, closed, err := played(t, parsed(t, recorded), c.tape)
		if err == nil || !strings.Contains(err.Error(), c.want) || results != nil {
			t.Errorf("%s: %v, %v, want %s", c.name, results, err, c.want)
		}
		if opened != 1 || closed != 1 {
			t.Errorf("%s: %d were opened and %d closed", c.name, opened, closed)
		}
	}
	_, err := Run(context.Background(), parsed(t, recorded), &Options{Traces: func(scenario.Process) (Recording, error) { return nil, damaged }})
	if !errors.Is(err, damaged) {
		t.Errorf("not opened: %v", err)
	}
	_, err = Run(context.Background(), parsed(t, recorded), nil)
	if err == nil || !strings.Contains(err.Error(), "traffic[0].process.file logs/access.log is not allowed: must be absent: no traces may be read here") {
		t.Errorf("nothing to open it with: %v", err)
	}
}

// A trace that was opened is closed where something else is wrong.
func TestTraceIsClosedWhereTheNextTrafficFails(t *testing.T) {
	s := parsed(t, recorded+"  - name: counts\n    process: {kind: counts, file: none}\n")
	if _, opened, closed, err := played(t, s, tape{}); err == nil || opened != 1 || closed != 1 {
		t.Errorf("%d were opened and %d closed: %v", opened, closed, err)
	}
}

func TestTraceSurvivesItsText(t *testing.T) {
	s := parsed(t, recorded)
	p := s.Traffic[0].Process
	if p.Speed != 500_000 || p.File != "logs/access.log" || s.Traffic[0].Stop != 8*time.Second {
		t.Errorf("%+v", p)
	}
	text, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, parsed(t, string(text)), cmpopts.IgnoreUnexported(scenario.Scenario{})); diff != "" {
		t.Errorf("(-before +after its text)\n%s\n%s", diff, text)
	}
}

// Shrinking a scenario with a trace keeps the trace, and ends.
func TestTraceShrinks(t *testing.T) {
	s := parsed(t, recorded)
	s.Traffic = append(s.Traffic, scenario.Traffic{Name: "other", Process: scenario.Process{Kind: "drip", Gap: time.Second}})
	denies := func(s *scenario.Scenario) bool {
		results, err := Run(context.Background(), s, &Options{Traces: func(scenario.Process) (Recording, error) {
			return &tape{closed: new(int), records: []request{{At: second(0), Key: "a", Cost: 2}, {At: second(2), Key: "a", Cost: 9}}}, nil
		}})
		return err == nil && slices.ContainsFunc(results, func(r *result.Result) bool { return r.Traffic[0].Name == "log" && r.Traffic[0].Denied > 0 })
	}
	small := scenario.Shrink(s, denies)
	if !denies(small) || len(small.Traffic) != 1 || len(small.Limits) != 1 || small.Traffic[0].Process.File != s.Traffic[0].Process.File || small.Duration > 5*time.Second {
		t.Errorf("%+v", small)
	}
}
