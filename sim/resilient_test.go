package sim

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/world"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
)

// outage is a server that is cut off twice, with all decorators in front of it.
const outage = `
name: outage
duration: 60s
seed: 3
limits: [{name: gcra, spec: "gcra:50/1s,burst=40"}]
nodes: {count: 4, on_failure: local, local_share: 4, breaker: true, deny_cache: 100, call_timeout: 1s}
network: {delay: {kind: exponential, mean: 500us, max: 20ms}}
traffic:
  - {name: users, process: {kind: poisson, rate: 100/1s}, keys: {kind: zipf, n: 5, alpha: 1}}
  - {name: greedy, process: {kind: poisson, rate: 400/1s}, keys: {kind: one, name: greedy}}
faults:
  - {kind: partition, at: 15s, for: 15s}
  - {kind: slow, at: 45s, for: 5s, delay: 80ms}
`

// answers changes the outcomes that come out of a store.
func answers(inner store.Store, change func(op *store.Op)) store.Store {
	return store.Wrap(inner, store.Hooks{Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
		at, committed, err := next(ctx, ops)
		for i := range ops {
			change(&ops[i])
		}
		return at, committed, err
	}})
}

// onOpen answers in place of a breaker that refuses.
func onOpen(b store.Store, answer store.ApplyFunc) store.Store {
	return store.Wrap(b, store.Hooks{Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
		at, committed, err := next(ctx, ops)
		if errors.Is(err, resilience.ErrOpen) {
			return answer(ctx, ops)
		}
		return at, committed, err
	}})
}

func longer(op *store.Op) {
	if !op.Outcome.Allowed && op.Outcome.RetryAfter != algorithm.Never {
		op.Outcome.RetryAfter += 2 * time.Millisecond
	}
}

// anyKey remembers the last denial, and not whose it was.
type anyKey struct {
	clock store.Clock
	until time.Time
	last  algorithm.Outcome
}

func (a *anyKey) apply(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
	now := a.clock.Now()
	if now.Before(a.until) {
		ops[0].Outcome = a.last
		ops[0].Outcome.RetryAfter = a.until.Sub(now)
		return algorithm.Instant(now.UnixMicro()), false, nil
	}
	at, committed, err := next(ctx, ops)
	if err == nil && !committed {
		a.until, a.last = now.Add(ops[0].Outcome.RetryAfter), ops[0].Outcome
	}
	return at, committed, err
}

// TestMistakesInDecoratorsAreCaught: F4, F5 and N1 to N3.
func TestMistakesInDecoratorsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs with mistakes")
	}
	type decorators = world.Decorators
	for _, m := range []struct {
		name  string
		plant decorators
		rules []string
	}{
		{"nothing", decorators{}, nil},
		{"a denial lasts too long", decorators{DenyCache: func(inner store.Store, o *resilience.DenyCacheOptions) (store.Store, error) {
			return resilience.NewDenyCache(answers(inner, longer), o)
		}}, []string{check.DenyCache}},
		{"a denial counts from when the answer came", decorators{DenyCache: func(inner store.Store, o *resilience.DenyCacheOptions) (store.Store, error) {
			timed := store.Wrap(inner, store.Hooks{Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
				sent := o.Clock.Now()
				at, committed, err := next(ctx, ops)
				if o2 := &ops[0].Outcome; err == nil && !committed {
					o2.RetryAfter += o.Clock.Now().Sub(sent)
				}
				return at, committed, err
			}})
			return resilience.NewDenyCache(timed, o)
		}}, []string{check.DenyCache}},
		{"RetryAfter is not what is left", decorators{DenyCache: func(inner store.Store, o *resilience.DenyCacheOptions) (store.Store, error) {
			c, err := resilience.NewDenyCache(inner, o)
			return answers(c, longer), err
		}}, []string{check.DenyCache}},
		{"a denial is remembered for all keys", decorators{DenyCache: func(inner store.Store, o *resilience.DenyCacheOptions) (store.Store, error) {
			a := &anyKey{clock: o.Clock}
			return store.Wrap(inner, store.Hooks{Apply: a.apply}), nil
		}}, []string{check.DenyCache}},
		{"a breaker that admits by itself", decorators{Breaker: func(inner store.Store, o *resilience.BreakerOptions) (store.Store, error) {
			b, err := resilience.NewBreaker(inner, o)
			return onOpen(b, func(_ context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
				ops[0].Outcome = algorithm.Outcome{Allowed: true, Limit: 40}
				return 0, true, nil
			}), err
		}}, []string{check.DenyCache}},
		{"a breaker that asks while it is open", decorators{Breaker: func(inner store.Store, o *resilience.BreakerOptions) (store.Store, error) {
			b, err := resilience.NewBreaker(inner, o)
			return onOpen(b, inner.Apply), err
		}}, []string{check.Breaker}},
		{"a breaker that opens for good", decorators{Breaker: func(inner store.Store, o *resilience.BreakerOptions) (store.Store, error) {
			o.OpenFor = time.Hour
			return resilience.NewBreaker(inner, o)
		}}, []string{check.Breaker}},
		{"a breaker that refuses while it is closed", decorators{Breaker: func(inner store.Store, o *resilience.BreakerOptions) (store.Store, error) {
			n := 0
			return store.Wrap(inner, store.Hooks{Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
				if n++; n%100 == 0 {
					return 0, false, resilience.ErrOpen
				}
				return next(ctx, ops)
			}}), nil
		}}, []string{check.Breaker}},
		{"each process has the whole limit", decorators{Share: func(local store.Store, _ func() int64) (store.Store, error) {
			return local, nil
		}}, []string{check.Local, check.LocalSum}},
		{"only the burst is shared", decorators{Share: func(local store.Store, k func() int64) (store.Store, error) {
			return resilience.NewShare(local, k, &resilience.ShareOptions{Scale: func(a algorithm.Algorithm, k int64) (algorithm.Algorithm, error) {
				return parametersOf(a, func(p *[4]int64) { p[2] /= k }), nil
			}})
		}}, []string{check.Local, check.LocalSum}},
	} {
		t.Run(m.name, func(t *testing.T) {
			s := parsed(t, outage)
			for _, alone := range append([]string{""}, m.rules...) { // all rules, and each by itself
				if alone != "" {
					s.Checks = []string{alone}
				}
				r, err := world.Run(t.Context(), s, s.Limits, world.Options{Decorators: m.plant})
				if err != nil {
					t.Fatal(err)
				}
				switch f := r.Failure; {
				case m.rules == nil && f != nil:
					t.Fatalf("%s: %s", f.Rule, f.Text)
				case m.rules != nil && f == nil:
					t.Errorf("checks %q: nothing was violated", s.Checks)
				case f != nil && !slices.Contains(m.rules, f.Rule):
					t.Errorf("violates %s: %s", f.Rule, f.Text)
				}
			}
		})
	}
}

// TestDecoratorsMeetTheirCorners: the built-in scenarios open and close breakers, and deny
// without a call.
func TestDecoratorsMeetTheirCorners(t *testing.T) {
	met := map[string]int64{}
	for _, r := range ran(t, parsed(t, outage), nil) {
		for _, g := range r.Goals {
			met[g.Name] += g.Count
		}
	}
	for _, name := range []string{"denied without a call to the server", "breaker opened", "breaker refused a call", "breaker sent a probe", "breaker closed again", "failure mode admitted"} {
		if met[name] == 0 {
			t.Errorf("never: %s", name)
		}
	}
	if probes := met["breaker sent a probe"]; probes > 4*(3*2+15/4+5/4+2) {
		t.Errorf("%d probes of 4 nodes in two faults of 15 and 5 s", probes)
	}
}

// TestBreakerBoundsWhatCallersWait: with a breaker few callers meet the time-out, and with
// shares the processes admit little more than the limit.
func TestBreakerBoundsWhatCallersWait(t *testing.T) {
	run := func(change func(n *scenario.Nodes)) *result.Result {
		s := parsed(t, outage)
		change(&s.Nodes)
		return ran(t, s, nil)[0]
	}
	timedOut := func(r *result.Result) (n int64) {
		for _, b := range r.Waits {
			if b.UpToMicros >= 100_000 {
				n += b.Count
			}
		}
		return n
	}
	both := run(func(*scenario.Nodes) {})
	without := run(func(n *scenario.Nodes) { n.Breaker = false })
	whole := run(func(n *scenario.Nodes) { n.LocalShare = 0 })
	if a, b := timedOut(both), timedOut(without); a*2 > b {
		t.Errorf("%d admissions waited for 100 ms with a breaker, %d without", a, b)
	}
	if a, b := both.Limits[0].OverUnits, whole.Limits[0].OverUnits; a*4 > b {
		t.Errorf("%d units too much with shares, %d with whole limits", a, b)
	}
	t.Logf("admissions that waited for 100 ms: %d with a breaker, %d without; units too much: %d with shares, %d without", timedOut(both), timedOut(without), both.Limits[0].OverUnits, whole.Limits[0].OverUnits)
}
