package main

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/internal/storeurl"
)

// onServers are scenarios in which states are lost, clocks go wrong, limits are taken
// together and messages get lost, short enough for a server.
var onServers = []struct{ name, text string }{
	{"edges", `
name: edges
duration: 2m
limits:
  - {name: window, spec: "fixed-window:50/30s"}
  - {name: counter, spec: "sliding-counter:50/30s"}
  - {name: log, spec: "sliding-log:50/30s"}
traffic:
  - {name: attack, process: {kind: boundary, limit: 50/30s}}
  - {name: patient, process: {kind: counter, limit: 50/30s}, keys: {kind: one, name: patient}}
`},
	{"lost-data", `
name: lost-data
duration: 30s
limits:
  - {name: gcra, spec: "gcra:7/3s,burst=5"}
  - {name: log, spec: "sliding-log:5/2s"}
nodes: {count: 3, on_failure: local}
network: {delay: {kind: fixed, mean: 2ms}}
server: {lag: 200ms}
traffic:
  - {name: users, process: {kind: poisson, rate: 50/1s}, keys: {kind: uniform, n: 8}}
faults:
  - {kind: failover, at: 5s, for: 1s}
  - {kind: restart, at: 10s, for: 500ms, data: lost}
  - {kind: eviction, at: 15s, for: 10s, every: 300ms}
`},
	{"clocks", `
name: clocks
duration: 30s
limits:
  - {name: bucket, spec: "token-bucket:7/3s,burst=5"}
  - {name: window, spec: "fixed-window:5/2s"}
nodes: {count: 3, skew: 2s, drift: 1000}
server: {clock: node}
traffic:
  - {name: users, process: {kind: poisson, rate: 50/1s}, keys: {kind: uniform, n: 8}}
faults:
  - {kind: clock, of: nodes, at: 10s, step: -5s}
`},
	{"together", `
name: together
duration: 20s
limits:
  - {name: tenant, spec: "gcra:20/1s"}
  - {name: all, spec: "leaky-bucket:30/1s", groups: 1}
  - {name: day, spec: "sliding-log:500/24h"}
together: true
traffic:
  - {name: users, process: {kind: poisson, rate: 60/1s}, keys: {kind: zipf, n: 9, alpha: 1}, costs: {kind: geometric, mean: 2}}
`},
	{"bad-network", `
name: bad-network
duration: 20s
limits:
  - {name: leaky, spec: "leaky-bucket:9/1s,capacity=20"}
  - {name: counter, spec: "sliding-counter:9/1s"}
nodes: {count: 2, on_failure: open, timeout: 20ms}
network: {delay: {kind: exponential, mean: 3ms}, repeats: true}
traffic:
  - {name: users, process: {kind: poisson, rate: 60/1s}, keys: {kind: uniform, n: 4}, retry: {kind: full-jitter, attempts: 4}}
faults:
  - {kind: loss, rate: 0.1}
  - {kind: duplication, rate: 0.2}
  - {kind: reordering, rate: 0.2, delay: 10ms}
  - {kind: partition, at: 8s, for: 1s, direction: replies}
`},
}

// The events on a real server are those in memory, to the last bit.
func TestSimOnServersEqualsMemory(t *testing.T) {
	leftToTheFullRun(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for i, c := range onServers {
			t.Run(c.name, func(t *testing.T) {
				want := digestsOf(t, c.text)
				for _, url := range []string{urls(s)[i%4], urls(s)[(i+1)%4]} {
					if got := digestsOf(t, c.text, "--store", url); len(want) == 0 || !slices.Equal(got, want) {
						t.Errorf("%s: %v, want %v", url, got, want)
					}
					wantKeys(t, s)
				}
			})
		}
	})
}

// digestsOf runs a scenario in which no rule is violated.
func digestsOf(t *testing.T, text string, args ...string) (all []string) {
	t.Helper()
	got := startWith(text, append([]string{"sim", "-", "--json", "-"}, args...)...)
	if got.status != exitOK {
		t.Errorf("%q: status %d, %s", args, got.status, got.err)
	}
	var r report.Simulation
	if err := json.Unmarshal([]byte(got.out), &r); err != nil {
		t.Fatal(err)
	}
	for _, one := range r.Results {
		all = append(all, one.Digest)
	}
	for _, d := range r.Differs {
		t.Errorf("%+v", d)
	}
	return all
}

func TestSimExploresOnServers(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		got := start("sim", smallScenario, "--seeds", "3", "--duration", "40s", "--store", urls(s)[0])
		if got.status != exitOK || !strings.Contains(got.out, "3 of 3 seeds, 7 to 9, on redis://") {
			t.Errorf("status %d, %s%s", got.status, got.err, got.out)
		}
		wantKeys(t, s)
	})
}

func TestSimSaysThatAServerIsTheSame(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		url := urls(s)[1]
		got := simulated(t, smallScenario, "--store", url)
		want := strings.Replace(simulated(t, smallScenario), storeurl.Memory, url, 1)
		want = strings.Replace(want, "every expectation was met", "every expectation was met, and the events are the same in memory and on "+url, 1)
		if got != want {
			t.Error(difference(got, want))
		}
		wantKeys(t, s)
	})
}

// A server that goes away is no outage of the scenario: the run ends.
func TestSimEndsWhenTheServerIsGone(t *testing.T) {
	leftToTheFullRun(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		out := &hook{then: func() error { s.Stop(); return nil }}
		var errs bytes.Buffer
		status := run(context.Background(), []string{"sim", "skewed-clocks", "--trace", "-", "--store", urls(s)[0]}, strings.NewReader(""), out, &errs)
		if status != exitFailed || !strings.Contains(errs.String(), "weir: redis://") || !strings.Contains(errs.String(), "may be left there until they expire") {
			t.Errorf("status %d, %s", status, errs.String())
		}
	})
}

func TestInterruptedSimLeavesNothingOnTheServer(t *testing.T) {
	leftToTheFullRun(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, url := range urls(s)[:2] {
			ctx, cancel := context.WithCancel(context.Background())
			out := &hook{then: func() error {
				if s.Do("DBSIZE") == int64(0) {
					t.Error("nothing was written yet")
				}
				cancel()
				return nil
			}}
			var errs bytes.Buffer
			status := run(ctx, []string{"sim", "skewed-clocks", "--trace", "-", "--store", url}, strings.NewReader(""), out, &errs)
			if status != exitInterrupted || errs.String() != "weir: interrupted\n" {
				t.Errorf("status %d, %s", status, errs.String())
			}
			wantKeys(t, s)
			cancel()
		}
	})
}
