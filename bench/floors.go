package main

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// floor is what a decision costs at least: shards chosen by a hash, each a
// mutex and a map that holds the instant of a GCRA, the monotonic clock, and a
// bare bool as the answer.
type floor struct {
	seed          maphash.Seed
	start         time.Time
	interval, tau int64
	shards        [64]struct {
		mu     sync.Mutex
		states map[string]int64
		_      [112]byte
	}
}

func newFloor(_ testing.TB, denied bool) take {
	f := &floor{seed: maphash.MakeSeed(), start: time.Now(), interval: 1, tau: 1 << 60}
	if denied {
		f.interval, f.tau = 1<<60, 1<<60
	}
	for i := range f.shards {
		f.shards[i].states = map[string]int64{}
	}
	return f.take
}

func (f *floor) take(key string) bool {
	shard := &f.shards[maphash.String(f.seed, key)%64]
	now := int64(time.Since(f.start))
	shard.mu.Lock()
	next := max(shard.states[key], now) + f.interval
	allowed := next-now <= f.tau
	if allowed {
		shard.states[key] = next
	}
	shard.mu.Unlock()
	return allowed
}

// newFreeFloor is a floor without a lock: the instant of each key in a sync.Map, changed by
// compare-and-swap.
func newFreeFloor(_ testing.TB, denied bool) take {
	start, interval, tau := time.Now(), int64(1), int64(1)<<60
	if denied {
		interval = tau
	}
	of := eachKey(func() *atomic.Int64 { return new(atomic.Int64) })
	return func(key string) bool {
		state, now := of(key), int64(time.Since(start))
		for {
			old := state.Load()
			next := max(old, now) + interval
			if next-now > tau {
				return false
			}
			if state.CompareAndSwap(old, next) {
				return true
			}
		}
	}
}
