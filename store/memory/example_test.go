package memorystore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

func ExampleNew() {
	states, err := memorystore.New(&memorystore.Options{MaxKeys: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer states.Close()
	perHour := algorithm.Must(algorithm.NewGCRA(algorithm.PerHour(10), 10))
	for _, key := range []string{"a", "b", "c"} {
		ops := []store.Op{{Slot: store.Slot{Key: key, Algorithm: perHour}, Request: algorithm.Request{Cost: 1}}}
		_, committed, err := states.Apply(context.Background(), ops)
		fmt.Println(committed, ops[0].Outcome.Remaining, errors.Is(err, store.ErrFull))
	}
	// Output:
	// true 9 false
	// true 9 false
	// false 0 true
}

func ExampleStore_Sweep() {
	mock := clock.NewMock()
	states, err := memorystore.New(&memorystore.Options{Clock: mock})
	if err != nil {
		log.Fatal(err)
	}
	defer states.Close()
	perSecond := algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(10), 10))
	ops := []store.Op{{Slot: store.Slot{Key: "a", Algorithm: perSecond}, Request: algorithm.Request{Cost: 10}}}
	if _, _, err := states.Apply(context.Background(), ops); err != nil {
		log.Fatal(err)
	}
	// The key is fresh after 1 s, and dropped 1 s later.
	for range 3 {
		now, err := algorithm.InstantOf(mock.Now())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(states.Sweep(now), "dropped,", states.Stats().Keys, "held")
		mock.Add(time.Second)
	}
	// Output:
	// 0 dropped, 1 held
	// 0 dropped, 1 held
	// 1 dropped, 0 held
}
