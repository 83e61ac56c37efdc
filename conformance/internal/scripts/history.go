package scripts

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/draw"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// history is a World for one key of one kind, with what draws requests to its limits.
type history struct {
	*world.World
	limit *draw.Limit
	a     algorithm.Algorithm
	all   []algorithm.Algorithm // a and the earlier ones
	key   string
	last  algorithm.Outcome
	used  map[store.SlotID]store.Slot
	taken draw.Instants
}

func newHistory(t *draw.T, base *world.World, key string, all []algorithm.Algorithm) *history {
	h := &history{World: base.Shared(t), a: all[0], all: all, key: key, used: map[store.SlotID]store.Slot{}}
	latest := int64(algorithm.MaxInstant) - 400*24*3600*int64(world.Second)
	h.limit = draw.For(t, h.a, world.Start)
	h.SetClock([]algorithm.Instant{world.Start, world.Start + 123_456, algorithm.Instant(latest), algorithm.Instant(t.Draw("start", 0, latest))}[h.limit.Number("epoch", 0, 3)])
	return h
}

// forget resets what the history has written.
func (h *history) forget() {
	var slots []store.Slot
	for _, s := range h.used {
		slots = append(slots, s)
	}
	_ = h.Store.Reset(context.Background(), slots) // what is left expires
}

// moveClock lets the clock show another instant, mostly one that matters.
func (h *history) moveClock() { h.SetClock(h.limit.Reading(h.Now(), h.last)) }

// take is Apply, and remembers the answer for what is drawn next.
func (h *history) take(ops ...store.Op) {
	h.Apply(ops...)
	for _, op := range ops {
		if op.Algorithm.Spec().Kind == h.a.Spec().Kind {
			h.last = op.Outcome
		}
	}
}

// names are the names of the limits of the kind.
var names = []string{"", "l", "m"}

// op draws a request to one of the limits.
func (h *history) op(name string) store.Op {
	by := h.all[h.limit.Number("decided by", 0, len(h.all)-1)]
	s := world.SlotOf(h.key, name, by)
	_, look := by.Step(h.Model.Of(s).State, h.Now(), algorithm.Request{})
	h.taken.Add(h.Now())
	op := store.Op{Slot: s, Request: h.limit.Any(h.taken, look)}
	if h.limit.Number("huge", 0, 19) == 19 {
		op.Request.Cost = []int64{algorithm.MaxWord, algorithm.MaxWord + 1, math.MaxInt64}[h.limit.Number("huge cost", 0, 2)]
	}
	h.remember(s)
	return op
}

// ops draws one to three requests to limits of the kind, and others beside them:
// one that admits, one that refuses, and one of a kind without a script.
func (h *history) ops() []store.Op {
	var ops []store.Op
	first := h.limit.Number("first limit", 0, 2)
	for i := range h.limit.Number("limits", 1, 3) {
		ops = append(ops, h.op(names[(first+i)%len(names)]))
	}
	beside := func(a algorithm.Algorithm, cost int64) {
		op := world.Take(h.key, "beside", a, cost)
		h.remember(op.Slot)
		ops = append(ops, op)
	}
	switch h.limit.Number("beside", 0, 5) {
	case 1:
		beside(admits, 1)
	case 2:
		beside(refuses, math.MaxInt64)
	case 3:
		beside(admits, 1)
		beside(refuses, math.MaxInt64)
	case 4:
		beside(world.NewCooldown(5, 1), int64(h.limit.Number("cost elsewhere", 0, 6)))
	}
	at := h.limit.Number("rotated by", 0, len(ops)-1)
	return slices.Concat(ops[at:], ops[:at])
}

// admits never runs dry, and no huge cost passes refuses.
var (
	admits  = world.Limit("token-bucket:1000000000000/1h")
	refuses = world.Limit("fixed-window:5/1s")
)

func (h *history) remember(s store.Slot) { h.used[s.ID()] = s }

// slots are those of the kind that were used so far. Where parameters of the kind
// belong to the identity of a state, one limit has several.
func (h *history) slots() (slots []store.Slot) {
	listed := map[store.SlotID]bool{}
	for _, name := range names {
		for _, a := range h.all {
			s := world.SlotOf(h.key, name, a)
			if _, found := h.used[s.ID()]; found && !listed[s.ID()] {
				listed[s.ID()] = true
				slots = append(slots, s)
			}
		}
	}
	return slots
}

// isWhole reports whether a store hands the whole state of a slot to Step. Of a
// built-in log it may pass on what decides, and no more.
func isWhole(s store.Slot) bool {
	f, _ := algorithm.FamilyOf(s.Algorithm.Spec().Kind)
	return !f.Log
}

// mustHold fails unless the store holds the states that the model does.
func (h *history) mustHold(slots ...store.Slot) {
	got, shown := h.stored(slots...)
	for i, s := range slots {
		want := h.Model.Of(s).State
		if shown[i] && isWhole(s) && got[i].String() != want.String() {
			h.Wrong(fmt.Sprintf("%q", got[i]), fmt.Sprintf("%q", want), "the state of %s is wrong", transcript.Slot(s))
		}
	}
}

// stored returns the states of slots as the store hands them to Step; not shown are
// those that it keeps to itself.
func (h *history) stored(slots ...store.Slot) (states []algorithm.State, shown []bool) {
	spies, ops := make([]*spy, len(slots)), world.Ops(slots, 0)
	for i, s := range slots {
		spies[i] = &spy{Algorithm: s.Algorithm}
		ops[i].Algorithm = spies[i]
		if checker, offered := s.Algorithm.(algorithm.StateChecker); offered {
			ops[i].Algorithm = checkingSpy{spies[i], checker}
		}
	}
	h.NoError("a look at what is stored", guarded(func() error {
		_, err := h.Store.Peek(context.Background(), ops)
		return err
	}))
	for _, spy := range spies {
		states, shown = append(states, spy.seen), append(shown, spy.called)
	}
	return states, shown
}

// guarded calls f, which hands the store an algorithm that has only the Spec of
// another.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panics for another Go type with the same Spec, and what a script is given must follow from that: %v", p)
		}
	}()
	return f()
}

// spy shows which state a store hands to Step.
type spy struct {
	algorithm.Algorithm
	seen   algorithm.State
	called bool
}

// Step implements algorithm.Algorithm.
func (s *spy) Step(state algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	s.seen, s.called = state, true
	return s.Algorithm.Step(state, now, r)
}

// checkingSpy is a spy on an algorithm that can check its states.
type checkingSpy struct {
	*spy
	checker algorithm.StateChecker
}

// CheckState implements algorithm.StateChecker.
func (s checkingSpy) CheckState(state algorithm.State) error { return s.checker.CheckState(state) }

// forgetful answers as the algorithm does and returns the fresh state.
type forgetful struct{ algorithm.Algorithm }

// Step implements algorithm.Algorithm.
func (f forgetful) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	_, o := f.Algorithm.Step(s, now, r)
	return algorithm.State{}, o
}
