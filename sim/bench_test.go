package sim

import (
	"context"
	"strings"
	"testing"

	"github.com/weirgo/weir/sim/scenario"
)

// benchmark runs a scenario with all checks on and reports requests a second.
func benchmark(b *testing.B, text string) {
	s, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var requests int64
	for b.Loop() {
		results, err := Run(context.Background(), s, nil)
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range results {
			if r.Failure != nil {
				b.Fatal(r.Failure.Text)
			}
			requests += r.Totals.Attempts
		}
	}
	b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "requests/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(requests), "ns/request")
}

const crowd = `
name: crowd
duration: 20s
limits: [{name: limit, spec: "LIMIT"}]
traffic:
  - name: users
    process: {kind: poisson, rate: 10000/1s}
    keys: {kind: zipf, n: 1000, alpha: 0.9}
`

// BenchmarkStraight is a server that answers at once.
func BenchmarkStraight(b *testing.B) {
	for _, limit := range []string{"gcra:100/1s", "token-bucket:100/1s", "leaky-bucket:100/1s", "fixed-window:100/1s", "sliding-log:100/1s", "sliding-counter:100/1s"} {
		b.Run(limit, func(b *testing.B) { benchmark(b, strings.Replace(crowd, "LIMIT", limit, 1)) })
	}
}

// BenchmarkNetwork is three nodes with a network in between, which share calls.
func BenchmarkNetwork(b *testing.B) {
	benchmark(b, strings.Replace(crowd, "LIMIT", "gcra:100/1s", 1)+"nodes: {count: 3}\nnetwork: {delay: {kind: exponential, mean: 500us}}\n")
}

// BenchmarkFaults is the same with messages that are lost, doubled and late, a fail-over and
// local stores that stand in.
func BenchmarkFaults(b *testing.B) {
	benchmark(b, strings.Replace(crowd, "LIMIT", "gcra:100/1s", 1)+`
nodes: {count: 3, on_failure: local}
network: {delay: {kind: exponential, mean: 500us}}
server: {lag: 100ms}
faults:
  - {kind: loss, rate: 1%}
  - {kind: duplication, rate: 1%}
  - {kind: reordering, rate: 5%, delay: 5ms}
  - {kind: failover, at: 8s, for: 2s}
`)
}
