package promobserver

import (
	"context"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// Wrap returns a store that measures each call of s: rate_limiter_store_call_seconds, with
// the label op apply, once, peek or reset. name is the label store. It has the features of s
// and is closed with it. It is for stores on servers: it reads the clock twice a call, which
// costs as much as a decision in memory.
//
// Calls that share one call to the server are measured each.
func (c *Collector) Wrap(name string, s store.Store) store.Store {
	name = strings.ToValidUTF8(name, "?")
	apply, once := c.storeCalls.WithLabelValues(name, "apply"), c.storeCalls.WithLabelValues(name, "once")
	peek, reset := c.storeCalls.WithLabelValues(name, "peek"), c.storeCalls.WithLabelValues(name, "reset")
	return store.Wrap(s, store.Hooks{
		Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
			start := time.Now()
			at, committed, err := next(ctx, ops)
			apply.Observe(time.Since(start).Seconds())
			return at, committed, err
		},
		Once: func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error) {
			start := time.Now()
			at, committed, err := next(ctx, o, ops)
			once.Observe(time.Since(start).Seconds())
			return at, committed, err
		},
		Peek: func(ctx context.Context, ops []store.Op, next store.PeekFunc) (algorithm.Instant, error) {
			start := time.Now()
			at, err := next(ctx, ops)
			peek.Observe(time.Since(start).Seconds())
			return at, err
		},
		Reset: func(ctx context.Context, slots []store.Slot, next func(context.Context, []store.Slot) error) error {
			start := time.Now()
			err := next(ctx, slots)
			reset.Observe(time.Since(start).Seconds())
			return err
		},
	})
}
