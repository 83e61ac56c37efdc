// Package inflight limits how many requests are in flight at one time, rather than how
// many come in a time: Acquire takes units, Release gives them back.
//
//	limiter, err := inflight.New(store, inflight.Limit{Name: "reports", Units: 20}, nil)
//	...
//	hold, err := limiter.Acquire(ctx, "everyone")
//	if err != nil {
//		return err // the store has no answer
//	}
//	if !hold.Allowed() {
//		return errBusy // 20 are in flight
//	}
//	defer hold.Release(ctx)
//
// A Store keeps the holders. Memory keeps them in this process; package
// resilience/inflight/server keeps them in Redis or Valkey, for several processes. Each hold
// has a life, and is renewed while its holder lives: the units of a holder that died come
// back within the life.
//
// A fixed limit holds for as long as it is configured. Options.Adaptive lowers the limit
// while the latency of the requests says that they wait for each other.
package inflight
