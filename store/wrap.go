package store

import (
	"context"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Hooks are what a decorator does around the calls of a store. A nil hook passes the
// call on. A hook decides itself whether to call next, once or not at all, and with
// the ops that it was given; it keeps the contract of the method of Store that it
// stands for: without an error every Outcome is written, and committed reports
// whether all of them are Allowed. Hooks are called with what Validate and
// ValidateSlots accept only; what they refuse is refused before. They are called
// concurrently.
type Hooks struct {
	// Apply stands around every decision that may charge: Store.Apply, the Apply of
	// a Bound (as one op), and both with a time-out.
	Apply func(ctx context.Context, ops []Op, next ApplyFunc) (at algorithm.Instant, committed bool, err error)
	// Once stands around every step that has an ID. Where it is nil and Apply is not,
	// the decorator does not have the feature: an answer of its own to a step that was
	// made already would be wrong. One that never answers by itself may call next and
	// nothing else.
	Once func(ctx context.Context, o Once, ops []Op, next OnceFunc) (at algorithm.Instant, committed bool, err error)
	// Peek stands around every look.
	Peek func(ctx context.Context, ops []Op, next PeekFunc) (at algorithm.Instant, err error)
	// Reset stands around Store.Reset.
	Reset func(ctx context.Context, slots []Slot, next func(context.Context, []Slot) error) error
	// Close is called after the wrapped store was closed, each time.
	Close func() error
	// IO reports that a hook waits for something outside the process: the wrapped
	// store then needs a time-out even where the inner one needs none. It has no
	// Within then: the time-out has to end the hook too, through its context.
	IO bool
}

// ApplyFunc is the type of Store.Apply.
type ApplyFunc func(ctx context.Context, ops []Op) (at algorithm.Instant, committed bool, err error)

// PeekFunc is the type of Store.Peek.
type PeekFunc func(ctx context.Context, ops []Op) (at algorithm.Instant, err error)

// Wrap returns a decorator: a store that has the features of inner and runs every
// call through h. Decorators nest: the outermost is called first. inner must not be
// nil, and is closed by the Close of the decorator.
//
// The decorator allocates nothing; a call costs what its hook and Validate cost.
func Wrap(inner Store, h Hooks) Store {
	return &wrapped{inner: inner, features: FeaturesOf(inner), hooks: h, apply: inner.Apply, peek: inner.Peek, reset: inner.Reset}
}

// wrapped is a store with hooks.
type wrapped struct {
	inner    Store
	features Features // of inner
	hooks    Hooks
	// The methods of inner: a method value made for each call would be an
	// allocation.
	apply ApplyFunc
	peek  PeekFunc
	reset func(context.Context, []Slot) error
}

var _ Featured = (*wrapped)(nil)

// Apply implements Store.
func (w *wrapped) Apply(ctx context.Context, ops []Op) (at algorithm.Instant, committed bool, err error) {
	if w.hooks.Apply == nil {
		return w.apply(ctx, ops)
	}
	if err := Validate(ops); err != nil {
		return 0, false, err
	}
	return w.hooks.Apply(ctx, ops, w.apply)
}

// Peek implements Store.
func (w *wrapped) Peek(ctx context.Context, ops []Op) (at algorithm.Instant, err error) {
	if w.hooks.Peek == nil {
		return w.peek(ctx, ops)
	}
	if err := Validate(ops); err != nil {
		return 0, err
	}
	return w.hooks.Peek(ctx, ops, w.peek)
}

// Reset implements Store.
func (w *wrapped) Reset(ctx context.Context, slots []Slot) error {
	if w.hooks.Reset == nil {
		return w.reset(ctx, slots)
	}
	if err := ValidateSlots(slots); err != nil {
		return err
	}
	return w.hooks.Reset(ctx, slots, w.reset)
}

// Close implements Store.
func (w *wrapped) Close() error {
	err := w.inner.Close()
	if w.hooks.Close != nil {
		if hookErr := w.hooks.Close(); err == nil {
			err = hookErr
		}
	}
	return err
}

// Features implements Featured: those of inner, with the hooks around them.
func (w *wrapped) Features() Features {
	f := Features{Owner: w, NoIO: w.features.NoIO && !w.hooks.IO, Node: w.features.Node, Names: w.features.Names}
	if w.features.Bind != nil {
		f.Bind = w.bind
	}
	if w.features.Once != nil && (w.hooks.Once != nil || w.hooks.Apply == nil) {
		f.Once = w.once
	}
	if w.features.Within != nil && !w.hooks.IO {
		f.Within = func(timeout time.Duration) Store { return Wrap(w.features.Within(timeout), w.hooks) }
	}
	return f
}

func (w *wrapped) once(ctx context.Context, o Once, ops []Op) (at algorithm.Instant, committed bool, err error) {
	if w.hooks.Once == nil {
		return w.features.Once(ctx, o, ops)
	}
	if err := ValidateOnce(o, ops); err != nil {
		return 0, false, err
	}
	return w.hooks.Once(ctx, o, ops, w.features.Once)
}

func (w *wrapped) bind(limit string, a algorithm.Algorithm) (Bound, error) {
	inner, err := w.features.Bind(limit, a)
	if err != nil {
		return nil, err
	}
	b := &wrappedBound{store: w, inner: inner, limit: limit, algorithm: a}
	b.apply, b.peek = b.applyInner, b.peekInner
	b.ops.New = func() any { return new([1]Op) }
	return b, nil
}

// wrappedBound is a Bound with hooks.
type wrappedBound struct {
	store     *wrapped
	inner     Bound
	limit     string
	algorithm algorithm.Algorithm
	apply     ApplyFunc // applyInner
	peek      PeekFunc  // peekInner
	ops       sync.Pool // of *[1]Op
}

// Apply implements Bound.
func (b *wrappedBound) Apply(ctx context.Context, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error) {
	hook := b.store.hooks.Apply
	if hook == nil {
		return b.inner.Apply(ctx, key, r)
	}
	if err := ValidateRequest(key, b.algorithm, r); err != nil {
		return algorithm.Outcome{}, 0, err
	}
	ops := b.take(key, r)
	defer b.put(ops)
	at, _, err := hook(ctx, ops[:], b.apply)
	if err != nil {
		return algorithm.Outcome{}, 0, err
	}
	return ops[0].Outcome, at, nil
}

// Peek implements Bound.
func (b *wrappedBound) Peek(ctx context.Context, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error) {
	hook := b.store.hooks.Peek
	if hook == nil {
		return b.inner.Peek(ctx, key, r)
	}
	if err := ValidateRequest(key, b.algorithm, r); err != nil {
		return algorithm.Outcome{}, 0, err
	}
	ops := b.take(key, r)
	defer b.put(ops)
	at, err := hook(ctx, ops[:], b.peek)
	if err != nil {
		return algorithm.Outcome{}, 0, err
	}
	return ops[0].Outcome, at, nil
}

func (b *wrappedBound) take(key string, r algorithm.Request) *[1]Op {
	ops := b.ops.Get().(*[1]Op)
	ops[0] = Op{Slot: Slot{Key: key, Limit: b.limit, Algorithm: b.algorithm}, Request: r}
	return ops
}

func (b *wrappedBound) put(ops *[1]Op) {
	ops[0] = Op{} // the key is not kept
	b.ops.Put(ops)
}

// applyInner is what a hook calls as next.
func (b *wrappedBound) applyInner(ctx context.Context, ops []Op) (at algorithm.Instant, committed bool, err error) {
	if !b.isOwn(ops) {
		return b.store.apply(ctx, ops)
	}
	ops[0].Outcome, at, err = b.inner.Apply(ctx, ops[0].Key, ops[0].Request)
	return at, err == nil && ops[0].Outcome.Allowed, err
}

// peekInner is what a hook calls as next.
func (b *wrappedBound) peekInner(ctx context.Context, ops []Op) (at algorithm.Instant, err error) {
	if !b.isOwn(ops) {
		return b.store.peek(ctx, ops)
	}
	ops[0].Outcome, at, err = b.inner.Peek(ctx, ops[0].Key, ops[0].Request)
	return at, err
}

// isOwn reports whether ops are one op on the limit of b. A hook may have put others
// in its place.
func (b *wrappedBound) isOwn(ops []Op) bool {
	return len(ops) == 1 && ops[0].Limit == b.limit && ops[0].Algorithm != nil && ops[0].Algorithm.Spec() == b.algorithm.Spec()
}
