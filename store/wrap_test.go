package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

var gcra = algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(5), 5))

func opsFor(key string) []store.Op {
	return []store.Op{{Slot: store.Slot{Key: key, Limit: "l", Algorithm: gcra}, Request: algorithm.Request{Cost: 1}}}
}

func newMemory(t *testing.T) *memorystore.Store {
	t.Helper()
	s, err := memorystore.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// noting is a wrapper that writes down what it sees.
func noting(inner store.Store, name string, seen *[]string) store.Store {
	note := func(what string) { *seen = append(*seen, name+" "+what) }
	return store.Wrap(inner, store.Hooks{
		Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
			note("apply " + ops[0].Key)
			return next(ctx, ops)
		},
		Peek: func(ctx context.Context, ops []store.Op, next store.PeekFunc) (algorithm.Instant, error) {
			note("peek " + ops[0].Key)
			return next(ctx, ops)
		},
		Reset: func(ctx context.Context, slots []store.Slot, next func(context.Context, []store.Slot) error) error {
			note("reset " + slots[0].Key)
			return next(ctx, slots)
		},
		Close: func() error { note("close"); return nil },
	})
}

func TestWrapRunsHooksFromTheOutside(t *testing.T) {
	var seen []string
	s := noting(noting(newMemory(t), "inner", &seen), "outer", &seen)
	ctx := context.Background()
	ops := opsFor("a")
	if _, committed, err := s.Apply(ctx, ops); err != nil || !committed || ops[0].Outcome.Remaining != 4 {
		t.Errorf("Apply: %t, %v, %+v", committed, err, ops[0].Outcome)
	}
	if _, err := s.Peek(ctx, ops); err != nil || ops[0].Outcome.Remaining != 3 {
		t.Errorf("Peek: %v, %+v", err, ops[0].Outcome)
	}
	bound, err := store.FeaturesOf(s).Bind("l", gcra)
	if err != nil {
		t.Fatal(err)
	}
	if o, at, err := bound.Apply(ctx, "b", algorithm.Request{Cost: 2}); err != nil || !o.Allowed || o.Remaining != 3 || at == 0 {
		t.Errorf("Bound.Apply: %+v at %v, %v", o, at, err)
	}
	if o, _, err := bound.Peek(ctx, "b", algorithm.Request{Cost: 4}); err != nil || o.Allowed {
		t.Errorf("Bound.Peek: %+v, %v", o, err)
	}
	if err := s.Reset(ctx, []store.Slot{ops[0].Slot}); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	want := []string{
		"outer apply a", "inner apply a", "outer peek a", "inner peek a", "outer apply b", "inner apply b",
		"outer peek b", "inner peek b", "outer reset a", "inner reset a", "inner close", "outer close",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("seen %q,\nwant %q", seen, want)
	}
	if _, _, err := bound.Apply(ctx, "b", algorithm.Request{Cost: 1}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("the wrapped store is open after Close: %v", err)
	}
}

func TestWrapWithoutHooksPassesCallsOn(t *testing.T) {
	s := store.Wrap(newMemory(t), store.Hooks{})
	f := store.FeaturesOf(s)
	if f.Bind == nil || !f.NoIO || f.Names == nil || f.Within != nil {
		t.Errorf("features %+v", f)
	}
	bound, err := f.Bind("l", gcra)
	if err != nil {
		t.Fatal(err)
	}
	for want := int64(4); want >= 3; want-- {
		if o, _, err := bound.Apply(context.Background(), "a", algorithm.Request{Cost: 1}); err != nil || o.Remaining != want {
			t.Errorf("%+v, %v", o, err)
		}
	}
	if _, err := f.Bind("l", nil); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("Bind without an algorithm: %v", err)
	}
}

// TestHookMayAnswerOrAskForOthers: a cache answers without a call, and a hook that puts
// another op in place of the bound one gets the answer of that op.
func TestHookMayAnswerOrAskForOthers(t *testing.T) {
	inner := newMemory(t)
	denied := algorithm.Outcome{Limit: 5, RetryAfter: time.Second}
	s := store.Wrap(inner, store.Hooks{Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
		switch ops[0].Key {
		case "cached":
			ops[0].Outcome = denied
			return 7, false, nil
		case "down":
			return 0, false, store.ErrUnavailable
		}
		other := slices.Clone(ops)
		other[0].Limit = "other"
		at, committed, err := next(ctx, other)
		ops[0].Outcome = other[0].Outcome
		return at, committed, err
	}})
	bound, err := store.FeaturesOf(s).Bind("l", gcra)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if o, at, err := bound.Apply(ctx, "cached", algorithm.Request{Cost: 1}); err != nil || o != denied || at != 7 {
		t.Errorf("%+v at %v, %v", o, at, err)
	}
	if o, _, err := bound.Apply(ctx, "down", algorithm.Request{Cost: 1}); !errors.Is(err, store.ErrUnavailable) || o != (algorithm.Outcome{}) {
		t.Errorf("%+v, %v", o, err)
	}
	if o, _, err := bound.Apply(ctx, "a", algorithm.Request{Cost: 1}); err != nil || o.Remaining != 4 {
		t.Errorf("%+v, %v", o, err)
	}
	ops := opsFor("a")
	if _, err := inner.Peek(ctx, ops); err != nil || ops[0].Outcome.Remaining != 4 {
		t.Errorf("the bound limit was charged: %+v, %v", ops[0].Outcome, err)
	}
}

// withTimeout is a store with the feature Within alone.
type withTimeout struct{ store.Store }

func (w *withTimeout) Features() store.Features {
	return store.Features{Owner: w, Within: func(timeout time.Duration) store.Store {
		return failing{w.Store, timeout}
	}}
}

type failing struct {
	store.Store
	timeout time.Duration
}

func (f failing) Apply(context.Context, []store.Op) (algorithm.Instant, bool, error) {
	return 0, false, errors.New(f.timeout.String())
}

func TestWrapKeepsHooksWithATimeout(t *testing.T) {
	var seen []string
	f := store.FeaturesOf(noting(&withTimeout{Store: newMemory(t)}, "hook", &seen))
	if f.Within == nil || f.Bind != nil || f.NoIO {
		t.Fatalf("features %+v", f)
	}
	if _, _, err := f.Within(time.Second).Apply(context.Background(), opsFor("a")); err == nil || err.Error() != "1s" {
		t.Errorf("the store within a second answers %v", err)
	}
	if !slices.Equal(seen, []string{"hook apply a"}) {
		t.Errorf("seen %q", seen)
	}
}

// TestHooksThatDoIONeedATimeout: of their own context. One that the inner store watches
// does not end a hook.
func TestHooksThatDoIONeedATimeout(t *testing.T) {
	if store.FeaturesOf(store.Wrap(newMemory(t), store.Hooks{IO: true})).NoIO {
		t.Error("NoIO in spite of a hook that does I/O")
	}
	if store.FeaturesOf(store.Wrap(&withTimeout{Store: newMemory(t)}, store.Hooks{IO: true})).Within != nil {
		t.Error("Within in spite of a hook that does I/O")
	}
}

// TestHooksSeeValidInputOnly: a hook that answers itself must not answer for what no
// store takes.
func TestHooksSeeValidInputOnly(t *testing.T) {
	var seen []string
	s := noting(newMemory(t), "hook", &seen)
	bound, err := store.FeaturesOf(s).Bind("l", gcra)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	below, late := algorithm.Request{Cost: -1}, algorithm.Request{Cost: 1, MaxDelay: -1}
	for name, call := range map[string]func() error{
		"Apply of nothing":      func() error { _, _, err := s.Apply(ctx, nil); return err },
		"Peek without a key":    func() error { _, err := s.Peek(ctx, opsFor("")); return err },
		"Reset without a key":   func() error { return s.Reset(ctx, []store.Slot{{Algorithm: gcra}}) },
		"Bound.Apply below 0":   func() error { _, _, err := bound.Apply(ctx, "a", below); return err },
		"Bound.Apply, no key":   func() error { _, _, err := bound.Apply(ctx, "", algorithm.Request{Cost: 1}); return err },
		"Bound.Peek with delay": func() error { _, _, err := bound.Peek(ctx, "a", late); return err },
	} {
		if err := call(); !errors.Is(err, store.ErrInvalid) || len(seen) > 0 {
			t.Errorf("%s: %v, seen %q", name, err, seen)
		}
	}
}

// TestHooksThatAreNilPassCallsOn: one hook does not stand in for the others.
func TestHooksThatAreNilPassCallsOn(t *testing.T) {
	ctx, closed := context.Background(), false
	inner := newMemory(t)
	s := store.Wrap(inner, store.Hooks{Close: func() error { closed = true; return nil }})
	bound, err := store.FeaturesOf(s).Bind("l", gcra)
	if err != nil {
		t.Fatal(err)
	}
	if _, committed, err := s.Apply(ctx, opsFor("a")); !committed || err != nil {
		t.Errorf("Apply: committed %v, %v", committed, err)
	}
	remain := func(what string, want int64) {
		t.Helper()
		ops := opsFor("a")
		ops[0].Request.Cost = 0
		if _, err := s.Peek(ctx, ops); err != nil || ops[0].Outcome.Remaining != want {
			t.Errorf("%s: a Peek says %d remain, %v; want %d", what, ops[0].Outcome.Remaining, err, want)
		}
		if o, _, err := bound.Peek(ctx, "a", algorithm.Request{}); err != nil || o.Remaining != want {
			t.Errorf("%s: a bound Peek says %d remain, %v; want %d", what, o.Remaining, err, want)
		}
	}
	remain("after an Apply", 4)
	if err := s.Reset(ctx, []store.Slot{opsFor("a")[0].Slot}); err != nil {
		t.Error(err)
	}
	remain("after a Reset", 5)
	if err := s.Close(); err != nil || !closed {
		t.Errorf("Close: %v, the hook ran: %v", err, closed)
	}
	if _, _, err := inner.Apply(ctx, opsFor("a")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("the store inside after Close: %v", err)
	}
}

// TestErrorsOfTheInsideReachTheCallersOfAHook: also on the bound path.
func TestErrorsOfTheInsideReachTheCallersOfAHook(t *testing.T) {
	ctx := context.Background()
	inner := newMemory(t)
	var seen []string
	s := noting(inner, "hook", &seen)
	bound, err := store.FeaturesOf(s).Bind("l", gcra)
	if err != nil {
		t.Fatal(err)
	}
	_ = inner.Close()
	if _, _, err := bound.Apply(ctx, "a", algorithm.Request{Cost: 1}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("bound Apply: %v", err)
	}
	if _, _, err := bound.Peek(ctx, "a", algorithm.Request{Cost: 1}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("bound Peek: %v", err)
	}
}

// shadowing embeds a store and does something of its own.
type shadowing struct {
	*memorystore.Store
	_ []int // makes values of the type impossible to compare
}

// holding is a store whose type can be compared, and whose values sometimes cannot.
type holding struct {
	store.Store
	any
}

func (h holding) Features() store.Features { return store.Features{Owner: h, NoIO: true} }

func TestFeaturesOfLeavesOutThoseOfAnotherStore(t *testing.T) {
	inner := newMemory(t)
	if f := store.FeaturesOf(inner); f.Bind == nil || !f.NoIO {
		t.Errorf("the store itself has %+v", f)
	}
	for name, s := range map[string]store.Store{
		"an embedding pointer":                       &shadowing{Store: inner},
		"an embedding value":                         shadowing{Store: inner},
		"an embedded interface":                      struct{ store.Store }{inner},
		"a value that holds what cannot be compared": holding{inner, []int{1}},
	} {
		if f := store.FeaturesOf(s); f.Bind != nil || f.Within != nil || f.NoIO || f.Owner != nil {
			t.Errorf("%s has the features of what it embeds: %+v", name, f)
		}
	}
}

// TestNameIsClaimedUntilItsLastRelease: also by a limit that was replaced and then
// built again.
func TestNameIsClaimedUntilItsLastRelease(t *testing.T) {
	var names store.Names
	other := algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(6), 6))
	claim := func(a algorithm.Algorithm, replaces bool) func() {
		t.Helper()
		release, err := names.Claim("l", a, replaces)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	refused := func(when string) {
		t.Helper()
		if release, err := names.Claim("l", other, false); release != nil || !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: another limit of the name has error %v", when, err)
		}
	}
	first := claim(gcra, false)
	replaced := claim(other, true)
	again, twice := claim(gcra, true), claim(gcra, false)
	first()
	replaced()
	refused("a limit with the parameters of the first is released")
	again()
	again()
	refused("one of two is released twice")
	twice()
	claim(other, false)()
	claim(gcra, false)()
}

func TestSlotIDTellsSlotsApart(t *testing.T) {
	window := algorithm.Must(algorithm.NewFixedWindow(algorithm.PerSecond(5)))
	other := algorithm.Must(algorithm.NewGCRA(algorithm.PerMinute(7), 3))
	shorter := algorithm.Must(algorithm.NewFixedWindow(algorithm.PerMinute(5)))
	base := store.Slot{Key: "k", Limit: "l", Algorithm: gcra}
	if a, b := (&store.Slot{Key: "k", Algorithm: window}).ID(), (&store.Slot{Key: "k", Algorithm: shorter}).ID(); a == b || a.Compare(b) == 0 {
		t.Errorf("windows of two periods are one slot: %v", a)
	}
	for name, c := range map[string]struct {
		slot store.Slot
		same bool
	}{
		"equal":            {store.Slot{Key: "k", Limit: "l", Algorithm: gcra}, true},
		"other parameters": {store.Slot{Key: "k", Limit: "l", Algorithm: other}, true},
		"another key":      {store.Slot{Key: "K", Limit: "l", Algorithm: gcra}, false},
		"another limit":    {store.Slot{Key: "k", Limit: "m", Algorithm: gcra}, false},
		"another kind":     {store.Slot{Key: "k", Limit: "l", Algorithm: window}, false},
		"another period":   {store.Slot{Key: "k", Limit: "l", Algorithm: shorter}, false},
		"parts moved":      {store.Slot{Key: "kl", Limit: "", Algorithm: gcra}, false},
	} {
		if same := base.ID() == c.slot.ID(); same != c.same {
			t.Errorf("%s: same %t", name, same)
		}
		forth, back := base.ID().Compare(c.slot.ID()), c.slot.ID().Compare(base.ID())
		if forth != -back || (forth == 0) != c.same {
			t.Errorf("%s: compares as %d, and as %d the other way round", name, forth, back)
		}
	}
}

// TestStepsWithAnIDPassTheirHook: a decorator that answers for Apply and knows nothing of IDs
// does not have them.
func TestStepsWithAnIDPassTheirHook(t *testing.T) {
	ctx, ops := context.Background(), opsFor("a")
	apply := func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
		return next(ctx, ops)
	}
	seen := 0
	once := func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error) {
		seen++
		return next(ctx, o, ops)
	}
	if store.FeaturesOf(store.Wrap(newMemory(t), store.Hooks{Apply: apply})).Once != nil {
		t.Error("a decorator of Apply alone has Once")
	}
	if store.FeaturesOf(store.Wrap(struct{ store.Store }{newMemory(t)}, store.Hooks{Once: once})).Once != nil {
		t.Error("a decorator of a store without IDs has Once")
	}
	for name, h := range map[string]store.Hooks{"no hooks": {}, "both": {Apply: apply, Once: once}, "once alone": {Once: once}} {
		s, before := store.Wrap(newMemory(t), h), seen
		for range 2 {
			if _, committed, err := store.FeaturesOf(s).Once(ctx, store.Once{ID: "x", TTL: time.Minute}, ops); err != nil || !committed || ops[0].Outcome.Remaining != 4 {
				t.Errorf("%s: %v, %v, %+v", name, committed, err, ops[0].Outcome)
			}
		}
		if _, _, err := store.FeaturesOf(s).Once(ctx, store.Once{TTL: time.Minute}, ops); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: without an ID: %v", name, err)
		}
		if h.Once != nil && seen != before+2 {
			t.Errorf("%s: the hook has seen %d calls", name, seen-before)
		}
	}
}
