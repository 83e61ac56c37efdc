package memorystore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	"go.uber.org/goleak"
)

// A clean-up goroutine that could not be stopped: each reload leaked one.
// moonrhythm/parapet #243, theopenlane/core #2004
func TestClosedStoresLeaveNoGoroutine(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	a := algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1), 1))
	stores := 1000
	if testing.Short() {
		stores = 100
	}
	for i := range stores {
		s, err := New(&Options{SweepEvery: time.Duration(i%20+1) * time.Millisecond, MaxKeys: i % 3})
		if err != nil {
			t.Fatal(err)
		}
		s.allow(t, "a", a, 1)
		for range 2 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := s.Apply(context.Background(), []store.Op{{Slot: store.Slot{Key: "a", Algorithm: a}}}); !errors.Is(err, store.ErrClosed) {
			t.Fatalf("a call after Close gives the error %v", err)
		}
	}
}

func TestStoreWithAClockStartsNoGoroutine(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s, err := New(&Options{Clock: &clockOf{time.Unix(0, 0)}, SweepEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s.allow(t, "a", hourly, 1) // not closed
}

func TestCloseFreesAllStatesAndMayBeCalledByMany(t *testing.T) {
	s := opened(t, &Options{SweepEvery: time.Millisecond, MaxKeys: 1000})
	for i := range 500 {
		s.allow(t, fmt.Sprint(i), hourly, 1)
	}
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if keys := s.Stats().Keys; keys != 0 {
		t.Errorf("a closed store holds %d slots", keys)
	}
	if dropped := s.Sweep(algorithm.MaxInstant); dropped != 0 {
		t.Errorf("a sweep of a closed store drops %d", dropped)
	}
}
