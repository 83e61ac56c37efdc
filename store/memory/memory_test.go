package memorystore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

func newStore(tb testing.TB, opts *memorystore.Options) *memorystore.Store {
	tb.Helper()
	s, err := memorystore.New(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func TestStoreConforms(t *testing.T) {
	conformance.TestStore(t, func(tb testing.TB, clk clock.Clock) store.Store {
		return newStore(tb, &memorystore.Options{Clock: clk})
	}, nil)
}

// A bound that is not reached must not show, nor must the queue that comes
// with it.
func TestStoreConformsWithMaxKeys(t *testing.T) {
	conformance.TestStore(t, func(tb testing.TB, clk clock.Clock) store.Store {
		return newStore(tb, &memorystore.Options{Clock: clk, MaxKeys: 5000, EvictLeastDebt: true})
	}, nil)
}

// sweeping sweeps before every call, with the latest reading that its clock has
// shown: the most that a sweeper may do.
type sweeping struct {
	*memorystore.Store
	clock  clock.Clock
	latest chan algorithm.Instant // of one element
}

func (s *sweeping) sweep() {
	latest := <-s.latest
	if now, err := algorithm.InstantOf(s.clock.Now()); err == nil {
		latest = max(latest, now)
	}
	s.latest <- latest
	s.Sweep(latest)
}

func (s *sweeping) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	s.sweep()
	return s.Store.Apply(ctx, ops)
}

func (s *sweeping) Peek(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
	s.sweep()
	return s.Store.Peek(ctx, ops)
}

func TestSweepingNeverShows(t *testing.T) {
	conformance.TestStore(t, func(tb testing.TB, clk clock.Clock) store.Store {
		s := &sweeping{newStore(tb, &memorystore.Options{Clock: clk}), clk, make(chan algorithm.Instant, 1)}
		s.latest <- 0
		return s
	}, nil)
}

func TestOptionsOutOfBoundsAreRefused(t *testing.T) {
	for _, c := range []struct {
		opts  memorystore.Options
		parts []string
	}{
		{memorystore.Options{MaxKeys: -1}, []string{"Options.MaxKeys", "-1", "0 (no bound) or more"}},
		{memorystore.Options{SweepEvery: -time.Second}, []string{"Options.SweepEvery", "-1s", "0 (10s), or 1ms to 24h"}},
		{memorystore.Options{SweepEvery: time.Microsecond}, []string{"Options.SweepEvery", "1µs", "0 (10s), or 1ms to 24h"}},
		{memorystore.Options{SweepEvery: 25 * time.Hour}, []string{"Options.SweepEvery", "25h0m0s", "0 (10s), or 1ms to 24h"}},
	} {
		s, err := memorystore.New(&c.opts)
		if !errors.Is(err, store.ErrInvalid) || s != nil {
			t.Errorf("%+v: store %v, error %v", c.opts, s, err)
			continue
		}
		for _, part := range c.parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%+v: %q does not say %q", c.opts, err, part)
			}
		}
	}
	for _, opts := range []*memorystore.Options{nil, {}, {MaxKeys: 1}, {SweepEvery: time.Millisecond}, {SweepEvery: 24 * time.Hour}} {
		newStore(t, opts)
	}
}
