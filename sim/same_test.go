package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// jsonOf is a result as text.
func jsonOf(t testing.TB, results []*result.Result) string {
	t.Helper()
	text, err := json.Marshal(results)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSweepingShowsNowhere: a store that gives nothing back decides and ends alike,
// wherever the end lies between two sweeps.
func TestSweepingShowsNowhere(t *testing.T) {
	kept := &Options{NewStore: func(c store.Clock) (store.Store, error) {
		s, err := memorystore.New(&memorystore.Options{Clock: c})
		return struct{ store.Store }{s}, err // without Sweep
	}}
	for _, seconds := range []time.Duration{3, 10, 23, 40} {
		s := parsed(t, crowded)
		s.Duration = seconds * time.Second
		if got, want := jsonOf(t, ran(t, s, nil)), jsonOf(t, ran(t, s, kept)); got != want {
			t.Errorf("%d s: sweeping makes another result", seconds)
		}
	}
}

// TestBuiltins: every built-in scenario keeps all rules and its own expectations, twice in
// the same way, and as the golden file has it.
func TestBuiltins(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: eleven scenarios, some seconds")
	}
	const golden = "testdata/digests.golden"
	var got strings.Builder
	for _, b := range scenario.List() {
		s, err := scenario.Load(b.Name)
		if err != nil {
			t.Fatal(err)
		}
		if b.About == "" || s.Name != b.Name {
			t.Errorf("%s is called %q, about %q", b.Name, s.Name, s.About)
		}
		results := ran(t, s, nil)
		for _, r := range results {
			fmt.Fprintf(&got, "%s %s %s %d\n", r.Digest, r.Scenario, strings.ReplaceAll(r.Limit, " ", "-"), r.Events)
			for _, e := range r.Expected {
				if !e.Met {
					t.Errorf("%s, limit %s: %s is %d", b.Name, r.Limit, e.Metric, e.Value)
				}
			}
		}
		again, err := scenario.Load(b.Name)
		if err != nil {
			t.Fatal(err)
		}
		if jsonOf(t, results) != jsonOf(t, ran(t, again, nil)) {
			t.Errorf("%s: a second run has another result", b.Name)
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("digests have changed; -update rewrites them:\n%swant:\n%s", got.String(), want)
	}
}

// disturbed is a short scenario with all that draws.
const disturbed = `
name: disturbed
duration: 30s
seed: 11
limits:
  - {name: gcra, spec: "gcra:20/1s,burst=10"}
  - {name: log, spec: "sliding-log:50/3s"}
nodes: {count: 3, on_failure: local, skew: 5ms, drift: 50}
network: {delay: {kind: exponential, mean: 2ms}, repeats: true}
server: {lag: 300ms, service: {kind: exponential, mean: 100us}}
traffic:
  - name: users
    process: {kind: poisson, rate: 60/1s}
    keys: {kind: zipf, n: 4, alpha: 1}
    retry: {kind: full-jitter, attempts: 3}
  - name: loop
    closed: {callers: 3, think: {kind: exponential, mean: 100ms}}
    retry: {kind: obey, jitter: 5ms}
    throttle: {}
faults:
  - {kind: loss, at: 5s, for: 5s, rate: 5%}
  - {kind: duplication, at: 5s, for: 10s, rate: 5%}
  - {kind: reordering, at: 8s, for: 10s, rate: 20%, delay: 20ms}
  - {kind: failover, at: 15s, for: 1s}
  - {kind: eviction, at: 18s, for: 2s, every: 100ms}
  - {kind: crash, at: 22s, for: 1s, nodes: [1]}
`

// TestProcessorsDoNotMatter: the results do not depend on how many there are.
func TestProcessorsDoNotMatter(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := jsonOf(t, ran(t, parsed(t, disturbed), nil))
	runtime.GOMAXPROCS(8)
	if eight := jsonOf(t, ran(t, parsed(t, disturbed), nil)); one != eight {
		t.Errorf("with one processor\n%s\nwith eight\n%s", one, eight)
	}
}

// TestUnusedFaultChangesNothing: a fault that draws and never strikes leaves the digest as
// it was, and so does one more stream for each node.
func TestUnusedFaultChangesNothing(t *testing.T) {
	s := parsed(t, disturbed)
	before := ran(t, s, nil)
	for _, kind := range []string{"loss", "duplication", "reordering"} {
		with := copyOf(t, s)
		f := scenario.Fault{Kind: kind, At: time.Second}
		if kind == "reordering" {
			f.Delay = time.Second
		}
		with.Faults = append(with.Faults, f)
		for i, r := range ran(t, with, nil) {
			if r.Digest != before[i].Digest {
				t.Errorf("%s with a rate of 0 changes the digest of %s", kind, r.Limit)
			}
		}
	}
}

// TestSeedMatters: the digest is not one of nothing.
func TestSeedMatters(t *testing.T) {
	s := parsed(t, disturbed)
	digests := map[string]bool{}
	for seed := range uint64(5) {
		s.Seed = seed
		digests[ran(t, s, nil)[0].Digest] = true
	}
	if len(digests) != 5 {
		t.Errorf("%d digests of 5 seeds", len(digests))
	}
}

// TestNothingIsLeftRunning: coroutines end with the run, also one that ends early.
func TestNothingIsLeftRunning(t *testing.T) {
	s := parsed(t, disturbed)
	before := runtime.NumGoroutine()
	ran(t, s, nil)
	if _, err := Run(t.Context(), s, &Options{NewStore: mutant(dropsCharges)}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines before, and %d after", before, runtime.NumGoroutine())
		}
	}
}

// TestRunsAtOnceAreThoseAlone: several Runs of one scenario share nothing that is written.
func TestRunsAtOnceAreThoseAlone(t *testing.T) {
	s := parsed(t, disturbed)
	want := ran(t, s, nil)
	var runs sync.WaitGroup
	for range 4 {
		runs.Go(func() {
			got, err := Run(context.Background(), s, nil)
			if err != nil || len(got) != len(want) {
				t.Errorf("%d results, %v", len(got), err)
				return
			}
			for i := range got {
				if got[i].Digest != want[i].Digest {
					t.Errorf("%s: digest %s, alone %s", got[i].Limit, got[i].Digest, want[i].Digest)
				}
			}
		})
	}
	runs.Wait()
}
