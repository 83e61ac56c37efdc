package algorithm_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/oracle"
	"github.com/weirgo/weir/internal/race"
)

// scope is a world small enough to see all of: every sequence of requests, of
// any length, at instants from 0 to horizon in any order, of any cost up to one
// above the largest capacity, under any of the versions of a limit in turn.
type scope struct {
	versions []limits
	horizon  int64
	bounds   []time.Duration // on the delay; at least 0
}

// point is a key in a state that some sequence leads to.
type point struct {
	state algorithm.State
	o     *oracle.Oracle
}

// key is the same for points that behave the same for ever.
func (p point) key() string { return p.o.String() + "|" + p.state.String() }

// explore takes every step that there is in the scope and compares each with
// the oracle, which finds its answers by trying all values in turn: L3
// (RetryAfter is the least wait), L6 (ResetAfter is exact), and every other
// field. It returns how many steps that were.
//
// Sequences that lead to one state have one future, so it is enough to go on
// from each state once; that is what makes the length unlimited.
func (s scope) explore(t *testing.T) (steps int) {
	t.Helper()
	todo := []point{{o: s.versions[0].oracle()}}
	seen := map[string]bool{todo[0].key(): true}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, l := range s.versions {
			a := l.algorithm()
			l.set(p.o)
			for now := range s.horizon + 1 {
				for cost := range l.capacity + 2 {
					for _, bound := range s.bounds {
						next := p.mustStep(t, l, a, request{now: now, cost: cost, bound: bound})
						steps++
						if id := next.key(); !seen[id] {
							seen[id] = true
							todo = append(todo, next)
						}
					}
				}
			}
		}
	}
	return steps
}

// mustStep takes one step on both sides and returns where it leads.
func (p point) mustStep(t *testing.T, l limits, a algorithm.InPlace, r request) point {
	t.Helper()
	next := point{o: p.o.Clone()}
	want := next.o.DecideByScan(r.now, r.cost, r.bound)
	var got algorithm.Outcome
	next.state, got = a.Step(p.state, algorithm.Instant(r.now), algorithm.Request{Cost: r.cost, MaxDelay: r.bound})
	story := func() string {
		return fmt.Sprintf("%v in state %q (%v): %d units at %d within %v", l, p.state, p.o, r.cost, r.now, r.bound)
	}
	if o, err := inMicros(got); err != nil || o != want {
		t.Fatalf("%s: %+v, want %+v (%v)", story(), got, want, err)
	}
	if (r.cost == 0 || !got.Allowed) && !next.state.Equal(p.state) {
		t.Fatalf("%s: the state has become %q", story(), next.state)
	}
	inPlace := p.state
	o := leftOver
	if a.StepInPlace(&inPlace, algorithm.Instant(r.now), algorithm.Request{Cost: r.cost, MaxDelay: r.bound}, &o); o != got || !inPlace.Equal(next.state) {
		t.Fatalf("%s: in place %+v and %q, else %+v and %q", story(), o, inPlace, got, next.state)
	}
	if err := a.(algorithm.StateChecker).CheckState(next.state); err != nil {
		t.Fatalf("%s: state %q after: %v", story(), next.state, err)
	}
	return next
}

// kindsOfAnyPeriod are those that can have windows of a few µs.
func kindsOfAnyPeriod() []oracle.Kind {
	return slices.DeleteFunc(oracle.Kinds(), oracle.Kind.ByCalendar)
}

func boundsOf(kind oracle.Kind) []time.Duration {
	if kind != oracle.LeakyBucket {
		return []time.Duration{0}
	}
	return []time.Duration{0, time.Nanosecond, 2*time.Microsecond + 999*time.Nanosecond}
}

// All limits and capacities up to 4 over all periods up to 5 µs (in short mode
// a few of them), at all instants of more than two periods.
func TestExhaustiveSmallScopes(t *testing.T) {
	for _, kind := range kindsOfAnyPeriod() {
		t.Run(string(kind), func(t *testing.T) {
			scopes, steps := 0, 0
			for limit := int64(1); limit <= 4; limit++ {
				for period := int64(1); period <= 5; period++ {
					for capacity := int64(1); capacity <= 4; capacity++ {
						if kind.Windowed() && capacity != limit {
							continue
						}
						if (testing.Short() || race.Enabled) && (limit*7+period*5+capacity*3)%9 != 0 {
							continue
						}
						l := limits{kind, limit, period, capacity}
						s := scope{[]limits{l}, 2*period + 2, boundsOf(kind)}
						switch kind {
						case oracle.SlidingLog: // the states are sets of instants: many
							s.horizon = min(s.horizon, 9-limit)
						case oracle.FixedWindow, oracle.SlidingCounter: // few
							s.horizon = 4*period + 2
						}
						scopes++
						steps += s.explore(t)
					}
				}
			}
			t.Logf("%d scopes, %d steps", scopes, steps)
			if scopes == 0 || steps < 100*scopes {
				t.Errorf("%d steps in %d scopes: this explores nothing", steps, scopes)
			}
		})
	}
}

// K1 to K5 and K7: two versions of a limit, each request under either of them.
func TestExhaustiveChangedLimits(t *testing.T) {
	pairs := [][2][3]int64{
		{{2, 3, 2}, {3, 2, 2}}, // fractions of a half and of a third
		{{2, 3, 3}, {2, 3, 1}}, // another capacity
		{{1, 2, 2}, {1, 5, 2}}, // another period
		{{4, 6, 2}, {2, 3, 2}}, // the same rate
		{{3, 4, 2}, {2, 4, 3}},
	}
	for _, kind := range kindsOfAnyPeriod() {
		t.Run(string(kind), func(t *testing.T) {
			steps := 0
			for i, p := range pairs {
				if (testing.Short() || race.Enabled) && i > 1 {
					break
				}
				var s scope
				for _, v := range p {
					l := limits{kind, v[0], v[1], v[2]}
					if kind.Windowed() {
						l.capacity = l.limit
					}
					s.versions = append(s.versions, l)
				}
				s.horizon, s.bounds = 8, boundsOf(kind)[:1]
				if kind == oracle.SlidingLog {
					s.horizon = 5
				}
				steps += s.explore(t)
			}
			t.Logf("%d steps", steps)
		})
	}
}
