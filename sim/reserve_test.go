package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim"
	"github.com/weirgo/weir/sim/internal/world"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// reserves reports whether traffic of a scenario is reserved.
func reserves(s *scenario.Scenario) bool {
	return slices.ContainsFunc(s.Traffic, func(t scenario.Traffic) bool { return t.Reserve != nil })
}

// TestReservationsKeepTheRulesInRandomScenarios (D1, D2, I6), and meet their corner cases together.
func TestReservationsKeepTheRulesInRandomScenarios(t *testing.T) {
	met := map[string]int64{}
	seeds := uint64(100)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		s := scenario.Generate(5000 + seed)
		if !reserves(s) {
			continue
		}
		results, err := sim.Run(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			for _, g := range r.Goals {
				met[g.Name] += g.Count
			}
			if f := r.Failure; f != nil {
				t.Errorf("seed %d, limit %s: %s: %s\n%s\n%s", s.Seed, f.Limit, f.Rule, f.Text, f.Columns, strings.Join(f.Last, "\n"))
			}
		}
	}
	for _, name := range []string{
		"ID was remembered", "slot compared with all of its reservations settled", "reservation settled from its text",
		"settlement took what was left", "settlement took more than was left", "reservation kept its estimate", "call without an ID counted again",
		"ID was of another step",
	} {
		if met[name] == 0 && !testing.Short() {
			t.Errorf("never: %s", name)
		}
	}
}

// lossy is a scenario with reservations of every fate, whose replies get lost.
func lossy(t *testing.T) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse(strings.NewReader(`
name: lossy
duration: 20s
limits:
  - {name: fixed window, spec: "fixed-window:3000/2s"}
  - {name: sliding counter, spec: "sliding-counter:3000/2s"}
  - {name: sliding log, spec: "sliding-log:3000/2s"}
  - {name: bucket, spec: "token-bucket:3000/2s"}
nodes: {count: 3, timeout: 20ms, call_timeout: 100ms}
network:
  delay: {kind: exponential, mean: 1ms, max: 10ms}
traffic:
  - name: all
    process: {kind: poisson, rate: 30/1s}
    keys: {kind: uniform, n: 5}
    costs: {kind: fixed, cost: 100}
    retry: {kind: fixed, wait: 50ms, attempts: 3}
    reserve:
      actual: {kind: list, list: [0, 10, 90, 100, 130, 500]}
      work: {kind: exponential, mean: 300ms, max: 3s}
      cancel: 0.1
      crash: 0.05
      hand_over: 0.3
faults:
  - {kind: loss, at: 2s, for: 10s, direction: replies, rate: 0.2}
  - {kind: crash, at: 14s, for: 1s, nodes: [1]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// violated runs a scenario, with one rule checked and something planted, and returns the first
// failure; nil where there is none.
func violated(t *testing.T, s *scenario.Scenario, rule string, opts world.Options) *result.Failure {
	t.Helper()
	s.Checks = []string{rule}
	for i := range s.Limits {
		r, err := world.Run(t.Context(), s, s.Limits[i:i+1], opts)
		if err != nil {
			t.Fatal(err)
		}
		if r.Failure != nil {
			return r.Failure
		}
	}
	return nil
}

func TestReservationsWhoseRepliesGetLost(t *testing.T) {
	for _, change := range []func(s *scenario.Scenario){
		func(*scenario.Scenario) {},
		func(s *scenario.Scenario) { s.Nodes.SettleIntoDebt = true },
		func(s *scenario.Scenario) { s.Traffic[0].Reserve.WithoutIDs = true },
		func(s *scenario.Scenario) { s.Together = true },
		func(s *scenario.Scenario) {
			s.Network.Repeats, s.Faults[0].Kind, s.Faults[0].Direction = true, "duplication", ""
		},
		func(s *scenario.Scenario) { s.Nodes.IDTTL = 100 * time.Millisecond },
	} {
		s := lossy(t)
		change(s)
		results, err := sim.Run(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Failure != nil {
				t.Errorf("%+v", r.Failure)
			}
			n := r.Traffic[0].Reservations
			if n == nil || n.Made != r.Totals.Admitted || n.Settled < 100 || n.Cancelled == 0 || n.Never == 0 || n.Resumed == 0 && !s.Traffic[0].Reserve.WithoutIDs ||
				n.Settled+n.Never+n.Unsure != n.Made {
				t.Errorf("%+v of %+v", n, r.Totals)
			}
		}
	}
}

// TestPlantedMistakesOfReservationsAreCaught, in what settles, each by the rule reservations alone.
func TestPlantedMistakesOfReservationsAreCaught(t *testing.T) {
	settles := func(o store.Once) bool { return strings.HasSuffix(o.ID, "settle") }
	renamed := 0
	for name, once := range map[string]func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error){
		"settled twice": func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error) {
			at, committed, err := next(ctx, o, ops)
			if o.ID += " again"; err == nil && committed && ops[0].Request.Cost > 0 {
				at, committed, err = next(ctx, o, ops)
			}
			return at, committed, err
		},
		"another ID for each call": func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error) {
			renamed++
			o.ID = fmt.Sprint(renamed, o.ID)
			return next(ctx, o, ops)
		},
		"given back all": func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error) {
			if settles(o) && ops[0].Request.Verb == algorithm.Refund {
				ops = slices.Clone(ops)
				ops[0].Request.Cost = 100
			}
			return next(ctx, o, ops)
		},
		"given back to the present": func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error) {
			if ops[0].Request.Verb == algorithm.Refund {
				ops = slices.Clone(ops)
				ops[0].Request.At += 2_000_000
			}
			return next(ctx, o, ops)
		},
		"never settled, and says so": func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error) {
			if settles(o) {
				ops[0].Outcome = algorithm.Outcome{Allowed: true}
				return 1_800_000_000_000_000, true, nil
			}
			return next(ctx, o, ops)
		},
	} {
		t.Run(name, func(t *testing.T) {
			failure := violated(t, lossy(t), "reservations", world.Options{Beneath: func(inner store.Store) store.Store {
				return store.Wrap(inner, store.Hooks{Apply: plainly, Once: once})
			}})
			if failure == nil {
				t.Fatal("nothing was violated")
			}
			t.Log(failure.Text)
		})
	}
	t.Run("without IDs, sent again", func(t *testing.T) {
		s := lossy(t)
		s.Traffic[0].Reserve.WithoutIDs = true
		failure := violated(t, s, "reservations", world.Options{Beneath: func(inner store.Store) store.Store {
			return store.Wrap(inner, store.Hooks{Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
				if at, committed, err := next(ctx, ops); err == nil {
					return at, committed, nil
				}
				return next(ctx, ops)
			}})
		}})
		if failure == nil {
			t.Fatal("nothing was violated")
		}
		t.Log(failure.Text)
	})
}

func plainly(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
	return next(ctx, ops)
}

// forgetful is a store with a mistake in how it remembers IDs.
type forgetful struct {
	*memorystore.Store
	once store.OnceFunc
}

func (f *forgetful) Features() store.Features {
	return store.Features{Owner: f, NoIO: true, Once: f.once}
}

// TestPlantedMistakesOfIDsAreCaught, in the store, each by the rule ids alone.
func TestPlantedMistakesOfIDsAreCaught(t *testing.T) {
	for name, once := range map[string]func(right, plain store.OnceFunc) store.OnceFunc{
		"IDs are not remembered": func(_, plain store.OnceFunc) store.OnceFunc { return plain },
		"another step is answered, too": func(right, _ store.OnceFunc) store.OnceFunc {
			return func(ctx context.Context, o store.Once, ops []store.Op) (algorithm.Instant, bool, error) {
				at, committed, err := right(ctx, o, ops)
				if err != nil {
					return 1_800_000_000_000_000, true, nil
				}
				return at, committed, err
			}
		},
		"IDs end early": func(right, _ store.OnceFunc) store.OnceFunc {
			return func(ctx context.Context, o store.Once, ops []store.Op) (algorithm.Instant, bool, error) {
				o.TTL = 30 * time.Millisecond
				return right(ctx, o, ops)
			}
		},
		"the answer is that of a look": func(right, _ store.OnceFunc) store.OnceFunc {
			seen := map[string]bool{}
			return func(ctx context.Context, o store.Once, ops []store.Op) (algorithm.Instant, bool, error) {
				at, committed, err := right(ctx, o, ops)
				if seen[o.ID] && err == nil && committed {
					ops[0].Outcome.Remaining--
				}
				seen[o.ID] = seen[o.ID] || committed
				return at, committed, err
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			failure := violated(t, lossy(t), "ids", world.Options{NewStore: func(c store.Clock) (store.Store, error) {
				s, err := memorystore.New(&memorystore.Options{Clock: c})
				plain := func(ctx context.Context, _ store.Once, ops []store.Op) (algorithm.Instant, bool, error) {
					return s.Apply(ctx, ops)
				}
				return &forgetful{s, once(s.Features().Once, plain)}, err
			}})
			if failure == nil {
				t.Fatal("nothing was violated")
			}
			t.Log(failure.Text)
		})
	}
}

func TestScenariosRefuseWhatReservationsDoNotSuit(t *testing.T) {
	for name, change := range map[string]func(*scenario.Scenario){
		"policy":                 func(s *scenario.Scenario) { s.Limits, s.PolicyFile = nil, "p.yaml" },
		"server.clock":           func(s *scenario.Scenario) { s.Server.Clock = "node" },
		"nodes.on_failure":       func(s *scenario.Scenario) { s.Nodes.OnFailure = "open" },
		"nodes.lease":            func(s *scenario.Scenario) { s.Nodes.Lease = &scenario.Lease{} },
		"nodes.breaker":          func(s *scenario.Scenario) { s.Nodes.Breaker = true },
		"nodes.deny_cache":       func(s *scenario.Scenario) { s.Nodes.DenyCache = 1 },
		"faults[0].kind":         func(s *scenario.Scenario) { s.Faults = []scenario.Fault{{Kind: "clock", Step: time.Second}} },
		"reserve.cancel":         func(s *scenario.Scenario) { s.Traffic[0].Reserve.Cancel = 2_000_000 },
		"reserve.resolve_within": func(s *scenario.Scenario) { s.Traffic[0].Reserve.ResolveWithin = time.Hour },
		"reserve.actual.median":  func(s *scenario.Scenario) { s.Traffic[0].Reserve.Actual = scenario.Costs{Kind: "log-normal"} },
	} {
		s := lossy(t)
		change(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v, want one about it", name, err)
		}
	}
}
