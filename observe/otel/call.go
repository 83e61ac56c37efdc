package otelobserver

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/weirgo/weir/internal/observed"
	"github.com/weirgo/weir/store/script"
)

// StoreCall is script.Options.Trace of a store on Redis or Valkey: it makes a span
// weir.store.call, of kind client, of each call to the server that has a sampled caller.
//
//	store := weir.Must(redisstore.New(client, &redisstore.Options{Trace: telemetry.StoreCall}))
//
// The callers who share a call share its span. It has a link to each of them who is sampled,
// and each has a link to it, but for the first: of that one it is a child. weir.groups is
// the number of all callers. It takes the place of Wrap, which measures how long each caller
// has waited.
func (o *Observer) StoreCall(c script.TracedCall) (end func(error)) {
	first := -1 // by its number: a context may be of a type that cannot be compared
	var links []trace.Link
	for i, caller := range c.Callers {
		span := trace.SpanContextFromContext(caller)
		if !span.IsSampled() {
			continue
		}
		if first < 0 {
			first = i
		}
		links = append(links, trace.Link{SpanContext: span})
	}
	if first < 0 {
		return nil
	}
	_, span := o.tracer.Start(c.Callers[first], storeCall, trace.WithSpanKind(trace.SpanKindClient), trace.WithLinks(links...), trace.WithAttributes(
		attribute.String("weir.op", c.Verb), attribute.Int("weir.groups", len(c.Callers)), attribute.Int("weir.limits", c.Limits)))
	back := trace.Link{SpanContext: span.SpanContext()}
	for i, caller := range c.Callers {
		if of := trace.SpanFromContext(caller); i != first && of.IsRecording() {
			of.AddLink(back)
		}
	}
	return func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, observed.ClassOf(err))
		}
		span.End()
	}
}
