package algorithm_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/oracle"
	"pgregory.net/rapid"
)

// Every family has a model of its own, and every model a family.
func TestOraclesAreThoseOfTheFamilies(t *testing.T) {
	var names, models []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	for _, k := range oracle.Kinds() {
		models = append(models, string(k))
	}
	slices.Sort(names)
	slices.Sort(models)
	if !slices.Equal(names, models) {
		t.Errorf("the families are %v, and internal/oracle has %v", names, models)
	}
}

// Every field of every outcome equals what a brute-force search in exact
// rationals finds: A1, L1 to L3 and L5 (RetryAfter), L6 (ResetAfter), M4 and S8
// (Remaining), E5 (the log against a list), C1 to C6 (clocks that go back and
// jump), I1 (cost 0, the capacity, above it) and I3 (the bounds).
func TestLawOutcomesEqualTheOracle(t *testing.T) {
	forEachKind(t, oracle.Kinds(), func(t *rapid.T, kind oracle.Kind) {
		l := drawLimits(t, kind, "limit")
		p := newPair(l, raws.Draw(t, "start").start(l))
		for _, m := range drawMoves(t) {
			if err := p.play(m); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The same where all numbers are small, so that much happens in a few moves.
func TestLawSmallOutcomesEqualTheOracle(t *testing.T) {
	forEachKind(t, oracle.Kinds(), func(t *rapid.T, kind oracle.Kind) {
		l := drawSmallLimits(t, kind, "limit")
		p := newPair(l, rapid.Int64Range(0, 100).Draw(t, "start"))
		for _, m := range drawMoves(t) {
			if err := p.play(m); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// K1 to K5: a limit whose parameters change, perhaps at every request, keeps
// running on the old state.
func TestLawKChangedLimitsEqualTheOracle(t *testing.T) {
	forEachKind(t, oracle.Kinds(), func(t *rapid.T, kind oracle.Kind) {
		draw := drawLimits
		if rapid.Bool().Draw(t, "small") {
			draw = drawSmallLimits
		}
		versions := []limits{draw(t, kind, "first"), draw(t, kind, "second"), draw(t, kind, "third")}
		p := newPair(versions[0], raws.Draw(t, "start").start(versions[0]))
		for _, m := range drawMoves(t) {
			if v := versions[m.bits>>40%3]; v != p.limits {
				p.change(v)
			}
			if err := p.play(m); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// K7: callers who have two versions of a limit and take turns get, at one
// instant, at most the sum of the two capacities; twice the larger one where
// windows are counted.
func TestLawK7FlipsGrantNothing(t *testing.T) {
	forEachKind(t, oracle.Kinds(), func(t *rapid.T, kind oracle.Kind) {
		draw := drawLimits
		if rapid.Bool().Draw(t, "small") {
			draw = drawSmallLimits
		}
		versions := []limits{draw(t, kind, "one"), draw(t, kind, "other")}
		at := raws.Draw(t, "at").start(versions[0])
		p := newPair(versions[0], at)
		most := versions[0].capacity + versions[1].capacity
		if kind == oracle.FixedWindow || kind == oracle.CalendarWindow || kind == oracle.SlidingCounter {
			most = 2 * max(versions[0].capacity, versions[1].capacity)
		}
		admitted := int64(0)
		for _, m := range drawMoves(t) {
			if v := versions[m.when%2]; v != p.limits {
				p.change(v)
			}
			r := request{now: at, cost: m.ask(p.limits, p.last)}
			if err := p.step(r); err != nil {
				t.Fatal(err)
			}
			if p.last.outcome.Allowed {
				admitted += r.cost
			}
			if admitted > most {
				t.Fatal(p.fail("%d units at one instant, want at most %d", admitted, most))
			}
		}
	})
}

// The S-list: runs like the above reach the situations in which limiters go
// wrong. The numbers are fixed, so this neither flickers nor explores.
func TestOracleRunsReachTheirGoals(t *testing.T) {
	runs := 150
	if testing.Short() {
		runs = 40
	}
	every := []string{
		"denied 1 µs before RetryAfter", "admitted exactly at RetryAfter",
		"fresh exactly at ResetAfter", "not fresh 1 µs before ResetAfter",
		"cost is the capacity, admitted", "cost is the capacity, denied", "cost is the capacity and one",
		"cost near the largest int64", "look at a key in debt",
		"clock back within a window", "clock two windows behind", "last instant there is",
	}
	verbs := []string{
		"charged into debt", "charged to the largest debt", "charge beyond the largest debt", "charge that no wait allows",
		"look at a key that was charged into debt", "refund that leaves a debt", "refund of all", "refund of a part",
	}
	fractions := []string{"fraction in the state", "remaining in a fraction of a µs"}
	special := map[oracle.Kind][]string{
		oracle.GCRA:           fractions,
		oracle.TokenBucket:    fractions,
		oracle.LeakyBucket:    append([]string{"delay within its bound exactly", "denied for the delay alone"}, fractions...),
		oracle.SlidingLog:     {"entry leaves exactly", "several costs in one µs"},
		oracle.SlidingCounter: {"previous window counts", "estimate without rounding", "window rolled with a count before"},
	}
	for _, kind := range oracle.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			met := goals{}
			random := rand.New(rand.NewPCG(11, 7))
			some := func() raw { return raw{uint8(random.Uint32()), random.Uint64()} }
			for range runs {
				l := limitsOf(kind, some(), some(), some())
				p := newPair(l, some().start(l))
				p.goals = met
				for range 30 {
					b := random.Uint32()
					if err := p.play(move{uint8(b), uint8(b >> 8), uint8(b >> 16), random.Uint64()}); err != nil {
						t.Fatal(err)
					}
				}
			}
			all := append(slices.Clone(every), special[kind]...)
			if _, is := limitsOf(kind, some(), some(), some()).algorithm().(algorithm.Charger); is {
				all = append(all, verbs...)
			}
			for _, name := range all {
				if met[name] == 0 {
					t.Errorf("never met: %s", name)
				}
			}
			for _, name := range slices.Sorted(maps.Keys(met)) {
				t.Logf("%5d %s", met[name], name)
			}
		})
	}
}
