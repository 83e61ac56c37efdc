package resilience_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	"go.uber.org/goleak"
)

var ctx = context.Background()

const readsTwice = "the check takes a second reading of the clock for that of a second call: the Lease and its inner store both read it"

// leaseOnMemory opens a Lease around a memory store, both on one clock.
func leaseOnMemory(o resilience.LeaseOptions) func(testing.TB, clock.Clock) store.Store {
	return func(_ testing.TB, clk clock.Clock) store.Store {
		o := o
		o.Clock = clk
		return weir.Must(resilience.NewLease(weir.Must(memorystore.New(&memorystore.Options{Clock: clk})), &o))
	}
}

// TestLeaseAddsNothingToAStore is about slots that are not leased: the part of their limits that one
// lease may hold is less than two units, or (G9) a lease is of one unit.
func TestLeaseAddsNothingToAStore(t *testing.T) {
	for name, o := range map[string]resilience.LeaseOptions{"small share": {MaxShare: 1e-13}, "one unit": {Units: 1, MaxShare: 0.5}} {
		t.Run(name, func(t *testing.T) {
			conformance.TestStore(t, leaseOnMemory(o), &conformance.Config{Waive: map[string]string{"context/ended-while-queued": readsTwice}})
		})
	}
}

// TestLeaseIsAStore is about slots that are leased: a process alone is admitted and denied as by
// the store, and what it is told of Remaining and ResetAfter is an estimate where calls are concurrent.
func TestLeaseIsAStore(t *testing.T) {
	const estimate = "Remaining and ResetAfter of an answer from a lease are estimates where calls are concurrent; TestLeaseAloneAdmitsTheWholeLimit counts"
	waive := map[string]string{
		"context/ended-while-queued": readsTwice,
		"concurrent/ten-thousand":    estimate,
		"linear/several-slots":       "a take of several slots does not use the units held; " + estimate,
	}
	for _, f := range algorithm.Families() {
		if f.Log || f.Name == "leaky-bucket" {
			continue // they are not leased: nothing is waived
		}
		waive["concurrent/exactly-the-capacity/"+f.Name] = estimate
		waive["concurrent/settled-costs-add-up/"+f.Name] = estimate
		waive["linear/one-slot/"+f.Name] = estimate
	}
	known := map[string]bool{}
	for _, c := range conformance.Checks() {
		known[c.Name] = true
	}
	maps.DeleteFunc(waive, func(name, _ string) bool { return !known[name] }) // a kind without charges has fewer
	conformance.TestStore(t, leaseOnMemory(resilience.LeaseOptions{MaxShare: 0.5}), &conformance.Config{Waive: waive})
}

// TestLeaseAloneAdmitsTheWholeLimit: concurrent callers of one process take exactly the
// limit, whatever its leases hold meanwhile.
func TestLeaseAloneAdmitsTheWholeLimit(t *testing.T) {
	for _, spec := range []string{"gcra:3000/9600h", "token-bucket:3000/9600h", "fixed-window:3000/1h", "sliding-counter:3000/1h", "sliding-log:3000/1h"} {
		t.Run(spec, func(t *testing.T) {
			clk := clock.NewMock()
			clk.Set(time.Unix(1_700_000_000, 0))
			l := leaseOnMemory(resilience.LeaseOptions{MaxShare: 0.5})(t, clk).(*resilience.Lease)
			a := algorithm.Must(algorithm.ParseSpec(spec))
			var admitted atomic.Int64
			var wg sync.WaitGroup
			for i := range 16 {
				wg.Go(func() {
					for range 600 {
						cost := int64(1 + i%3)
						committed, err := takeUnits(l, a, "k", cost)
						if err != nil {
							t.Error(err)
						}
						if committed {
							admitted.Add(cost)
						}
					}
				})
			}
			wg.Wait()
			for committed := true; committed; { // what no larger cost could use
				if committed, _ = takeUnits(l, a, "k", 1); committed {
					admitted.Add(1)
				}
			}
			if lost := l.Stats().Lost; admitted.Load()+lost != 3000 || lost > 0 && !strings.HasSuffix(spec, "/9600h") {
				t.Errorf("%d units were admitted, want 3000 less what a rate may have regained; %+v", admitted.Load(), l.Stats())
			}
			if s := l.Stats(); s.Held != 0 || (s.Local == 0) == (spec != "sliding-log:3000/1h") {
				t.Errorf("stats %+v, want nothing held, and decisions from leases unless it is a log", s)
			}
		})
	}
}

// takeUnits asks for cost units of a slot.
func takeUnits(s store.Store, a algorithm.Algorithm, key string, cost int64) (committed bool, err error) {
	ops := []store.Op{{Slot: store.Slot{Key: key, Limit: "l", Algorithm: a}, Request: algorithm.Request{Cost: cost}}}
	_, committed, err = s.Apply(ctx, ops)
	return committed, err
}

// heat asks for n units, one by one, which must be admitted.
func heat(t *testing.T, s store.Store, a algorithm.Algorithm, key string, n int) {
	t.Helper()
	for i := range n {
		if committed, err := takeUnits(s, a, key, 1); !committed || err != nil {
			t.Fatalf("take %d of %d: %t, error %v; want it admitted", i+1, n, committed, err)
		}
	}
}

// left looks at a slot of a store.
func left(t testing.TB, s store.Store, a algorithm.Algorithm, key string) int64 {
	t.Helper()
	ops := []store.Op{{Slot: store.Slot{Key: key, Limit: "l", Algorithm: a}}}
	if _, err := s.Peek(ctx, ops); err != nil {
		t.Fatal(err)
	}
	return ops[0].Outcome.Remaining
}

// pair is a Lease and the store in memory behind it, on one clock.
func pair(t *testing.T, o resilience.LeaseOptions) (*resilience.Lease, *memorystore.Store, *clock.Mock) {
	t.Helper()
	clk := clock.NewMock()
	clk.Set(time.Unix(1_700_000_000, 0))
	inner := weir.Must(memorystore.New(&memorystore.Options{Clock: clk}))
	o.Clock = clk
	return weir.Must(resilience.NewLease(inner, &o)), inner, clk
}

func TestLeaseNeverLeasesAColdKey(t *testing.T) {
	l, inner, _ := pair(t, resilience.LeaseOptions{})
	a := algorithm.Must(algorithm.ParseSpec("fixed-window:100000/1h"))
	heat(t, l, a, "k", 7)
	if s := l.Stats(); s.Taken != 0 || left(t, inner, a, "k") != 100000-7 {
		t.Errorf("after 7 asks %+v and %d left, want nothing taken ahead", s, left(t, inner, a, "k"))
	}
}

// TestLeaseFollowsTheUseOfAKey: the units of a lease double with use, up to Units and MaxShare.
func TestLeaseFollowsTheUseOfAKey(t *testing.T) {
	l, _, _ := pair(t, resilience.LeaseOptions{Units: 1000})
	a := algorithm.Must(algorithm.ParseSpec("fixed-window:1000000/1h"))
	calls := 0
	for taken, i := int64(0), 0; i < 20_000; i++ {
		heat(t, l, a, "k", 1)
		if s := l.Stats(); s.Taken != taken {
			if s.Taken-taken > 1000 {
				t.Fatalf("%d units were taken at once, want at most 1000", s.Taken-taken)
			}
			calls++
			taken = s.Taken
		}
	}
	if calls < 15 || calls > 60 {
		t.Errorf("%d calls took units for 20000 asks, want about 20 with 1000 units, and a few that double", calls)
	}
	if s := l.Stats(); s.Local < 19_900 {
		t.Errorf("%+v: want almost all decisions without the store", s)
	}
}

// TestLeaseHoldsAtMostItsShare: what is missing in other processes is a lease, and half of the one before.
func TestLeaseHoldsAtMostItsShare(t *testing.T) {
	l, _, _ := pair(t, resilience.LeaseOptions{})
	a := algorithm.Must(algorithm.ParseSpec("fixed-window:10000/1h"))
	most := int64(0)
	for range 9000 {
		heat(t, l, a, "k", 1)
		most = max(most, l.Stats().Held)
	}
	if most < 500 || most > 750 {
		t.Errorf("%d units of 10000 were held with a MaxShare of 0.05, want at most 750, and about as many", most)
	}
}

// TestLeaseOnlyOfSomeLimits: others are the store's, and a limit that has leases no longer
// uses up what is held, takes no more, and gives back the rest.
func TestLeaseOnlyOfSomeLimits(t *testing.T) {
	leased := true
	l, inner, clk := pair(t, resilience.LeaseOptions{Only: func(limit string) bool { return leased && limit == "l" }})
	op := func(limit string) []store.Op {
		return []store.Op{{Slot: store.Slot{Key: "k", Limit: limit, Algorithm: parse(t, "fixed-window:100000/1h")}, Request: algorithm.Request{Cost: 1}}}
	}
	take := func(limit string, n int) {
		t.Helper()
		for range n {
			if _, committed, err := l.Apply(ctx, op(limit)); err != nil || !committed {
				t.Fatalf("committed %t, %v", committed, err)
			}
		}
	}
	if take("other", 500); l.Stats() != (resilience.LeaseStats{}) {
		t.Errorf("a limit without leases: %+v", l.Stats())
	}
	take("l", 500)
	before := l.Stats()
	if before.Held < 50 || before.Local == 0 {
		t.Fatalf("a limit with leases: %+v", before)
	}
	leased = false
	take("l", 10)
	if s := l.Stats(); s.Taken != before.Taken || s.Local != before.Local+10 {
		t.Errorf("units held are not used: %+v, and before %+v", s, before)
	}
	clk.Add(time.Second)
	l.Sweep(ctx)
	take("l", 10)
	if s := l.Stats(); s.Held != 0 || s.Keys != 0 || s.Taken != before.Taken {
		t.Errorf("a limit that has leases no longer: %+v", s)
	}
	look := op("l")
	look[0].Request.Cost = 0
	if _, err := inner.Peek(ctx, look); err != nil || look[0].Outcome.Remaining != 100000-520 {
		t.Errorf("%d units remain, %v; want %d", look[0].Outcome.Remaining, err, 100000-520)
	}
}

// TestLeaseGivesBackWhatNobodyUses: within Life, on any process, with the limit whole again.
func TestLeaseGivesBackWhatNobodyUses(t *testing.T) {
	for _, spec := range []string{"fixed-window:100000/1h", "sliding-counter:100000/1h", "gcra:100000/9600h", "token-bucket:100000/9600h"} {
		t.Run(spec, func(t *testing.T) {
			l, inner, clk := pair(t, resilience.LeaseOptions{Life: time.Second})
			a := algorithm.Must(algorithm.ParseSpec(spec))
			heat(t, l, a, "k", 500)
			if s := l.Stats(); s.Held < 100 {
				t.Fatalf("%+v, want a lease", s)
			}
			clk.Add(250 * time.Millisecond)
			returned, lost := l.Sweep(ctx)
			if s := l.Stats(); s.Held != 0 || lost != 0 || returned < 90 {
				t.Errorf("a quarter of Life after the last use %d units were given back and %d lost, %+v; want all given back", returned, lost, s)
			}
			// A rate regains one unit in 345 s: so much may be missing of each of two grants.
			if got := left(t, inner, a, "k"); got < 100000-502 || got > 100000-500 {
				t.Errorf("%d units are left in the store, want 99500, or two less of a rate", got)
			}
			clk.Add(time.Second)
			l.Sweep(ctx)
			if s := l.Stats(); s.Keys != 0 {
				t.Errorf("%d slots are watched that nobody uses, want 0", s.Keys)
			}
		})
	}
}

// TestLeaseByItselfGivesBackWithinLife needs the real clock: the goroutine of a Lease does it.
func TestLeaseByItselfGivesBackWithinLife(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	inner := weir.Must(memorystore.New(nil))
	l := weir.Must(resilience.NewLease(inner, &resilience.LeaseOptions{Life: 50 * time.Millisecond}))
	a := algorithm.Must(algorithm.ParseSpec("fixed-window:100000/9600h"))
	heat(t, l, a, "k", 500)
	deadline := time.Now().Add(30 * time.Second)
	for left(t, inner, a, "k") != 100000-500 {
		if time.Now().After(deadline) {
			t.Fatalf("%+v and %d left in the store, long after the last use", l.Stats(), left(t, inner, a, "k"))
		}
		time.Sleep(time.Millisecond)
	}
	heat(t, l, a, "k", 500)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if s := l.Stats(); s.Held != 0 || s.Lost != 0 {
		t.Errorf("after Close %+v, want nothing held or lost", s)
	}
	if _, err := takeUnits(l, a, "k", 1); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a take after Close: error %v, want ErrClosed", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

// TestLeaseUnitsEndWithTheirWindow: the first microsecond of a window has the whole limit and nothing
// from before, and what a counter was given back makes room.
func TestLeaseUnitsEndWithTheirWindow(t *testing.T) {
	for spec, want := range map[string]int64{"fixed-window:10000/1s": 10000, "sliding-counter:10000/1s": 9500} {
		t.Run(spec, func(t *testing.T) {
			l, inner, clk := pair(t, resilience.LeaseOptions{Life: time.Minute})
			clk.Add(700 * time.Millisecond)
			a := algorithm.Must(algorithm.ParseSpec(spec))
			heat(t, l, a, "k", 500)
			held := l.Stats().Held
			if held == 0 {
				t.Fatal("nothing is held")
			}
			clk.Add(300 * time.Millisecond)
			l.Sweep(ctx)
			if got := left(t, inner, a, "k"); got != want {
				t.Errorf("%d are left in the new window after 500 in the last one, want %d", got, want)
			}
			if n := drain(t, l, a, "k"); n != want {
				t.Errorf("%d units were admitted in the new window, want %d", n, want)
			}
		})
	}
}

// drain takes units until one is denied.
func drain(t testing.TB, s store.Store, a algorithm.Algorithm, key string) (n int64) {
	t.Helper()
	for {
		committed, err := takeUnits(s, a, key, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !committed {
			return n
		}
		n++
	}
}

// TestLeaseOfALimitOfTenAdmitsAllTen, on eight processes, whichever is asked.
func TestLeaseOfALimitOfTenAdmitsAllTen(t *testing.T) {
	clk := clock.NewMock()
	clk.Set(time.Unix(1_700_000_000, 0))
	inner := weir.Must(memorystore.New(&memorystore.Options{Clock: clk}))
	a := algorithm.Must(algorithm.ParseSpec("gcra:10/1h"))
	admitted := 0
	for round := range 4 {
		for range 8 {
			l := weir.Must(resilience.NewLease(inner, &resilience.LeaseOptions{Clock: clk}))
			for range 1 + round {
				if committed, err := takeUnits(l, a, "k", 1); err != nil {
					t.Fatal(err)
				} else if committed {
					admitted++
				}
			}
		}
	}
	if admitted != 10 {
		t.Errorf("%d were admitted, want 10", admitted)
	}
}

// TestLeaseAllocatesNothing for a decision of a hot key.
func TestLeaseAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	l, _, _ := pair(t, resilience.LeaseOptions{})
	limiter := weir.Must(weir.New(l, weir.Must(weir.ParseLimit("l", "gcra:1000000000/1s")), nil))
	for range 10_000 {
		weir.Must(limiter.Allow(ctx, "k"))
	}
	if n := testing.AllocsPerRun(1000, func() { limiter.Allow(ctx, "k") }); n != 0 {
		t.Errorf("%v allocations for a decision, want 0", n)
	}
}

func TestLeaseRefusesOptionsOutOfBounds(t *testing.T) {
	inner := weir.Must(memorystore.New(nil))
	defer inner.Close()
	for name, o := range map[string]resilience.LeaseOptions{
		"Units":    {Units: -1},
		"MaxShare": {MaxShare: 0.6},
		"MaxKeys":  {MaxKeys: -1},
		"Life":     {Life: time.Microsecond},
		"Timeout":  {Timeout: time.Hour},
		"Clock":    {Clock: (*clock.Mock)(nil)},
	} {
		var refused *store.InputError
		if _, err := resilience.NewLease(inner, &o); !errors.As(err, &refused) || refused.Field != "LeaseOptions."+name {
			t.Errorf("%s: error %v, want an InputError about it", name, err)
		}
	}
	if _, err := resilience.NewLease(nil, nil); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("without a store: error %v, want ErrInvalid", err)
	}
}
