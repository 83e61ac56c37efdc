package resilience_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/store"
)

// hot returns a Lease that holds units of "k", what it holds, and the store behind it.
func hot(t *testing.T, spec string) (l *resilience.Lease, inner store.Store, a algorithm.Algorithm, held int64) {
	t.Helper()
	l, memory, _ := pair(t, resilience.LeaseOptions{})
	a = algorithm.Must(algorithm.ParseSpec(spec))
	heat(t, l, a, "k", 500)
	if held = l.Stats().Held; held < 20 {
		t.Fatalf("%+v, want a lease", l.Stats())
	}
	return l, memory, a, held
}

func op(a algorithm.Algorithm, r algorithm.Request) []store.Op {
	return []store.Op{{Slot: store.Slot{Key: "k", Limit: "l", Algorithm: a}, Request: r}}
}

func TestLeaseLooksCountWhatThisProcessHolds(t *testing.T) {
	l, inner, a, held := hot(t, "fixed-window:10000/1h")
	if got := left(t, l, a, "k"); got != 9500 || left(t, inner, a, "k") != 9500-held {
		t.Errorf("%d remain and %d at the store, want 9500 and the %d held less", got, left(t, inner, a, "k"), held)
	}
	for cost, allowed := range map[int64]bool{0: true, 1: true, 9500: true, 9501: false, math.MaxInt64: false} {
		look := op(a, algorithm.Request{Cost: cost})
		if _, err := l.Peek(ctx, look); err != nil || look[0].Outcome.Allowed != allowed || (look[0].Outcome.RetryAfter == 0) != allowed {
			t.Errorf("a look for %d: %+v, error %v; want allowed %t", cost, look[0].Outcome, err, allowed)
		}
	}
	look := op(a, algorithm.Request{})
	if _, committed, err := l.Apply(ctx, look); err != nil || !committed || look[0].Outcome.Remaining != 9500 {
		t.Errorf("a take of nothing: %t, %+v, error %v; want 9500 to remain", committed, look[0].Outcome, err)
	}
	if s := l.Stats(); s.Held != held {
		t.Errorf("%d are held after looks, want %d", s.Held, held)
	}
}

// TestLeaseIsGivenBackBeforeADenial: a cost above what is held and above what the store has, and not
// above both, is admitted.
func TestLeaseIsGivenBackBeforeADenial(t *testing.T) {
	l, inner, a, held := hot(t, "fixed-window:10000/1h")
	take := op(a, algorithm.Request{Cost: 9500})
	if _, committed, err := l.Apply(ctx, take); err != nil || !committed || left(t, inner, a, "k") != 0 {
		t.Errorf("all that is left, of which %d are held: %t, %+v, error %v", held, committed, take[0].Outcome, err)
	}
	one := op(a, algorithm.Request{Cost: 1})
	if _, committed, err := l.Apply(ctx, one); err != nil || committed || one[0].Outcome.Remaining != 0 || one[0].Outcome.RetryAfter <= 0 || one[0].Outcome.RetryAfter > time.Hour {
		t.Errorf("one more: %t, %+v, error %v; want the denial of the store", committed, one[0].Outcome, err)
	}
	never := op(a, algorithm.Request{Cost: 10001})
	if _, committed, err := l.Apply(ctx, never); err != nil || committed || never[0].Outcome.RetryAfter != algorithm.Never {
		t.Errorf("a cost above the limit: %t, %+v, error %v; want never", committed, never[0].Outcome, err)
	}
}

func TestLeaseIsDroppedByReset(t *testing.T) {
	l, inner, a, held := hot(t, "gcra:10000/1h")
	if err := l.Reset(ctx, []store.Slot{{Key: "k", Limit: "l", Algorithm: a}}); err != nil {
		t.Fatal(err)
	}
	if s := l.Stats(); s.Held != 0 || s.Lost != held || left(t, inner, a, "k") != 10000 {
		t.Errorf("after a Reset %+v and %d left, want nothing held, and a fresh slot", s, left(t, inner, a, "k"))
	}
	if n := drain(t, l, a, "k"); n != 10000 {
		t.Errorf("%d were admitted after a Reset, want 10000", n)
	}
}

// TestLeaseEndsWithADebt: a charge that leaves a debt ends the lease, and one that does not leaves it.
func TestLeaseEndsWithADebt(t *testing.T) {
	l, inner, a, held := hot(t, "fixed-window:10000/1h")
	charge := op(a, algorithm.Request{Verb: algorithm.Charge, Cost: 100})
	if _, committed, err := l.Apply(ctx, charge); err != nil || !committed || l.Stats().Held != held {
		t.Errorf("a charge: %t, error %v, %+v; want the lease kept", committed, err, l.Stats())
	}
	charge = op(a, algorithm.Request{Verb: algorithm.Charge, Cost: 20000})
	if _, committed, err := l.Apply(ctx, charge); err != nil || !committed || charge[0].Outcome.Debt != 20000+600-10000+held {
		t.Errorf("a charge into debt: %t, error %v, %+v", committed, err, charge[0].Outcome)
	}
	if committed, err := takeUnits(l, a, "k", 1); committed || err != nil || l.Stats().Held != 0 {
		t.Errorf("a take in debt: %t, error %v, %+v; want it denied, and nothing held", committed, err, l.Stats())
	}
	refund := op(a, algorithm.Request{Verb: algorithm.Refund, Cost: 20600, At: algorithm.Instant(time.Unix(1_700_000_000, 0).UnixMicro())})
	if _, _, err := l.Apply(ctx, refund); err != nil || left(t, inner, a, "k") != 10000 {
		t.Errorf("after a refund of all %d are left at the store, error %v; want 10000", left(t, inner, a, "k"), err)
	}
}

// TestLeaseLeavesTakesOfSeveralSlotsToTheStore, all or nothing.
func TestLeaseLeavesTakesOfSeveralSlotsToTheStore(t *testing.T) {
	l, inner, a, held := hot(t, "fixed-window:10000/1h")
	two := append(op(a, algorithm.Request{Cost: 9500 - held}), store.Op{Slot: store.Slot{Key: "other", Limit: "l", Algorithm: a}, Request: algorithm.Request{Cost: 1}})
	two[0].Request.Cost++
	if _, committed, err := l.Apply(ctx, two); err != nil || committed {
		t.Errorf("one more than the store has: %t, error %v; want it denied", committed, err)
	}
	two[0].Request.Cost--
	if _, committed, err := l.Apply(ctx, two); err != nil || !committed || left(t, inner, a, "k") != 0 || left(t, inner, a, "other") != 9999 {
		t.Errorf("all that the store has: %t, error %v", committed, err)
	}
	if n := drain(t, l, a, "k"); n != held {
		t.Errorf("%d were admitted after it, want the %d held", n, held)
	}
}

// TestLeaseNeverLeasesALeakyBucketOrALog: each caller has its own turn, and a bound on it.
func TestLeaseNeverLeasesALeakyBucketOrALog(t *testing.T) {
	l, inner, _ := pair(t, resilience.LeaseOptions{MaxShare: 0.5})
	for _, spec := range []string{"leaky-bucket:10000/10s", "sliding-log:10000/1h"} {
		a := algorithm.Must(algorithm.ParseSpec(spec))
		for i := range 100 {
			o := op(a, algorithm.Request{Cost: 1, MaxDelay: 50 * time.Millisecond})
			_, committed, err := l.Apply(ctx, o)
			queue := strings.HasPrefix(spec, "leaky")
			if want := !queue || i <= 50; committed != want || err != nil || queue && committed && o[0].Outcome.Delay != time.Duration(i)*time.Millisecond {
				t.Fatalf("%s: take %d: %t, %+v, error %v; want a turn each millisecond, up to 50ms away", spec, i, committed, o[0].Outcome, err)
			}
		}
	}
	if s := l.Stats(); s.Taken != 0 || s.Keys != 0 {
		t.Errorf("%+v, want nothing watched; %v", s, inner.Stats())
	}
}

// TestLeaseStartsAnewWithOtherParameters: units are handed out under the parameters that they were
// taken with, and given back under them.
func TestLeaseStartsAnewWithOtherParameters(t *testing.T) {
	l, inner, a, held := hot(t, "fixed-window:10000/1h")
	less := algorithm.Must(algorithm.ParseSpec("fixed-window:400/1h"))
	if committed, err := takeUnits(l, less, "k", 1); committed || err != nil {
		t.Errorf("a take of a limit of 400 after 500: %t, error %v; want it denied", committed, err)
	}
	if s := l.Stats(); s.Held != 0 || left(t, inner, a, "k") != 9500 {
		t.Errorf("%+v and %d left, want the %d held given back", s, left(t, inner, a, "k"), held)
	}
}

// TestLeaseOutlivesAStoreThatFails: what is held is handed out, and an error is the store's.
func TestLeaseOutlivesAStoreThatFails(t *testing.T) {
	fail := error(nil)
	_, memory, clk := pair(t, resilience.LeaseOptions{})
	inner := store.Wrap(memory, store.Hooks{Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
		if fail != nil {
			return 0, false, fail
		}
		return next(ctx, ops)
	}})
	l := weir.Must(resilience.NewLease(inner, &resilience.LeaseOptions{Clock: clk}))
	a := algorithm.Must(algorithm.ParseSpec("gcra:10000/1h"))
	heat(t, l, a, "k", 500)
	held := l.Stats().Held
	fail = store.ErrUnavailable
	heat(t, l, a, "k", int(held))
	if _, err := takeUnits(l, a, "k", 1); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("with nothing held: error %v, want ErrUnavailable", err)
	}
	fail = nil
	clk.Add(250 * time.Millisecond) // no lease is asked for immediately after one that failed
	heat(t, l, a, "k", 100)
	fail = store.ErrOutcomeUnknown
	if err := l.Close(); err == nil || strings.Contains(err.Error(), `"k"`) {
		t.Errorf("Close where nothing could be given back: error %v, want one that says how many units", err)
	}
}

// TestLeaseHonoursContexts and answers nothing when one has ended.
func TestLeaseHonoursContexts(t *testing.T) {
	l, _, a, held := hot(t, "gcra:10000/1h")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := l.Apply(ended, op(a, algorithm.Request{Cost: 1})); !errors.Is(err, context.Canceled) || l.Stats().Held != held {
		t.Errorf("with a context that has ended: error %v and %+v", err, l.Stats())
	}
}

// TestLeaseServesWait: a limiter above it waits for the wait of the store.
func TestLeaseServesWait(t *testing.T) {
	l := leaseOnMemory(resilience.LeaseOptions{})(t, nil).(*resilience.Lease)
	defer l.Close()
	limiter := weir.Must(weir.New(l, weir.Must(weir.ParseLimit("l", "gcra:1000/1s,burst=200")), nil))
	start := time.Now()
	for range 400 {
		if _, err := limiter.Wait(ctx, "k"); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took < 190*time.Millisecond {
		t.Errorf("400 units of a burst of 200 and 1000 a second took %v, want 200ms: the store has charged them", took)
	}
}
