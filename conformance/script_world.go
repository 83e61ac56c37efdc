package conformance

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

// scriptHistory is a checkWorld for one key of one kind, with what draws from its
// limits.
type scriptHistory struct {
	*checkWorld
	draw *lawWorld
	a    algorithm.Algorithm
	all  []algorithm.Algorithm // a and the earlier ones
	key  string
	used map[checkPlace]store.Slot
}

func newScriptHistory(t *rapid.T, base *checkWorld, a algorithm.Algorithm, earlier []algorithm.Algorithm) *scriptHistory {
	w := &checkWorld{
		TB: t, check: base.check, clock: base.clock, store: base.store, model: checkModel{},
		bounds: map[checkLimit]store.Bound{}, keeps: true,
	}
	return &scriptHistory{
		checkWorld: w,
		draw:       newLawWorld(t, Law{Name: base.check.Name, Rule: base.check.Rule}, a, earlier),
		a:          a,
		all:        append([]algorithm.Algorithm{a}, earlier...),
		used:       map[checkPlace]store.Slot{},
	}
}

// forget resets what the history has written.
func (h *scriptHistory) forget() {
	var slots []store.Slot
	for _, s := range h.used {
		slots = append(slots, s)
	}
	_ = h.store.Reset(context.Background(), slots) // what is left expires
}

// moveClock lets the clock show another instant, mostly one that matters.
func (h *scriptHistory) moveClock() {
	h.draw.now = h.draw.tick()
	h.setClock(h.draw.now)
}

// take is apply, and remembers the answer for what is drawn next.
func (h *scriptHistory) take(ops ...store.Op) {
	h.Helper()
	h.apply(ops...)
	for _, op := range ops {
		if op.Algorithm.Spec().Kind == h.a.Spec().Kind {
			h.draw.last = op.Outcome
		}
	}
}

// scriptLimits are the names of the limits of the kind.
var scriptLimits = []string{"", "l", "m"}

// op draws a request to one of the limits.
func (h *scriptHistory) op(limit string) store.Op {
	by := h.all[0]
	if len(h.all) > 1 {
		by = h.all[h.draw.number("decided by", 0, len(h.all)-1)]
	}
	op := store.Op{Slot: store.Slot{Key: h.key, Limit: limit, Algorithm: by}}
	_, look := by.Step(h.model[checkPlaceOf(op.Slot)].state, h.now(), algorithm.Request{})
	last := h.draw.last
	h.draw.last = look
	op.Request = h.draw.request()
	h.draw.last = last
	if h.draw.number("huge", 0, 19) == 19 {
		op.Request.Cost = rapid.SampledFrom([]int64{algorithm.MaxWord, algorithm.MaxWord + 1, math.MaxInt64}).Draw(h.draw.T, "huge cost")
	}
	h.remember(op.Slot)
	return op
}

func (h *scriptHistory) limitName() string {
	return rapid.SampledFrom(scriptLimits).Draw(h.draw.T, "limit")
}

// ops draws one to three requests to limits of the kind, and others beside them:
// one that admits, one that refuses, and one of a kind without a script.
func (h *scriptHistory) ops() []store.Op {
	var ops []store.Op
	first := h.draw.number("first limit", 0, 2)
	for i := range h.draw.number("limits", 1, 3) {
		ops = append(ops, h.op(scriptLimits[(first+i)%len(scriptLimits)]))
	}
	beside := func(a algorithm.Algorithm, cost int64) {
		op := checkOp(h.key, "beside", a, cost)
		h.remember(op.Slot)
		ops = append(ops, op)
	}
	switch h.draw.number("beside", 0, 5) {
	case 1:
		beside(scriptAdmits, 1)
	case 2:
		beside(scriptRefuses, math.MaxInt64)
	case 3:
		beside(scriptAdmits, 1)
		beside(scriptRefuses, math.MaxInt64)
	case 4:
		beside(checkPause{capacity: 5, each: 1}, int64(h.draw.number("cost elsewhere", 0, 6)))
	}
	at := h.draw.number("rotated by", 0, len(ops)-1)
	return slices.Concat(ops[at:], ops[:at])
}

// scriptAdmits never runs dry, and nothing passes scriptRefuses at once.
var (
	scriptAdmits  = algorithm.Must(algorithm.ParseSpec("token-bucket:1000000000000/1h"))
	scriptRefuses = algorithm.Must(algorithm.ParseSpec("fixed-window:5/1s"))
)

func (h *scriptHistory) remember(s store.Slot) { h.used[checkPlaceOf(s)] = s }

// slots are those of the kind that were used so far.
func (h *scriptHistory) slots() (slots []store.Slot) {
	for _, limit := range scriptLimits {
		s := store.Slot{Key: h.key, Limit: limit, Algorithm: h.a}
		if _, found := h.used[checkPlaceOf(s)]; found {
			slots = append(slots, s)
		}
	}
	return slots
}

// shows reports whether a store hands the whole state of a slot to Step. Of a
// built-in log it may hand over what decides, and no more.
func (h *scriptHistory) shows(s store.Slot) bool {
	return s.Algorithm.Spec().Kind != algorithm.KindSlidingLog
}

// mustHold fails unless the store holds the states that the model does.
func (h *scriptHistory) mustHold(slots ...store.Slot) {
	h.Helper()
	got, shown := h.stored(slots...)
	for i, s := range slots {
		want := h.model[checkPlaceOf(s)].state
		if shown[i] && h.shows(s) && got[i].String() != want.String() {
			h.failf("the state of %s is wrong\n  got:  %q\n  want: %q", checkSlotText(s), got[i], want)
		}
	}
}

// stored returns the states of slots as the store hands them to Step; not shown
// are those that it keeps to itself.
func (h *scriptHistory) stored(slots ...store.Slot) (states []algorithm.State, shown []bool) {
	h.Helper()
	spies := make([]*scriptSpy, len(slots))
	ops := make([]store.Op, len(slots))
	for i, s := range slots {
		spies[i] = &scriptSpy{Algorithm: s.Algorithm}
		ops[i] = store.Op{Slot: s}
		ops[i].Algorithm = spies[i]
		if checker, offered := s.Algorithm.(algorithm.StateChecker); offered {
			ops[i].Algorithm = scriptCheckingSpy{spies[i], checker}
		}
	}
	err := h.guarded(func() (err error) {
		_, err = h.store.Peek(context.Background(), ops)
		return err
	})
	if err != nil {
		h.failf("a look at what is stored failed, and must not: %v", err)
	}
	for _, spy := range spies {
		states, shown = append(states, spy.seen), append(shown, spy.called)
	}
	return states, shown
}

// guarded calls f, which hands the store an algorithm that has only the Spec of a.
func (h *scriptHistory) guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panics for another Go type with the same Spec, and what a script is given must follow from that: %v", p)
		}
	}()
	return f()
}

// scriptSpy shows which state a store hands to Step.
type scriptSpy struct {
	algorithm.Algorithm
	seen   algorithm.State
	called bool
}

// Step implements algorithm.Algorithm.
func (s *scriptSpy) Step(state algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	s.seen, s.called = state, true
	return s.Algorithm.Step(state, now, r)
}

// scriptCheckingSpy is a spy on an algorithm that can tell its states.
type scriptCheckingSpy struct {
	*scriptSpy
	checker algorithm.StateChecker
}

// CheckState implements algorithm.StateChecker.
func (s scriptCheckingSpy) CheckState(state algorithm.State) error {
	return s.checker.CheckState(state)
}

// scriptLiar answers as the algorithm does and returns the fresh state.
type scriptLiar struct{ algorithm.Algorithm }

// Step implements algorithm.Algorithm.
func (l scriptLiar) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	_, o := l.Algorithm.Step(s, now, r)
	return algorithm.State{}, o
}
