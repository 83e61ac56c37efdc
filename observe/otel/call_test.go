package otelobserver_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	redisstore "github.com/weirgo/weir/store/redis"
	"github.com/weirgo/weir/store/script"
)

// TestCallOfAStoreIsLinkedToAllItsCallers: who share it; those who are not sampled are
// counted and have no link.
func TestCallOfAStoreIsLinkedToAllItsCallers(t *testing.T) {
	b := newBench(t, false, trace.AlwaysSample())
	tracer := b.tracers.Tracer("caller")
	first, one := tracer.Start(t.Context(), "first")
	second, two := tracer.Start(t.Context(), "second")
	unsampled := api.ContextWithSpanContext(t.Context(), api.NewSpanContext(api.SpanContextConfig{TraceID: api.TraceID{1}, SpanID: api.SpanID{1}}))
	end := b.observer.StoreCall(script.TracedCall{Verb: "apply", Limits: 5, Callers: []context.Context{unsampled, first, t.Context(), second}})
	end(store.ErrUnavailable)
	one.End()
	two.End()
	spans := b.ended.Ended()
	call := spans[0]
	if call.Name() != "weir.store.call" || call.SpanKind() != api.SpanKindClient || call.Parent().SpanID() != one.SpanContext().SpanID() || call.Status().Description != "unavailable" {
		t.Errorf("%s of kind %v below %v: %v", call.Name(), call.SpanKind(), call.Parent().SpanID(), call.Status())
	}
	if got, want := attributes(call), "weir.op=apply weir.groups=4 weir.limits=5"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	links := call.Links()
	if len(links) != 2 || !links[0].SpanContext.Equal(one.SpanContext()) || !links[1].SpanContext.Equal(two.SpanContext()) {
		t.Errorf("links %v, want those to the two callers who are sampled", links)
	}
	if back := spans[2].Links(); len(back) != 1 || !back[0].SpanContext.Equal(call.SpanContext()) {
		t.Errorf("the second caller has the links %v, want one to the call", back)
	}
	if len(spans[1].Links()) != 0 {
		t.Error("the first caller has a link to its child")
	}
	if b.observer.StoreCall(script.TracedCall{Verb: "apply", Callers: []context.Context{unsampled, t.Context()}}) != nil {
		t.Error("a call is traced of which no caller is sampled")
	}
}

// TestConcurrentCallersOfAServerShareSpansOfTheirCalls: each caller is linked to exactly one,
// and the counts of all calls are those of the callers.
func TestConcurrentCallersOfAServerShareSpansOfTheirCalls(t *testing.T) {
	server := servertest.Start(t, servertest.Redis, nil)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	b := newBench(t, false, trace.AlwaysSample())
	s := weir.Must(redisstore.New(client, &redisstore.Options{Trace: b.observer.StoreCall}))
	t.Cleanup(func() { _ = s.Close() })
	limit := weir.Must(weir.ParseLimit("api", "gcra:1000/1h"))
	l := weir.Must(weir.New(s, limit, &weir.Options{Observer: b.observer, Timeout: time.Minute}))
	const callers = 60
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			b.within(func(ctx context.Context) { weir.Must(l.Allow(ctx, fmt.Sprint("marked-4711-", i%7))) })
		})
	}
	all.Wait()
	b.within(func(ctx context.Context) {
		weir.Must(l.Peek(ctx, "marked-4711"))
		weir.Must(l.AllowOnce(ctx, "marked-4711", 1, "id"))
		if err := l.Reset(ctx, "marked-4711"); err != nil {
			t.Error(err)
		}
	})
	groups, linked, verbs := int64(0), map[api.SpanID]int{}, map[string]int{}
	for _, span := range b.ended.Ended() {
		if span.Name() != "weir.store.call" {
			continue
		}
		for _, a := range span.Attributes() {
			switch a.Key {
			case "weir.groups":
				groups += a.Value.AsInt64()
				if n := a.Value.AsInt64(); n != int64(len(span.Links())) {
					t.Errorf("%d callers and %d links", n, len(span.Links()))
				}
			case "weir.op":
				verbs[a.Value.AsString()]++
			}
		}
		for _, link := range span.Links() {
			linked[link.SpanContext.SpanID()]++
		}
	}
	if groups != callers+3 || len(linked) != callers+1 {
		t.Errorf("%d decisions of %d callers in the spans, want %d of %d", groups, len(linked), callers+3, callers+1)
	}
	if verbs["peek"] != 1 || verbs["reset"] != 1 || verbs["apply"] < 2 {
		t.Errorf("calls by what they do: %v", verbs)
	}
}

// contextWithFields is a context that cannot be compared: == with another one panics.
type contextWithFields struct {
	context.Context
	_ []string
}

// TestCallersOfAnyTypeOfContextAreTraced: some types cannot be compared.
func TestCallersOfAnyTypeOfContextAreTraced(t *testing.T) {
	b := newBench(t, false, trace.AlwaysSample())
	var callers []context.Context
	for _, name := range []string{"first", "second"} {
		ctx, span := b.tracers.Tracer("caller").Start(t.Context(), name)
		defer span.End()
		callers = append(callers, contextWithFields{Context: ctx})
	}
	b.observer.StoreCall(script.TracedCall{Verb: "apply", Limits: 2, Callers: callers})(nil)
	if links := b.ended.Ended()[0].Links(); len(links) != 2 {
		t.Errorf("links %v, want 2", links)
	}
}
