package memorystore

import (
	"context"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// bound is one limit of a Store, with everything found that does not depend on
// the key.
type bound struct {
	store *Store
	limit limit
}

// Bind implements store.Binder.
func (s *Store) Bind(name string, a algorithm.Algorithm) (store.Bound, error) {
	if err := store.ValidateLimit(a); err != nil {
		return nil, err
	}
	if s.closed.Load() {
		return nil, store.ErrClosed
	}
	return &bound{s, s.limit(name, a)}, nil
}

// Apply implements store.Bound.
func (b *bound) Apply(ctx context.Context, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error) {
	if err := b.check(ctx, key, r); err != nil {
		return algorithm.Outcome{}, 0, err
	}
	return b.store.decide(key, &b.limit, r, true)
}

// Peek implements store.Bound.
func (b *bound) Peek(ctx context.Context, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error) {
	if err := b.check(ctx, key, r); err != nil {
		return algorithm.Outcome{}, 0, err
	}
	return b.store.decide(key, &b.limit, r, false)
}

func (b *bound) check(ctx context.Context, key string, r algorithm.Request) error {
	if key == "" || r.Cost < 0 || r.MaxDelay < 0 {
		if err := store.ValidateKey(0, key); err != nil {
			return err
		}
		return store.ValidateRequest(0, r)
	}
	return b.store.open(ctx)
}
