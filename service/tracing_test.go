package service

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/internal/servertest"
)

// spanCollector is a collector of OTLP in this process.
type spanCollector struct {
	collector.UnimplementedTraceServiceServer
	address string

	mu    sync.Mutex
	spans []*spans.Span
	text  strings.Builder // of all that was received
}

func startCollector(t *testing.T) *spanCollector {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &spanCollector{address: listener.Addr().String()}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, c)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { server.Stop(); serving.Wait() })
	return c
}

// Export implements collector.TraceServiceServer.
func (c *spanCollector) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.WriteString(r.String())
	for _, resource := range r.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// named are the spans with a name, and their attributes as text.
func (c *spanCollector) named(name string) (all []*spans.Span, attributes []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Name != name {
			continue
		}
		var b strings.Builder
		for _, a := range s.Attributes {
			fmt.Fprintf(&b, "%s=%s ", a.Key, a.Value)
		}
		all, attributes = append(all, s), append(attributes, b.String())
	}
	return all, attributes
}

const (
	sampled   = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4737-00f067aa0ba902b7-00"
)

// marked is what must be seen nowhere.
const marked = "marked-4711"

// askEverywhere asks by gRPC and HTTP, in each way that shows who asks, with a header of a
// caller's trace.
func (r *running) askEverywhere(t *testing.T, traceparent string) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", traceparent)
	eventually(t, "an answer", func() bool {
		_, err := r.CheckRateLimit(ctx, user(marked))
		return err == nil
	})
	if _, err := r.GetRemainingQuota(ctx, &weirv1.QuotaRequest{Identifier: marked, Dimension: weirv1.Dimension_USER, Endpoint: "/" + marked}); err != nil {
		t.Error(err)
	}
	r.conn.Invoke(ctx, "/"+marked+"/"+marked, user(marked), &weirv1.CheckResponse{}) // there is no such method
	_, public, admin := r.Addresses()
	for _, each := range []struct{ method, url, body string }{
		{"POST", "http://" + public.String() + "/api/v1/check", `{"identifier":"` + marked + `","dimension":"USER","endpoint":"/` + marked + `"}`},
		{"GET", "http://" + public.String() + "/api/v1/quota?identifier=" + marked + "&dimension=USER&endpoint=/", ""},
		{"GET", "http://" + admin.String() + "/api/v1/users/" + marked + "/limits", ""},
		{marked, "http://" + public.String() + "/api/v1/" + marked, ""},
		{"GET", "http://" + public.String() + "/healthz?" + marked, ""},
	} {
		request, err := http.NewRequestWithContext(t.Context(), each.method, each.url, strings.NewReader(each.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Traceparent", traceparent)
		request.Header.Set("User-Agent", marked)
		request.Header.Set("X-Forwarded-For", marked)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
}

func tracingOn(t *testing.T, c *spanCollector, more string) (r *running, log *bytes.Buffer) {
	t.Helper()
	server := servertest.Start(t, servertest.Redis, nil)
	folder := files(t, "weir.yaml", onServer(server.Addr(), "closed", "policy: {file: policy.yaml}\ntracing: {endpoint: 'http://"+c.address+"'"+more+"}\n"), "policy.yaml", userPolicy)
	log = &bytes.Buffer{}
	return runLogged(t, load(t, folder), &Options{}, slog.New(slog.NewTextHandler(&synced{to: log}, &slog.HandlerOptions{Level: slog.LevelDebug}))), log
}

// synced is a writer for several goroutines.
type synced struct {
	mu sync.Mutex
	to *bytes.Buffer
}

func (s *synced) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}

// TestRequestsOfSampledCallersAreTraced: each has one span in the caller's trace, with the
// answer, and the call of the store is linked to it. No span, metric or line of the log shows
// who asked.
func TestRequestsOfSampledCallersAreTraced(t *testing.T) {
	c := startCollector(t)
	r, log := tracingOn(t, c, ", sample: 0")
	r.askEverywhere(t, sampled)
	_, metrics := r.metricsPage(t, "")
	r.stop()
	r.wait(t) // flushed

	for _, name := range []string{
		"weir.v1.RateLimiter/CheckRateLimit", "weir.v1.RateLimiter/GetRemainingQuota", "POST /api/v1/check", "GET /api/v1/quota", "GET /api/v1/users/{id}/limits",
	} {
		all, attributes := c.named(name)
		if len(all) == 0 {
			t.Errorf("no span %s", name)
			continue
		}
		s := all[len(all)-1]
		if hex.EncodeToString(s.TraceId) != sampled[3:35] || hex.EncodeToString(s.ParentSpanId) != sampled[36:52] {
			t.Errorf("%s is in another trace", name)
		}
		if got := attributes[len(all)-1]; strings.Contains(strings.ToLower(name), "check") &&
			(!strings.Contains(got, `weir.rule=string_value:"user"`) || !strings.Contains(got, "weir.allowed=bool_value:true") || !strings.Contains(got, "weir.remaining")) {
			t.Errorf("%s has no answer: %s", name, got)
		}
	}
	calls, attributes := c.named("weir.store.call")
	if len(calls) == 0 {
		t.Fatal("no call of the store is traced")
	}
	for i, s := range calls {
		if s.Kind != spans.Span_SPAN_KIND_CLIENT || len(s.Links) != 1 || !bytes.Equal(s.Links[0].SpanId, s.ParentSpanId) || !strings.Contains(attributes[i], "weir.groups") {
			t.Errorf("a call of the store: %v", s)
		}
	}
	if takes, _ := c.named("weir.take"); len(takes) != 0 {
		t.Errorf("%d spans weir.take without being asked for", len(takes))
	}
	for what, text := range map[string]string{"spans": c.text.String(), "metrics": metrics, "log": log.String()} {
		if i := strings.Index(text, marked); i >= 0 {
			t.Errorf("the %s show who asked: …%s…", what, text[max(0, i-200):min(len(text), i+50)])
		}
	}
	if !strings.Contains(log.String(), "rate limit: decided") {
		t.Error("the log has no line for a decision at level debug")
	}
	for _, address := range []string{"127.0.0.1", "peer"} {
		if strings.Contains(c.text.String(), address) {
			t.Errorf("spans have %s: an address may be a key", address)
		}
	}
}

// TestSpansOfAnswersAreMadeWhereAsked: one for each decision of a limit.
func TestSpansOfAnswersAreMadeWhereAsked(t *testing.T) {
	c := startCollector(t)
	r, _ := tracingOn(t, c, ", sample: 1, spans: true")
	for range 3 {
		eventually(t, "an answer", func() bool {
			_, err := r.CheckRateLimit(t.Context(), user("u"))
			return err == nil
		})
	}
	r.stop()
	r.wait(t)
	checks, _ := c.named("weir.v1.RateLimiter/CheckRateLimit")
	takes, _ := c.named("weir.take")
	if len(takes) < 3 || len(takes) != len(checks) {
		t.Errorf("%d spans weir.take of %d checks, want 3 or more of as many", len(takes), len(checks))
	}
}

// TestNothingIsTracedWhereSamplingSaysNo: neither where the caller is not sampled nor where
// none of those is who says nothing.
func TestNothingIsTracedWhereSamplingSaysNo(t *testing.T) {
	c := startCollector(t)
	r, _ := tracingOn(t, c, ", sample: 0, spans: true")
	r.askEverywhere(t, unsampled)
	eventually(t, "an answer", func() bool {
		_, err := r.CheckRateLimit(t.Context(), user("u"))
		return err == nil
	})
	r.stop()
	r.wait(t)
	if len(c.spans) != 0 {
		t.Errorf("%d spans: %v", len(c.spans), c.spans)
	}
}

// TestACollectorThatIsDownHoldsNobodyUp: it is logged once, and the service ends in time.
func TestACollectorThatIsDownHoldsNobodyUp(t *testing.T) {
	down, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := down.Addr().String()
	down.Close()
	folder := files(t, "weir.yaml", free+"tracing: {endpoint: 'http://"+address+"', sample: 1}\npolicy: {file: policy.yaml}\n", "policy.yaml", userPolicy)
	var log bytes.Buffer
	r := runLogged(t, load(t, folder), &Options{}, slog.New(slog.NewTextHandler(&synced{to: &log}, nil)))
	for range 3 {
		if _, err := r.CheckRateLimit(t.Context(), user("u")); err != nil {
			t.Error(err)
		}
	}
	r.stop()
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "lost") {
		t.Error("the log does not say that spans are lost")
	}
}
