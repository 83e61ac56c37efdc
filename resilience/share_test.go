package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/store"
)

func fixed(k int64) func() int64 { return func() int64 { return k } }

func newShare(tb testing.TB, local store.Store, k func() int64, opts *resilience.ShareOptions) *resilience.Share {
	tb.Helper()
	s, err := resilience.NewShare(local, k, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestShareOfOneConforms(t *testing.T) {
	conformance.TestStore(t, func(tb testing.TB, clk clock.Clock) store.Store {
		return newShare(tb, newMemory(tb, clk), fixed(1), &resilience.ShareOptions{Settle: 1000})
	}, nil)
}

// TestSharesTogetherKeepTheBound: F4. k greedy processes over an outage of 100 s admit at
// most max(B, k) and what the limit regains.
func TestSharesTogetherKeepTheBound(t *testing.T) {
	const outage, step = 100 * time.Second, 10 * time.Millisecond
	for _, spec := range []string{
		"gcra:100/10s", "gcra:100/10s,burst=7", "gcra:3/10s,burst=10", "token-bucket:7/3s,burst=20", "leaky-bucket:100/10s,capacity=30",
		"fixed-window:100/10s", "fixed-window:2/10s", "sliding-log:30/10s", "sliding-counter:100/10s",
	} {
		for _, k := range []int64{1, 3, 4, 10} {
			t.Run(fmt.Sprintf("%s/%d processes", spec, k), func(t *testing.T) {
				if testing.Short() && k != 3 {
					t.Skip("-short: several numbers of processes")
				}
				h := newHand()
				a := parse(t, spec)
				family, _ := algorithm.FamilyOf(a.Spec().Kind)
				shares := make([]*resilience.Share, k)
				for i := range shares {
					shares[i] = newShare(t, newMemory(t, h), fixed(k), nil)
				}
				admitted := int64(0)
				for passed := time.Duration(0); passed <= outage; passed += step {
					for _, s := range shares {
						for {
							ops := []store.Op{{Slot: store.Slot{Key: "k", Algorithm: a}, Request: algorithm.Request{Cost: 1}}}
							_, committed, err := s.Apply(background, ops)
							if err != nil {
								t.Fatal(err)
							}
							if !committed {
								break
							}
							admitted++
						}
					}
					h.move(step)
				}
				p := a.Spec().Params
				bound := family.Bound(a.Spec(), outage)
				whole := max(p[2], k) - p[2] // a unit of burst for each process
				if family.Option == "" {
					whole = max(0, k-p[0]) * int64(outage/(time.Duration(p[1])*time.Microsecond)+2) // a unit of each window
				}
				if admitted > bound+whole {
					t.Errorf("%d admitted, the bound is %d + %d", admitted, bound, whole)
				}
				if family.Option != "" { // the rate is exact
					least := int64(outage/time.Microsecond)*p[0]/p[1] - k
					if admitted < least {
						t.Errorf("%d admitted, the rate alone gives %d", admitted, least)
					}
				}
			})
		}
	}
}

func TestShareScalesEachLimit(t *testing.T) {
	for _, c := range []struct {
		spec string
		k    int64
		want string
	}{
		{"gcra:100/1m,burst=20", 4, "gcra:25/1m,burst=5"},
		{"gcra:10/1m,burst=3", 4, "gcra:10/4m,burst=1"},
		{"token-bucket:7/3s,burst=20", 3, "token-bucket:7/9s,burst=6"},
		{"leaky-bucket:6/1s,capacity=5", 2, "leaky-bucket:3/1s,capacity=2"},
		{"fixed-window:100/1m", 3, "fixed-window:33/1m"},
		{"fixed-window:2/1m", 3, "fixed-window:1/1m"},
		{"sliding-log:10/1h", 10, "sliding-log:1/1h"},
		{"sliding-counter:10/1h", 3, "sliding-counter:3/1h"},
		{"gcra:3/9600h,burst=100", 1000, "gcra:1/9600h,burst=1"},
		{"gcra:100/1m", 0, "gcra:100/1m"},
		{"gcra:100/1m", -5, "gcra:100/1m"},
	} {
		var seen algorithm.Algorithm
		local := store.Wrap(newMemory(t, nil), store.Hooks{Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
			seen = ops[0].Algorithm
			return next(ctx, ops)
		}})
		s := newShare(t, local, fixed(c.k), nil)
		ops := opOf(t, c.spec, "k", 1)
		if _, _, err := s.Apply(background, ops); err != nil {
			t.Errorf("%s by %d: %v", c.spec, c.k, err)
			continue
		}
		want := parse(t, c.want)
		_, fresh := want.Step(algorithm.State{}, 0, algorithm.Request{})
		if seen.Spec() != want.Spec() || ops[0].Outcome.Limit != fresh.Limit || ops[0].Algorithm.Spec() != parse(t, c.spec).Spec() {
			t.Errorf("%s by %d: %v, want %s; the op is %+v", c.spec, c.k, seen, c.want, ops[0])
		}
	}
}

// TestShareFollowsTheNumberOfProcesses: the state runs on.
func TestShareFollowsTheNumberOfProcesses(t *testing.T) {
	k := int64(1)
	s := newShare(t, newMemory(t, newHand()), func() int64 { return k }, nil)
	for i, c := range []struct{ k, remaining int64 }{{1, 9}, {2, 3}, {5, 0}, {2, 2}, {1, 6}} {
		k = c.k
		ops := opOf(t, "fixed-window:10/1h", "k", 1)
		if _, committed, err := s.Apply(background, ops); err != nil || committed != (i != 2) || ops[0].Outcome.Remaining != c.remaining {
			t.Errorf("call %d with %d processes: %+v, %v", i, c.k, ops[0].Outcome, err)
		}
	}
}

// ownLimit is an algorithm that the package does not know.
type ownLimit struct{ algorithm.Algorithm }

func (ownLimit) Spec() algorithm.Spec { return algorithm.Spec{Kind: "own/1"} }

func TestShareOfAnAlgorithmThatIsNotKnown(t *testing.T) {
	own := ownLimit{parse(t, "gcra:10/1s")}
	ops := []store.Op{{Slot: store.Slot{Key: "k", Algorithm: own}, Request: algorithm.Request{Cost: 1}}}
	s := newShare(t, newMemory(t, nil), fixed(2), nil)
	if _, _, err := s.Apply(background, ops); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "own/1") {
		t.Errorf("%v", err)
	}
	if _, err := s.Peek(background, ops); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a look: %v", err)
	}
	s = newShare(t, newMemory(t, nil), fixed(2), &resilience.ShareOptions{Scale: func(algorithm.Algorithm, int64) (algorithm.Algorithm, error) {
		return ownLimit{parse(t, "gcra:5/1s")}, nil
	}})
	if _, committed, err := s.Apply(background, ops); err != nil || !committed || ops[0].Outcome.Limit != 5 {
		t.Errorf("%+v, %v", ops[0].Outcome, err)
	}
}

func TestShareOptionsOutOfBoundsAreRefused(t *testing.T) {
	for name, make := range map[string]func() (*resilience.Share, error){
		"no store":    func() (*resilience.Share, error) { return resilience.NewShare(nil, fixed(1), nil) },
		"no function": func() (*resilience.Share, error) { return resilience.NewShare(newMemory(t, nil), nil, nil) },
		"Settle below 0": func() (*resilience.Share, error) {
			return resilience.NewShare(newMemory(t, nil), fixed(1), &resilience.ShareOptions{Settle: -1})
		},
	} {
		if s, err := make(); !errors.Is(err, store.ErrInvalid) || s != nil {
			t.Errorf("%s: %v, error %v", name, s, err)
		}
	}
	if err := newShare(t, newMemory(t, nil), fixed(1), nil).Settle(background, nil); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("Settle without a store: %v", err)
	}
}

// settling is a share of a limit, and the shared store.
func settling(t *testing.T, settle int) (*hand, *resilience.Share, store.Store) {
	t.Helper()
	h := newHand()
	return h, newShare(t, newMemory(t, h), fixed(2), &resilience.ShareOptions{Settle: settle}), newMemory(t, h)
}

func used(t *testing.T, s store.Store, spec, key string) int64 {
	t.Helper()
	ops := opOf(t, spec, key, 0)
	if _, err := s.Peek(background, ops); err != nil {
		t.Fatal(err)
	}
	return ops[0].Outcome.Limit - ops[0].Outcome.Remaining + ops[0].Outcome.Debt
}

func take(t *testing.T, s store.Store, spec, key string, cost int64) {
	t.Helper()
	if _, committed, err := s.Apply(background, opOf(t, spec, key, cost)); err != nil || !committed {
		t.Fatalf("committed %t, %v", committed, err)
	}
}

func TestSettleChargesWhatStillCounts(t *testing.T) {
	for _, f := range algorithm.Families() {
		t.Run(f.Name, func(t *testing.T) {
			spec, full := f.Name+":20/10s", time.Hour
			if f.Calendar {
				spec, full = f.Name+":20/day", 25*time.Hour
			}
			h, s, shared := settling(t, 100)
			take(t, s, spec, "a", 7)
			take(t, s, spec, "b", 10)
			take(t, shared, spec, "b", 15) // by another process: more than the limit together
			h.move(time.Second)
			local := used(t, s, spec, "a")
			for range 2 { // the second has nothing to do
				if err := s.Settle(background, shared); err != nil {
					t.Fatal(err)
				}
			}
			if got := used(t, shared, spec, "a"); got != local || local == 0 {
				t.Errorf("%d are charged, %d count", got, local)
			}
			if got := used(t, shared, spec, "b"); got < 20 || got > 25 {
				t.Errorf("%d of 25 are charged", got)
			}
			take(t, s, spec, "a", 1)
			h.move(full)
			if err := s.Settle(background, shared); err != nil || used(t, shared, spec, "a") != 0 {
				t.Errorf("what counts no longer was charged: %v", err)
			}
			if st := s.Stats(); st.Owed != 0 || st.Settled < 14 || st.Settled > 17 {
				t.Errorf("%+v", st)
			}
		})
	}
}

func TestSettleIsBoundedAndNeverChargesTwice(t *testing.T) {
	const spec = "fixed-window:20/24h"
	_, s, shared := settling(t, 2)
	for _, key := range []string{"a", "b", "c"} {
		take(t, s, spec, key, 4)
	}
	ops := opOf(t, spec, "a", 1)
	ops[0].Request.Verb = algorithm.Refund
	if _, _, err := s.Apply(background, ops); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Owed != 2 || st.Unsettled != 4 {
		t.Errorf("%+v", st)
	}
	var fails error
	flaky := store.Wrap(shared, store.Hooks{Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
		at, committed, err := algorithm.Instant(0), false, fails
		if fails == nil || errors.Is(fails, store.ErrOutcomeUnknown) {
			if at, committed, err = next(ctx, ops); err == nil {
				err = fails
			}
		}
		return at, committed, err
	}})
	for _, fails = range []error{store.ErrUnavailable, store.ErrOutcomeUnknown, nil, nil} {
		if err := s.Settle(background, flaky); !errors.Is(err, fails) {
			t.Errorf("%v, want %v", err, fails)
		}
	}
	for key, want := range map[string]int64{"a": 3, "b": 4, "c": 0} {
		if got := used(t, shared, spec, key); got != want {
			t.Errorf("%s: %d are charged, want %d", key, got, want)
		}
	}
	if st := s.Stats(); st.Owed != 0 || st.Settled+st.Unknown != 7 || st.Unknown == 0 {
		t.Errorf("%+v", st)
	}
}

// TestShareBehindAFailureMode: the way it is used, with callers beside a Settle.
func TestShareBehindAFailureMode(t *testing.T) {
	h, s, shared := settling(t, 1000)
	_ = h
	var mu sync.Mutex
	down := true
	flaky := store.Wrap(shared, store.Hooks{Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
		mu.Lock()
		isDown := down
		mu.Unlock()
		if isDown {
			return 0, false, store.ErrUnavailable
		}
		return next(ctx, ops)
	}})
	l := weir.Must(weir.New(flaky, weir.Must(weir.ParseLimit("l", "fixed-window:100/24h")), &weir.Options{OnFailure: weir.FailLocal, Local: s}))
	var admitted, degraded int64
	var group sync.WaitGroup
	for range 256 {
		group.Go(func() {
			d, err := l.Allow(background, "k")
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if d.Allowed {
				admitted++
			}
			if d.Degraded {
				degraded++
			}
		})
	}
	group.Wait()
	if admitted != 50 || degraded != 256 {
		t.Errorf("%d admitted and %d degraded of 256 in the outage, want 50 and 256", admitted, degraded)
	}
	down = false
	group.Go(func() {
		if err := s.Settle(background, shared); err != nil {
			t.Error(err)
		}
	})
	group.Wait()
	for range 60 {
		if d, err := l.Allow(background, "k"); err != nil {
			t.Error(err)
		} else if d.Allowed {
			admitted++
		}
	}
	if admitted != 100 {
		t.Errorf("%d admitted, want 100", admitted)
	}
}

// TestShareOfStepsWithAnID: a limiter that finds out what came of a call gives each take an ID, and its
// failure mode hands it to the local store.
func TestShareOfStepsWithAnID(t *testing.T) {
	_, s, shared := settling(t, 1000)
	down := store.Wrap(shared, store.Hooks{
		Apply: func(context.Context, []store.Op, store.ApplyFunc) (algorithm.Instant, bool, error) {
			return 0, false, store.ErrUnavailable
		},
		Once: func(context.Context, store.Once, []store.Op, store.OnceFunc) (algorithm.Instant, bool, error) {
			return 0, false, store.ErrUnavailable
		},
	})
	limit := weir.Must(weir.ParseLimit("l", "fixed-window:100/24h"))
	l := weir.Must(weir.New(down, limit, &weir.Options{OnFailure: weir.FailLocal, Local: s, ResolveWithin: time.Second}))
	admitted := 0
	for range 60 {
		d, err := l.Allow(background, "k")
		if err != nil || !d.Degraded {
			t.Fatalf("%+v, error %v; want what the local store says", d, err)
		}
		if d.Allowed {
			admitted++
		}
	}
	for range 2 {
		d, err := l.AllowOnce(background, "again", 7, "id")
		if err != nil || !d.Allowed || d.Remaining != 43 {
			t.Errorf("%+v, error %v; want 43 of 50 left, also where it is asked again", d, err)
		}
	}
	if err := s.Settle(background, shared); err != nil {
		t.Fatal(err)
	}
	if k, again := used(t, shared, "fixed-window:100/24h", "k"), used(t, shared, "fixed-window:100/24h", "again"); admitted != 50 || k != 50 || again != 7 {
		t.Errorf("%d admitted of a share of 50, %d charged afterwards, and %d of a step that was asked for twice; want 50, 50 and 7", admitted, k, again)
	}
}
