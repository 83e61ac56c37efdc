package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	otelobserver "github.com/weirgo/weir/observe/otel"
	"github.com/weirgo/weir/service/auth"
	"github.com/weirgo/weir/service/config"
)

// tracing is what makes spans; nil makes none.
type tracing struct {
	*otelobserver.Observer
	provider *sdk.TracerProvider
	log      *slog.Logger
}

// flushTimeout bounds how long the end of the service waits for the collector.
const flushTimeout = 2 * time.Second

// newTracing returns nil where the configuration has no tracing. It sends nothing yet: a
// collector that is down is logged, and keeps nobody waiting.
func newTracing(ctx context.Context, c *config.Tracing, log *slog.Logger) (*tracing, error) {
	if c == nil {
		return nil, nil
	}
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(c.Endpoint))
	if err != nil {
		return nil, fmt.Errorf("service: tracing: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "weir")), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("service: tracing: %w", err)
	}
	t := &tracing{log: log, provider: sdk.NewTracerProvider(
		sdk.WithBatcher(&exporting{SpanExporter: exporter, log: log}),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(c.Sample))),
		sdk.WithResource(about),
	)}
	// Metrics are those of /metrics.
	t.Observer, err = otelobserver.New(&otelobserver.Options{TracerProvider: t.provider, MeterProvider: noop.NewMeterProvider(), Spans: c.Spans})
	return t, err
}

// close sends what is left. A collector that does not take it is no failure of the service.
func (t *tracing) close() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last spans are lost", "error", err)
	}
}

// propagators read the headers traceparent and tracestate of callers.
var propagators = propagation.TraceContext{}

// grpc traces the methods that somebody may call, but for those that are open, such as health:
// a name that a client has made up is in no span.
func (t *tracing) grpc(methods auth.Methods) grpc.ServerOption {
	return grpc.StatsHandler(otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(t.provider), otelgrpc.WithMeterProvider(noop.NewMeterProvider()), otelgrpc.WithPropagators(propagators),
		otelgrpc.WithFilter(func(info *stats.RPCTagInfo) bool {
			action, known := methods[info.FullMethodName]
			return known && action != auth.Open
		}),
	))
}

// traced are the paths of HTTP that are traced, and what is below those that end with a slash.
var traced = []string{restPrefix, "/json", "/v1/"}

// http traces the requests of a listener. The name of a span is that of its route.
func (t *tracing) http(h http.Handler) http.Handler {
	return otelhttp.NewHandler(h, "",
		otelhttp.WithTracerProvider(t.provider), otelhttp.WithMeterProvider(noop.NewMeterProvider()), otelhttp.WithPropagators(propagators),
		otelhttp.WithFilter(func(r *http.Request) bool {
			return slices.ContainsFunc(traced, func(p string) bool {
				return r.URL.Path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(r.URL.Path, p)
			})
		}),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string {
			if r.Pattern != "" {
				return r.Pattern
			}
			return "HTTP" // until it has found its route
		}),
	)
}

// route names the span of a request that has found its route.
func (t *tracing) route(ctx context.Context, method, path string) {
	span := trace.SpanFromContext(ctx)
	span.SetName(method + " " + path)
	span.SetAttributes(attribute.String("http.route", path))
}

// exemplar links a metric to the span of the caller.
func exemplar(ctx context.Context) prometheus.Labels {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsSampled() {
		return nil
	}
	return prometheus.Labels{"trace_id": span.TraceID().String(), "span_id": span.SpanID().String()}
}

// exporting is an exporter that lets nothing pass which may be the key of a limit, such as
// an address or the path of a request, and that logs when it fails and when it works again.
type exporting struct {
	sdk.SpanExporter
	log    *slog.Logger
	failed atomic.Bool
}

// ExportSpans implements sdk.SpanExporter.
func (e *exporting) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	shown := make([]sdk.ReadOnlySpan, len(spans))
	for i, s := range spans {
		shown[i] = shownSpan{s}
	}
	err := e.SpanExporter.ExportSpans(ctx, shown)
	if failed := err != nil; e.failed.Swap(failed) != failed && !errors.Is(err, context.Canceled) {
		if failed {
			e.log.Warn("spans are lost: the collector does not take them", "error", err)
		} else {
			e.log.Info("the collector takes spans again")
		}
	}
	return nil // it was told; otherwise the SDK writes it to standard error, too
}

// shownSpan is what is exported of a span.
type shownSpan struct{ sdk.ReadOnlySpan }

// shownAttributes are the attributes that are exported. No other is, whatever a library adds.
var shownAttributes = map[attribute.Key]bool{
	"http.request.method": true, "http.response.status_code": true, "http.route": true,
	"rpc.system": true, "rpc.system.name": true, "rpc.service": true, "rpc.method": true,
	"rpc.grpc.status_code": true, "rpc.response.status_code": true, "error.type": true,
}

// Attributes implements sdk.ReadOnlySpan.
func (s shownSpan) Attributes() []attribute.KeyValue {
	return slices.DeleteFunc(slices.Clone(s.ReadOnlySpan.Attributes()), func(a attribute.KeyValue) bool {
		return !shownAttributes[a.Key] && !strings.HasPrefix(string(a.Key), "weir.")
	})
}

// Events implements sdk.ReadOnlySpan.
func (s shownSpan) Events() []sdk.Event { return nil }

// Status implements sdk.ReadOnlySpan: the text of an error is exported where it is a class.
func (s shownSpan) Status() sdk.Status {
	status := s.ReadOnlySpan.Status()
	if !strings.HasPrefix(s.Name(), "weir.") {
		status.Description = ""
	}
	return status
}
