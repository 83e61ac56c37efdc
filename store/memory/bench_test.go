package memorystore_test

import (
	"runtime"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
)

// BenchmarkStore measures the store with its own clock, as it is used.
func BenchmarkStore(b *testing.B) {
	conformance.BenchmarkStore(b, func(tb testing.TB, _ clock.Clock) store.Store {
		return newStore(tb, nil)
	}, &conformance.Config{
		Size: func(conformance.TB, store.Store) int64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		},
	})
}
