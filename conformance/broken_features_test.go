package conformance_test

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
)

// featuredStore is a plainStore with features.
type featuredStore struct {
	*plainStore
	features store.Features
}

func (s *featuredStore) Features() store.Features { return s.features }

// decorator counts the decisions of a store with a Bound, or not all of them.
type decorator struct {
	store.Store
	seen *atomic.Int64
}

// newDecorator returns a sound decorator, and the store that it wraps.
func newDecorator(clk clock.Clock) (decorator, *boundStore) {
	seen, inner := new(atomic.Int64), &boundStore{plainStore: newPlainStore(clk), charges: 1}
	return decorator{store.Wrap(inner, store.Hooks{
		Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
			seen.Add(1)
			return next(ctx, ops)
		},
		Peek: func(ctx context.Context, ops []store.Op, next store.PeekFunc) (algorithm.Instant, error) {
			seen.Add(1)
			return next(ctx, ops)
		},
	}), seen}, inner
}

// Features are those of the wrapped store.
func (d decorator) Features() store.Features {
	f := store.FeaturesOf(d.Store)
	f.Owner = d
	return f
}

// shortcut is a decorator whose Bound leads past its code.
type shortcut struct {
	decorator
	inner *boundStore
}

func (s shortcut) Features() store.Features { return store.Features{Owner: s, Bind: s.inner.bind} }

// decoratorConfig lets the suite see what a decorator has counted.
func decoratorConfig() *conformance.Config {
	cfg := quickConfig()
	cfg.Seen = func(_ conformance.TB, s store.Store) int64 {
		if s, is := s.(shortcut); is {
			return s.seen.Load()
		}
		return s.(decorator).seen.Load()
	}
	return cfg
}

// brokenFeatures are stores whose features are not what they must be.
var brokenFeatures = []mutant{
	{"a bound limit charges twice", quickConfig(), func(clk clock.Clock) store.Store {
		return &boundStore{plainStore: newPlainStore(clk), charges: 2}
	}, []string{"boundary/bound-limit", "model/random-history", "features/same-answers", "features/wrapped"}},
	{"the features name another store", quickConfig(), func(clk clock.Clock) store.Store {
		other := &boundStore{plainStore: newPlainStore(clk), charges: 1}
		return &featuredStore{newPlainStore(clk), store.Features{Owner: other, Bind: other.bind}}
	}, []string{"features/owner"}},
	{"a time-out leads to other states", quickConfig(), func(clk clock.Clock) store.Store {
		s := &featuredStore{plainStore: newPlainStore(clk)}
		s.features = store.Features{Owner: s, Within: func(time.Duration) store.Store { return newPlainStore(clk) }}
		return s
	}, []string{"features/same-answers", "features/wrapped", "model/random-history"}},
	{"a bound limit ignores a bound on the delay", quickConfig(), func(clk clock.Clock) store.Store {
		return &boundStore{plainStore: newPlainStore(clk), charges: 1, ignores: true}
	}, []string{"features/same-answers"}},
	{"a bound limit does not heed a context once the caller waits", quickConfig(), func(clk clock.Clock) store.Store {
		return &boundStore{plainStore: newPlainStore(clk), charges: 1, waits: true}
	}, []string{"context/ended-while-queued"}},
	{"a bound limit leads past a decorator", decoratorConfig(), func(clk clock.Clock) store.Store {
		d, inner := newDecorator(clk)
		return shortcut{d, inner}
	}, []string{"features/seen-by-decorator"}},
}
