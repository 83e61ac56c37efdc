package memorystore

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

func opened(t *testing.T, opts *Options) *Store {
	t.Helper()
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// wallAhead is a reading of a wall clock that is ahead of the store's.
func wallAhead(m *monotonic, by time.Duration) time.Time { return m.now().Time().Add(by) }

func TestDefaultClockMovesForwardWhenItLags(t *testing.T) {
	m, err := newMonotonic()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ lag, moves time.Duration }{
		{0, 0},
		{900 * time.Millisecond, 0}, // a clock that is set by a fraction is left alone
		{1100 * time.Millisecond, 1100 * time.Millisecond},
		{8 * time.Hour, 8 * time.Hour}, // a machine that slept
		{-time.Second, 0},
		{-8 * time.Hour, 0}, // never back
	} {
		before, base := m.now(), m.base.Load()
		m.catchUp(wallAhead(m, c.lag))
		if moved := time.Duration(m.base.Load()-base) * time.Microsecond; moved > c.moves || moved < c.moves-500*time.Millisecond {
			t.Errorf("a lag of %v moves it by %v, and must by %v", c.lag, moved, c.moves)
		}
		if after := m.now(); after < before {
			t.Errorf("a lag of %v moves the clock back from %v to %v", c.lag, before, after)
		}
	}
}

func TestDefaultClockIgnoresAWallClockOutOfBounds(t *testing.T) {
	m, err := newMonotonic()
	if err != nil {
		t.Fatal(err)
	}
	base := m.base.Load()
	for _, wall := range []time.Time{time.Unix(-1, 0), {}, time.UnixMicro(int64(algorithm.MaxInstant) + 1), time.Unix(math.MaxInt64>>1, 0)} {
		m.catchUp(wall)
	}
	if moved := m.base.Load() - base; moved != 0 {
		t.Errorf("the clock was moved by %d µs", moved)
	}
	m.base.Store(2 * int64(algorithm.MaxInstant))
	if m.now() != algorithm.MaxInstant {
		t.Errorf("the clock shows %v, after MaxInstant", m.now())
	}
}

// H3: a decision is made between call and return.
func TestDefaultClockShowsTheWallTime(t *testing.T) {
	s := opened(t, nil)
	a := algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1000), 1000))
	const tolerance = time.Second // for a wall clock that is set meanwhile
	for range 100 {
		from := time.Now()
		at, _, err := s.Apply(context.Background(), []store.Op{{Slot: store.Slot{Key: "a", Algorithm: a}, Request: algorithm.Request{Cost: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		if to := time.Now(); at.Time().Before(from.Add(-tolerance)) || at.Time().After(to.Add(tolerance)) {
			t.Fatalf("decided at %v, called at %v, answered at %v", at.Time(), from, to)
		}
	}
}

// recorder is an algorithm that keeps the instants that it was asked at. The
// store's lock guards them.
type recorder struct{ instants *[]algorithm.Instant }

func (recorder) Spec() algorithm.Spec { return algorithm.Spec{Kind: "recorder/1"} }
func (r recorder) Step(s algorithm.State, now algorithm.Instant, _ algorithm.Request) (algorithm.State, algorithm.Outcome) {
	*r.instants = append(*r.instants, now)
	return algorithm.NewState(int64(now)), algorithm.Outcome{Allowed: true, Limit: 1, ResetAfter: time.Second}
}

// H2: under concurrency the instants of one slot do not go back, though each
// caller reads the clock before it waits for the lock.
func TestInstantsOfASlotDoNotGoBack(t *testing.T) {
	s := opened(t, nil)
	var instants []algorithm.Instant
	a := recorder{&instants}
	bound, err := store.FeaturesOf(s).Bind("", a)
	if err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			ctx := context.Background()
			two := []store.Op{
				{Slot: store.Slot{Key: "a", Algorithm: a}, Request: algorithm.Request{Cost: 1}},
				{Slot: store.Slot{Key: "b", Algorithm: recorder{new([]algorithm.Instant)}}, Request: algorithm.Request{Cost: 1}},
			}
			for range 300 {
				var err error
				if i%2 == 0 {
					_, _, err = bound.Apply(ctx, "a", algorithm.Request{Cost: 1})
				} else {
					_, _, err = s.Apply(ctx, two)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	for i := 1; i < len(instants); i++ {
		if instants[i] < instants[i-1] {
			t.Fatalf("decision %d was made at %v, and the one before at %v", i, instants[i], instants[i-1])
		}
	}
	if len(instants) != 8*300 {
		t.Errorf("%d decisions", len(instants))
	}
}

// The same without luck: somebody who held the lock before has read a later
// time than this caller did ahead of it.
func TestDecisionIsNotMadeBeforeTheLastOneOfItsShard(t *testing.T) {
	s := opened(t, &Options{SweepEvery: asleep})
	later := s.monotonic.now() + 3_600_000_000
	for i := range s.shards {
		s.shards[i].latest = later + algorithm.Instant(i)
	}
	ops := []store.Op{
		{Slot: store.Slot{Key: "a", Algorithm: hourly}, Request: algorithm.Request{Cost: 1}},
		{Slot: store.Slot{Key: "b", Algorithm: hourly}, Request: algorithm.Request{Cost: 1}},
	}
	last := later
	for _, call := range []func() (algorithm.Instant, error){
		func() (algorithm.Instant, error) {
			at, _, err := s.Apply(context.Background(), ops[:1])
			return at, err
		},
		func() (algorithm.Instant, error) { at, _, err := s.Apply(context.Background(), ops); return at, err },
		func() (algorithm.Instant, error) { return s.Peek(context.Background(), ops[:1]) },
		func() (algorithm.Instant, error) { return s.Peek(context.Background(), ops) },
	} {
		at, err := call()
		if err != nil || at < last {
			t.Errorf("decided at %v, error %v; the one before at %v", at, err, last)
		}
		last = max(last, at)
	}
}

// clockOf is a clock that shows what it is told to.
type clockOf struct{ now time.Time }

func (c *clockOf) Now() time.Time { return c.now }

func TestInjectedClockOutOfBoundsIsAnError(t *testing.T) {
	s := opened(t, &Options{Clock: &clockOf{time.Unix(-1, 0)}})
	a := algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1), 1))
	ops := []store.Op{{Slot: store.Slot{Key: "a", Algorithm: a}}, {Slot: store.Slot{Key: "b", Algorithm: a}}}
	for n := 1; n <= 2; n++ {
		var parameter *algorithm.ParameterError
		if _, _, err := s.Apply(context.Background(), ops[:n]); !errors.As(err, &parameter) {
			t.Errorf("%d ops: got %v, want a *algorithm.ParameterError", n, err)
		}
	}
}
