package weir_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	memorystore "github.com/weirgo/weir/store/memory"
)

// B125: machines whose int has 32 bits, where 64-bit atomics that are not aligned panic,
// and where a count that went through int is cut. scripts/test runs this with GOARCH=386.
func TestNumbersAreThoseOfAnyWidth(t *testing.T) {
	kinds := []string{"gcra", "token-bucket", "leaky-bucket", "fixed-window", "sliding-log", "sliding-counter"}
	s, err := memorystore.New(&memorystore.Options{Clock: standing{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, kind := range kinds {
		few := newWidthLimiter(t, s, "few "+kind, kind+":5/9600h")
		var admitted atomic.Int64
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for i := range 500 {
					d, err := few.Allow(context.Background(), string(rune('a'+i%3)))
					if err != nil {
						t.Error(err)
						return
					}
					if d.Allowed {
						admitted.Add(1)
					}
				}
			})
		}
		callers.Wait()
		if admitted.Load() != 15 {
			t.Errorf("%s: %d admitted, want 5 of each of 3 keys", kind, admitted.Load())
		}
	}
	const most = 1_000_000_000_000
	for _, kind := range []string{"gcra", "token-bucket", "fixed-window", "sliding-counter"} {
		many := newWidthLimiter(t, s, "many "+kind, kind+":1000000000000/1us")
		for range 4000 {
			if d, err := many.Allow(context.Background(), "a"); err != nil || !d.Allowed {
				t.Fatalf("%s: %+v, %v", kind, d, err)
			}
		}
		if d, err := many.AllowN(context.Background(), "a", most+1); err != nil || d.Allowed || d.RetryAfter != algorithm.Never {
			t.Errorf("%s: a cost of 10^12 + 1: %+v, %v", kind, d, err)
		}
		if d, err := many.AllowN(context.Background(), "b", most); err != nil || !d.Allowed || d.Remaining != 0 {
			t.Errorf("%s: a cost of 10^12: %+v, %v", kind, d, err)
		}
	}
	wait := newWidthLimiter(t, s, "wait", "gcra:1000000000000/1us")
	if d, err := wait.Wait(context.Background(), "a"); err != nil || !d.Allowed {
		t.Errorf("Wait: %+v, %v", d, err)
	}
}

func newWidthLimiter(t *testing.T, s *memorystore.Store, name, spec string) *weir.Limiter {
	t.Helper()
	l, err := weir.New(s, weir.Limit{Name: name, Algorithm: algorithm.Must(algorithm.ParseSpec(spec))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// standing is a clock that stands still.
type standing struct{}

func (standing) Now() time.Time { return time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC) }
