package sim

import (
	"context"
	"flag"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// parsed reads a scenario.
func parsed(t testing.TB, text string) *Scenario {
	t.Helper()
	s, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ran runs a scenario, in which no rule is violated.
func ran(t testing.TB, s *Scenario, opts *Options) []*Result {
	t.Helper()
	results, err := Run(context.Background(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if f := r.Failure; f != nil {
			t.Fatalf("%s, limit %s: %s: %s\n%s\n%s", s.Name, f.Limit, f.Rule, f.Text, f.Columns, strings.Join(f.Last, "\n"))
		}
	}
	return results
}

// goalOf returns the count of a goal.
func goalOf(r *Result, g goal) int64 { return r.Goals[g].Count }

// everyLimit is one limit of each kind, for a scenario's text.
const everyLimit = `
limits:
  - {name: gcra, spec: "gcra:7/3s,burst=5"}
  - {name: token bucket, spec: "token-bucket:7/3s,burst=5"}
  - {name: leaky bucket, spec: "leaky-bucket:7/3s,capacity=5"}
  - {name: fixed window, spec: "fixed-window:7/3s"}
  - {name: sliding log, spec: "sliding-log:7/3s"}
  - {name: sliding counter, spec: "sliding-counter:7/3s"}
`
