package weir_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// onMock returns a store that takes its time from a mock clock.
func onMock(t *testing.T) (*memorystore.Store, *clock.Mock) {
	t.Helper()
	mock := clock.NewMock()
	mock.Set(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	s := weir.Must(memorystore.New(&memorystore.Options{Clock: mock}))
	t.Cleanup(func() { s.Close() })
	return s, mock
}

func TestChargeGoesIntoDebtAndRefundComesBack(t *testing.T) {
	s, mock := onMock(t)
	l := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("tokens", "token-bucket:10/1s")), nil))
	ctx := context.Background()
	taken, err := l.AllowN(ctx, "a", 4)
	if err != nil || !taken.Allowed {
		t.Fatal(taken, err)
	}
	if d, err := l.Charge(ctx, "a", 11); err != nil || !d.Allowed || d.Debt != 5 || d.Remaining != 0 || d.ResetAfter != 1500*time.Millisecond {
		t.Errorf("charged: %+v, %v", d, err)
	}
	if d, err := l.Allow(ctx, "a"); err != nil || d.Allowed || d.Debt != 5 || d.RetryAfter != 600*time.Millisecond {
		t.Errorf("in debt: %+v, %v", d, err)
	}
	if d, err := l.Refund(ctx, "a", 4, taken.At); err != nil || !d.Allowed || d.Debt != 1 {
		t.Errorf("given back: %+v, %v", d, err)
	}
	mock.Add(time.Hour)
	if d, err := l.Refund(ctx, "a", 11, taken.At); err != nil || d.Remaining != 10 || d.Debt != 0 {
		t.Errorf("given back when it was regained: %+v, %v", d, err)
	}
}

func TestChargeBeyondTheLargestDebtIsATypedError(t *testing.T) {
	s, _ := onMock(t)
	limit := weir.Must(weir.ParseLimit("slow", "gcra:1/9600h"))
	l, m := weir.Must(weir.New(s, limit, nil)), weir.Must(weir.NewMultiLimiter(s, nil))
	other := weir.Must(weir.ParseLimit("other", "fixed-window:5/1h"))
	ctx := context.Background()
	var refused *weir.DebtError
	if d, err := l.Charge(ctx, "a", 46); !errors.As(err, &refused) || d.Allowed || refused.Decision != d || d.RetryAfter != weir.Never {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := l.Charge(ctx, "a", 45); err != nil {
		t.Error(err)
	}
	r, err := m.Take(ctx, other.ForN("a", 3), limit.Charge("a", 1))
	if !errors.As(err, &refused) || r.Allowed || refused.Ask != 1 || refused.Decision.RetryAfter != 9600*time.Hour || refused.Decision.Debt != 44 {
		t.Errorf("%+v, %v", r, err)
	}
	if d, err := m.Peek(ctx, other.ForN("a", 0)); err != nil || d.Decisions[0].Remaining != 5 {
		t.Errorf("the other limit was charged: %+v, %v", d, err)
	}
}

func TestTakeGivesBackAndChargesInOneStep(t *testing.T) {
	s, _ := onMock(t)
	m := weir.Must(weir.NewMultiLimiter(s, nil))
	ctx := context.Background()
	estimate, actual, calls := weir.Must(weir.ParseLimit("estimate", "sliding-log:10/1m")), weir.Must(weir.ParseLimit("actual", "gcra:10/1m")), weir.Must(weir.ParseLimit("calls", "sliding-counter:2/1m"))
	r, err := m.Take(ctx, estimate.ForN("a", 8), calls.For("a"))
	if err != nil || !r.Allowed {
		t.Fatal(r, err)
	}
	at := r.Decisions[0].At
	r, err = m.Take(ctx, estimate.Refund("a", 8, at), actual.Charge("a", 12), calls.For("a"))
	if err != nil || !r.Allowed || r.Decisions[0].Remaining != 10 || r.Decisions[1].Debt != 2 || r.Decisions[2].Remaining != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = m.Take(ctx, actual.Refund("a", 12, at), calls.For("a"))
	if err != nil || r.Allowed || r.Decisions[0].Debt != 2 {
		t.Errorf("refused, and yet given back: %+v, %v", r, err)
	}
}

func TestVerbsAreRefusedWhereTheyMakeNoSense(t *testing.T) {
	s, _ := onMock(t)
	m := weir.Must(weir.NewMultiLimiter(s, nil))
	good := weir.Must(weir.ParseLimit("good", "gcra:5/1s"))
	plain := weir.Limit{Name: "plain", Algorithm: struct{ algorithm.Algorithm }{good.Algorithm}}
	ctx := context.Background()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct {
		ask   weir.Ask
		field string
	}{
		"charge of what knows none": {plain.Charge("a", 1), "Request.Verb"},
		"refund of what knows none": {plain.Refund("a", 1, at), "Request.Verb"},
		"refund of no decision":     {good.Refund("a", 1, time.Time{}), "Ask.At"},
		"charge below 0":            {good.Charge("a", -1), "Request.Cost"},
		"refund below 0":            {good.Refund("a", -1, at), "Request.Cost"},
		"charge left out":           {weir.Ask{Limit: good, Key: "a", Verb: algorithm.Charge}, "Ask.Cost"},
		"no verb":                   {weir.Ask{Limit: good, Key: "a", Cost: 1, Verb: 9}, "Request.Verb"},
		"charge with a delay":       {weir.Ask{Limit: good, Key: "a", Cost: 1, Verb: algorithm.Charge, MaxDelay: 1}, "Request.MaxDelay"},
	} {
		var refused *store.InputError
		if _, err := m.Take(ctx, test.ask); !errors.As(err, &refused) || refused.Field != test.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	var refused *store.InputError
	if _, err := m.Wait(ctx, good.Charge("a", 1)); !errors.As(err, &refused) || refused.Field != "Ask.Verb" {
		t.Errorf("Wait: %v", err)
	}
	l := weir.Must(weir.New(s, good, nil))
	if _, err := l.Refund(ctx, "a", 1, time.Time{}); !errors.As(err, &refused) || refused.Field != "at" {
		t.Errorf("Refund: %v", err)
	}
	if r, err := m.Take(ctx, good.Charge("a", 0), good.Refund("b", 0, at)); err != nil || !r.Allowed || r.Decisions[0].Remaining != 5 {
		t.Errorf("looks: %+v, %v", r, err)
	}
}

// seenVerbs remembers what an Observer is shown.
type seenVerbs []algorithm.Verb

func (v *seenVerbs) Observe(_ context.Context, o weir.Observation) { *v = append(*v, o.Verb) }

func TestObserversTellARefundFromATake(t *testing.T) {
	s, _ := onMock(t)
	var seen seenVerbs
	limit := weir.Must(weir.ParseLimit("l", "gcra:5/1s"))
	l := weir.Must(weir.New(s, limit, &weir.Options{Observer: &seen}))
	m := weir.Must(weir.NewMultiLimiter(s, &weir.Options{Observer: &seen}))
	ctx := context.Background()
	d, _ := l.Allow(ctx, "a")
	_, _ = l.Charge(ctx, "a", 1)
	_, _ = l.Refund(ctx, "a", 1, d.At)
	_, _ = m.Take(ctx, limit.Charge("a", 1), limit.Refund("b", 1, d.At))
	want := seenVerbs{algorithm.Take, algorithm.Charge, algorithm.Refund, algorithm.Charge, algorithm.Refund}
	if len(seen) != len(want) {
		t.Fatal(seen)
	}
	for i := range want {
		if seen[i] != want[i] {
			t.Error(seen)
		}
	}
}

func TestObserversSeeARefundWithoutAnInstant(t *testing.T) {
	s, _ := onMock(t)
	var seen seenVerbs
	l := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("l", "gcra:5/1s")), &weir.Options{Observer: &seen}))
	if _, err := l.Refund(context.Background(), "a", 1, time.Time{}); !errors.Is(err, store.ErrInvalid) {
		t.Fatal(err)
	}
	if len(seen) != 1 || seen[0] != algorithm.Refund {
		t.Errorf("observed: %v, want one refund", seen)
	}
}

func TestChargeOfAFailedStoreIsNotDenied(t *testing.T) {
	s, _ := onMock(t)
	down := store.Wrap(s, store.Hooks{
		Apply: func(context.Context, []store.Op, store.ApplyFunc) (algorithm.Instant, bool, error) {
			return 0, false, store.ErrUnavailable
		},
	})
	l := weir.Must(weir.New(down, weir.Must(weir.ParseLimit("l", "gcra:5/1s")), &weir.Options{OnFailure: weir.FailOpen}))
	if d, err := l.Charge(context.Background(), "a", 9); err != nil || !d.Allowed || !d.Degraded {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestSettleRefundsTheRestAndChargesTheExcess(t *testing.T) {
	limit := weir.Must(weir.ParseLimit("tokens", "token-bucket:10/24h"))
	at := time.Unix(1_764_288_000, 0)
	for _, test := range []struct {
		taken, actual int64
		verb          algorithm.Verb
		cost          int64
		differs       bool
	}{
		{5, 0, algorithm.Refund, 5, true},
		{5, 2, algorithm.Refund, 3, true},
		{5, 5, algorithm.Charge, 0, false},
		{5, 9, algorithm.Charge, 4, true},
		{0, 9, algorithm.Charge, 9, true},
		{5, -1, algorithm.Charge, -1, true}, // refused by the store
		{5, math.MinInt64, algorithm.Charge, math.MinInt64, true},
	} {
		ask, differs := limit.Settle("k", test.taken, test.actual, at)
		if differs != test.differs || ask.Verb != test.verb || ask.Cost != test.cost || ask.Key != "k" || ask.Verb == algorithm.Refund && !ask.At.Equal(at) {
			t.Errorf("%d taken, %d actual: %+v %v", test.taken, test.actual, ask, differs)
		}
	}
}
