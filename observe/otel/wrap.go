package otelobserver

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/observed"
	"github.com/weirgo/weir/store"
)

// Wrap returns a store that makes a span weir.store.call, of kind client, of each call of s
// whose caller is sampled. It has the features of s and is closed with it.
//
// Callers who share one call to the server have a span each: it is as long as each has
// waited. StoreCall makes one of the call itself, for stores on servers.
func (o *Observer) Wrap(s store.Store) store.Store {
	return store.Wrap(s, store.Hooks{
		Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
			ctx, end := o.call(ctx, "apply", len(ops))
			defer func() { end(err) }()
			return next(ctx, ops)
		},
		Once: func(ctx context.Context, once store.Once, ops []store.Op, next store.OnceFunc) (at algorithm.Instant, committed bool, err error) {
			ctx, end := o.call(ctx, "once", len(ops))
			defer func() { end(err) }()
			return next(ctx, once, ops)
		},
		Peek: func(ctx context.Context, ops []store.Op, next store.PeekFunc) (at algorithm.Instant, err error) {
			ctx, end := o.call(ctx, "peek", len(ops))
			defer func() { end(err) }()
			return next(ctx, ops)
		},
		Reset: func(ctx context.Context, slots []store.Slot, next func(context.Context, []store.Slot) error) (err error) {
			ctx, end := o.call(ctx, "reset", len(slots))
			defer func() { end(err) }()
			return next(ctx, slots)
		},
	})
}

// storeCall is the name of the span of a call of a store.
const storeCall = "weir.store.call"

// call begins the span of a call, where the caller is sampled.
func (o *Observer) call(ctx context.Context, op string, limits int) (context.Context, func(error)) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, func(error) {}
	}
	ctx, span := o.tracer.Start(ctx, storeCall, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("weir.op", op), attribute.Int("weir.limits", limits)))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, observed.ClassOf(err))
		}
		span.End()
	}
}
