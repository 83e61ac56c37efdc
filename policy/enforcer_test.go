package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// bench is an Enforcer on a store in memory, with a clock that the test moves.
type bench struct {
	t     *testing.T
	clock *clock.Mock
	asked *counting
	*Enforcer
}

// counting counts the calls of a decider, and may fail in its place.
type counting struct {
	weir.Decider
	takes, asks atomic.Int64
	fail        func(asks []weir.Ask) error
}

func (c *counting) Take(ctx context.Context, asks ...weir.Ask) (weir.Result, error) {
	c.takes.Add(1)
	c.asks.Add(int64(len(asks)))
	if c.fail != nil {
		if err := c.fail(asks); err != nil {
			return weir.Result{}, err
		}
	}
	return c.Decider.Take(ctx, asks...)
}

func newBench(t *testing.T, p Policy, opts *EnforcerOptions) *bench {
	t.Helper()
	b := &bench{t: t, clock: clock.NewMock()}
	b.clock.Set(noon)
	s := weir.Must(memorystore.New(&memorystore.Options{Clock: b.clock}))
	t.Cleanup(func() { s.Close() })
	b.asked = &counting{Decider: weir.Must(weir.NewMultiLimiter(s, nil))}
	if opts == nil {
		opts = &EnforcerOptions{}
	}
	opts.Clock = b.clock
	b.Enforcer = weir.Must(NewEnforcer(b.asked, compile(t, p), opts))
	return b
}

func (b *bench) decide(r Request) Verdict {
	b.t.Helper()
	v, err := b.Decide(context.Background(), r)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// admitted returns how many of n requests pass.
func (b *bench) admitted(n int, r Request) (passed int) {
	b.t.Helper()
	for range n {
		if b.decide(r).Allowed {
			passed++
		}
	}
	return passed
}

// at moves the clock to so many seconds after noon.
func (b *bench) at(seconds float64) {
	b.clock.Set(noon.Add(time.Duration(seconds * float64(time.Second))))
}

func of(pairs ...string) Request {
	r := Request{Attributes: Attributes{}}
	for i := 0; i < len(pairs); i += 2 {
		r.Attributes[pairs[i]] = pairs[i+1]
	}
	return r
}

func on(method, path string, pairs ...string) Request {
	r := of(pairs...)
	r.Method, r.Path = method, path
	return r
}

// one is a policy of rules.
func one(rules ...Rule) Policy { return Policy{Version: FormatVersion, Rules: rules} }

func specOf(spec Spec) LimitRef { return LimitRef{Spec: spec} }

func TestEnforcedLimitsAreOneTakeAndShadowsTheirOwn(t *testing.T) {
	b := newBench(t, one(
		Rule{ID: "ip", Key: []string{"ip"}, Limit: specOf("gcra:10/1m")},
		Rule{ID: "user", Key: []string{"user"}, Limit: specOf("gcra:5/1m")},
		Rule{ID: "org", Key: []string{"org"}, Limits: map[string]LimitRef{"minute": specOf("gcra:2/1m"), "day": specOf("gcra:100/24h")}},
		Rule{ID: "trial", Key: []string{"org"}, Limit: specOf("gcra:1/1m"), Mode: Shadow},
	), nil)
	request := of("ip", "192.0.2.1", "user", "u", "org", "o")
	v := b.decide(request)
	if takes, asks := b.asked.takes.Load(), b.asked.asks.Load(); takes != 2 || asks != 5 {
		t.Errorf("%d calls with %d asks, want 2 with 5", takes, asks)
	}
	if !v.Allowed || v.Rules[v.Binding].Limit.Name != "org/minute" {
		t.Errorf("allowed %t, binding %q: want org/minute, which has the least remaining", v.Allowed, v.Rules[v.Binding].Limit.Name)
	}
	b.decide(request)
	v = b.decide(request) // the third: org/minute is empty
	if binding := v.Rules[v.Binding]; v.Allowed || binding.Limit.Name != "org/minute" || v.RetryAfter != 30*time.Second || v.RetryAfter != binding.RetryAfter {
		t.Errorf("allowed %t, binding %q, retry after %s: want a denial of org/minute for 30s", v.Allowed, binding.Limit.Name, v.RetryAfter)
	}
	if v.Rules[0].Decision.Remaining != 8 {
		t.Errorf("ip has %d left: a denied request must be charged nowhere, want 8", v.Rules[0].Decision.Remaining)
	}
	if trial := v.Rules[4]; trial.Enforced || trial.Allowed || !trial.Decided {
		t.Errorf("shadow %+v: want decided, denied and not enforced", trial)
	}
}

// TestShadowRuleIsAllOrNothingByItself: its limits are asked as if they were enforced, also
// where an enforced limit denies.
func TestShadowRuleIsAllOrNothingByItself(t *testing.T) {
	for _, sequential := range []bool{true, false} {
		b := newBench(t, one(
			Rule{ID: "tight", Limit: specOf("gcra:1/24h")},
			Rule{ID: "trial", Limits: map[string]LimitRef{"day": specOf("gcra:3/24h"), "minute": specOf("gcra:100/24h")}, Mode: Shadow},
			Rule{ID: "blocks", Limits: map[string]LimitRef{"a": specOf(Block), "b": specOf("gcra:9/24h")}, Mode: Shadow},
		), &EnforcerOptions{Sequential: sequential})
		var v Verdict
		for range 5 {
			v = b.decide(of())
		}
		day, minute, blocked := v.Rules[1], v.Rules[2], v.Rules[4]
		if day.Allowed || day.Decision.Remaining != 0 || minute.Decision.Remaining != 97 || blocked.Decided {
			t.Errorf("sequential %t: day has %d left, minute %d: want 0 and 97, since the two are charged together", sequential, day.Decision.Remaining, minute.Decision.Remaining)
		}
		if n := b.asked.takes.Load(); n != 10 {
			t.Errorf("sequential %t: %d calls, want 10", sequential, n)
		}
	}
}

// TestFieldReports runs the reports on policies with the numbers that they were published with.
func TestFieldReports(t *testing.T) {
	t.Run("b47 ipv6 clients share their prefix", func(t *testing.T) {
		b := newBench(t, one(Rule{ID: "r", Key: []string{"ip"}, Limit: specOf("gcra:5/1m")}), nil)
		passed := 0
		for i := 1; i <= 100; i++ {
			passed += b.admitted(1, of("ip", fmt.Sprintf("2001:db8:1:2::%x", i)))
		}
		if passed != 5 {
			t.Errorf("%d of 100 pass from one /64, want 5", passed)
		}
		if b.admitted(1, of("ip", "2001:db8:1:3::1")) != 1 || b.admitted(6, of("ip", "203.0.113.7")) != 5 || b.admitted(1, of("ip", "203.0.113.8")) != 1 {
			t.Error("other clients are not limited on their own")
		}
	})
	t.Run("b49 port is no part of the key", func(t *testing.T) {
		b := newBench(t, one(Rule{ID: "r", Key: []string{"ip"}, Limit: specOf("gcra:2/1m")}), nil)
		passed := 0
		for i := range 10 {
			passed += b.admitted(1, of("ip", fmt.Sprintf("127.0.0.1:%d", 4000+i)))
			passed += b.admitted(1, of("ip", fmt.Sprintf("[::1]:%d", 4000+i)))
			passed += b.admitted(1, of("ip", fmt.Sprintf("@/run/%d.sock", i)))
		}
		if passed != 6 {
			t.Errorf("%d pass, want 2 for each of IPv4, IPv6 and what is no address", passed)
		}
	})
	t.Run("b50 joined parts do not collide", func(t *testing.T) {
		p := one(Rule{ID: "r", Key: []string{"type", "type_example"}, Limit: specOf("gcra:1/1m"), OnMissing: SkipMissing},
			Rule{ID: "s", Match: Match{Attributes: Conditions{"type": {"example"}}}, Key: []string{"type"}, Limit: specOf("gcra:1/1m")},
			Rule{ID: "u", Match: Match{Attributes: Conditions{"type_example": {"*"}}}, Key: []string{"type_example"}, Limit: specOf("gcra:1/1m")})
		p.Attributes = map[string]Attribute{"type": {}, "type_example": {}}
		b := newBench(t, p, nil)
		for _, r := range []Request{of("type", "example"), of("type_example", "example")} {
			if got := b.admitted(2, r); got != 1 {
				t.Errorf("%d of 2 pass, want 1", got)
			}
		}
	})
	t.Run("b51 overlapping rules count apart", func(t *testing.T) {
		p := one(Rule{ID: "all", Key: []string{"method"}, Limit: specOf("gcra:1000/1m")},
			Rule{ID: "call", Match: Match{Attributes: Conditions{"method": {"eth_call"}}}, Key: []string{"method"}, Limit: specOf("gcra:10/1m")},
			Rule{ID: "twice", Match: Match{Attributes: Conditions{"method": {"eth_call"}}}, Key: []string{"method"}, Limit: specOf("gcra:20/1m")})
		p.Attributes = map[string]Attribute{"method": {}}
		if got := newBench(t, p, nil).admitted(12, of("method", "eth_call")); got != 10 {
			t.Errorf("%d of 12 pass, want 10", got)
		}
	})
	t.Run("b52 missing, respelled and misspelled", func(t *testing.T) {
		for missing, want := range map[OnMissing]int{SkipMissing: 10, DenyMissing: 0, ShareMissing: 3} {
			b := newBench(t, one(Rule{ID: "r", Key: []string{"api_key"}, Limit: specOf("gcra:3/1m"), OnMissing: missing}), nil)
			got := b.admitted(5, of("ip", "192.0.2.1")) + b.admitted(5, of("ip", "192.0.2.2", "api_key", " \t"))
			if got != want {
				t.Errorf("%s: %d of 10 pass without a key, want %d", missing, got, want)
			}
		}
		b := newBench(t, one(Rule{ID: "r", Key: []string{"api_key"}, Limit: specOf("gcra:1/1m")}), nil)
		if got := b.admitted(1, of("api_key", " abc")) + b.admitted(1, of("api_key", "abc ")) + b.admitted(1, of("api_key", "ABC")); got != 2 {
			t.Errorf("%d pass, want 2: spaces around a key do not count, case does", got)
		}
		_, err := Compile(one(Rule{ID: "r", Key: []string{"usr"}, Limit: specOf("gcra:3/1m")}), nil)
		if e := (*FieldError)(nil); !errors.As(err, &e) || e.Path.String() != "rules[0].key[0]" || e.Suggestion != "user" {
			t.Errorf("a misspelled attribute gives %v", err)
		}
	})
	t.Run("b53 a respelled path has no budget of its own", func(t *testing.T) {
		b := newBench(t, one(Rule{ID: "r", Match: Match{Endpoints: []string{"/api/users/validate"}}, Limit: specOf("gcra:2/1m")}), nil)
		passed := 0
		for _, path := range []string{"/api/users/validate", "/api//users/validate", "//api/users/validate", "/api/users//validate"} {
			passed += b.admitted(1, on("GET", path))
		}
		if passed != 2 {
			t.Errorf("%d pass, want 2", passed)
		}
	})
	t.Run("b54 a prefix ends at a slash", func(t *testing.T) {
		b := newBench(t, one(
			Rule{ID: "a", Match: Match{Endpoints: []string{"/multiple"}}, Limit: specOf("gcra:1/1m")},
			Rule{ID: "b", Match: Match{Endpoints: []string{"/multiple_custom"}}, Limit: specOf("gcra:5/1m")},
			Rule{ID: "c", Match: Match{Endpoints: []string{"/v1/pets", "/v1/pets/"}}, Limit: specOf("gcra:2/1m")}), nil)
		for _, test := range []struct {
			path    string
			n, want int
		}{{"/multiple_custom", 5, 5}, {"/multiple", 2, 1}, {"/v1/pets", 1, 1}, {"/v1/pets/7", 1, 1}, {"/v1/petshop", 1, 1}, {"/v1/pets/8", 1, 0}} {
			if got := b.admitted(test.n, on("GET", test.path)); got != test.want {
				t.Errorf("%d of %d pass to %s, want %d", got, test.n, test.path, test.want)
			}
		}
	})
	for name, order := range map[string][]string{"short first": {"a-minute", "b-half-hour"}, "long first": {"b-minute", "a-half-hour"}} {
		t.Run("b55 a denied request is charged nowhere/"+name, func(t *testing.T) {
			b := newBench(t, one(Rule{ID: "r", Key: []string{"user"}, Limits: map[string]LimitRef{
				order[0]: specOf("fixed-window:10/1m"), order[1]: specOf("fixed-window:30/30m")}}), nil)
			for minute, want := range []int{10, 10, 10, 0} {
				b.at(float64(60 * minute))
				if got := b.admitted([]int{16, 15, 15, 5}[minute], of("user", "u")); got != want {
					t.Errorf("minute %d: %d pass, want %d", minute, got, want)
				}
			}
		})
	}
	t.Run("b56 the longest wait is the answer", func(t *testing.T) {
		b := newBench(t, one(Rule{ID: "hour", Key: []string{"user"}, Limit: specOf("fixed-window:10/1h")},
			Rule{ID: "day", Key: []string{"user"}, Limit: specOf("fixed-window:20/24h")}), nil)
		midnight := noon.Add(12 * time.Hour)
		b.clock.Set(midnight)
		b.admitted(10, of("user", "u"))
		b.clock.Set(midnight.Add(time.Hour))
		b.admitted(10, of("user", "u"))
		b.clock.Set(midnight.Add(7260 * time.Second))
		for range 15 {
			v := b.decide(of("user", "u"))
			if v.Allowed || v.Rules[v.Binding].Rule != "day" || v.RetryAfter != 79140*time.Second || v.Rules[0].Decision.Remaining != 10 {
				t.Fatalf("allowed %t, binding %s, retry after %s, hour has %d left", v.Allowed, v.Rules[v.Binding].Rule, v.RetryAfter, v.Rules[0].Decision.Remaining)
			}
		}
	})
	t.Run("b20 a lowered limit counts at once", func(t *testing.T) {
		policy := func(spec Spec) Policy {
			return one(Rule{ID: "r", Key: []string{"user"}, Limit: specOf(spec)})
		}
		b := newBench(t, policy("token-bucket:100/1m,burst=100"), nil)
		b.decide(of("user", "u"))
		b.Swap(compile(t, policy("token-bucket:10/1m,burst=10")))
		if v := b.decide(of("user", "u")); v.Rules[0].Decision.Limit != 10 || v.Rules[0].Decision.Remaining != 9 {
			t.Errorf("limit %d, remaining %d: want 10 and 9", v.Rules[0].Decision.Limit, v.Rules[0].Decision.Remaining)
		}
		if got := b.admitted(10, of("user", "u")); got != 9 {
			t.Errorf("%d more pass, want 9", got)
		}
	})
	t.Run("b22 a reload refills nothing", func(t *testing.T) {
		policy := one(Rule{ID: "r", Key: []string{"user"}, Limit: specOf("token-bucket:1/1s,burst=10")})
		b := newBench(t, policy, nil)
		if got := b.admitted(10, of("user", "u")); got != 10 {
			t.Fatal(got)
		}
		for range 100 {
			b.Swap(compile(t, policy))
			if b.decide(of("user", "u")).Allowed {
				t.Fatal("a reload has refilled a bucket")
			}
		}
	})
}

func TestSwapIsAtomic(t *testing.T) {
	policies := make([]*Compiled, 2)
	for i, name := range []string{"a", "b"} {
		spec := Spec(fmt.Sprintf("gcra:%d00000/1s", i+1))
		policies[i] = weir.Must(Compile(one(
			Rule{ID: "first", Key: []string{"user"}, Limit: specOf(spec)},
			Rule{ID: "second", Key: []string{"user"}, Limit: specOf(spec)},
			Rule{ID: "only-" + name, Key: []string{"user"}, Limit: specOf(spec), Mode: Shadow},
		), &CompileOptions{Version: name}))
	}
	s := weir.Must(memorystore.New(nil))
	defer s.Close()
	e := weir.Must(NewEnforcer(weir.Must(weir.NewMultiLimiter(s, nil)), policies[0], nil))
	var callers sync.WaitGroup
	var halves atomic.Int64
	for caller := range 64 {
		callers.Go(func() {
			for range 30 {
				v, err := e.Decide(context.Background(), of("user", fmt.Sprint(caller)))
				want := Spec("gcra:100000/1s")
				if v.Version == "b" {
					want = "gcra:200000/1s"
				}
				if err != nil || len(v.Rules) != 3 || v.Rules[0].Spec != want || v.Rules[1].Spec != want || v.Rules[2].Rule != "only-"+v.Version {
					halves.Add(1)
				}
			}
		})
	}
	for i := range 200 {
		if _, err := e.Swap(policies[(i+1)%2]); err != nil {
			t.Error(err)
		}
	}
	callers.Wait()
	if n := halves.Load(); n > 0 {
		t.Errorf("%d requests were decided by half a policy, or not", n)
	}
}

func TestFailureOfTheStore(t *testing.T) {
	rules := func(modes ...OnFailure) Policy {
		p := one()
		for i, m := range modes {
			p.Rules = append(p.Rules, Rule{ID: fmt.Sprint("r", i), Key: []string{"user"}, Limit: specOf("gcra:3/1m"), OnFailure: m, Cost: Cost{Attribute: "units", Default: 1}})
		}
		p.Rules = append(p.Rules, Rule{ID: "shadow", Limit: specOf("gcra:3/1m"), OnFailure: FailClosed, Mode: Shadow})
		return p
	}
	local := func() weir.Decider {
		s := weir.Must(memorystore.New(nil))
		t.Cleanup(func() { s.Close() })
		return weir.Must(weir.NewMultiLimiter(s, nil))
	}
	for _, test := range []struct {
		name    string
		modes   []OnFailure
		err     error
		request Request
		passed  int // of 5
		failed  bool
	}{
		{"all open", []OnFailure{FailOpen, FailOpen}, store.ErrUnavailable, of("user", "u"), 5, false},
		{"local is stricter than open", []OnFailure{FailOpen, FailLocal}, store.ErrUnavailable, of("user", "u"), 3, false},
		{"closed is the strictest", []OnFailure{FailOpen, FailLocal, FailClosed}, store.ErrUnavailable, of("user", "u"), 0, true},
		{"the enforcer says closed", []OnFailure{"", FailOpen}, store.ErrOutcomeUnknown, of("user", "u"), 0, true},
		{"no failure of the store", []OnFailure{FailOpen}, store.ErrCorrupt, of("user", "u"), 0, true},
		{"a cost that no key admits", []OnFailure{FailOpen}, store.ErrFull, of("user", "u", "units", "4"), 0, false},
	} {
		b := newBench(t, rules(test.modes...), &EnforcerOptions{Local: local()})
		b.asked.fail = func([]weir.Ask) error { return test.err }
		passed := 0
		for range 5 {
			v, err := b.Decide(context.Background(), test.request)
			if test.failed != (err != nil) || err != nil && (!errors.Is(err, test.err) || v.Allowed) {
				t.Errorf("%s: error %v with allowed %t", test.name, err, v.Allowed)
			}
			if err == nil && (!v.Degraded || !errors.Is(v.Cause, test.err)) {
				t.Errorf("%s: degraded %t because of %v", test.name, v.Degraded, v.Cause)
			}
			if v.Allowed {
				passed++
			}
			if shadow := v.Rules[len(v.Rules)-1]; !errors.Is(shadow.Err, test.err) {
				t.Errorf("%s: the error of a shadow is %v", test.name, shadow.Err)
			}
		}
		if passed != test.passed {
			t.Errorf("%s: %d of 5 pass, want %d", test.name, passed, test.passed)
		}
	}
	if _, err := NewEnforcer(local(), compile(t, rules(FailLocal)), nil); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "r0") {
		t.Errorf("a rule that needs a local decider gives %v", err)
	}
}

func TestFailureOfAShadowChangesNothing(t *testing.T) {
	b := newBench(t, one(Rule{ID: "r", Limit: specOf("gcra:3/1m")}, Rule{ID: "shadow", Limit: specOf("gcra:3/1m"), Mode: Shadow}), nil)
	b.asked.fail = func(asks []weir.Ask) error {
		if asks[0].Limit.Name == "shadow" {
			return store.ErrUnavailable
		}
		return nil
	}
	if v := b.decide(of()); !v.Allowed || v.Degraded || v.Rules[1].Err == nil {
		t.Errorf("allowed %t, degraded %t, shadow error %v", v.Allowed, v.Degraded, v.Rules[1].Err)
	}
	if s := b.Stats(); s.ShadowErrors != 1 || s.Errors != 0 || s.Decisions != 1 {
		t.Errorf("counted %+v", s)
	}
}

func TestCrossNodeErrorNamesTheCure(t *testing.T) {
	b := newBench(t, one(
		Rule{ID: "user", Key: []string{"user", "org"}, Limit: specOf("gcra:3/1m")},
		Rule{ID: "org", Key: []string{"org"}, Limits: map[string]LimitRef{"a": specOf("gcra:3/1m"), "b": specOf("gcra:3/1m")}},
	), nil)
	b.asked.fail = func([]weir.Ask) error { return fmt.Errorf("cluster: %w", store.ErrCrossNode) }
	_, err := b.Decide(context.Background(), of("user", "u", "org", "o"))
	var cross *CrossNodeError
	if !errors.As(err, &cross) || !errors.Is(err, store.ErrCrossNode) || cross.Colocate != "org" || strings.Join(cross.Rules, " ") != "user org" {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "colocate: org") {
		t.Errorf("the text does not name the cure: %v", err)
	}
}

func TestBlocksTakeNothing(t *testing.T) {
	p := one(Rule{ID: "counted", Key: []string{"user"}, Limit: specOf("gcra:3/1m")}, Rule{ID: "blocked", Key: []string{"user"}, Limit: specOf("gcra:3/1m")})
	p.Overrides = []Override{
		{Rule: "blocked", Match: Conditions{"user": {"bad"}}, Limit: Block, Until: noon.Add(time.Minute), Reason: "abuse"},
		{Rule: "blocked", Match: Conditions{"user": {"good"}}, Limit: Unlimited, Until: noon.Add(time.Minute)},
	}
	b := newBench(t, p, nil)
	v := b.decide(of("user", "bad"))
	if v.Allowed || v.RetryAfter != time.Minute || v.Rules[v.Binding].Rule != "blocked" || v.Standing != Throttled || b.asked.takes.Load() != 0 {
		t.Errorf("%+v after %d calls", v, b.asked.takes.Load())
	}
	v = b.decide(of("user", "good"))
	if !v.Allowed || v.Rules[1].Action != ActionExempt || b.asked.asks.Load() != 1 {
		t.Errorf("%+v after %d asks", v, b.asked.asks.Load())
	}
	b.clock.Set(noon.Add(time.Minute - time.Microsecond))
	if v := b.decide(of("user", "bad")); v.Allowed || v.RetryAfter != time.Microsecond {
		t.Errorf("one µs before its end the block says allowed %t, retry after %s", v.Allowed, v.RetryAfter)
	}
	b.clock.Set(noon.Add(time.Minute))
	if !b.decide(of("user", "bad")).Allowed {
		t.Error("the block counts at its end")
	}
}

func TestListsTouchNoState(t *testing.T) {
	b := newBench(t, example(), nil)
	v := b.decide(on("POST", "/login", "ip", "203.0.113.5"))
	if v.Allowed || v.List != Denied || v.Entry.Reason != "scan" || v.RetryAfter != time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).Sub(noon) {
		t.Errorf("%+v", v)
	}
	if v := b.decide(on("POST", "/login", "ip", "10.0.0.5")); !v.Allowed || v.List != Exempt {
		t.Errorf("%+v", v)
	}
	if v := b.decide(on("GET", "/", "ip", "192.0.2.5")); !v.Allowed || v.Binding != -1 {
		t.Errorf("%+v", v)
	}
	if n := b.asked.takes.Load(); n != 0 {
		t.Errorf("%d calls to the store", n)
	}
	if s := b.Stats(); s.DeniedByList != 1 || s.Exempt != 1 || s.Unmatched != 1 || s.Denied != 1 || s.Decisions != 3 {
		t.Errorf("counted %+v", s)
	}
}

func TestStandingHasHysteresisAndIsBounded(t *testing.T) {
	b := newBench(t, one(Rule{ID: "r", Key: []string{"user"}, Limit: specOf("gcra:10/10s")}), &EnforcerOptions{Standings: 1})
	var got []string
	say := func(r Request) { got = append(got, b.decide(r).Standing.String()) }
	u := of("user", "u")
	for range 11 {
		say(u) // 10 %, 20 % ... 100 %, denied
	}
	b.at(2)
	say(u) // 80 + 10 %
	b.at(4)
	say(u) // 70 + 10 %
	b.at(5.5)
	say(u) // 75 %: neither 80 nor below 70
	b.at(8)
	say(u) // 60 %
	b.at(9)
	say(u) // 60 %: calm again
	b.at(10)
	want := "normal normal normal normal normal normal normal warning warning warning throttled warning warning warning normal normal"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	for range 8 {
		b.decide(u)
	}
	for range 8 {
		b.decide(of("user", "v")) // there is room for one
	}
	v0 := b.Stats()
	if n := v0.Standings; n != 1 {
		t.Errorf("%d standings are kept, want 1", n)
	}
	if v, _ := b.Peek(context.Background(), u); v.Standing != Throttled || b.Stats().Denied != v0.Denied {
		t.Errorf("a look says %s", v.Standing)
	}
}

func TestTiersAreLookedUp(t *testing.T) {
	p := example()
	p.Rules = p.Rules[1:2]
	p.Rules[0].Match, p.Rules[0].Key = Match{}, []string{"org"}
	p.Overrides = nil
	var calls atomic.Int64
	var failing atomic.Bool
	names := map[string]string{"prem": "premium", "odd": "gold"}
	b := newBench(t, p, &EnforcerOptions{Tiers: &TierLookup{
		Attributes: []string{"org"}, Entries: 3, Timeout: time.Minute,
		Lookup: func(_ context.Context, who Attributes) (string, error) {
			calls.Add(1)
			if failing.Load() {
				return "", errors.New("the directory is down")
			}
			return names[who["org"]], nil
		},
	}})
	tier := func(pairs ...string) string {
		v := b.decide(of(pairs...))
		return v.Tier + " from " + v.TierSource.String()
	}
	expect := func(want string, wantCalls int64, pairs ...string) {
		t.Helper()
		if got := tier(pairs...); got != want || calls.Load() != wantCalls {
			t.Errorf("%v: tier %s after %d calls, want %s after %d", pairs, got, calls.Load(), want, wantCalls)
		}
	}
	expect("premium from look-up", 1, "org", "prem")
	expect("premium from look-up", 1, "org", "prem")
	expect("enterprise from subject", 1, "org", "acme")
	expect("free from attribute", 1, "org", "prem", "tier", "free")
	expect("free from default", 2, "org", "other")
	expect("free from default", 3, "org", "odd")
	if n := b.Stats().UnknownTiers; n != 1 {
		t.Errorf("%d unknown tiers, want 1", n)
	}
	failing.Store(true)
	b.at(60)
	expect2 := func() string { return tier("org", "prem") } // stale, while a look-up runs and fails
	if got := expect2(); got != "premium from look-up" {
		t.Error(got)
	}
	deadline := time.Now().Add(10 * time.Second)
	for b.Stats().TierErrors == 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if got := expect2(); got != "premium from look-up" || b.Stats().TierErrors != 1 {
		t.Errorf("after %d errors the tier is %s: an older answer counts", b.Stats().TierErrors, got)
	}
	for i := range 10 {
		tier("org", fmt.Sprint(i))
	}
	b.tiers.mu.Lock()
	kept := len(b.tiers.answers)
	b.tiers.mu.Unlock()
	if kept > 3 {
		t.Errorf("%d answers are kept, want at most 3", kept)
	}
}

func TestTierLookupIsSharedAndNotWaitedForLong(t *testing.T) {
	p := example()
	p.Rules = p.Rules[1:2]
	p.Rules[0].Match, p.Rules[0].Key = Match{}, []string{"org"}
	release := make(chan struct{})
	var calls atomic.Int64
	b := newBench(t, p, &EnforcerOptions{Tiers: &TierLookup{Attributes: []string{"org"}, Timeout: time.Millisecond,
		Lookup: func(context.Context, Attributes) (string, error) {
			calls.Add(1)
			<-release
			return "premium", nil
		}}})
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			if v := b.decide(of("org", "o")); v.TierSource != TierFromDefault {
				t.Errorf("a tier from %s without an answer", v.TierSource)
			}
		})
	}
	callers.Wait()
	close(release)
	deadline := time.Now().Add(10 * time.Second)
	for b.decide(of("org", "o")).Tier != "premium" {
		if time.Now().After(deadline) {
			t.Fatal("the answer never counts")
		}
		time.Sleep(time.Millisecond)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("%d look-ups for one subject, want 1", n)
	}
}

func TestEnforcerRefuses(t *testing.T) {
	c := compile(t, one())
	d := &counting{}
	for name, build := range map[string]func() (*Enforcer, error){
		"decider":   func() (*Enforcer, error) { return NewEnforcer(nil, c, nil) },
		"policy":    func() (*Enforcer, error) { return NewEnforcer(d, nil, nil) },
		"OnFailure": func() (*Enforcer, error) { return NewEnforcer(d, c, &EnforcerOptions{OnFailure: "shut"}) },
		"Local":     func() (*Enforcer, error) { return NewEnforcer(d, c, &EnforcerOptions{OnFailure: FailLocal}) },
		"Standings": func() (*Enforcer, error) { return NewEnforcer(d, c, &EnforcerOptions{Standings: -1}) },
		"Lookup":    func() (*Enforcer, error) { return NewEnforcer(d, c, &EnforcerOptions{Tiers: &TierLookup{}}) },
		"Attributes": func() (*Enforcer, error) {
			return NewEnforcer(d, c, &EnforcerOptions{Tiers: &TierLookup{Lookup: noTier}})
		},
		"Life": func() (*Enforcer, error) {
			return NewEnforcer(d, c, &EnforcerOptions{Tiers: &TierLookup{Lookup: noTier, Attributes: []string{"org"}, Life: -1}})
		},
		"Entries": func() (*Enforcer, error) {
			return NewEnforcer(d, c, &EnforcerOptions{Tiers: &TierLookup{Lookup: noTier, Attributes: []string{"org"}, Entries: -1}})
		},
		"Timeout": func() (*Enforcer, error) {
			return NewEnforcer(d, c, &EnforcerOptions{Tiers: &TierLookup{Lookup: noTier, Attributes: []string{"org"}, Timeout: -1}})
		},
	} {
		if _, err := build(); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	b := newBench(t, one(), nil)
	b.clock.Set(algorithm.MaxInstant.Time().Add(time.Hour))
	if v, err := b.Decide(context.Background(), of()); err == nil || v.Allowed {
		t.Errorf("a clock outside of all instants gives %+v, %v", v, err)
	}
}

func noTier(context.Context, Attributes) (string, error) { return "", nil }
