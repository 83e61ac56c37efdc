package checks

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

func boundariesOf(w *world.World, k world.Kind) {
	for i, a := range k.Limits[:w.Often(len(k.Limits), 2)] {
		boundaries(w, a, i)
	}
}

func boundariesByBound(w *world.World) {
	if store.FeaturesOf(w.Store).Bind == nil {
		w.Skipf("the store has no store.Features.Bind")
	}
	w.Path = world.ByBound
	for s := range w.SomeLimits() {
		boundaries(w, s.Algorithm, 0)
	}
}

// boundaries walks along the waits of one limit, from several instants; in the
// quick profile from one of them, another for each turn.
func boundaries(w *world.World, a algorithm.Algorithm, turn int) {
	period := algorithm.Instant(max(1, a.Spec().Params[1]))
	edge := (world.Start/period + 1) * period
	starts := []algorithm.Instant{world.Start, edge - 1, 0, edge}
	costs := []int64{1, world.Capacity(a)}
	if w.Quick() {
		starts, costs = starts[turn:][:1], costs[turn:][:1]
	}
	for _, start := range starts {
		w.StartAt(start)
		retryBoundaries(w, world.SlotOf("retry", "", a))
		resetBoundaries(w, world.SlotOf("reset", "", a), world.SlotOf("fresh", "", a))
		for _, cost := range costs {
			windowBoundaries(w, world.SlotOf("window", "", a), period, cost)
		}
	}
}

// retryBoundaries asks for what does not fit, and again on both sides of its
// RetryAfter, each time from the state that the last one left.
func retryBoundaries(w *world.World, s store.Slot) {
	capacity := world.Capacity(s.Algorithm)
	w.Apply(world.Op(s, capacity))
	for _, cost := range []int64{1, 1, 2, capacity, 1, capacity/2 + 1, 1} {
		cost = min(cost, capacity)
		if o := w.One(s, cost); !o.Allowed {
			w.Advance(o.RetryAfter - time.Microsecond)
			w.MustDeny(world.Op(s, cost))
			w.Advance(time.Microsecond)
			w.MustCommit(world.Op(s, cost))
		}
	}
}

// resetBoundaries asks for all that a fresh key gives, on both sides of ResetAfter,
// and for the same of a key that is fresh.
func resetBoundaries(w *world.World, s, fresh store.Slot) {
	capacity := world.Capacity(s.Algorithm)
	for _, cost := range []int64{capacity/2 + 1, 1, capacity} {
		w.Advance(w.One(s, min(cost, capacity)).ResetAfter - time.Microsecond)
		w.MustDeny(world.Op(s, capacity))
		w.Advance(time.Microsecond)
		w.MustCommit(world.Op(s, capacity))
		w.MustCommit(world.Op(fresh, capacity))
		w.Reset(fresh, s)
	}
}

// windowBoundaries takes a cost and looks around every instant at which something
// may change, in the order of time, with every cost that may make a difference.
func windowBoundaries(w *world.World, s store.Slot, period algorithm.Instant, taken int64) {
	capacity := world.Capacity(s.Algorithm)
	fresh := world.Micros(w.One(s, taken).ResetAfter) + w.Now()
	now := w.Now()
	edge := (now/period + 1) * period
	instants := []algorithm.Instant{
		now, now + 1, edge - 1, edge, edge + 1, edge + period/2,
		edge + period - 1, edge + period, edge + 2*period, now + period, fresh - 1, fresh, fresh + 1,
	}
	slices.Sort(instants)
	costs := []int64{1, capacity, 0, capacity - 1, capacity + 1, 2}
	for _, at := range slices.Compact(instants) {
		w.SetClock(at)
		for _, cost := range costs[:w.Often(len(costs), 2)] {
			w.Peek(world.Op(s, cost))
		}
	}
}

func featuresOwner(w *world.World) {
	featured, is := w.Store.(store.Featured)
	if !is {
		w.Skip("the store has no store.Features")
	}
	f := featured.Features()
	used := store.FeaturesOf(w.Store)
	if (f.Bind == nil && f.Within == nil && !f.NoIO) || used.Owner != nil || embeds(reflect.ValueOf(w.Store), f.Owner) {
		return
	}
	w.Wrong("another store", "the store, or a store that it embeds", "Features().Owner, without which nobody uses the features")
}

// embeds reports whether v, or a struct to which it points, embeds a store.
func embeds(v reflect.Value, s store.Store) bool {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	owner := reflect.ValueOf(s)
	if v.Kind() != reflect.Struct || owner.Kind() != reflect.Pointer {
		return false
	}
	for i := range v.NumField() {
		field := v.Field(i)
		if !v.Type().Field(i).Anonymous {
			continue
		}
		if field.Kind() == reflect.Interface {
			field = field.Elem()
		}
		if field.Kind() == reflect.Pointer && field.Type() == owner.Type() && field.Pointer() == owner.Pointer() || embeds(field, s) {
			return true
		}
	}
	return false
}

// decideOnEachPath makes calls of every sort on each path that the store offers,
// with the same slots on each.
func decideOnEachPath(w *world.World) {
	slots := w.Slots("a", "l")
	for range 2 {
		for _, w.Path = range w.Paths() {
			for _, s := range slots {
				w.Apply(world.Op(s, 1))
				w.MustDeny(world.Op(s, world.Capacity(s.Algorithm)+1))
				w.Peek(world.Op(s, 2))
				w.MustCommit(world.Op(s, 0))
			}
			if w.Can(world.NeedsOps) {
				w.Apply(world.Ops(slots, 1)...)
				w.Peek(world.Ops(slots, 1)...)
			}
		}
	}
	w.Path = world.ByMethod
}

func featuresAgree(w *world.World) {
	if len(w.Paths()) == 1 {
		w.Skip("the store has neither store.Features.Bind nor Within")
	}
	decideOnEachPath(w)
	for _, w.Path = range w.Paths() {
		for _, s := range w.Slots("b", "l") { // a queue denies what may not wait
			bounded := world.Op(s, 1)
			bounded.Request.MaxDelay = time.Nanosecond
			w.Apply(world.Op(s, 1))
			w.Apply(bounded)
		}
	}
}

func featuresSeen(w *world.World) {
	before, calls := w.Seen(w.TB, w.Store), w.Calls
	decideOnEachPath(w)
	if got, want := w.Seen(w.TB, w.Store)-before, int64(w.Calls-calls); got != want {
		w.Wrong(got, want, "calls that the code of the decorator has seen")
	}
}

// embedding is a wrapper as a user first writes it: with the methods of a store, and
// what it overrides.
type embedding struct {
	store.Featured
	seen *atomic.Int64
}

func (e embedding) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	e.seen.Add(1)
	return e.Featured.Apply(ctx, ops)
}

func (e embedding) Peek(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
	e.seen.Add(1)
	return e.Featured.Peek(ctx, ops)
}

// plain makes a Featured of a store that has no features.
type plain struct{ store.Store }

func (plain) Features() store.Features { return store.Features{} }

func featuresWrapped(w *world.World) {
	var seen atomic.Int64
	hooks := store.Hooks{
		Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
			seen.Add(1)
			return next(ctx, ops)
		},
		Peek: func(ctx context.Context, ops []store.Op, next store.PeekFunc) (algorithm.Instant, error) {
			seen.Add(1)
			return next(ctx, ops)
		},
	}
	embed := func(inner store.Store) store.Store {
		featured, is := inner.(store.Featured)
		if !is {
			featured = plain{inner}
		}
		return embedding{featured, &seen}
	}
	hook := func(inner store.Store) store.Store { return store.Wrap(inner, hooks) }
	for _, c := range []struct {
		name string
		wrap func(store.Store) store.Store
	}{
		{"a wrapper that embeds the store", embed},
		{"a wrapper with hooks", hook},
		{"a wrapper with hooks around another", func(inner store.Store) store.Store { return store.Wrap(hook(inner), store.Hooks{}) }},
	} {
		w.StartAt(world.Start)
		w.Wrap(c.wrap)
		seen.Store(0)
		decideOnEachPath(w)
		if got, want := seen.Load(), int64(w.Calls); got != want {
			w.Wrong(got, want, "calls that %s has seen", c.name)
		}
	}
}
