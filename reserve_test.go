package weir_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	"pgregory.net/rapid"
)

// allSpecs has a limit of each kind.
var allSpecs = []string{"gcra:10/1m", "token-bucket:10/1m", "leaky-bucket:10/1m", "fixed-window:10/1m", "sliding-log:10/1m", "sliding-counter:10/1m"}

// remaining is what a key has left.
func remaining(t *testing.T, l *weir.Limiter, key string) int64 {
	t.Helper()
	d, err := l.Peek(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return d.Remaining - d.Debt
}

func TestReservationSettlesToTheActualCost(t *testing.T) {
	for _, spec := range allSpecs {
		for name, c := range map[string]struct {
			debt            bool
			others, actual  int64
			charged, remain int64
			clamped         bool
		}{
			"less":             {actual: 1, charged: 1, remain: 9},
			"nothing":          {actual: 0, charged: 0, remain: 10},
			"as much":          {actual: 4, charged: 4, remain: 6},
			"more":             {actual: 9, charged: 9, remain: 1},
			"more than fits":   {others: 3, actual: 9, charged: 7, remain: 0, clamped: true},
			"nothing is left":  {others: 6, actual: 9, charged: 4, remain: 0, clamped: true},
			"into debt":        {debt: true, others: 3, actual: 9, charged: 9, remain: -2},
			"above the limit":  {actual: 100, charged: 10, remain: 0, clamped: true},
			"less, after debt": {debt: true, others: 6, actual: 2, charged: 2, remain: 2},
		} {
			t.Run(spec+"/"+name, func(t *testing.T) {
				s, _ := onMock(t)
				l := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("tokens", spec)), &weir.Options{SettleIntoDebt: c.debt}))
				ctx := context.Background()
				r, err := l.Reserve(ctx, "a", 4)
				if err != nil || !r.Allowed() || r.Decision().Remaining != 6 {
					t.Fatal(r, err)
				}
				if d, err := l.AllowN(ctx, "a", c.others); err != nil || !d.Allowed {
					t.Fatal(d, err)
				}
				for range 3 { // the second time nothing happens
					got, err := r.Settle(ctx, c.actual)
					if err != nil || got.Charged[0] != c.charged || got.Clamped != c.clamped || got.Degraded {
						t.Errorf("%+v, %v", got, err)
					}
					if left := remaining(t, l, "a"); left != c.remain {
						t.Errorf("%d remain, want %d", left, c.remain)
					}
				}
				if _, err := r.Settle(ctx, c.actual+1); !errors.Is(err, weir.ErrSettled) {
					t.Errorf("settled with another cost: %v", err)
				}
				if err := r.Cancel(ctx); err != nil {
					t.Errorf("Cancel after Settle: %v", err)
				}
				if left := remaining(t, l, "a"); left != c.remain {
					t.Errorf("%d remain in the end, want %d", left, c.remain)
				}
			})
		}
	}
}

// TestSettlingEqualsTakingTheActualCostAtFirst (I6): at any time later, where nobody else
// came between.
func TestSettlingEqualsTakingTheActualCostAtFirst(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := rapid.SampledFrom(allSpecs).Draw(rt, "limit")
		s, mock := onMock(t)
		limit := weir.Must(weir.ParseLimit("tokens", spec))
		l := weir.Must(weir.New(s, limit, nil))
		defer l.Close()
		ctx := context.Background()
		before := rapid.Int64Range(0, 5).Draw(rt, "taken before")
		reserved := rapid.Int64Range(0, 5).Draw(rt, "reserved")
		actual := rapid.Int64Range(0, reserved).Draw(rt, "actual")
		for _, key := range []string{"settled", "taken"} {
			if d, err := l.AllowN(ctx, key, before); err != nil || !d.Allowed {
				rt.Fatal(d, err)
			}
		}
		mock.Add(time.Duration(rapid.IntRange(0, 70_000).Draw(rt, "ms before")) * time.Millisecond)
		r, err := l.Reserve(ctx, "settled", reserved)
		if err != nil || !r.Allowed() {
			rt.Fatal(r, err)
		}
		if d, err := l.AllowN(ctx, "taken", actual); err != nil || !d.Allowed {
			rt.Fatal(d, err)
		}
		mock.Add(time.Duration(rapid.IntRange(0, 130_000).Draw(rt, "ms later")) * time.Millisecond)
		if _, err := r.Settle(ctx, actual); err != nil {
			rt.Fatal(err)
		}
		for range 3 {
			settled, err := l.Peek(ctx, "settled")
			taken, otherErr := l.Peek(ctx, "taken")
			if err != nil || otherErr != nil || settled != taken {
				rt.Fatalf("settled %+v, taken at first %+v (%v, %v)", settled, taken, err, otherErr)
			}
			mock.Add(13 * time.Second)
		}
	})
}

func TestReservationOfSeveralLimitsSettlesInOneStep(t *testing.T) {
	s, _ := onMock(t)
	m := weir.Must(weir.NewMultiLimiter(s, nil))
	ctx := context.Background()
	requests, tokens, bytes := weir.Must(weir.ParseLimit("requests", "gcra:5/1m")), weir.Must(weir.ParseLimit("tokens", "sliding-log:100/1m")), weir.Must(weir.ParseLimit("bytes", "fixed-window:1000/1h"))
	r, err := m.Reserve(ctx, requests.For("a"), tokens.ForN("a", 60), bytes.ForN("b", 500))
	if err != nil || !r.Allowed() {
		t.Fatal(r, err)
	}
	if _, err := r.Settle(ctx, 1, 2); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("with a cost too few: %v", err)
	}
	if _, err := r.Settle(ctx, 1, 2, -1); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("with a cost below 0: %v", err)
	}
	got, err := r.Settle(ctx, 1, 20, 1200)
	if err != nil || !slices.Equal(got.Charged, []int64{1, 20, 1000}) || !got.Clamped || got.Decisions[1].Remaining != 80 {
		t.Errorf("%+v, %v", got, err)
	}
	look, err := m.Peek(ctx, requests.ForN("a", 0), tokens.ForN("a", 0), bytes.ForN("b", 0))
	if err != nil || look.Decisions[0].Remaining != 4 || look.Decisions[1].Remaining != 80 || look.Decisions[2].Remaining != 0 {
		t.Errorf("%+v, %v", look, err)
	}
}

// TestCancelledDenialsGiveNothingBack (B34): and a cancelled caller of a queue gives up its
// place.
func TestCancelledDenialsGiveNothingBack(t *testing.T) {
	s, mock := onMock(t)
	ctx := context.Background()
	queue := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("queue", "leaky-bucket:1/1s,capacity=2")), nil))
	delay := func(want time.Duration) *weir.Reservation {
		t.Helper()
		r, err := queue.Reserve(ctx, "a", 1)
		if err != nil || !r.Allowed() || r.Result().Delay != want {
			t.Fatalf("%+v, %v; want a delay of %v", r.Result(), err, want)
		}
		return r
	}
	delay(0)
	mock.Add(100 * time.Millisecond)
	b := delay(900 * time.Millisecond)
	mock.Add(100 * time.Millisecond)
	for range 3 {
		if err := b.Cancel(ctx); err != nil {
			t.Fatal(err)
		}
	}
	mock.Add(100 * time.Millisecond)
	delay(700 * time.Millisecond)
	if err := b.Cancel(ctx); err != nil { // after its turn has gone to C
		t.Fatal(err)
	}
	if d, err := queue.Allow(ctx, "a"); err != nil || d.Allowed {
		t.Errorf("a second cancel freed a place: %+v, %v", d, err)
	}

	bucket := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("bucket", "gcra:5/1h")), nil))
	if d, err := bucket.AllowN(ctx, "a", 5); err != nil || !d.Allowed {
		t.Fatal(d, err)
	}
	for range 100 {
		r, err := bucket.Reserve(ctx, "a", 1)
		if err != nil || r.Allowed() {
			t.Fatal(r, err)
		}
		if err := r.Cancel(ctx); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Settle(ctx, 0); err != nil || got.Charged[0] != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if d, err := bucket.Allow(ctx, "a"); err != nil || d.Allowed {
		t.Errorf("after cancelled denials: %+v, %v", d, err)
	}
}

// TestCancelIsOfTheWindowOfItsTake (B44).
func TestCancelIsOfTheWindowOfItsTake(t *testing.T) {
	s, mock := onMock(t)
	mock.Set(time.Date(2026, 1, 2, 3, 4, 5, 900_000_000, time.UTC))
	l := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("good", "fixed-window:10/1s")), nil))
	ctx := context.Background()
	failed, err := l.Reserve(ctx, "a", 1)
	if err != nil || !failed.Allowed() {
		t.Fatal(failed, err)
	}
	mock.Add(200 * time.Millisecond)
	if d, err := l.AllowN(ctx, "a", 10); err != nil || !d.Allowed {
		t.Fatal(d, err)
	}
	mock.Add(100 * time.Millisecond)
	if err := failed.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
	if d, err := l.Allow(ctx, "a"); err != nil || d.Allowed {
		t.Errorf("the eleventh of a window: %+v, %v", d, err)
	}
}

func TestReservationOfAFailureModeSettlesWhereItWasTaken(t *testing.T) {
	ctx := context.Background()
	limit := weir.Must(weir.ParseLimit("tokens", "gcra:10/1h"))
	inner, _ := onMock(t)
	var down atomic.Bool
	fail := func() error {
		if down.Load() {
			return store.ErrUnavailable
		}
		return nil
	}
	s := store.Wrap(inner, store.Hooks{Once: func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error) {
		if err := fail(); err != nil {
			return 0, false, err
		}
		return next(ctx, o, ops)
	}})
	local, _ := onMock(t)
	standing := func(s store.Store) int64 {
		m := weir.Must(weir.NewMultiLimiter(s, nil))
		return weir.Must(m.Peek(ctx, limit.ForN("a", 0))).Decisions[0].Remaining
	}

	open := weir.Must(weir.NewMultiLimiter(s, &weir.Options{OnFailure: weir.FailOpen}))
	down.Store(true)
	r, err := open.Reserve(ctx, limit.ForN("a", 4))
	if err != nil || !r.Allowed() || !r.Decision().Degraded {
		t.Fatal(r, err)
	}
	down.Store(false)
	if got, err := r.Settle(ctx, 9); err != nil || !got.Degraded || got.Charged[0] != 0 || standing(inner) != 10 {
		t.Errorf("of FailOpen: %+v, %v, %d remain", got, err, standing(inner))
	}

	here := weir.Must(weir.NewMultiLimiter(s, &weir.Options{OnFailure: weir.FailLocal, Local: local}))
	down.Store(true)
	r, err = here.Reserve(ctx, limit.ForN("a", 4))
	if err != nil || !r.Allowed() || standing(local) != 6 {
		t.Fatal(r, err)
	}
	text, err := r.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	down.Store(false)
	if got, err := r.Settle(ctx, 1); err != nil || got.Degraded || got.Charged[0] != 1 || standing(local) != 9 || standing(inner) != 10 {
		t.Errorf("of FailLocal: %+v, %v, %d remain here, %d there", got, err, standing(local), standing(inner))
	}
	elsewhere := weir.Must(here.Resume(text, limit))
	if got, err := elsewhere.Settle(ctx, 0); err != nil || !got.Degraded || standing(local) != 9 || standing(inner) != 10 {
		t.Errorf("of FailLocal in another process: %+v, %v", got, err)
	}

	// A settlement has no failure mode.
	r = weir.Must(here.Reserve(ctx, limit.ForN("a", 4)))
	down.Store(true)
	if _, err := r.Settle(ctx, 1); !errors.Is(err, store.ErrUnavailable) || standing(local) != 9 || standing(inner) != 6 {
		t.Errorf("while the store is down: %v, %d remain here, %d there", err, standing(local), standing(inner))
	}
	down.Store(false)
	if got, err := r.Settle(ctx, 1); err != nil || got.Charged[0] != 1 || standing(inner) != 9 {
		t.Errorf("afterwards: %+v, %v", got, err)
	}
}

func TestConcurrentSettlementsAreOne(t *testing.T) {
	s, _ := onMock(t)
	l := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("tokens", "gcra:1000/24h")), nil))
	ctx := context.Background()
	text, err := weir.Must(l.Reserve(ctx, "a", 100)).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var settled atomic.Int64
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			r := weir.Must(l.Resume(text)) // as in processes of their own
			if _, err := r.Settle(ctx, int64(n)); err == nil {
				settled.Store(int64(n))
			} else if !errors.Is(err, weir.ErrSettled) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if left := remaining(t, l, "a"); left != 1000-settled.Load() {
		t.Errorf("%d remain, and %d was settled", left, settled.Load())
	}
}

func TestReserveRefusesWhatCannotBeSettled(t *testing.T) {
	s, _ := onMock(t)
	m := weir.Must(weir.NewMultiLimiter(s, nil))
	ctx := context.Background()
	limit := weir.Must(weir.ParseLimit("tokens", "gcra:10/1h"))
	for name, asks := range map[string][]weir.Ask{
		"a charge":                 {limit.Charge("a", 1)},
		"no asks":                  {},
		"without a name":           {weir.Limit{Algorithm: limit.Algorithm}.For("a")},
		"IDs that differ":          {limit.For("a"), weir.Once("x", limit.For("b"))[0]},
		"an algorithm of takes":    {weir.Limit{Name: "l", Algorithm: takesOnly{limit.Algorithm}}.For("a")},
		"a cost below 0":           {limit.ForN("a", -1)},
		"a key that is not there":  {limit.For("")},
		"an ID that is too long":   weir.Once(string(make([]byte, 201)), limit.For("a")),
		"a cost that is left away": {{Limit: limit, Key: "a"}},
	} {
		if r, err := m.Reserve(ctx, asks...); !errors.Is(err, store.ErrInvalid) || r != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	plain := struct{ store.Store }{s}
	if r, err := weir.Must(weir.NewMultiLimiter(plain, nil)).Reserve(ctx, limit.For("a")); !errors.Is(err, store.ErrUnsupported) || r != nil {
		t.Errorf("on a store without IDs: %v, %v", r, err)
	}
	if _, err := weir.NewMultiLimiter(plain, &weir.Options{ResolveWithin: time.Second}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("ResolveWithin on a store without IDs: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := m.Reserve(ctx, limit.For("a")); !errors.Is(err, store.ErrClosed) || r != nil {
		t.Errorf("closed: %v, %v", r, err)
	}
}

// takesOnly is an algorithm without verbs.
type takesOnly struct{ algorithm.Algorithm }

// TestIDOfATakeIsNotOfASettlement: whatever the ID looks like.
func TestIDOfATakeIsNotOfASettlement(t *testing.T) {
	s, _ := onMock(t)
	m := weir.Must(weir.NewMultiLimiter(s, nil))
	ctx := context.Background()
	limit := weir.Must(weir.ParseLimit("tokens", "gcra:10/24h"))
	r := weir.Must(m.Reserve(ctx, weir.Once("order/17", limit.ForN("a", 4))...))
	for _, id := range []string{"order/17/settle", "order/17 settle"} {
		if got, err := m.Take(ctx, weir.Once(id, limit.For("a"))...); err != nil || !got.Allowed {
			t.Fatal(got, err)
		}
	}
	if err := r.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
	if look := weir.Must(m.Peek(ctx, limit.ForN("a", 0))); look.Decisions[0].Remaining != 8 {
		t.Errorf("%d remain after a Cancel, want 8", look.Decisions[0].Remaining)
	}
}

// TestSettlementIsForgottenAfterTheTTL (D5): a settlement that is known no longer is a new one, as
// the docs say.
func TestSettlementIsForgottenAfterTheTTL(t *testing.T) {
	s, mock := onMock(t)
	l := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("tokens", "gcra:10/240h")), &weir.Options{IDTTL: time.Minute}))
	ctx := context.Background()
	text, err := weir.Must(l.Reserve(ctx, "a", 8)).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	settle := func(want int64) {
		t.Helper()
		if _, err := weir.Must(l.Resume(text)).Settle(ctx, 6); err != nil || remaining(t, l, "a") != want {
			t.Errorf("%d remain, %v; want %d", remaining(t, l, "a"), err, want)
		}
	}
	settle(4)
	mock.Add(time.Minute - time.Microsecond)
	settle(4)
	mock.Add(time.Microsecond)
	settle(6)
}

func TestMemoryForgetsIDs(t *testing.T) {
	s, mock := onMock(t)
	l := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("tokens", "gcra:1000/1s")), &weir.Options{IDTTL: time.Minute}))
	for n := range 500 {
		if _, err := l.AllowOnce(context.Background(), "a", 1, fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Stats(); got != (memorystore.Stats{Keys: 1, IDs: 500}) {
		t.Errorf("%+v", got)
	}
	now := func() algorithm.Instant { return weir.Must(algorithm.InstantOf(mock.Now())) }
	mock.Add(time.Minute)
	if dropped := s.Sweep(now()); dropped != 1 {
		t.Errorf("%d are dropped within the grace", dropped)
	}
	mock.Add(time.Second)
	if dropped := s.Sweep(now()); dropped != 500 || s.Stats() != (memorystore.Stats{}) {
		t.Errorf("%d are dropped, %+v are left", dropped, s.Stats())
	}
}

// TestSettlementThatChangesNothingIsKnownToOtherHolders: also one that takes nothing, since nothing is left.
func TestSettlementThatChangesNothingIsKnownToOtherHolders(t *testing.T) {
	for _, spec := range allSpecs {
		l := weir.Must(weir.New(newMemory(t, nil), weir.Must(weir.ParseLimit("tokens", spec)), nil))
		ctx := context.Background()
		limit := l.Limit()
		for _, c := range []struct{ reserved, actual int64 }{{1, 1}, {0, 0}} {
			key := fmt.Sprint("k", c)
			r, err := l.Reserve(ctx, key, c.reserved)
			if err != nil {
				t.Fatal(err)
			}
			text, err := r.MarshalText()
			if err != nil {
				t.Fatal(err)
			}
			if s, err := r.Settle(ctx, c.actual); err != nil || s.Charged[0] != c.actual || s.Decisions == nil {
				t.Errorf("%s: %+v, %v", spec, s, err)
			}
			before := remaining(t, l, key)
			other, err := l.Resume(text)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := other.Settle(ctx, c.actual+1); !errors.Is(err, weir.ErrSettled) {
				t.Errorf("%s: settled by another holder, too: %v", spec, err)
			}
			again, err := l.Resume(text)
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Cancel(ctx); err != nil || remaining(t, l, key) != before {
				t.Errorf("%s: cancelled by another holder: %v, %d remain, want %d", spec, err, remaining(t, l, key), before)
			}
		}
		// Nobody else holds this one: nothing is sent.
		r, err := l.Reserve(ctx, "alone", 1)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := r.Settle(ctx, 1); err != nil || s.Decisions != nil {
			t.Errorf("%s: %+v, %v", spec, s, err)
		}
		// With nothing left the excess is clamped to nothing, and that is known, too.
		r, err = weir.Must(weir.NewMultiLimiter(newMemory(t, nil), nil)).Reserve(ctx, weir.Once("id", limit.ForN("full", remaining(t, l, "full")))...)
		if err != nil || !r.Allowed() {
			t.Fatal(err)
		}
		if s, err := r.Settle(ctx, 1_000_000); err != nil || !s.Clamped || s.Decisions == nil {
			t.Errorf("%s: %+v, %v", spec, s, err)
		}
	}
}
