package memorystore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// asleep is a SweepEvery that keeps the sweeper out of a test.
const asleep = 24 * time.Hour

// pass moves the default clock forward, as a machine that slept.
func (s *Store) pass(d time.Duration) { s.monotonic.base.Add(int64(d / time.Microsecond)) }

// allow asks for cost and reports whether it was admitted.
func (s *Store) allow(t *testing.T, key string, a algorithm.Algorithm, cost int64) bool {
	t.Helper()
	_, committed, err := s.Apply(context.Background(), []store.Op{{Slot: store.Slot{Key: key, Algorithm: a}, Request: algorithm.Request{Cost: cost}}})
	if err != nil {
		t.Fatal(err)
	}
	return committed
}

// With the default clock a slot reads as fresh once it has expired, whether it
// was swept or not. Without a change of parameters that could not be seen.
func TestExpiredSlotIsFreshBeforeItIsSwept(t *testing.T) {
	minute := algorithm.Must(algorithm.NewFixedWindow(algorithm.Rate{Units: 5, Per: time.Minute}))
	year := algorithm.Must(algorithm.NewFixedWindow(algorithm.Rate{Units: 5, Per: 365 * 24 * time.Hour}))
	for _, sweep := range []bool{false, true} {
		for _, ops := range []int{1, 2} {
			s := opened(t, &Options{SweepEvery: asleep})
			if !s.allow(t, "a", minute, 5) || s.allow(t, "a", minute, 1) {
				t.Fatal("a window of 5 does not admit 5")
			}
			s.pass(time.Minute + store.Grace + time.Millisecond)
			if sweep {
				if dropped := s.Sweep(s.monotonic.now()); dropped != 1 || s.Stats().Keys != 0 {
					t.Fatalf("%d dropped, %d left", dropped, s.Stats().Keys)
				}
			}
			all := []store.Op{
				{Slot: store.Slot{Key: "a", Algorithm: year}, Request: algorithm.Request{Cost: 5}},
				{Slot: store.Slot{Key: "b", Algorithm: year}, Request: algorithm.Request{Cost: 1}},
			}
			if _, err := s.Peek(context.Background(), all[:ops]); err != nil || !all[0].Outcome.Allowed {
				t.Errorf("swept %t, %d ops: peek gives %+v, error %v", sweep, ops, all[0].Outcome, err)
			}
			if _, committed, err := s.Apply(context.Background(), all[:ops]); err != nil || !committed {
				t.Errorf("swept %t, %d ops: apply gives %+v, error %v", sweep, ops, all[0].Outcome, err)
			}
			if s.allow(t, "a", year, 1) {
				t.Errorf("swept %t, %d ops: the new window is used up, and admits one more", sweep, ops)
			}
		}
	}
}

// A clock of the user's may come back to before the expiry: there, a slot is
// kept until somebody says that it may go.
func TestInjectedClockKeepsSlotsUntilTheyAreSwept(t *testing.T) {
	c := &clockOf{time.Unix(1_764_288_000, 0)}
	s := opened(t, &Options{Clock: c})
	a := algorithm.Must(algorithm.NewGCRA(algorithm.PerMinute(5), 5))
	start := c.now
	s.allow(t, "a", a, 5)
	// None of this writes, an hour after it has expired.
	c.now = start.Add(time.Hour)
	s.allow(t, "b", a, 1)
	s.allow(t, "a", a, 0)
	s.allow(t, "a", a, 6)
	c.now = start
	if s.allow(t, "a", a, 1) {
		t.Error("a slot was dropped though nobody swept")
	}
	due, _ := algorithm.InstantOf(start.Add(time.Minute + store.Grace))
	for _, step := range []struct {
		now     algorithm.Instant
		dropped int
	}{{0, 0}, {due - 1, 0}, {due, 1}, {due, 0}} {
		if dropped := s.Sweep(step.now); dropped != step.dropped {
			t.Errorf("Sweep(%v) drops %d, want %d", step.now, dropped, step.dropped)
		}
	}
	if !s.allow(t, "a", a, 5) {
		t.Error("a swept slot is not fresh")
	}
}

// A denied request and a look do not make a slot live longer; a charge does.
func TestOnlyAChangeRenewsTheExpiry(t *testing.T) {
	c := &clockOf{time.Unix(1_764_288_000, 0)}
	s := opened(t, &Options{Clock: c})
	a := algorithm.Must(algorithm.NewGCRA(algorithm.PerMinute(5), 5))
	expiry := func() algorithm.Instant {
		t.Helper()
		id := s.identify("", a.Spec())
		for i := range s.shards {
			for number := range s.shards[i].table.used {
				if r := s.shards[i].table.record(number); r.held() && s.shards[i].table.key(number) == "a" && s.shards[i].table.nameOf(number) == id.name {
					return r.expiry
				}
			}
		}
		t.Fatal("no such slot")
		return 0
	}
	s.allow(t, "a", a, 5)
	first := expiry()
	for range 10 {
		c.now = c.now.Add(time.Second)
		s.allow(t, "a", a, 5)
		s.allow(t, "a", a, 0)
		two := []store.Op{
			{Slot: store.Slot{Key: "a", Algorithm: a}, Request: algorithm.Request{Cost: 1}},
			{Slot: store.Slot{Key: "b", Algorithm: a}, Request: algorithm.Request{Cost: 6}},
		}
		if _, _, err := s.Apply(context.Background(), two); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Peek(context.Background(), two); err != nil {
			t.Fatal(err)
		}
		if got := expiry(); got != first {
			t.Fatalf("the expiry has moved from %v to %v", first, got)
		}
	}
	if s.Stats().Keys != 1 {
		t.Errorf("%d slots are held for what was denied", s.Stats().Keys)
	}
	c.now = c.now.Add(2 * time.Second)
	s.allow(t, "a", a, 1)
	if got := expiry(); got != first+12_000_000 {
		t.Errorf("a charge moves the expiry from %v to %v, and must by 12 s", first, got)
	}
}

func TestSweeperDropsWhatHasExpired(t *testing.T) {
	s := opened(t, &Options{SweepEvery: time.Millisecond})
	brief := algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1000), 1000))
	long := algorithm.Must(algorithm.NewGCRA(algorithm.PerHour(1), 1))
	const keys = 2000
	for i := range keys {
		s.allow(t, fmt.Sprint(i), brief, 1)
	}
	s.allow(t, "kept", long, 1)
	s.pass(2 * time.Second)
	servertest.Await(t, "what has expired is swept", func() bool { return s.Stats().Keys == 1 })
	if s.allow(t, "kept", long, 1) {
		t.Error("a slot was swept before it was fresh")
	}
}
