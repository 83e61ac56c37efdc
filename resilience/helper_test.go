package resilience_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

var background = context.Background()

// hand is a clock that a test moves by hand.
type hand struct {
	mu sync.Mutex
	at time.Time
}

func newHand() *hand { return &hand{at: time.Unix(1_800_000_000, 0)} }

func (h *hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *hand) move(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = h.at.Add(d)
}

func newMemory(tb testing.TB, c store.Clock) *memorystore.Store {
	tb.Helper()
	s, err := memorystore.New(&memorystore.Options{Clock: c})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func parse(tb testing.TB, spec string) algorithm.Algorithm {
	tb.Helper()
	a, err := algorithm.ParseSpec(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// opOf is one op on the limit "l".
func opOf(tb testing.TB, spec, key string, cost int64) []store.Op {
	return []store.Op{{Slot: store.Slot{Key: key, Limit: "l", Algorithm: parse(tb, spec)}, Request: algorithm.Request{Cost: cost}}}
}
