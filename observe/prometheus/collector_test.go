package promobserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// limiterOn returns a limiter that c observes.
func limiterOn(t testing.TB, s store.Store, c *Collector, spec string, opts weir.Options) *weir.Limiter {
	t.Helper()
	opts.Observer = c
	return weir.Must(weir.New(s, weir.Must(weir.ParseLimit("limit of "+spec, spec)), &opts))
}

func memory() *memorystore.Store {
	return weir.Must(memorystore.New(&memorystore.Options{Clock: clock.NewMock()}))
}

// expect compares metrics with their text.
func expect(t *testing.T, c prometheus.Collector, want string, names ...string) {
	t.Helper()
	var lines []string
	for _, line := range strings.Split(want, "\n") {
		lines = append(lines, strings.TrimSpace(line))
	}
	if err := testutil.CollectAndCompare(c, strings.NewReader(strings.Join(lines, "\n")+"\n"), names...); err != nil {
		t.Error(err)
	}
}

// TestRequestsAreCountedByWhatTheLimitAnswered: takes and waits by result, looks not at all,
// errors by class, adjustments by their units.
func TestRequestsAreCountedByWhatTheLimitAnswered(t *testing.T) {
	c := weir.Must(New(nil))
	l := limiterOn(t, memory(), c, "gcra:2/1h", weir.Options{})
	ctx := t.Context()
	for range 3 {
		weir.Must(l.Allow(ctx, "k"))
	}
	d := weir.Must(l.Peek(ctx, "k"))
	weir.Must(l.Charge(ctx, "k", 5))
	weir.Must(l.Refund(ctx, "k", 3, d.At))
	if _, err := l.AllowN(ctx, "k", -1); !errors.Is(err, store.ErrInvalid) {
		t.Fatal(err)
	}
	if _, err := l.WaitN(ctx, "k", 3); !errors.Is(err, weir.ErrNeverAdmitted) {
		t.Fatal(err)
	}
	expect(t, c, `
		# HELP rate_limiter_adjusted_units_total Units that were charged after the fact, or given back.
		# TYPE rate_limiter_adjusted_units_total counter
		rate_limiter_adjusted_units_total{algorithm="gcra",verb="charge"} 5
		rate_limiter_adjusted_units_total{algorithm="gcra",verb="refund"} 3
		# HELP rate_limiter_requests_total Answers of limits: a request that asks three limits has three. error says why there is no answer.
		# TYPE rate_limiter_requests_total counter
		rate_limiter_requests_total{algorithm="gcra",error="",result="allowed"} 2
		rate_limiter_requests_total{algorithm="gcra",error="",result="denied"} 2
		rate_limiter_requests_total{algorithm="gcra",error="",result="shadow_allowed"} 0
		rate_limiter_requests_total{algorithm="gcra",error="",result="shadow_denied"} 0
		rate_limiter_requests_total{algorithm="gcra",error="invalid",result="error"} 1
		`, "rate_limiter_adjusted_units_total", "rate_limiter_requests_total")
}

// TestErrorsAreCountedByClass: each error of the contract has a class of its own, and a text
// that a server wrote never becomes a label.
func TestErrorsAreCountedByClass(t *testing.T) {
	for want, err := range map[string]error{
		"unavailable": fmt.Errorf("dial user:4711: %w", store.ErrUnavailable), "unknown": store.ErrOutcomeUnknown,
		"contention": store.ErrContention, "corrupt": store.ErrCorrupt, "cross_node": store.ErrCrossNode, "full": store.ErrFull,
		"closed": store.ErrClosed, "context": context.Canceled, "other": errors.New("user:4711"), "invalid": store.ErrDuplicateSlot,
	} {
		c := weir.Must(New(nil))
		broken := store.Wrap(memory(), store.Hooks{Apply: func(context.Context, []store.Op, store.ApplyFunc) (algorithm.Instant, bool, error) {
			return 0, false, err
		}})
		if _, got := limiterOn(t, broken, c, "gcra:1/1s", weir.Options{}).Allow(t.Context(), "user:4711"); !errors.Is(got, err) {
			t.Fatal(got)
		}
		if n := testutil.ToFloat64(c.requests.WithLabelValues("gcra", "error", want)); n != 1 {
			t.Errorf("%v is not counted as %q", err, want)
		}
	}
}

// TestDegradedAnswersAreCountedByFailureMode: and as what they were, allowed or denied.
func TestDegradedAnswersAreCountedByFailureMode(t *testing.T) {
	c := weir.Must(New(nil))
	down := store.Wrap(memory(), store.Hooks{Apply: func(context.Context, []store.Op, store.ApplyFunc) (algorithm.Instant, bool, error) {
		return 0, false, store.ErrUnavailable
	}})
	weir.Must(limiterOn(t, down, c, "gcra:1/1s", weir.Options{OnFailure: weir.FailOpen}).Allow(t.Context(), "k"))
	local := limiterOn(t, down, c, "gcra:1/1m", weir.Options{OnFailure: weir.FailLocal, Local: memory()})
	weir.Must(local.Allow(t.Context(), "k"))
	weir.Must(local.Allow(t.Context(), "k"))
	for _, want := range []struct {
		metric prometheus.Counter
		count  float64
	}{
		{c.degraded.WithLabelValues("open"), 1}, {c.degraded.WithLabelValues("local"), 2},
		{c.requests.WithLabelValues("gcra", "allowed", ""), 2}, {c.requests.WithLabelValues("gcra", "denied", ""), 1},
	} {
		if got := testutil.ToFloat64(want.metric); got != want.count {
			t.Errorf("%v: %v, want %v", want.metric.Desc(), got, want.count)
		}
	}
}

// enforcer returns an Enforcer that c observes, for rules on a store in memory.
func enforcer(t testing.TB, c *Collector, rules ...policy.Rule) *policy.Enforcer {
	t.Helper()
	compiled := weir.Must(policy.Compile(policy.Policy{
		Version:    1,
		Attributes: map[string]policy.Attribute{"user": {}},
		Rules:      rules,
		Lists:      policy.Lists{Deny: []policy.Entry{{Match: policy.Conditions{"user": {"eve"}}}}},
	}, nil))
	m := weir.Must(weir.NewMultiLimiter(memory(), &weir.Options{Observer: c}))
	return weir.Must(policy.NewEnforcer(m, compiled, &policy.EnforcerOptions{Observer: c, Sequential: true, Clock: clock.NewMock()}))
}

func spec(text string) policy.LimitRef { return policy.LimitRef{Spec: policy.Spec(text)} }

func asUser(user string) policy.Request {
	return policy.Request{Attributes: policy.Attributes{"user": user}}
}

// TestRulesAreCountedOnceARequest: also one with several limits, and one in shadow apart.
func TestRulesAreCountedOnceARequest(t *testing.T) {
	c := weir.Must(New(&Options{ActiveKeys: true}))
	e := enforcer(t, c,
		policy.Rule{ID: "user", Key: []string{"user"}, Limits: map[string]policy.LimitRef{"hour": spec("gcra:2/1h"), "day": spec("gcra:4/24h")}},
		policy.Rule{ID: "tried", Key: []string{"user"}, Limit: spec("gcra:1/1h"), Mode: policy.Shadow},
	)
	for _, user := range []string{"ann", "ann", "ann", "bob", "eve"} {
		weir.Must(e.Decide(t.Context(), asUser(user)))
	}
	expect(t, c, `
		# HELP rate_limiter_active_keys Distinct keys that a rule was asked for in the last 5 to 10 minutes, to about 1 %.
		# TYPE rate_limiter_active_keys gauge
		rate_limiter_active_keys{enforcer="",rule="tried"} 2
		rate_limiter_active_keys{enforcer="",rule="user"} 2
		# HELP rate_limiter_list_decisions_total Requests that an entry of a list denied or exempted.
		# TYPE rate_limiter_list_decisions_total counter
		rate_limiter_list_decisions_total{list="deny"} 1
		# HELP rate_limiter_rule_decisions_total Answers of rules: of one with several limits, denied where one of them denies.
		# TYPE rate_limiter_rule_decisions_total counter
		rate_limiter_rule_decisions_total{enforcer="",result="allowed",rule="tried"} 0
		rate_limiter_rule_decisions_total{enforcer="",result="allowed",rule="user"} 3
		rate_limiter_rule_decisions_total{enforcer="",result="denied",rule="tried"} 0
		rate_limiter_rule_decisions_total{enforcer="",result="denied",rule="user"} 1
		rate_limiter_rule_decisions_total{enforcer="",result="error",rule="tried"} 0
		rate_limiter_rule_decisions_total{enforcer="",result="error",rule="user"} 0
		rate_limiter_rule_decisions_total{enforcer="",result="shadow_allowed",rule="tried"} 2
		rate_limiter_rule_decisions_total{enforcer="",result="shadow_allowed",rule="user"} 0
		rate_limiter_rule_decisions_total{enforcer="",result="shadow_denied",rule="tried"} 2
		rate_limiter_rule_decisions_total{enforcer="",result="shadow_denied",rule="user"} 0
		# HELP rate_limiter_utilization_ratio The largest used part of any limit of a rule, for any key, in the last 1 to 2 minutes, as scrapes turn them over: 1 is used up.
		# TYPE rate_limiter_utilization_ratio gauge
		rate_limiter_utilization_ratio{enforcer="",rule="tried"} 1
		rate_limiter_utilization_ratio{enforcer="",rule="user"} 1
		`, "rate_limiter_active_keys", "rate_limiter_list_decisions_total", "rate_limiter_rule_decisions_total", "rate_limiter_utilization_ratio")
	if got := testutil.ToFloat64(c.requests.WithLabelValues("gcra", "shadow_denied", "")); got != 2 {
		t.Errorf("%v limits denied in shadow, want 2", got)
	}
}

// TestRulesOfTwoEnforcersAreCountedApart: also where they have one ID; and the bound is that of
// all together.
func TestRulesOfTwoEnforcersAreCountedApart(t *testing.T) {
	c := weir.Must(New(&Options{Rules: 2}))
	verdict := func(rule string) *policy.Verdict {
		r := policy.RuleVerdict{Decided: true, Allowed: true, Decision: weir.Decision{Limit: 10, Remaining: 9}}
		r.Rule, r.Enforced = rule, true
		return &policy.Verdict{Rules: []policy.RuleVerdict{r}}
	}
	for enforcer, n := range map[string]int{"acme": 1, "shop": 2} {
		for range n {
			c.Enforcer(enforcer).ObserveVerdict(t.Context(), verdict("user"), nil)
		}
	}
	for _, rule := range []string{"more", "and more"} {
		c.Enforcer("shop").ObserveVerdict(t.Context(), verdict(rule), nil)
	}
	for _, want := range []struct {
		enforcer, rule string
		n              float64
	}{{"acme", "user", 1}, {"shop", "user", 2}, {"shop", other, 2}} {
		if got := testutil.ToFloat64(c.rules.decisions.WithLabelValues(want.enforcer, want.rule, "allowed")); got != want.n {
			t.Errorf("%s of %s: %v, want %v", want.rule, want.enforcer, got, want.n)
		}
	}
	if got := len(gather(t, c)["rate_limiter_utilization_ratio"].Metric); got != 3 {
		t.Errorf("%d rules, want 3", got)
	}
}

// TestGaugesOfAnIdleRuleFallToZero: scrapes turn the minutes over.
func TestGaugesOfAnIdleRuleFallToZero(t *testing.T) {
	c := weir.Must(New(&Options{ActiveKeys: true}))
	now := time.Unix(1_000_000, 0)
	c.rules.now = func() time.Time { return now }
	e := enforcer(t, c, policy.Rule{ID: "user", Key: []string{"user"}, Limit: spec("gcra:2/1h")})
	weir.Must(e.Decide(t.Context(), asUser("ann")))
	for i, want := range []struct{ use, keys float64 }{
		{0.5, 1}, {0.5, 1}, {0.5, 1}, // the third scrape turns the minute over the second time
		{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 0},
	} {
		if i > 0 {
			now = now.Add(time.Minute)
		}
		got := gather(t, c)
		use, keys := got["rate_limiter_utilization_ratio"].Metric[0].GetGauge().GetValue(), got["rate_limiter_active_keys"].Metric[0].GetGauge().GetValue()
		if use != want.use || keys != want.keys {
			t.Errorf("minute %d: used %v with %v keys, want %v and %v", i, use, keys, want.use, want.keys)
		}
	}
}

// gather scrapes c once.
func gather(t testing.TB, c prometheus.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, f := range families {
		byName[f.GetName()] = f
	}
	return byName
}

// TestSeriesStayBoundedUnderHostileInput: 10,000 rules, 300 kinds, a million keys and names
// that are no text.
func TestSeriesStayBoundedUnderHostileInput(t *testing.T) {
	c := weir.Must(New(&Options{Rules: 100, ActiveKeys: true}))
	rules, keys := 10_000, 1_000_000
	if race.Enabled { // which makes it take ten times as long
		keys = 50_000
	}
	for i := range keys {
		r := policy.RuleVerdict{Decided: true, Allowed: true, Decision: weir.Decision{Limit: 10, Remaining: 9}}
		r.Rule, r.Enforced, r.Key = fmt.Sprint("rule ", i%rules, "\xff"[:i%2]), true, "user:"+strconv.Itoa(i)
		c.ObserveVerdict(t.Context(), &policy.Verdict{Rules: []policy.RuleVerdict{r}}, nil)
	}
	for i := range 300 {
		c.Observe(t.Context(), weir.Observation{Limit: "l", Algorithm: kind(fmt.Sprint("kind", i, "\xff"[:i%2], "/1")), Err: errors.New(fmt.Sprint("user:", i))})
	}
	l := limiterOn(t, memory(), c, "gcra:1/1s", weir.Options{})
	for i := range 20_000 {
		weir.Must(l.Allow(t.Context(), fmt.Sprint("user:", i)))
	}
	series := 0
	for _, f := range gather(t, c) {
		series += len(f.Metric)
	}
	// 101 rules with 5 results and 2 gauges; 101 kinds with 4 results, an error, a histogram.
	if most := 101*7 + 102*6 + 10; series > most {
		t.Errorf("%d series, want at most %d", series, most)
	}
	if got := testutil.ToFloat64(c.rules.decisions.WithLabelValues("", other, "allowed")); got < float64(keys-keys/rules*200) {
		t.Errorf("%v decisions of other rules, want nearly all", got)
	}
}

// kind is an algorithm of a user.
type kind string

func (k kind) Spec() algorithm.Spec { return algorithm.Spec{Kind: string(k)} }
func (kind) Step(s algorithm.State, _ algorithm.Instant, _ algorithm.Request) (algorithm.State, algorithm.Outcome) {
	return s, algorithm.Outcome{}
}

// TestNoKeyIsShown: not in a label, a help text or an exemplar.
func TestNoKeyIsShown(t *testing.T) {
	c := weir.Must(New(&Options{ActiveKeys: true}))
	e := enforcer(t, c, policy.Rule{ID: "user", Key: []string{"user"}, Limit: spec("gcra:1/1h")})
	c.AddEnforcer("api", e)
	for range 2 {
		weir.Must(e.Decide(t.Context(), asUser("marked-4711")))
	}
	for name, f := range gather(t, c) {
		if strings.Contains(f.String(), "marked") {
			t.Errorf("%s shows a key", name)
		}
	}
}

// TestExemplarLinksADenialToItsTrace: and one that Prometheus would refuse is left out.
func TestExemplarLinksADenialToItsTrace(t *testing.T) {
	labels := prometheus.Labels{"trace_id": "4bf92f3577b34da6"}
	c := weir.Must(New(&Options{Exemplar: func(context.Context) prometheus.Labels { return labels }}))
	l := limiterOn(t, memory(), c, "gcra:1/1h", weir.Options{})
	weir.Must(l.Allow(t.Context(), "k"))
	weir.Must(l.Allow(t.Context(), "k"))
	for _, m := range gather(t, c)["rate_limiter_requests_total"].Metric {
		exemplar := m.GetCounter().GetExemplar()
		isDenial := slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetValue() == "denied" })
		if isDenial != (exemplar != nil) {
			t.Errorf("%v has the exemplar %v", m.Label, exemplar)
		}
	}
	refused := []prometheus.Labels{
		{"trace_id": strings.Repeat("x", 200)}, {"trace_id": "\xff"}, {}, {"": "x"}, {"__trace": "x"}, {"\xff": "x"}, {"1st": "x"},
	}
	for _, labels = range refused {
		weir.Must(l.Allow(t.Context(), "k"))
	}
	if got, want := testutil.ToFloat64(c.requests.WithLabelValues("gcra", "denied", "")), float64(1+len(refused)); got != want {
		t.Errorf("%v denials, want %v", got, want)
	}
}

// TestMetricsFollowTheConventions: names, units and help, as promtool checks them.
func TestMetricsFollowTheConventions(t *testing.T) {
	problems, err := testutil.CollectAndLint(withEverything(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestCallsAreMeasuredByTheStoreThatIsWrapped: each op, and with the features of the store.
func TestCallsAreMeasuredByTheStoreThatIsWrapped(t *testing.T) {
	c := weir.Must(New(&Options{NativeHistograms: true}))
	weir.Must(New(nil)).Wrap("\xff", memory()) // a name that is no text is shown as one
	wrapped := c.Wrap("redis", memory())
	if f := store.FeaturesOf(wrapped); f.Bind == nil || f.Once == nil {
		t.Error("a feature is lost")
	}
	l := limiterOn(t, wrapped, c, "gcra:1/1h", weir.Options{})
	weir.Must(l.Allow(t.Context(), "k"))
	weir.Must(l.AllowOnce(t.Context(), "k", 1, "id"))
	weir.Must(l.Peek(t.Context(), "k"))
	if err := l.Reset(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	for _, m := range gather(t, c)["rate_limiter_store_call_seconds"].Metric {
		if h := m.GetHistogram(); h.GetSampleCount() != 1 || h.Schema == nil {
			t.Errorf("%v", m)
		}
	}
}

// TestScrapesRunBesideDecisions: for the race detector.
func TestScrapesRunBesideDecisions(t *testing.T) {
	c := weir.Must(New(&Options{ActiveKeys: true}))
	e := enforcer(t, c, policy.Rule{ID: "user", Key: []string{"user"}, Limit: spec("gcra:10/1h")})
	c.AddEnforcer("api", e)
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 300 {
				weir.Must(e.Decide(t.Context(), asUser(fmt.Sprint("user ", worker, i))))
				if i%50 == 0 {
					gather(t, c)
				}
			}
		})
	}
	all.Wait()
	if got := testutil.ToFloat64(c.rules.decisions.WithLabelValues("", "user", "allowed")); got != 1200 {
		t.Errorf("%v decisions, want 1200", got)
	}
}

// TestOptionsOutsideTheirBoundsAreRefused: with the field.
func TestOptionsOutsideTheirBoundsAreRefused(t *testing.T) {
	_, err := New(&Options{Rules: -1})
	if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "Options.Rules") {
		t.Errorf("error %v", err)
	}
}

// TestErrorsThatNobodyGotAreCountedAgain: those where on_failure of a policy answers, and
// those of rules in shadow, as often as requests_total counts them; not those that callers get.
func TestErrorsThatNobodyGotAreCountedAgain(t *testing.T) {
	down := store.Wrap(memory(), store.Hooks{Apply: func(context.Context, []store.Op, store.ApplyFunc) (algorithm.Instant, bool, error) {
		return 0, false, store.ErrUnavailable
	}})
	for mode, want := range map[policy.OnFailure]float64{policy.FailOpen: 3, policy.FailClosed: 1} { // 1 is the rule in shadow
		c := weir.Must(New(nil))
		compiled := weir.Must(policy.Compile(policy.Policy{Version: 1, Attributes: map[string]policy.Attribute{"user": {}}, Rules: []policy.Rule{
			{ID: "user", Key: []string{"user"}, Limits: map[string]policy.LimitRef{"hour": spec("gcra:2/1h"), "day": spec("gcra:4/24h")}},
			{ID: "tried", Key: []string{"user"}, Limit: spec("gcra:1/1h"), Mode: policy.Shadow},
		}}, nil))
		m := weir.Must(weir.NewMultiLimiter(down, &weir.Options{Observer: c}))
		e := weir.Must(policy.NewEnforcer(m, compiled, &policy.EnforcerOptions{Observer: c, Sequential: true, OnFailure: mode}))
		if _, err := e.Decide(t.Context(), asUser("ann")); (err == nil) != (mode == policy.FailOpen) {
			t.Fatalf("%s: %v", mode, err)
		}
		if got := testutil.ToFloat64(c.rules.hidden); got != want {
			t.Errorf("%s: %v errors that nobody got, want %v", mode, got, want)
		}
		if got := testutil.ToFloat64(c.requests.WithLabelValues("gcra", "error", "unavailable")); got != 3 {
			t.Errorf("%s: %v errors, want 3", mode, got)
		}
	}
}
