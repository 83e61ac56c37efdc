package world

import (
	"context"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// Path is a way on which a call reaches a store: on the methods of the store, or on
// those of its features.
type Path uint8

// The bits of a Path.
const (
	ByBound  Path = 1 << iota // calls with one op go through a Bound
	InATime                   // through the store that Within returns
	ByMethod Path = 0
)

// Paths are the paths that the store offers.
func (w *World) Paths() []Path {
	paths := []Path{ByMethod}
	f := store.FeaturesOf(w.Store)
	if f.Bind != nil {
		paths = append(paths, ByBound)
	}
	if f.Within != nil {
		paths = append(paths, InATime, InATime|ByBound)
	}
	return paths
}

// Call makes one call on the path that was asked for, where the store offers it.
func (w *World) Call(ops []store.Op, write bool) (at algorithm.Instant, committed bool, err error) {
	w.Calls++
	ctx := context.Background()
	s := w.onPath()
	if b := w.boundFor(s, ops); b != nil {
		op, call := &ops[0], b.Peek
		if write {
			call = b.Apply
		}
		op.Outcome, at, err = call(ctx, op.Key, op.Request)
		return at, op.Outcome.Allowed, err
	}
	if write {
		return s.Apply(ctx, ops)
	}
	at, err = s.Peek(ctx, ops)
	return at, false, err
}

// Wrap puts a wrapper in the place of the store.
func (w *World) Wrap(wrap func(inner store.Store) store.Store) {
	w.Store = wrap(w.Store)
	w.timed, w.bounds = nil, map[boundLimit]store.Bound{}
}

// onPath is the store, or the store that its Within returns.
func (w *World) onPath() store.Store {
	within := store.FeaturesOf(w.Store).Within
	if w.Path&InATime == 0 || within == nil {
		return w.Store
	}
	if w.timed == nil {
		w.timed = within(time.Hour)
	}
	return w.timed
}

// Bind returns a Bound of the store, or nil where it offers none.
func (w *World) Bind(limit string, a algorithm.Algorithm) store.Bound {
	return w.bind(w.Store, limit, a)
}

func (w *World) bind(s store.Store, limit string, a algorithm.Algorithm) store.Bound {
	bind := store.FeaturesOf(s).Bind
	if bind == nil {
		return nil
	}
	b, err := bind(limit, a)
	w.NoError("Bind", err)
	return b
}

// boundLimit is what a Bound was made for.
type boundLimit struct {
	path Path
	name string
	spec algorithm.Spec
}

func (w *World) boundFor(s store.Store, ops []store.Op) store.Bound {
	if w.Path&ByBound == 0 || len(ops) != 1 {
		return nil
	}
	limit := boundLimit{w.Path, ops[0].Limit, ops[0].Algorithm.Spec()}
	if w.bounds[limit] == nil {
		w.bounds[limit] = w.bind(s, ops[0].Limit, ops[0].Algorithm)
	}
	return w.bounds[limit]
}
