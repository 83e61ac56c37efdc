package store_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// A limit that is asked about again and again is prepared once.
func ExampleFeaturesOf() {
	states, err := memorystore.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer states.Close()
	login, err := store.FeaturesOf(states).Bind("login", algorithm.Must(algorithm.NewFixedWindow(algorithm.PerDay(3))))
	if err != nil {
		log.Fatal(err)
	}
	outcome, _, err := login.Apply(context.Background(), "user:7", algorithm.Request{Cost: 1})
	fmt.Println(outcome.Allowed, outcome.Remaining, err)
	outcome, _, err = login.Peek(context.Background(), "user:7", algorithm.Request{Cost: 3})
	fmt.Println(outcome.Allowed, outcome.Remaining, err)
	// Output:
	// true 2 <nil>
	// false 2 <nil>
}

// The step that every store makes: here over one slot that is used up and one
// that is not.
func ExampleDecide() {
	queue := algorithm.Must(algorithm.NewLeakyBucket(algorithm.PerSecond(1), 3))
	window := algorithm.Must(algorithm.NewFixedWindow(algorithm.PerMinute(5)))
	now, err := algorithm.InstantOf(time.Date(2026, 1, 1, 12, 0, 20, 0, time.UTC))
	if err != nil {
		log.Fatal(err)
	}
	usedUp, _ := window.Step(algorithm.State{}, now, algorithm.Request{Cost: 5})

	ops := []store.Op{
		{Slot: store.Slot{Key: "user:7", Algorithm: queue}, Request: algorithm.Request{Cost: 1}},
		{Slot: store.Slot{Key: "org:3", Algorithm: window}, Request: algorithm.Request{Cost: 1}},
	}
	if err := store.Validate(ops); err != nil {
		log.Fatal(err)
	}
	before := []algorithm.State{{}, usedUp}
	after := make([]algorithm.State, len(ops))
	fmt.Println("committed:", store.Decide(now, ops, before, after))
	for i, op := range ops {
		fmt.Println(op.Key, op.Outcome.Allowed, op.Outcome.Remaining, op.Outcome.RetryAfter, after[i].Equal(before[i]))
	}
	// Output:
	// committed: false
	// user:7 true 3 0s true
	// org:3 false 0 40s true
}

func ExampleTTL() {
	fmt.Println(store.TTL(333_334 * time.Microsecond))
	// Output: 1.334s
}
