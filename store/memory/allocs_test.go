package memorystore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// fixedSize are the algorithms whose state does not grow, with fractions where
// a state can have one.
var fixedSize = []string{
	"gcra:1000/1h", "gcra:7/3s", "token-bucket:1000/1h", "token-bucket:7/3s", "leaky-bucket:1000/1h", "leaky-bucket:7/3s",
	"fixed-window:1000/1h", "sliding-counter:1000/1h",
}

func parse(tb testing.TB, spec string) algorithm.Algorithm {
	tb.Helper()
	a, err := algorithm.ParseSpec(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// mustNotAllocate runs f often enough for one allocation in a hundred to show.
func mustNotAllocate(t *testing.T, what string, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(2000, f); n != 0 {
		t.Errorf("%s: %v allocations", what, n)
	}
}

// The path of a service: a Limiter, keys that are held, admitted and denied.
func TestDecisionsDoNotAllocate(t *testing.T) {
	race.SkipAllocations(t)
	ctx := context.Background()
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf("user:%d", i)
	}
	for _, spec := range fixedSize {
		for _, injected := range []bool{false, true} {
			opts := &memorystore.Options{}
			mock := clock.NewMock()
			if injected {
				mock.Set(time.Unix(1_764_288_000, 0))
				opts.Clock = mock
			}
			l, err := weir.New(newStore(t, opts), weir.Limit{Name: "limit", Algorithm: parse(t, spec)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range keys { // hold them all
				if _, err := l.Allow(ctx, key); err != nil {
					t.Fatal(err)
				}
			}
			for where, spread := range map[string]int{"hot": 1, "spread": len(keys)} {
				i := 0
				next := func() string { i++; return keys[i%spread] }
				for verb, ask := range map[string]func() (weir.Decision, error){
					"Allow":         func() (weir.Decision, error) { return l.Allow(ctx, next()) }, // soon denied on the hot key
					"AllowN 0":      func() (weir.Decision, error) { return l.AllowN(ctx, next(), 0) },
					"AllowN 2":      func() (weir.Decision, error) { return l.AllowN(ctx, next(), 2) },
					"AllowN denied": func() (weir.Decision, error) { return l.AllowN(ctx, next(), 1<<40) },
					"Peek":          func() (weir.Decision, error) { return l.Peek(ctx, next()) },
					"PeekN":         func() (weir.Decision, error) { return l.PeekN(ctx, next(), 5) },
				} {
					mustNotAllocate(t, fmt.Sprintf("%s, injected clock %t, %s key, %s", spec, injected, where, verb), func() {
						if _, err := ask(); err != nil {
							t.Fatal(err)
						}
					})
				}
			}
		}
	}
}

// A key that is asked about and never charged is not kept, so nothing is
// allocated for it either.
func TestDecisionsAboutKeysThatAreNotHeldDoNotAllocate(t *testing.T) {
	race.SkipAllocations(t)
	ctx := context.Background()
	for _, spec := range fixedSize {
		l, err := weir.New(newStore(t, nil), weir.Limit{Name: "limit", Algorithm: parse(t, spec)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		mustNotAllocate(t, spec+", denied", func() { _, _ = l.AllowN(ctx, "nobody", 1<<40) })
		mustNotAllocate(t, spec+", a look", func() { _, _ = l.AllowN(ctx, "nobody", 0) })
		mustNotAllocate(t, spec+", Peek", func() { _, _ = l.Peek(ctx, "nobody") })
	}
}

// With slices that are used again, Apply and Peek need nothing of their own.
func TestApplyDoesNotAllocate(t *testing.T) {
	race.SkipAllocations(t)
	ctx := context.Background()
	s := newStore(t, &memorystore.Options{MaxKeys: 100})
	ops := make([]store.Op, len(fixedSize))
	for i, spec := range fixedSize {
		ops[i] = store.Op{Slot: store.Slot{Key: "a", Limit: spec, Algorithm: parse(t, spec)}, Request: algorithm.Request{Cost: 1}}
	}
	for n := 1; n <= len(ops); n++ {
		mustNotAllocate(t, fmt.Sprint("Apply of ", n), func() { _, _, _ = s.Apply(ctx, ops[:n]) })
		mustNotAllocate(t, fmt.Sprint("Peek of ", n), func() { _, _ = s.Peek(ctx, ops[:n]) })
	}
}
