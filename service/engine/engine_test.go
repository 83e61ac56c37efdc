package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

const testPolicy = `
version: 1
rules:
  - id: user
    key: [user]
    limit: gcra:10/1h
  - id: orders
    key: [user]
    endpoints:
      "POST /orders": gcra:3/1h
  - id: trial
    key: [user]
    mode: shadow
    limit: gcra:1/1h
`

// bench is an Engine on a store in memory, with a clock that the test moves.
type bench struct {
	*Engine
	clock *clock.Mock
	fail  atomic.Pointer[error] // in place of each call to the store
	lose  atomic.Bool           // the reply of each call is lost
}

func compile(t *testing.T, text string) *policy.Compiled {
	t.Helper()
	f, err := policy.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f.Compiled
}

func newBench(t *testing.T, opts *Options) *bench {
	t.Helper()
	b := &bench{clock: clock.NewMock()}
	b.clock.Set(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))
	memory := weir.Must(memorystore.New(&memorystore.Options{Clock: b.clock}))
	if opts == nil {
		opts = &Options{}
	}
	if opts.Policy == nil {
		opts.Policy = compile(t, testPolicy)
	}
	if opts.Enforcer == nil {
		opts.Enforcer = &policy.EnforcerOptions{}
	}
	opts.Enforcer.Clock = b.clock
	opts.ReservationKey = []byte("0123456789abcdef" + opts.Tenant)
	if opts.Limits == nil {
		opts.Limits = []weir.Limit{weir.Must(weir.ParseLimit("api", "gcra:10/1h"))}
	}
	wrapped := store.Wrap(memory, store.Hooks{
		Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
			if err := b.fail.Load(); err != nil {
				return 0, false, *err
			}
			at, committed, err = next(ctx, ops)
			return at, committed, b.lost(err)
		},
		Once: func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (at algorithm.Instant, committed bool, err error) {
			if err := b.fail.Load(); err != nil {
				return 0, false, *err
			}
			at, committed, err = next(ctx, o, ops)
			return at, committed, b.lost(err)
		},
	})
	b.Engine = weir.Must(New(wrapped, opts))
	t.Cleanup(func() { b.Close(); memory.Close() })
	return b
}

func (b *bench) lost(err error) error {
	if err == nil && b.lose.Load() {
		return store.ErrOutcomeUnknown
	}
	return err
}

func user(name string) Request {
	return Request{Subject: Subject{Identifier: name, Dimension: User, Endpoint: "/"}}
}

func cost(n int64) *int64 { return &n }

func (b *bench) check(t *testing.T, r Request) Answer {
	t.Helper()
	a, err := b.Check(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestCheckAnswersByTheBindingLimit(t *testing.T) {
	b := newBench(t, nil)
	r := user("u")
	r.Method, r.Endpoint = "POST", "/orders"
	a := b.check(t, r)
	if !a.Allowed || a.Rule != "orders/POST /orders" || a.Limit != 3 || a.Remaining != 2 || a.Current != 1 || a.PolicyVersion == "" {
		t.Errorf("%+v: want allowed by orders with 2 of 3 left", a)
	}
	if len(a.Decisions) != 2 || a.Decisions[0].Rule != "user" || a.Decisions[0].Remaining != 9 {
		t.Errorf("decisions %+v: want user with 9 left, and no rule in shadow", a.Decisions)
	}
	r.Cost = cost(3)
	a = b.check(t, r)
	if a.Allowed || a.RetryAfterSeconds() != 1200 || a.RetryAfter != 20*time.Minute || a.Standing != policy.Throttled {
		t.Errorf("%+v: want denied for 20 minutes", a)
	}
	r.Cost = cost(4)
	if a = b.check(t, r); a.Allowed || a.RetryAfterSeconds() != -1 {
		t.Errorf("%+v: want denied for ever", a)
	}
}

func TestCostZeroLooks(t *testing.T) {
	b := newBench(t, nil)
	r := user("u")
	b.check(t, r)
	r.Cost = cost(0)
	for range 2 {
		if a := b.check(t, r); !a.Allowed || a.Remaining != 9 {
			t.Errorf("%+v: want allowed with 9 left", a)
		}
	}
}

func TestNoRuleMatches(t *testing.T) {
	b := newBench(t, nil)
	r := user("o")
	r.Dimension = Org
	if a := b.check(t, r); !a.Allowed || a.Decisions != nil || a.Rule != "" || a.ResetAtUnix() != 0 {
		t.Errorf("%+v: want allowed without decisions", a)
	}
}

func TestQuotaChangesNothing(t *testing.T) {
	b := newBench(t, nil)
	r := user("u")
	r.Cost = cost(9)
	b.check(t, r)
	for range 2 {
		a, err := b.Quota(t.Context(), r.Subject)
		if err != nil || !a.Allowed || a.Remaining != 1 || a.Current != 9 || a.ResetAtUnix() != b.clock.Now().Add(54*time.Minute).Unix() {
			t.Errorf("%+v, %v: want 1 left", a, err)
		}
	}
	r.Cost = nil
	b.check(t, r)
	a, err := b.Quota(t.Context(), r.Subject)
	if err != nil || a.Allowed || a.Remaining != 0 || a.RetryAfter != 6*time.Minute {
		t.Errorf("%+v, %v: want none left, and one in 6 minutes", a, err)
	}
}

func TestLimitsByName(t *testing.T) {
	b := newBench(t, nil)
	a, err := b.AllowN(t.Context(), "api", "k", 4, nil)
	if err != nil || !a.Allowed || a.Remaining != 6 {
		t.Errorf("%+v, %v: want 6 left", a, err)
	}
	if err := b.Reset(t.Context(), "api", "k"); err != nil {
		t.Error(err)
	}
	if a, err = b.AllowN(t.Context(), "api", "k", 0, nil); err != nil || a.Remaining != 10 {
		t.Errorf("%+v, %v: want a look at 10", a, err)
	}
	_, err = b.AllowN(t.Context(), "nowhere", "k", 1, nil)
	if CodeOf(err) != UnknownLimit || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("%v: want UnknownLimit with the name", err)
	}
}

func TestResetSubjectForgetsAllRules(t *testing.T) {
	b := newBench(t, nil)
	r := user("u")
	r.Method, r.Endpoint = "POST", "/orders"
	b.check(t, r)
	rules, err := b.ResetSubject(t.Context(), r.Subject)
	if err != nil || !slices.Equal(rules, []string{"user", "orders", "trial"}) {
		t.Errorf("%v, %v: want all rules", rules, err)
	}
	if a := b.check(t, r); a.Remaining != 2 || a.Decisions[0].Remaining != 9 {
		t.Errorf("%+v: want one unit of fresh keys", a)
	}
}

func TestReservationSettlesOnce(t *testing.T) {
	b := newBench(t, nil)
	ctx := t.Context()
	r, err := b.Engine.Reserve(ctx, "api", "k", 8, nil)
	if err != nil || !r.Allowed || r.Token == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	for range 2 {
		s, err := b.Settle(ctx, r.Token, 5)
		if err != nil || s.Charged != 5 || s.Limit == nil || s.Limit.Remaining != 5 {
			t.Errorf("%+v, %v: want 5 charged and 5 left", s, err)
		}
	}
	if _, err := b.Settle(ctx, r.Token, 6); CodeOf(err) != Conflict {
		t.Errorf("%v: want Conflict", err)
	}
	if err := b.Cancel(ctx, r.Token); err != nil {
		t.Errorf("to cancel what is settled: %v", err)
	}
	if d, err := b.Engine.Reserve(ctx, "api", "k", 6, nil); err != nil || d.Allowed || d.Token != "" {
		t.Errorf("%+v, %v: want denied without a token", d, err)
	}
	other := newBench(t, &Options{Tenant: "other"})
	for _, token := range []string{"", r.Token + "x", strings.Repeat("x", 5000)} {
		if _, err := b.Settle(ctx, token, 1); CodeOf(err) != Invalid {
			t.Errorf("%v: want Invalid", err)
		}
	}
	if _, err := other.Settle(ctx, r.Token, 1); CodeOf(err) != Invalid {
		t.Errorf("of another tenant: %v: want Invalid", err)
	}
}

func TestBadRequestsNameEachField(t *testing.T) {
	b := newBench(t, nil)
	secret := strings.Repeat("geheim", 200)
	many := map[string]string{}
	for i := range 33 {
		many[strings.Repeat("a", i+1)] = "x"
	}
	for _, c := range []struct {
		name string
		r    Request
		want []string
	}{
		{"nothing", Request{}, []string{"identifier", "dimension", "endpoint"}},
		{"long", Request{Subject: Subject{Identifier: secret, Dimension: "COLOUR", Endpoint: "x", Method: "A B"}, Cost: cost(-1)},
			[]string{"identifier", "dimension", "endpoint", "method", "cost"}},
		{"attributes", Request{Subject: Subject{Identifier: "u", Dimension: User, Endpoint: "/", Attributes: map[string]string{"user": "v", "tenant": "t", "long": secret}}},
			[]string{"attributes.long", "attributes.tenant", "attributes.user"}},
		{"many", Request{Subject: Subject{Identifier: "u", Dimension: User, Endpoint: "/", Attributes: many}}, []string{"attributes"}},
		{"key", Request{Subject: user("u").Subject, Once: &Once{Key: "a b"}}, []string{"idempotency_key"}},
	} {
		_, err := b.Check(t.Context(), c.r)
		var e *Error
		if !errors.As(err, &e) || e.Code != Invalid {
			t.Errorf("%s: %v: want Invalid", c.name, err)
			continue
		}
		var got []string
		for _, f := range e.Fields {
			got = append(got, f.Path)
			if f.Problem == "" || f.Allowed == "" {
				t.Errorf("%s: %+v does not say what is wrong and what is allowed", c.name, f)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: fields %q, want %q", c.name, got, c.want)
		}
		if strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: the error shows a key: %v", c.name, err)
		}
	}
	for _, n := range []int64{-1, 1_000_000_000_001} {
		if _, err := b.AllowN(t.Context(), "api", "", n, nil); CodeOf(err) != Invalid || !strings.Contains(err.Error(), "key empty") || !strings.Contains(err.Error(), "n ") {
			t.Errorf("%v: want Invalid of key and n", err)
		}
	}
}

func TestStoreThatFailsIsAnsweredByTheMode(t *testing.T) {
	for _, mode := range []policy.OnFailure{policy.FailClosed, policy.FailOpen, policy.FailLocal} {
		opts := &Options{OnFailure: mode}
		if mode == policy.FailLocal {
			local := weir.Must(memorystore.New(nil))
			t.Cleanup(func() { local.Close() })
			opts.Local = local
		}
		b := newBench(t, opts)
		down := store.ErrUnavailable
		b.fail.Store(&down)
		r := user("u")
		r.Once = &Once{Key: "k"}
		for range 2 {
			a, err := b.Check(t.Context(), r)
			n, nerr := b.AllowN(t.Context(), "api", "k", 1, nil)
			if mode == policy.FailClosed {
				if CodeOf(err) != Unavailable || CodeOf(nerr) != Unavailable || a.Allowed || n.Allowed {
					t.Errorf("%s: %v, %v: want Unavailable", mode, err, nerr)
				}
				continue
			}
			if err != nil || nerr != nil || !a.Allowed || !a.Degraded || !n.Allowed || !n.Degraded {
				t.Errorf("%s: %+v %v, %+v %v: want degraded admissions", mode, a, err, n, nerr)
			}
		}
	}
}

func TestIdempotencyKeyIsChargedOnce(t *testing.T) {
	b := newBench(t, nil)
	r := user("u")
	r.Cost, r.Once = cost(2), &Once{Key: "order-1", Caller: "shop"}
	first := b.check(t, r)
	b.clock.Add(time.Second)
	again := b.check(t, r)
	if first.Replayed || !again.Replayed {
		t.Errorf("replayed %t, then %t: want false, then true", first.Replayed, again.Replayed)
	}
	if first.Numbers != again.Numbers || again.Remaining != 8 {
		t.Errorf("%+v, then %+v: want the same answer", first.Numbers, again.Numbers)
	}
	other := r
	other.Identifier = "v"
	if _, err := b.Check(t.Context(), other); CodeOf(err) != KeyReused {
		t.Errorf("another request under the key: %v: want KeyReused", err)
	}
	other.Once = &Once{Key: "order-1", Caller: "another shop"}
	if a := b.check(t, other); a.Replayed || a.Remaining != 8 {
		t.Errorf("%+v: want the key of another caller to be another one", a)
	}
	b.clock.Add(5*time.Minute + time.Second)
	if a := b.check(t, r); a.Replayed || a.Remaining != 6 {
		t.Errorf("%+v: want a new request after 5 minutes", a)
	}
}

func TestIdempotencyKeyCountsOnceConcurrently(t *testing.T) {
	b := newBench(t, nil)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			r := user("u")
			r.Once = &Once{Key: "k"}
			if a, err := b.Check(context.Background(), r); err != nil || !a.Allowed || a.Remaining != 9 {
				t.Errorf("%+v, %v: want the same answer for all", a.Numbers, err)
			}
			if a, err := b.AllowN(context.Background(), "api", "k", 3, &Once{Key: "k"}); err != nil || !a.Allowed || a.Remaining != 7 {
				t.Errorf("%+v, %v: want the same answer for all", a.Numbers, err)
			}
		})
	}
	wg.Wait()
	if a, err := b.Quota(t.Context(), user("u").Subject); err != nil || a.Remaining != 9 {
		t.Errorf("%+v, %v: want 9 left", a.Numbers, err)
	}
}

func TestIdempotencyKeyCountsOnceAfterALostReply(t *testing.T) {
	b := newBench(t, nil)
	r := user("u")
	r.Once = &Once{Key: "k"}
	b.lose.Store(true)
	for range 3 {
		if _, err := b.Check(t.Context(), r); CodeOf(err) != Unavailable || !errors.Is(err, store.ErrOutcomeUnknown) {
			t.Fatalf("%v: want an unknown outcome", err)
		}
		b.clock.Add(time.Second)
	}
	b.lose.Store(false)
	if a := b.check(t, r); !a.Replayed || a.Remaining != 9 {
		t.Errorf("%+v: want the answer of the first call", a)
	}
}

func TestDeniedRequestIsDecidedAnewUnderItsKey(t *testing.T) {
	b := newBench(t, nil)
	r := user("u")
	r.Cost = cost(10)
	b.check(t, r)
	r.Cost, r.Once = cost(1), &Once{Key: "k"}
	if a := b.check(t, r); a.Allowed {
		t.Fatalf("%+v: want denied", a)
	}
	b.clock.Add(4 * time.Minute)
	if err := b.Reset(t.Context(), "api", "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ResetSubject(t.Context(), r.Subject); err != nil {
		t.Fatal(err)
	}
	if a := b.check(t, r); !a.Allowed || a.Replayed || a.Remaining != 9 {
		t.Errorf("%+v: want admitted now, and not as a replay", a)
	}
}

// TestPolicyThatChangesKeepsAnAdmission: what was admitted under a key stays so, and is
// not charged again.
func TestPolicyThatChangesKeepsAnAdmission(t *testing.T) {
	b := newBench(t, nil)
	r := user("u")
	r.Once = &Once{Key: "k"}
	b.check(t, r)
	if _, err := b.Enforcer().Swap(compile(t, "version: 1\nrules: [{id: user, key: [user], limit: 'gcra:10/1h'}, {id: extra, key: [user], limit: 'gcra:5/1h'}]")); err != nil {
		t.Fatal(err)
	}
	if a := b.check(t, r); !a.Allowed || !a.Replayed || a.Decisions[0].Current != 1 || a.Decisions[1].Current != 0 {
		t.Errorf("%+v: want the earlier admission, charged once", a)
	}
}

func TestTenantIsAnAttribute(t *testing.T) {
	b := newBench(t, &Options{Tenant: "acme", Policy: compile(t, "version: 1\nrules: [{id: t, match: {attributes: {tenant: acme}}, limit: 'gcra:5/1h'}]")})
	if a := b.check(t, user("u")); a.Limit != 5 {
		t.Errorf("%+v: want the rule of the tenant", a)
	}
}
