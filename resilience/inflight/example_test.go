package inflight_test

import (
	"context"
	"fmt"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/resilience/inflight"
)

func Example() {
	ctx := context.Background()
	store := weir.Must(inflight.NewMemory(nil))
	limiter := weir.Must(inflight.New(store, inflight.Limit{Name: "reports", Units: 2}, nil))

	first, _ := limiter.Acquire(ctx, "user:42")
	second, _ := limiter.Acquire(ctx, "user:42")
	third, _ := limiter.Acquire(ctx, "user:42")
	fmt.Println(first.Allowed(), second.Allowed(), third.Allowed())

	_ = first.Release(ctx)
	fourth, _ := limiter.Acquire(ctx, "user:42")
	fmt.Println(fourth.Allowed(), fourth.Standing().InUse)
	// Output:
	// true true false
	// true 2
}

func ExampleLimiter_Wait() {
	ctx := context.Background()
	store := weir.Must(inflight.NewMemory(nil))
	limiter := weir.Must(inflight.New(store, inflight.Limit{Name: "reports", Units: 1}, nil))

	running, _ := limiter.Acquire(ctx, "user:42")
	go func() { _ = running.Release(ctx) }()
	next, err := limiter.Wait(ctx, "user:42")
	fmt.Println(next.Allowed(), err)
	// Output: true <nil>
}

func ExampleMemory() {
	store := weir.Must(inflight.NewMemory(&inflight.MemoryOptions{MaxHolders: 10_000}))
	_, err := inflight.New(store, inflight.Limit{Name: "reports", Units: 20}, nil)
	fmt.Println(err)
	// Output: <nil>
}
