package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

const at algorithm.Instant = 1_764_288_000_000_000

// decide runs Decide and returns the states after it.
func decide(ops []store.Op, before ...algorithm.State) (after []algorithm.State, committed bool) {
	after = make([]algorithm.State, len(ops))
	committed = store.Decide(at, ops, before, after)
	return after, committed
}

func TestDecideMovesEveryStateOrNone(t *testing.T) {
	queue := algorithm.Must(algorithm.NewLeakyBucket(algorithm.PerSecond(1), 3))
	window := algorithm.Must(algorithm.NewFixedWindow(algorithm.PerHour(2)))
	ops := []store.Op{op("a", "", perSecond, 2), op("a", "", queue, 1), op("a", "", window, 2)}
	first, committed := decide(ops, algorithm.State{}, algorithm.State{}, algorithm.State{})
	if !committed {
		t.Fatal("what a fresh key admits is refused")
	}
	for i := range ops {
		want, outcome := ops[i].Algorithm.Step(algorithm.State{}, at, ops[i].Request)
		if !first[i].Equal(want) || ops[i].Outcome != outcome {
			t.Errorf("op %d: state %v, %+v; want %v, %+v", i, first[i], ops[i].Outcome, want, outcome)
		}
		if !store.Changes(&ops[i]) {
			t.Errorf("op %d: Changes is false", i)
		}
	}

	// Now the window is used up. What alone is allowed answers as a look.
	ops[0].Request.Cost, ops[2].Request.Cost = 1, 1
	second, committed := decide(ops, first...)
	if committed {
		t.Fatal("a step with a denied op is committed")
	}
	want := []algorithm.Outcome{
		{Allowed: true, Limit: 5, Remaining: 3, ResetAfter: 400 * time.Millisecond},
		{Allowed: true, Limit: 3, Remaining: 2, ResetAfter: time.Second, Delay: time.Second},
		{Limit: 2, RetryAfter: time.Hour, ResetAfter: time.Hour},
	}
	for i := range ops {
		if diff := cmp.Diff(want[i], ops[i].Outcome); diff != "" {
			t.Errorf("op %d (-want +got):\n%s", i, diff)
		}
		if !second[i].Equal(first[i]) {
			t.Errorf("op %d: a refused step has moved the state from %v to %v", i, first[i], second[i])
		}
	}
}

func TestDecideAnswersARefusedStepWithoutTheBoundOnTheDelay(t *testing.T) {
	queue := algorithm.Must(algorithm.NewLeakyBucket(algorithm.PerSecond(1), 3))
	busy, _ := queue.Step(algorithm.State{}, at, algorithm.Request{Cost: 1})
	ops := []store.Op{op("a", "", queue, 1), op("b", "", queue, 4)}
	ops[0].Request.MaxDelay = 2 * time.Second
	decide(ops, busy, algorithm.State{})
	if want := (algorithm.Outcome{Allowed: true, Limit: 3, Remaining: 2, ResetAfter: time.Second, Delay: time.Second}); ops[0].Outcome != want {
		t.Errorf("got %+v, want %+v", ops[0].Outcome, want)
	}
	// Where the bound is what denies, it is the answer.
	ops[0].Request.MaxDelay = time.Millisecond
	decide(ops, busy, algorithm.State{})
	if o := ops[0].Outcome; o.Allowed || o.RetryAfter != 999*time.Millisecond {
		t.Errorf("got %+v", o)
	}
}

func TestLookChangesNothingAndDeniesNothing(t *testing.T) {
	drained, _ := perSecond.Step(algorithm.State{}, at, algorithm.Request{Cost: 5})
	ops := []store.Op{op("a", "", perSecond, 0), op("b", "", perSecond, 1)}
	after, committed := decide(ops, drained, algorithm.State{})
	if !committed || !after[0].Equal(drained) || store.Changes(&ops[0]) || !store.Changes(&ops[1]) {
		t.Errorf("committed %t, state %v, changes %t and %t", committed, after[0], store.Changes(&ops[0]), store.Changes(&ops[1]))
	}
	denied := op("a", "", perSecond, 1)
	decide([]store.Op{denied}, drained)
	if store.Changes(&denied) {
		t.Error("a denied op changes something")
	}
}

// Decide is the conjunction of the single decisions, whatever the states are,
// and in any order of the ops.
func TestDecideIsTheConjunctionOfItsOps(t *testing.T) {
	kinds := []string{"gcra:5/1s", "token-bucket:7/3s", "leaky-bucket:3/1s", "fixed-window:3/1s", "sliding-log:3/1s", "sliding-counter:3/1s"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "ops")
		ops, before := make([]store.Op, n), make([]algorithm.State, n)
		all := true
		for i := range ops {
			a, err := algorithm.ParseSpec(rapid.SampledFrom(kinds).Draw(t, "limit"))
			if err != nil {
				t.Fatal(err)
			}
			ops[i] = op("a", string(rune('a'+i)), a, rapid.Int64Range(0, 4).Draw(t, "cost"))
			for range rapid.IntRange(0, 3).Draw(t, "units used") {
				before[i], _ = a.Step(before[i], at-1000, algorithm.Request{Cost: 1})
			}
			_, alone := a.Step(before[i], at, ops[i].Request)
			all = all && alone.Allowed
		}
		texts := make([]string, n)
		for i := range before {
			texts[i] = before[i].String()
		}
		after, committed := decide(ops, before...)
		if committed != all {
			t.Fatalf("committed %t, and the single decisions say %t", committed, all)
		}
		turned, turnedBefore := make([]store.Op, n), make([]algorithm.State, n)
		for i := range ops {
			turned[n-1-i], turnedBefore[n-1-i] = ops[i], before[i]
		}
		turnedAfter, _ := decide(turned, turnedBefore...)
		for i := range ops {
			next, alone := ops[i].Algorithm.Step(before[i], at, ops[i].Request)
			_, look := ops[i].Algorithm.Step(before[i], at, algorithm.Request{})
			switch {
			case before[i].String() != texts[i]:
				t.Errorf("op %d: the state before has become %v, from %s", i, before[i], texts[i])
			case committed && (ops[i].Outcome != alone || !after[i].Equal(next)):
				t.Errorf("op %d: %+v, %v; want %+v, %v", i, ops[i].Outcome, after[i], alone, next)
			case !committed && !after[i].Equal(before[i]):
				t.Errorf("op %d: a refused step has moved the state", i)
			case !committed && alone.Allowed && ops[i].Outcome != look:
				t.Errorf("op %d: %+v; want a look, %+v", i, ops[i].Outcome, look)
			case !committed && !alone.Allowed && ops[i].Outcome != alone:
				t.Errorf("op %d: %+v; want %+v", i, ops[i].Outcome, alone)
			}
			if j := n - 1 - i; turned[j].Outcome != ops[i].Outcome || !turnedAfter[j].Equal(after[i]) {
				t.Errorf("op %d is answered otherwise in another order", i)
			}
		}
	})
}
