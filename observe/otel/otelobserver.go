// Package otelobserver shows OpenTelemetry what weir decides: metrics, attributes of spans,
// and spans of their own where they are asked for.
//
//	telemetry := weir.Must(otelobserver.New(nil))
//	limiter := weir.Must(weir.New(telemetry.Wrap(store), limit, &weir.Options{Observer: telemetry}))
//
// Neither a span nor a metric ever has the key of a limit, an attribute of a request or the
// text of an error.
package otelobserver

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/observed"
	"github.com/weirgo/weir/policy"
)

const scope = "github.com/weirgo/weir"

// Options are the optional settings of an Observer. nil means all defaults.
type Options struct {
	// TracerProvider and MeterProvider are those of the program; nil is the global one.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Spans makes a span weir.take, weir.peek, weir.wait or weir.reset for each answer of a
	// limit, a child of the caller's. Without it the answer is told in attributes of the
	// caller's span, except that of a limit in shadow; of several answers in one span the
	// last one is kept.
	Spans bool
}

// Observer is a weir.Observer and a policy.Observer; Enforcer makes one for each of several
// Enforcers. It is safe for concurrent use. Where
// the span of the caller is not sampled, a decision costs it the metrics alone.
type Observer struct {
	tracer trace.Tracer
	spans  bool

	requests metric.Int64Counter
	latency  metric.Float64Histogram
	rules    metric.Int64Counter

	sets sync.Map // of labels to metric.MeasurementOption: to make one allocates
}

var (
	_ weir.Observer   = (*Observer)(nil)
	_ policy.Observer = (*Observer)(nil)
)

// New returns an Observer. The error is that of the MeterProvider.
func New(opts *Options) (*Observer, error) {
	if opts == nil {
		opts = &Options{}
	}
	tracers, meters := opts.TracerProvider, opts.MeterProvider
	if tracers == nil {
		tracers = otel.GetTracerProvider()
	}
	if meters == nil {
		meters = otel.GetMeterProvider()
	}
	o := &Observer{tracer: tracers.Tracer(scope), spans: opts.Spans}
	meter := meters.Meter(scope)
	var err error
	if o.requests, err = meter.Int64Counter("rate_limiter.requests", metric.WithUnit("{answer}"),
		metric.WithDescription("Answers of limits: a request that asks three limits has three.")); err != nil {
		return nil, err
	}
	if o.latency, err = meter.Float64Histogram("rate_limiter.latency", metric.WithUnit("s"),
		metric.WithDescription("How long a decision took. Of decisions in memory one in 16 is measured."),
		metric.WithExplicitBucketBoundaries(observed.Buckets()...)); err != nil {
		return nil, err
	}
	if o.rules, err = meter.Int64Counter("rate_limiter.rule.decisions", metric.WithUnit("{answer}"),
		metric.WithDescription("Answers of rules, once for each request.")); err != nil {
		return nil, err
	}
	return o, nil
}

// labels are the attributes of a measurement. What is "" is left out, except first.
type labels struct{ first, result, err, enforcer string }

// with returns the option that adds attributes to a measurement. There are few of them:
// kinds of algorithms, and rules of Enforcers, times results.
func (o *Observer) with(name string, l labels) metric.MeasurementOption {
	if known, is := o.sets.Load(l); is {
		return known.(metric.MeasurementOption)
	}
	attributes := []attribute.KeyValue{attribute.String(name, l.first)}
	if l.result != "" {
		attributes = append(attributes, attribute.String("result", l.result))
	}
	if l.err != "" {
		attributes = append(attributes, attribute.String("error", l.err))
	}
	if l.enforcer != "" {
		attributes = append(attributes, attribute.String("enforcer", l.enforcer))
	}
	option := metric.WithAttributeSet(attribute.NewSet(attributes...))
	o.sets.Store(l, option)
	return option
}

// Observe implements weir.Observer. Takes and waits are counted; looks and resets where they
// fail.
func (o *Observer) Observe(ctx context.Context, seen weir.Observation) {
	kind := kindOf(&seen)
	failed := seen.Err != nil && !observed.IsDenial(seen.Err)
	switch {
	case failed:
		o.requests.Add(ctx, 1, o.with("algorithm", labels{first: kind, result: "error", err: observed.ClassOf(seen.Err)}))
	case seen.Kind == weir.KindTake || seen.Kind == weir.KindWait:
		result := observed.ResultNames[observed.ResultOf(seen.Decision.Allowed, seen.Shadow)]
		o.requests.Add(ctx, 1, o.with("algorithm", labels{first: kind, result: result}))
	}
	if !failed && seen.Took > 0 && seen.Kind != weir.KindWait {
		o.latency.Record(ctx, seen.Took.Seconds(), o.with("algorithm", labels{first: kind}))
	}
	span := trace.SpanFromContext(ctx)
	switch {
	case !span.IsRecording():
	case o.spans:
		o.span(ctx, &seen, kind, failed)
	case seen.Shadow: // nobody obeys it, and it would hide the limit that counts
	case seen.Allowed || !seen.Decision.Allowed: // of several limits the one that refused is told
		span.SetAttributes(attributesOf(&seen, kind)...)
	}
}

func kindOf(seen *weir.Observation) string {
	if seen.Algorithm == nil {
		return "none"
	}
	kind, _, _ := strings.Cut(seen.Algorithm.Spec().Kind, "/")
	return text(kind)
}

// text is s, or what stands for bytes that are no text: an exporter refuses those.
func text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "?")
}

// span makes a span that has ended: the decision has been made.
func (o *Observer) span(ctx context.Context, seen *weir.Observation, kind string, failed bool) {
	end := time.Now()
	_, span := o.tracer.Start(ctx, "weir."+seen.Kind.String(),
		trace.WithTimestamp(end.Add(-seen.Took)), trace.WithAttributes(attributesOf(seen, kind)...))
	if failed {
		span.SetStatus(codes.Error, observed.ClassOf(seen.Err))
	}
	span.End(trace.WithTimestamp(end))
}

// attributesOf are the attributes of an answer.
func attributesOf(seen *weir.Observation, kind string) []attribute.KeyValue {
	d := &seen.Decision
	attributes := []attribute.KeyValue{
		attribute.String("weir.limit", text(seen.Limit)),
		attribute.String("weir.algorithm", kind),
		attribute.Int64("weir.cost", seen.Cost),
		attribute.Bool("weir.allowed", seen.Allowed),
		attribute.Int64("weir.remaining", d.Remaining),
		attribute.Bool("weir.degraded", d.Degraded),
		attribute.Int64("weir.retry_after_ms", retryMillis(d.RetryAfter)), // also 0: a caller may ask twice
	}
	if seen.Err != nil && !observed.IsDenial(seen.Err) {
		attributes = append(attributes, attribute.String("weir.error", observed.ClassOf(seen.Err)))
	}
	return attributes
}

// retryMillis is a wait in whole milliseconds, rounded up; -1 for weir.Never.
func retryMillis(d time.Duration) int64 {
	if d == weir.Never {
		return -1
	}
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// Enforcer returns an Observer for one Enforcer (policy.EnforcerOptions). Its counts of rules have
// name as the attribute enforcer, so that rules with one ID in several Enforcers are counted apart.
// Bytes of a name that are no UTF-8 become "?". "" is the Observer itself, whose counts have no
// attribute enforcer. Each name takes memory for as long as the Observer lives: names must come
// from the program, and not from requests. Enforcer is safe for concurrent use.
func (o *Observer) Enforcer(name string) policy.Observer {
	return enforcerObserver{o, text(name)}
}

// enforcerObserver is the Observer of one Enforcer.
type enforcerObserver struct {
	observer *Observer
	name     string
}

// ObserveVerdict implements policy.Observer.
func (e enforcerObserver) ObserveVerdict(ctx context.Context, v *policy.Verdict, err error) {
	e.observer.observeVerdict(ctx, e.name, v, err)
}

// ObserveVerdict implements policy.Observer: the rule that matters most becomes the attribute
// weir.rule of the caller's span, and each rule is counted once a request.
func (o *Observer) ObserveVerdict(ctx context.Context, v *policy.Verdict, err error) {
	o.observeVerdict(ctx, "", v, err)
}

func (o *Observer) observeVerdict(ctx context.Context, enforcer string, v *policy.Verdict, err error) {
	for first := 0; first < len(v.Rules); {
		after := first + 1
		for after < len(v.Rules) && v.Rules[after].Rule == v.Rules[first].Rule {
			after++
		}
		if result := observed.RuleResult(v.Rules[first:after], err); result != "" {
			o.rules.Add(ctx, 1, o.with("rule", labels{first: text(v.Rules[first].Rule), result: result, enforcer: enforcer}))
		}
		first = after
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.Bool("weir.allowed", v.Allowed), attribute.Bool("weir.degraded", v.Degraded), attribute.String("weir.policy", v.Version))
	if v.Binding >= 0 {
		span.SetAttributes(attribute.String("weir.rule", text(v.Rules[v.Binding].Rule)))
	}
	if err != nil {
		span.SetAttributes(attribute.String("weir.error", observed.ClassOf(err)))
	}
}
