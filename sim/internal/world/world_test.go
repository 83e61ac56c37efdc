package world

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/traffic"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
)

// TestOneFaultDoesNotMoveAnother: a partition leaves the draws of a loss beside it as they
// are.
func TestOneFaultDoesNotMoveAnother(t *testing.T) {
	lost := func(cut int) (which []bool) {
		s := parsed(t, `
name: draws
duration: 1s
limits:
  - {name: gcra, spec: "gcra:1000/1s"}
traffic:
  - {name: users, process: {kind: constant, rate: 50/1s}, keys: {kind: one}}
faults:
  - {kind: loss, rate: 20%}
`)
		w, err := newWorld(s, s.Limits, Options{}, false)
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		l := link{of: new(connection), world: w, delay: traffic.NewDelay(s.Network.Delay), draw: w.streams.Stream("link"), loss: w.faults}
		for i := range 1000 {
			if l.cut = 0; i < 500 {
				l.cut = cut
			}
			before := w.Goals[check.ReplyLost]
			l.send(healing{}, nil)
			which = append(which, w.Goals[check.ReplyLost] > before)
		}
		return which[500:]
	}
	alone, beside := lost(0), lost(1)
	if !slices.Equal(alone, beside) || !slices.Contains(alone, true) || !slices.Contains(alone, false) {
		t.Error("a partition moves what is lost after it")
	}
}

func parsed(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// forgetful is a store that loses each tenth charge.
type forgetful struct {
	store.Store
	count int
}

func (f *forgetful) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	if f.count++; f.count%10 > 0 {
		return f.Store.Apply(ctx, ops)
	}
	at, err := f.Store.Peek(ctx, ops)
	return at, ops[0].Outcome.Allowed, err
}

// TestLocalStoresAreChecked: the rule that no store of a server can violate.
func TestLocalStoresAreChecked(t *testing.T) {
	s := parsed(t, `
name: local
duration: 20s
limits:
  - {name: gcra, spec: "gcra:20/1s,burst=10"}
nodes: {on_failure: local}
traffic:
  - {name: users, process: {kind: poisson, rate: 100/1s}, keys: {kind: uniform, n: 3}}
faults:
  - {kind: down, at: 5s, for: 2s}
`)
	w, err := newWorld(s, s.Limits, Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	w.nodes[0].local.Store = &forgetful{Store: w.nodes[0].local.Store}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := w.Failure; f == nil || f.Rule != check.Local {
		t.Errorf("%+v", f)
	}
}

func TestMetricsAreThoseOfTheScenario(t *testing.T) {
	for _, name := range scenario.Metrics() {
		if _, ofRun := runMetric(new(result.Result), name); ofRun == (limitMetrics[name] != nil) {
			t.Errorf("%s is a number of a run: %t, and of a limit: %t", name, ofRun, !ofRun)
		}
	}
}

func TestTotalsOfUnitsStayAtTheLargestNumber(t *testing.T) {
	all := result.Counts{OfferedUnits: math.MaxInt64, AdmittedUnits: 5}
	if add(&all, &result.Counts{OfferedUnits: 7, AdmittedUnits: 7}); all.OfferedUnits != math.MaxInt64 || all.AdmittedUnits != 12 {
		t.Errorf("%+v", all)
	}
}
