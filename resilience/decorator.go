package resilience

import (
	"context"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/nilcheck"
	"github.com/weirgo/weir/store"
)

// decorator is a store that store.Wrap has made, for a type that has methods besides
// those of a store. The type returns featuresOf itself.
type decorator struct{ wrapped store.Store }

// Apply implements store.Store.
func (d decorator) Apply(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	return d.wrapped.Apply(ctx, ops)
}

// Peek implements store.Store.
func (d decorator) Peek(ctx context.Context, ops []store.Op) (at algorithm.Instant, err error) {
	return d.wrapped.Peek(ctx, ops)
}

// Reset implements store.Store.
func (d decorator) Reset(ctx context.Context, slots []store.Slot) error {
	return d.wrapped.Reset(ctx, slots)
}

// Close implements store.Store: it closes the store that was wrapped.
func (d decorator) Close() error { return d.wrapped.Close() }

// featuresOf returns the features of the decorator as those of owner.
func (d decorator) featuresOf(owner store.Store) store.Features {
	f := store.FeaturesOf(d.wrapped)
	f.Owner = owner
	return f
}

// checkStore refuses no store, and a nil pointer to one.
func checkStore(field string, s store.Store) error {
	if nilcheck.IsNil(s) {
		return refuse(field, "nil", "a store")
	}
	return nil
}

func refuse(field, value, allowed string) error {
	return &store.InputError{Op: -1, Field: field, Value: value, Allowed: allowed}
}
