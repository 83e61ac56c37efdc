package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
)

// trackPage shows the mistakes, and what the simulator says of them.
const trackPage = "../docs/reference/track-record.md"

// numbers are a limit as it was asked for; period is in µs.
type numbers struct{ limit, period, burst int64 }

// step decides a request for one key, at an instant in µs, and keeps the state of that key.
type step func(now, cost int64) algorithm.Outcome

// elsewhere is a store of limiters as they were built elsewhere: with numbers of their
// own, and each of several limits decided and charged by itself.
type elsewhere struct {
	clock store.Clock
	open  func(numbers) step
	place func(store.Slot) string
	steps map[string]step
}

var _ store.Store = (*elsewhere)(nil)

// Apply implements store.Store.
func (e *elsewhere) Apply(_ context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	if at, err = algorithm.InstantOf(e.clock.Now()); err != nil {
		return 0, false, err
	}
	committed = true
	for i := range ops {
		op, place := &ops[i], e.place(ops[i].Slot)
		if e.steps[place] == nil {
			e.steps[place] = e.open(numbersOf(op.Algorithm))
		}
		op.Outcome = e.steps[place](int64(at), op.Request.Cost)
		committed = committed && op.Outcome.Allowed
	}
	return at, committed, nil
}

// Peek implements store.Store, for looks: the simulator makes no others.
func (e *elsewhere) Peek(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
	for i := range ops {
		if cost := ops[i].Request.Cost; cost != 0 {
			return 0, fmt.Errorf("elsewhere: Request.Cost of a look: %d is not 0", cost)
		}
	}
	at, _, err := e.Apply(ctx, ops)
	return at, err
}

// Reset implements store.Store.
func (e *elsewhere) Reset(_ context.Context, slots []store.Slot) error {
	for _, s := range slots {
		delete(e.steps, e.place(s))
	}
	return nil
}

// Close implements store.Store.
func (e *elsewhere) Close() error { return nil }

// numbersOf returns the numbers of an algorithm.
func numbersOf(a algorithm.Algorithm) numbers {
	p := a.Spec().Params
	n := numbers{limit: p[0], period: p[1], burst: p[0]}
	switch a.Spec().Kind {
	case algorithm.KindGCRA, algorithm.KindTokenBucket, algorithm.KindLeakyBucket:
		n.burst = p[2]
	}
	return n
}

// apart is the right place of a state: limits and keys are kept apart whatever they are called.
func apart(s store.Slot) string { return fmt.Sprintf("%q %q", s.Limit, s.Key) }

// TestTrackRecord: each mistake violates the rule that is meant for it or misses what the
// scenario expects, where weir passes with every rule checked. The page has both.
func TestTrackRecord(t *testing.T) {
	table := "| what went wrong elsewhere | where | scenario | what the simulator says | admitted there | by weir |\n|---|---|---|---|---|---|\n"
	for _, m := range mistakes {
		t.Run(m.scenario, func(t *testing.T) {
			says, there, right := m.run(t)
			table += fmt.Sprintf("| %s | %s | `%s` | %s | %d | %d |\n", m.what, m.where, m.scenario, says, there, right)
		})
	}
	if t.Failed() {
		return
	}
	writePart(t, trackPage, "track record", table)
}

// run returns what the simulator says of a mistake, and how much is admitted with it and
// without.
func (m *mistake) run(t *testing.T) (says string, there, right int64) {
	t.Helper()
	for _, r := range ran(t, m.read(t), nil) {
		for _, e := range r.Expected {
			if !e.Met {
				t.Errorf("weir: %s of %s is %d", e.Metric, e.Limit, e.Value)
			}
		}
		right += r.Totals.Admitted
	}
	opts := &Options{}
	if m.open != nil {
		opts.NewStore = func(clock store.Clock) (store.Store, error) {
			e := &elsewhere{clock: clock, open: m.open, place: m.place, steps: map[string]step{}}
			if e.place == nil {
				e.place = apart
			}
			return e, nil
		}
	}
	s := m.read(t)
	if m.world != nil {
		m.world(s)
	}
	s.Checks = []string{check.Local} // no local store, no violation: it goes on to the end
	for _, r := range m.ran(t, s, opts) {
		there += r.Totals.Admitted
		for _, e := range r.Expected {
			if m.rule == "" && !e.Met {
				says = fmt.Sprintf("`%s` is %d, and not at most %d", e.Metric, e.Value, *e.Max)
			}
		}
	}
	if m.rule != "" {
		s.Checks = []string{m.rule}
		for _, r := range m.ran(t, s, opts) {
			if f := r.Failure; f != nil && says == "" {
				says = fmt.Sprintf("`%s`, at %v: %s", f.Rule, time.Duration(f.Micros)*time.Microsecond, f.Text)
			}
		}
	}
	if says == "" {
		t.Errorf("the mistake is not seen by the rule %q", m.rule)
	}
	return says, there, right
}

func (m *mistake) ran(t *testing.T, s *scenario.Scenario, opts *Options) []*result.Result {
	t.Helper()
	results, err := Run(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// trackScenarios is where the scenarios are.
const trackScenarios = "testdata/trackrecord"

func (m *mistake) read(t *testing.T) *scenario.Scenario {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(trackScenarios, m.scenario+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := parsed(t, string(text))
	if s.Name != m.scenario {
		t.Errorf("%s.yaml has the name %s", m.scenario, s.Name)
	}
	return s
}

// TestTrackRecordHasAllScenarios: no scenario lies there that nobody runs.
func TestTrackRecordHasAllScenarios(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(trackScenarios, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(trackPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		planted := slices.ContainsFunc(mistakes, func(m mistake) bool { return m.scenario == name })
		if !planted && !strings.Contains(string(page), "weir sim sim/"+filepath.ToSlash(file)) {
			t.Errorf("%s: no mistake is planted in it, and the page does not run it", file)
		}
	}
}
