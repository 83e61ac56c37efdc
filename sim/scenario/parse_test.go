package scenario

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// parsed reads a scenario.
func parsed(t testing.TB, text string) *Scenario {
	t.Helper()
	s, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScenarioSurvivesItsText(t *testing.T) {
	var all []*Scenario
	all = append(all, List()...)
	for seed := range uint64(300) {
		all = append(all, Generate(seed))
	}
	for _, s := range all {
		s.Start = time.Date(2027, 2, 3, 4, 5, 6, 7000, time.UTC)
		text, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(strings.NewReader(string(text)))
		if err != nil {
			t.Fatalf("%s: %v\n%s", s.Name, err, text)
		}
		if diff := cmp.Diff(s, again, cmpopts.IgnoreUnexported(Scenario{})); diff != "" {
			t.Fatalf("%s (-before +after its text):\n%s\n%s", s.Name, diff, text)
		}
	}
}

func TestJSONIsAScenario(t *testing.T) {
	s := parsed(t, `{"name": "json", "duration": "1s", "limits": [{"name": "l", "spec": "gcra:1/1s"}],
		"traffic": [{"name": "t", "process": {"kind": "poisson", "rate": "5/1s"}}]}`)
	if s.Name != "json" || s.Traffic[0].Process.Rate.Units != 5 {
		t.Fatalf("%+v", s)
	}
}

const small = `name: small
duration: 1s
limits:
  - {name: l, spec: "gcra:1/1s"}
traffic:
  - name: t
    process: {kind: poisson, rate: 5/1s}
`

func TestParseRefusesWithTheLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "line 1, column 1: "},
		{"two documents", small + "---\n" + small, "2 documents"},
		{"unknown field", small + "speed: 3\n", `line 8, column 1: field "speed" is not allowed: must be one of name, about`},
		{"unknown field inside", small + "nodes:\n  cuont: 3\n", `line 9, column 3: nodes: field "cuont" is not allowed`},
		{"twice", small + "name: again\n", `line 8, column 1: the field "name" is given twice: it stands in line 1 already`},
		{"not a duration", small + "nodes: {skew: 3}\n", `line 8, column 15: nodes.skew "3" is not allowed: must be a duration such as 1m30s`},
		{"not a number", small + "seed: -1\n", `line 8, column 7: seed "-1" is not allowed: must be a whole number from 0 to 2^64 - 1`},
		{"not a list", small + "faults: 3\n", "line 8, column 9: faults a whole number is not allowed: must be a list"},
		{"nothing", small + "faults:\n", "must be a list"},
		{"not a mapping", small + "server: [1]\n", "line 8, column 9: server a list is not allowed: must be a mapping"},
		{"not a rate", strings.Replace(small, "5/1s", "5", 1), `line 7, column 36: traffic[0].process.rate "5" is not allowed: must be UNITS/DURATION, such as 100/1s`},
		{"an alias", strings.Replace(small, "5/1s", "*rate", 1), "line 7"},
		{"no duration", strings.Replace(small, "duration: 1s", "duration: 0s", 1), "line 2, column 11: duration 0s is not allowed: must be whole microseconds from 1µs to 9600h0m0s"},
		{"a bad spec", strings.Replace(small, "gcra", "gcrb", 1), `line 4, column 21: limits[0].spec: algorithm "gcrb" is not allowed`},
		{"a bad process", strings.Replace(small, "poisson", "fish", 1), `line 7, column 21: traffic[0].process.kind "fish" is not allowed`},
		{"the same name", strings.Replace(small, "traffic:", "  - {name: l, spec: \"gcra:1/1s\"}\ntraffic:", 1), "line 5, column 12: limits[1].name l is not allowed: must be unlike every other"},
		{"a field that the fault does not take", small + "faults:\n  - {kind: down, rate: 5%}\n", "line 9, column 24: faults[0].rate 0.05 is not allowed: must be absent"},
		{"a field that the fault needs", small + "faults:\n  - {kind: slow}\n", "line 9, column 5: faults[0].delay is missing: must be whole microseconds from 1µs to 1h0m0s: slow needs it"},
		{"a fault after the end", small + "faults:\n  - {kind: down, at: 1s}\n", "line 9, column 22: faults[0].at 1s is not allowed: must be before the end of the scenario, 1s"},
		{"a node that is not there", small + "faults:\n  - {kind: crash, nodes: [0, 1]}\n", "scenario: line 9, column 30: faults[0].nodes[1] 1 is not allowed: must be 0 to 0"},
		{"a server that is not there", small + "server: {count: 2}\nfaults:\n  - {kind: freeze, servers: [1, 2]}\n", "faults[0].servers[1] 2 is not allowed: must be 0 to 1"},
		{"too many servers", small + "server: {count: 17}\n", "server.count 17 is not allowed: must be 1 to 16"},
		{"servers of a fault of nodes", small + "faults:\n  - {kind: crash, servers: [0]}\n", "faults[0].servers 1 of them is not allowed: must be absent"},
		{"servers where nodes have the clocks", small + "faults:\n  - {kind: clock, of: nodes, step: 1s, servers: [0]}\n", "faults[0].servers [0] is not allowed: must be absent"},
		{"how long dead connections last", small + "faults:\n  - {kind: dead, for: 1ms}\n", "faults[0].for 1ms is not allowed: must be absent"},
		{"groups on several servers", strings.Replace(small, "gcra:1/1s\"", "gcra:1/1s\", groups: 2", 1) + "together: true\nserver: {count: 2}\n", "limits[0].groups 2 is not allowed: must be absent"},
		{"a start after the latest instant", small + "start: 2200-01-01T00:00:00Z\n", "start 2200-01-01T00:00:00Z is not allowed: must be a whole microsecond from 1970 to 2191-10-"},
		{"an unknown rule", small + "checks: [honesty]\n", "line 8, column 10: checks[0] honesty is not allowed"},
		{"an unknown metric", small + "expect:\n  - {metric: luck, max: 1}\n", `line 9, column 14: expect[0].metric "luck" is not allowed`},
		{"no bound", small + "expect:\n  - {metric: denied}\n", "line 9, column 5: expect[0] without min and max is not allowed"},
		{"process and closed", strings.Replace(small, "    process", "    closed: {callers: 1}\n    process", 1), "line 8, column 14: traffic[0].process poisson is not allowed: must be absent"},
		{"without a zone", small + "start: 2026-03-03T10:00\n", `line 8, column 8: start "2026-03-03T10:00" is not allowed: must be RFC 3339, such as 2026-03-03T10:00:00Z`},
		{"without a spec", strings.Replace(small, ", spec: \"gcra:1/1s\"", "", 1), "line 4, column 5: limits[0].spec is missing: must be a text"},
		{"without a process", strings.Replace(small, "    process: {kind: poisson, rate: 5/1s}\n", "", 1), "line 6, column 5: traffic[0].process is missing: must be given, such as {kind: poisson, rate: 10/1s}, or closed in its place"},
		{"no yaml", "a: [", "line 1, column 4: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestParseErrorsCanBeTakenApart(t *testing.T) {
	_, err := Parse(strings.NewReader(small + "nodes: {count: 5000}\n"))
	var e *Error
	if !errors.As(err, &e) || e.Line != 8 || e.Path != "nodes.count" || e.Value != "5000" || e.Allowed != "1 to 1000" {
		t.Errorf("%v", err)
	}
}

// A field that is missing from the whole stands in no line.
func TestParseNamesWhatIsMissing(t *testing.T) {
	fields := []struct{ text, want string }{
		{"name: s\n", "scenario: name is missing: must be a text of 1 to 1000 bytes"},
		{"duration: 1s\n", "scenario: duration is missing: must be whole microseconds from 1µs to 9600h0m0s"},
		{"limits: [{name: l, spec: 'gcra:1/1s'}]\n", "scenario: limits is missing: must be 1 to 16 of them, or a policy in their place"},
		{"traffic: [{name: t, process: {kind: drip, gap: 1s}}]\n", "scenario: traffic is missing: must be 1 to 64 of them"},
	}
	for missing, f := range fields {
		text := ""
		for i, other := range fields {
			if i != missing {
				text += other.text
			}
		}
		_, err := Parse(strings.NewReader(text))
		var field *Error
		if err == nil || err.Error() != f.want || !errors.As(err, &field) || !field.Missing {
			t.Errorf("%v, want %s", err, f.want)
		}
	}
}

func TestLocateAddsTheLine(t *testing.T) {
	s := parsed(t, small)
	refused := &Error{Path: "traffic[0].process.file", Cause: errors.New("no such file")}
	if got, want := s.Locate(refused).Error(), "scenario: line 7, column 14: traffic[0].process.file: is missing: no such file"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	other := errors.New("other")
	if got := s.Locate(other); got != other {
		t.Error(got)
	}
	if got := (&Scenario{}).Locate(refused); got != error(refused) {
		t.Error(got)
	}
}

// TestDeepNestingIsRefused: to parse it would take minutes.
func TestDeepNestingIsRefused(t *testing.T) {
	for _, text := range []string{strings.Repeat("[", 100_000), strings.Repeat("{a: ", 50_000)} {
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "101 lists and mappings in each other: must be at most 100") {
			t.Errorf("%.4s…: %v", text, err)
		}
	}
	flat := "name: s\nduration: 1s\nlimits: [" + strings.Repeat("{name: l, spec: 'gcra:1/1s'}, ", 200)
	if _, err := Parse(strings.NewReader(flat)); err != nil && strings.Contains(err.Error(), "in each other") {
		t.Error(err)
	}
}
