package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/world"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// A mutant is a store with a mistake in it. apply stands in for Apply; memory is the right
// store, on the same clock.
type mutation func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error)

type mutated struct {
	*memorystore.Store
	clock store.Clock
	apply mutation
	count int
	last  map[string]algorithm.Instant
}

func (m *mutated) Apply(_ context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	m.count++
	return m.apply(m, ops)
}

func (m *mutated) right(ops []store.Op) (algorithm.Instant, bool, error) {
	return m.Store.Apply(context.Background(), ops)
}

func mutant(apply mutation) func(store.Clock) (store.Store, error) {
	return func(clock store.Clock) (store.Store, error) {
		s, err := memorystore.New(&memorystore.Options{Clock: clock})
		return &mutated{Store: s, clock: clock, apply: apply, last: map[string]algorithm.Instant{}}, err
	}
}

// onOutcomes is a mutation of the answers alone.
func onOutcomes(change func(op *store.Op)) mutation {
	return func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		at, committed, err := m.right(ops)
		for i := range ops {
			change(&ops[i])
		}
		return at, committed, err
	}
}

// withAlgorithm is a mutation of the limit.
func withAlgorithm(change func(algorithm.Algorithm) algorithm.Algorithm) mutation {
	return func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		own := slices.Clone(ops)
		for i := range own {
			own[i].Algorithm = change(own[i].Algorithm)
		}
		at, committed, err := m.right(own)
		for i := range ops {
			ops[i].Outcome = own[i].Outcome
		}
		return at, committed, err
	}
}

// parametersOf builds the same algorithm with other parameters.
func parametersOf(a algorithm.Algorithm, change func(p *[4]int64)) algorithm.Algorithm {
	s := a.Spec()
	change(&s.Params)
	name, _, _ := strings.Cut(s.Kind, "/")
	text := fmt.Sprintf("%s:%d/%dus", name, s.Params[0], s.Params[1])
	switch name {
	case "gcra", "token-bucket":
		text += fmt.Sprintf(",burst=%d", s.Params[2])
	case "leaky-bucket":
		text += fmt.Sprintf(",capacity=%d", s.Params[2])
	}
	return algorithm.Must(algorithm.ParseSpec(text))
}

// dropsCharges loses each tenth charge.
func dropsCharges(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
	if m.count%10 == 0 {
		own := slices.Clone(ops)
		at, err := m.Peek(context.Background(), own)
		all := true
		for i := range ops {
			ops[i].Outcome = own[i].Outcome
			all = all && ops[i].Outcome.Allowed
		}
		return at, all, err
	}
	return m.right(ops)
}

// anchored is a fixed window that begins with the first request.
type anchored struct{ *algorithm.FixedWindow }

func (a anchored) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	p := a.Spec().Params
	limit, period := p[0], p[1]
	start, count := int64(now), int64(0)
	if !s.Fresh() && int64(now) < s.Word(0)+period {
		start, count = s.Word(0), s.Word(1)
	}
	o := algorithm.Outcome{Limit: limit, Allowed: count+r.Cost <= limit}
	if o.Allowed && r.Cost > 0 {
		count += r.Cost
		s = algorithm.NewState(start, count)
	} else if !o.Allowed {
		o.RetryAfter = time.Duration(start+period-int64(now)) * time.Microsecond
		if r.Cost > limit {
			o.RetryAfter = algorithm.Never
		}
	}
	if count > 0 {
		o.ResetAfter = time.Duration(start+period-int64(now)) * time.Microsecond
	}
	o.Remaining = limit - count
	return s, o
}

var mutants = []struct {
	name  string
	apply mutation
	rules []string // one of them is violated
}{
	{"RetryAfter is a microsecond short", onOutcomes(func(op *store.Op) {
		if o := &op.Outcome; !o.Allowed && o.RetryAfter != algorithm.Never && o.RetryAfter > time.Microsecond {
			o.RetryAfter -= time.Microsecond
		}
	}), []string{check.Retry}},
	{"RetryAfter is a microsecond long", onOutcomes(func(op *store.Op) {
		if o := &op.Outcome; !o.Allowed && o.RetryAfter != algorithm.Never {
			o.RetryAfter += time.Microsecond
		}
	}), []string{check.Retry}},
	{"RetryAfter is cut to milliseconds", onOutcomes(func(op *store.Op) {
		if o := &op.Outcome; !o.Allowed && o.RetryAfter != algorithm.Never {
			o.RetryAfter = max(o.RetryAfter.Truncate(time.Millisecond), time.Microsecond)
		}
	}), []string{check.Retry}},
	{"what can never pass is told to wait", onOutcomes(func(op *store.Op) {
		if o := &op.Outcome; o.RetryAfter == algorithm.Never {
			o.RetryAfter = time.Second
		}
	}), []string{check.Admission}},
	{"Remaining is one too many", onOutcomes(func(op *store.Op) {
		if o := &op.Outcome; o.Remaining < o.Limit {
			o.Remaining++
		}
	}), []string{check.Outcome, check.Reset}},
	{"ResetAfter is a microsecond short", onOutcomes(func(op *store.Op) {
		op.Outcome.ResetAfter = max(0, op.Outcome.ResetAfter-time.Microsecond)
	}), []string{check.Reset}},
	{"Delay is rounded down to milliseconds", onOutcomes(func(op *store.Op) {
		op.Outcome.Delay = op.Outcome.Delay.Truncate(time.Millisecond)
	}), []string{check.Outcome}},
	{"a full bucket admits one more", withAlgorithm(func(a algorithm.Algorithm) algorithm.Algorithm {
		return parametersOf(a, func(p *[4]int64) { p[0], p[2] = p[0]+1, p[2]+1 })
	}), []string{check.Outcome, check.Admission}},
	{"the period is a microsecond short", withAlgorithm(func(a algorithm.Algorithm) algorithm.Algorithm {
		return parametersOf(a, func(p *[4]int64) { p[1]-- })
	}), []string{check.Admission, check.Retry, check.Reset, check.Outcome}},
	{"a cost of just what remains is denied", func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		own := slices.Clone(ops)
		if _, err := m.Peek(context.Background(), own); err != nil {
			return 0, false, err
		}
		for i := range own {
			look := []store.Op{{Slot: own[i].Slot}}
			at, err := m.Peek(context.Background(), look)
			if o := look[0].Outcome; err == nil && o.Remaining == own[i].Request.Cost && o.Remaining > 0 {
				for k := range ops {
					ops[k].Outcome = own[k].Outcome
				}
				ops[i].Outcome.Allowed, ops[i].Outcome.RetryAfter = false, time.Microsecond
				return at, false, nil
			}
		}
		return m.right(ops)
	}, []string{check.Denial}},
	{"a denial is charged", func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		at, committed, err := m.right(ops)
		if err == nil && !committed {
			for i := range ops {
				one := []store.Op{{Slot: ops[i].Slot, Request: algorithm.Request{Cost: 1}}}
				if _, _, err := m.right(one); err != nil {
					return 0, false, err
				}
			}
		}
		return at, committed, err
	}, []string{check.Denial, check.Reset, check.Retry, check.Outcome}},
	{"a look is charged", func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		at, committed, err := m.right(ops)
		if err == nil && ops[0].Request.Cost == 0 {
			_, _, err = m.right([]store.Op{{Slot: ops[0].Slot, Request: algorithm.Request{Cost: 1}}})
		}
		return at, committed, err
	}, []string{check.Denial, check.Reset, check.Outcome, check.Retry}},
	{"each tenth charge is lost", dropsCharges, []string{check.Admission, check.Outcome, check.Reset, check.Retry}},
	{"each tenth charge is made twice", func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		at, committed, err := m.right(ops)
		if err == nil && m.count%10 == 0 {
			_, _, err = m.right(slices.Clone(ops))
		}
		return at, committed, err
	}, []string{check.Denial, check.Outcome, check.Reset, check.Retry}},
	{"a refused call charges what alone was allowed", func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		at, committed, err := m.right(ops)
		for i := range ops {
			if err == nil && !committed && ops[i].Outcome.Allowed {
				_, _, err = m.right([]store.Op{{Slot: ops[i].Slot, Request: ops[i].Request}})
			}
		}
		return at, committed, err
	}, []string{check.Denial, check.Reset, check.Retry, check.Outcome}},
	{"committed although one was refused", func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		at, _, err := m.right(ops)
		return at, true, err
	}, []string{check.AllOrNone}},
	{"keys meet in sixteen slots", func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		own := slices.Clone(ops)
		for i := range own {
			own[i].Key = fmt.Sprint(check.Hash(own[i].Key) % 16)
		}
		at, committed, err := m.right(own)
		for i := range ops {
			ops[i].Outcome = own[i].Outcome
		}
		return at, committed, err
	}, []string{check.Denial, check.Outcome, check.Reset}},
	{"limits of a key share a state", func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		at, committed, err := m.right(ops)
		if err == nil && committed && len(ops) > 1 {
			_, _, err = m.right([]store.Op{{Slot: ops[1].Slot, Request: ops[0].Request}})
		}
		return at, committed, err
	}, []string{check.Denial, check.Reset, check.Outcome, check.Retry}},
	{"a state expires a millisecond early", func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		now, err := algorithm.InstantOf(m.clock.Now())
		if err != nil {
			return 0, false, err
		}
		for i := range ops {
			place := ops[i].Limit + "/" + ops[i].Key
			if until := m.last[place]; until != 0 && now >= until-1000 {
				if err := m.Reset(context.Background(), []store.Slot{ops[i].Slot}); err != nil {
					return 0, false, err
				}
			}
		}
		at, committed, err := m.right(ops)
		for i := range ops {
			m.last[ops[i].Limit+"/"+ops[i].Key] = at + algorithm.Instant(ops[i].Outcome.ResetAfter/time.Microsecond)
		}
		return at, committed, err
	}, []string{check.Admission, check.Outcome, check.Reset, check.Retry}},
	{"a clock that goes back starts anew", func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		now, err := algorithm.InstantOf(m.clock.Now())
		if err != nil {
			return 0, false, err
		}
		for i := range ops {
			place := ops[i].Limit + "/" + ops[i].Key
			if now < m.last[place] {
				if err := m.Reset(context.Background(), []store.Slot{ops[i].Slot}); err != nil {
					return 0, false, err
				}
			}
			m.last[place] = now
		}
		return m.right(ops)
	}, []string{check.Admission, check.Outcome, check.Reset, check.Retry}},
	{"a window begins with its first request", withAlgorithm(func(a algorithm.Algorithm) algorithm.Algorithm {
		if f, is := a.(*algorithm.FixedWindow); is {
			return anchored{f}
		}
		return a
	}), []string{check.Reset, check.Denial, check.Retry, check.Outcome, check.Admission}},
	{"all is forgotten once", func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		if m.count == 500 {
			m.Sweep(algorithm.MaxInstant)
		}
		return m.right(ops)
	}, []string{check.Admission, check.Outcome, check.Reset, check.Retry}},
	{"the last state never becomes fresh", func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		own := slices.Clone(ops)
		at, committed, err := m.right(own)
		for i := range ops {
			ops[i].Outcome = own[i].Outcome
		}
		if err == nil && committed && m.count == 3 { // once, into the future
			for i := range own {
				for range 3 {
					clock := m.clock.(*world.ManualClock)
					clock.At += 1_000_000_000_000
					_, _, err = m.right([]store.Op{{Slot: own[i].Slot, Request: algorithm.Request{Cost: 1}}})
					clock.At -= 1_000_000_000_000
				}
			}
		}
		return at, committed, err
	}, []string{check.Denial, check.Reset, check.Outcome, check.Retry}},
	{"decides at an instant of its own", func(m *mutated, ops []store.Op) (algorithm.Instant, bool, error) {
		at, committed, err := m.right(ops)
		return at + 1, committed, err
	}, []string{check.Outcome}},
}

// TestMutantsAreCaught: each mistake violates a rule that is meant for it, in one scenario
// for all: without faults, then with a clock that goes back, then with all limits
// together.
func TestMutantsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: dozens of mistakes")
	}
	alone := parsed(t, crowded)
	back := parsed(t, crowded+"faults:\n  - {kind: clock, at: 1m, step: -2s}\n  - {kind: clock, at: 2m, step: -20s}\n")
	together := parsed(t, crowded+"together: true\n")
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			caught := map[string]bool{}
			for _, s := range []*scenario.Scenario{alone, back, together} {
				results, err := Run(t.Context(), s, &Options{NewStore: mutant(m.apply)})
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range results {
					if f := r.Failure; f != nil {
						caught[f.Rule] = true
						if len(f.Last) == 0 || f.Text == "" || f.Event == 0 {
							t.Errorf("a failure without its story: %+v", f)
						}
					}
				}
			}
			if len(caught) == 0 {
				t.Fatal("nothing was violated")
			}
			for rule := range caught {
				if !slices.Contains(m.rules, rule) {
					t.Errorf("violates %s, and is meant to violate one of %v", rule, m.rules)
				}
			}
		})
	}
}

// impatient is a store that frees a state as soon as it is fresh, without the second of
// grace for a clock that goes back.
type impatient struct{ *memorystore.Store }

func (i impatient) Sweep(now algorithm.Instant) int { return i.Store.Sweep(now + 1_000_000) }

// TestExplorationReachesLifeTimes: a store without grace violates a rule in some of the
// first seeds.
func TestExplorationReachesLifeTimes(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a search through seeds")
	}
	opts := &Options{NewStore: func(clock store.Clock) (store.Store, error) {
		s, err := memorystore.New(&memorystore.Options{Clock: clock})
		return impatient{s}, err
	}}
	for seed := range uint64(400) {
		results, err := Run(t.Context(), scenario.Generate(seed), opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if f := r.Failure; f != nil {
				t.Logf("seed %d: %s: %s", seed, f.Rule, f.Text)
				return
			}
		}
	}
	t.Error("400 seeds do not see that a store has no grace")
}

// TestEachRuleAloneCatches: a rule sees its mistakes also where the others are not
// checked, so that none is a shadow of another.
func TestEachRuleAloneCatches(t *testing.T) {
	for rule, name := range map[string]string{
		check.Admission: "all is forgotten once",
		check.Denial:    "a denial is charged",
		check.Outcome:   "Remaining is one too many",
		check.AllOrNone: "committed although one was refused",
		check.Retry:     "each tenth charge is lost",
		check.Reset:     "each tenth charge is made twice",
		check.Liveness:  "the last state never becomes fresh",
	} {
		i := slices.IndexFunc(mutants, func(m struct {
			name  string
			apply mutation
			rules []string
		}) bool {
			return m.name == name
		})
		if !Violates(t.Context(), rule, &Options{NewStore: mutant(mutants[i].apply)})(parsed(t, crowded)) {
			t.Errorf("%s alone does not catch: %s", rule, name)
		}
	}
}
