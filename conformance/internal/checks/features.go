package checks

import (
	"context"
	"reflect"
	"sync/atomic"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// featureChecks are about store.Features and about wrappers, which must see every
// decision.
func featureChecks() []world.Check {
	return []world.Check{
		check("features/owner", "E13", 0,
			"a store names itself as the Owner of its features, or the store that it embeds", featuresOwner),
		check("features/same-answers", "E13", 0,
			"a store decides by a Bound and with a time-out as by Apply and Peek, from the same states", featuresAgree),
		check("features/wrapped", "E13", 0,
			"a wrapper that embeds the store, and one with hooks, sees every decision on every path and changes no answer", featuresWrapped),
		check("features/seen-by-decorator", "E13", world.NeedsSeen,
			"the code of a decorator sees every decision, also by a Bound and with a time-out", featuresSeen),
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
