package sim

import (
	"context"
	"flag"
	"strings"
	"testing"

	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// parsed reads a scenario.
func parsed(t testing.TB, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ran runs a scenario, in which no rule is violated.
func ran(t testing.TB, s *scenario.Scenario, opts *Options) []*result.Result {
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

// copyOf returns a copy of a scenario that shares nothing with it.
func copyOf(t testing.TB, s *scenario.Scenario) *scenario.Scenario {
	t.Helper()
	text, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, string(text))
}

// goalOf returns the count of a goal.
func goalOf(r *result.Result, g check.Goal) int64 { return r.Goals[g].Count }

// small is the text of a small scenario.
const small = `name: small
duration: 1s
limits:
  - {name: l, spec: "gcra:1/1s"}
traffic:
  - name: t
    process: {kind: poisson, rate: 5/1s}
`

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
