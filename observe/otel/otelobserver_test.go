package otelobserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	api "go.opentelemetry.io/otel/trace"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	otelobserver "github.com/weirgo/weir/observe/otel"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// bench collects what an Observer tells.
type bench struct {
	t        *testing.T
	observer *otelobserver.Observer
	tracers  *trace.TracerProvider
	ended    *tracetest.SpanRecorder
	reader   *metric.ManualReader
}

func newBench(t *testing.T, spans bool, sampler trace.Sampler) *bench {
	t.Helper()
	b := &bench{t: t, ended: tracetest.NewSpanRecorder(), reader: metric.NewManualReader()}
	b.tracers = trace.NewTracerProvider(trace.WithSpanProcessor(b.ended), trace.WithSampler(sampler))
	meters := metric.NewMeterProvider(metric.WithReader(b.reader))
	b.observer = weir.Must(otelobserver.New(&otelobserver.Options{TracerProvider: b.tracers, MeterProvider: meters, Spans: spans}))
	return b
}

func memory() *memorystore.Store {
	return weir.Must(memorystore.New(&memorystore.Options{Clock: clock.NewMock()}))
}

func (b *bench) limiter(s store.Store, spec string) *weir.Limiter {
	return weir.Must(weir.New(s, weir.Must(weir.ParseLimit("api", spec)), &weir.Options{Observer: b.observer}))
}

// within runs f in a span of a caller.
func (b *bench) within(f func(ctx context.Context)) {
	ctx, span := b.tracers.Tracer("caller").Start(b.t.Context(), "caller")
	f(ctx)
	span.End()
}

// attributes are those of a span, as text.
func attributes(s trace.ReadOnlySpan) string {
	var all []string
	for _, a := range s.Attributes() {
		all = append(all, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
	}
	return strings.Join(all, " ")
}

// counts are the values of a counter by their attributes.
func (b *bench) counts(name string) map[string]int64 {
	b.t.Helper()
	var all metricdata.ResourceMetrics
	if err := b.reader.Collect(b.t.Context(), &all); err != nil {
		b.t.Fatal(err)
	}
	found := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, is := m.Data.(metricdata.Sum[int64]); is && m.Name == name {
				for _, p := range sum.DataPoints {
					found[p.Attributes.Encoded(attribute.DefaultEncoder())] = p.Value
				}
			}
		}
	}
	return found
}

// TestAnswerIsToldInTheSpanOfTheCaller: without a span of its own.
func TestAnswerIsToldInTheSpanOfTheCaller(t *testing.T) {
	b := newBench(t, false, trace.AlwaysSample())
	l := b.limiter(memory(), "gcra:1/1m")
	for range 2 {
		b.within(func(ctx context.Context) { weir.Must(l.Allow(ctx, "user:4711")) })
	}
	spans := b.ended.Ended()
	if len(spans) != 2 {
		t.Fatalf("%d spans, want 2", len(spans))
	}
	for i, want := range []string{
		"weir.limit=api weir.algorithm=gcra weir.cost=1 weir.allowed=true weir.remaining=0 weir.degraded=false weir.retry_after_ms=0",
		"weir.limit=api weir.algorithm=gcra weir.cost=1 weir.allowed=false weir.remaining=0 weir.degraded=false weir.retry_after_ms=60000",
	} {
		if got := attributes(spans[i]); got != want {
			t.Errorf("call %d: %s\nwant %s", i, got, want)
		}
	}
}

// TestSpanOfTheCallerShowsTheLimitThatRefused: not the one that would have admitted.
func TestSpanOfTheCallerShowsTheLimitThatRefused(t *testing.T) {
	b := newBench(t, false, trace.AlwaysSample())
	m := weir.Must(weir.NewMultiLimiter(memory(), &weir.Options{Observer: b.observer}))
	tight, wide := weir.Must(weir.ParseLimit("tight", "gcra:1/1m")), weir.Must(weir.ParseLimit("wide", "gcra:9/1m"))
	for range 2 {
		b.within(func(ctx context.Context) { weir.Must(m.Take(ctx, tight.For("k"), wide.For("k"))) })
	}
	if got := attributes(b.ended.Ended()[1]); !strings.HasPrefix(got, "weir.limit=tight ") {
		t.Errorf("%s: want the limit tight", got)
	}
}

// TestSpanOfTheCallerShowsTheLimitThatIsObeyed: not one in shadow, which refuses, too.
func TestSpanOfTheCallerShowsTheLimitThatIsObeyed(t *testing.T) {
	b := newBench(t, false, trace.AlwaysSample())
	m := weir.Must(weir.NewMultiLimiter(memory(), &weir.Options{Observer: b.observer}))
	obeyed, tried := weir.Must(weir.ParseLimit("obeyed", "gcra:1/1m")).For("k"), weir.Must(weir.ParseLimit("tried", "gcra:1/1m")).For("k")
	tried.Shadow = true
	for range 2 {
		b.within(func(ctx context.Context) { weir.Must(m.Take(ctx, obeyed, tried)) })
	}
	for i, s := range b.ended.Ended() {
		if got := attributes(s); !strings.HasPrefix(got, "weir.limit=obeyed ") {
			t.Errorf("call %d: %s: want the limit obeyed", i, got)
		}
	}
}

// TestSpanOfACallerWhoAsksTwiceShowsOneAnswer: the wait after the first is not that after the
// second.
func TestSpanOfACallerWhoAsksTwiceShowsOneAnswer(t *testing.T) {
	b := newBench(t, false, trace.AlwaysSample())
	l := b.limiter(memory(), "gcra:1/1m")
	b.within(func(ctx context.Context) {
		weir.Must(l.AllowN(ctx, "k", 2))
		weir.Must(l.Allow(ctx, "k"))
	})
	const want = "weir.limit=api weir.algorithm=gcra weir.cost=1 weir.allowed=true weir.remaining=0 weir.degraded=false weir.retry_after_ms=0"
	if got := attributes(b.ended.Ended()[0]); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestEachAnswerHasASpanWhereAsked: one a limit, a child of the caller's, with the call of the
// store beside it.
func TestEachAnswerHasASpanWhereAsked(t *testing.T) {
	b := newBench(t, true, trace.AlwaysSample())
	l := b.limiter(b.observer.Wrap(memory()), "gcra:1/1m")
	b.within(func(ctx context.Context) {
		weir.Must(l.Allow(ctx, "k"))
		weir.Must(l.Peek(ctx, "k"))
		weir.Must(l.AllowOnce(ctx, "k", 1, "id"))
		if err := l.Reset(ctx, "k"); err != nil {
			t.Error(err)
		}
	})
	names := map[string]int{}
	spans := b.ended.Ended()
	caller := spans[len(spans)-1]
	for _, s := range spans[:len(spans)-1] {
		names[s.Name()]++
		if s.Parent().SpanID() != caller.SpanContext().SpanID() {
			t.Errorf("%s is no child of the caller", s.Name())
		}
		if client := s.SpanKind() == api.SpanKindClient; client != (s.Name() == "weir.store.call") {
			t.Errorf("%s has the kind %v", s.Name(), s.SpanKind())
		}
	}
	if names["weir.take"] != 2 || names["weir.peek"] != 1 || names["weir.reset"] != 1 || names["weir.store.call"] != 4 {
		t.Errorf("spans %v", names)
	}
}

// TestNothingIsTracedThatIsNotSampled: with and without a span of the caller; it is counted.
func TestNothingIsTracedThatIsNotSampled(t *testing.T) {
	b := newBench(t, true, trace.NeverSample())
	l := b.limiter(b.observer.Wrap(memory()), "gcra:5/1m")
	b.within(func(ctx context.Context) { weir.Must(l.Allow(ctx, "k")) })
	weir.Must(l.Allow(t.Context(), "k"))
	if n := len(b.ended.Ended()); n != 0 {
		t.Errorf("%d spans, want none", n)
	}
	if got := b.counts("rate_limiter.requests"); got["algorithm=gcra,result=allowed"] != 2 {
		t.Errorf("counted %v, want 2", got)
	}
}

// TestErrorIsToldByItsClass: its text may hold a key.
func TestErrorIsToldByItsClass(t *testing.T) {
	b := newBench(t, true, trace.AlwaysSample())
	down := store.Wrap(memory(), store.Hooks{Apply: func(context.Context, []store.Op, store.ApplyFunc) (algorithm.Instant, bool, error) {
		return 0, false, fmt.Errorf("no route to user:4711: %w", store.ErrUnavailable)
	}})
	l := b.limiter(b.observer.Wrap(down), "gcra:1/1m")
	b.within(func(ctx context.Context) {
		if _, err := l.Allow(ctx, "user:4711"); !errors.Is(err, store.ErrUnavailable) {
			t.Error(err)
		}
	})
	failed := 0
	for _, s := range b.ended.Ended() {
		if all := fmt.Sprint(s.Name(), attributes(s), s.Status(), s.Events()); strings.Contains(all, "4711") {
			t.Errorf("%s shows a key", all)
		}
		if s.Status().Description == "unavailable" {
			failed++
		}
	}
	if failed != 2 {
		t.Errorf("%d spans say unavailable, want that of the answer and that of the call", failed)
	}
	if got := b.counts("rate_limiter.requests"); got["algorithm=gcra,error=unavailable,result=error"] != 1 {
		t.Errorf("counted %v", got)
	}
}

// TestRuleOfAVerdictIsTold: the binding one in the span of the caller, each in the counter.
func TestRuleOfAVerdictIsTold(t *testing.T) {
	b := newBench(t, false, trace.AlwaysSample())
	compiled := weir.Must(policy.Compile(policy.Policy{
		Version:    1,
		Attributes: map[string]policy.Attribute{"user": {}},
		Rules: []policy.Rule{
			{ID: "user", Key: []string{"user"}, Limit: policy.LimitRef{Spec: "gcra:1/1m"}},
			{ID: "tried", Key: []string{"user"}, Limit: policy.LimitRef{Spec: "gcra:1/1m"}, Mode: policy.Shadow},
		},
	}, nil))
	m := weir.Must(weir.NewMultiLimiter(memory(), &weir.Options{Observer: b.observer}))
	e := weir.Must(policy.NewEnforcer(m, compiled, &policy.EnforcerOptions{Observer: b.observer, Sequential: true}))
	for range 2 {
		b.within(func(ctx context.Context) {
			weir.Must(e.Decide(ctx, policy.Request{Attributes: policy.Attributes{"user": "user:4711"}}))
		})
	}
	got := attributes(b.ended.Ended()[1])
	for _, want := range []string{"weir.rule=user", "weir.allowed=false", "weir.policy=" + compiled.Version()} {
		if !strings.Contains(got, want) {
			t.Errorf("%s: want %s", got, want)
		}
	}
	if strings.Contains(got, "4711") {
		t.Errorf("%s shows who asked", got)
	}
	counts := b.counts("rate_limiter.rule.decisions")
	for _, want := range []string{"result=allowed,rule=user", "result=denied,rule=user", "result=shadow_allowed,rule=tried", "result=shadow_denied,rule=tried"} {
		if counts[want] != 1 {
			t.Errorf("%s is counted %d times, want 1: %v", want, counts[want], counts)
		}
	}
}

// TestRulesOfSeveralEnforcersAreCountedApart: where they have one ID.
func TestRulesOfSeveralEnforcersAreCountedApart(t *testing.T) {
	b := newBench(t, false, trace.AlwaysSample())
	compiled := weir.Must(policy.Compile(policy.Policy{Version: 1, Rules: []policy.Rule{{ID: "all", Limit: policy.LimitRef{Spec: "gcra:1/1m"}}}}, nil))
	for i, observer := range []policy.Observer{b.observer, b.observer.Enforcer("acme"), b.observer.Enforcer("bad\xff"), b.observer.Enforcer("")} {
		m := weir.Must(weir.NewMultiLimiter(memory(), nil))
		e := weir.Must(policy.NewEnforcer(m, compiled, &policy.EnforcerOptions{Observer: observer}))
		for range i + 1 {
			b.within(func(ctx context.Context) { weir.Must(e.Decide(ctx, policy.Request{})) })
		}
	}
	counts := b.counts("rate_limiter.rule.decisions")
	for want, n := range map[string]int64{
		"result=allowed,rule=all": 2, "result=denied,rule=all": 3, // of the Observer itself, which "" is, too
		"enforcer=acme,result=allowed,rule=all": 1, "enforcer=acme,result=denied,rule=all": 1,
		"enforcer=bad?,result=allowed,rule=all": 1, "enforcer=bad?,result=denied,rule=all": 2,
	} {
		if counts[want] != n {
			t.Errorf("%s is counted %d times, want %d: %v", want, counts[want], n, counts)
		}
	}
	if got := attributes(b.ended.Ended()[2]); !strings.Contains(got, "weir.rule=all") {
		t.Errorf("the span of the caller: %s: want weir.rule=all", got)
	}
}
