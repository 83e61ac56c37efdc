package gubernator

import (
	"context"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/service/gubernator/pb"
	"github.com/weirgo/weir/store"
)

// TestWindowKeepsTheLaws: taking from it is as from every limit, also after changes.
func TestWindowKeepsTheLaws(t *testing.T) {
	conformance.TestAlgorithm(t, window{limit: 5, length: 7_000_000}, window{limit: 3, length: 7_000_000}, window{limit: 900, length: 2_000_000})
}

// TestWindowOfWhichAllWasGivenBackGoesOn: until it ends, on every store, so that a look and
// the next hit see the same end.
func TestWindowOfWhichAllWasGivenBackGoesOn(t *testing.T) {
	onEachStore(t, func(t *testing.T, open func(t *testing.T, clk *clock.Mock) store.Store) {
		clk := mockClock()
		s, err := New(open(t, clk), &Options{Clock: clk})
		must(t, s, err)
		r := item(token, time.Minute, 10, 0)
		for i, m := range []struct {
			wait            time.Duration
			hits, remaining int64
			begin           time.Duration // of the window, from the start
		}{{0, 5, 5, 0}, {10 * time.Second, -5, 10, 0}, {0, 0, 10, 0}, {10 * time.Second, 1, 9, 0}, {10 * time.Second, -1, 10, 0}, {30 * time.Second, 0, 10, time.Minute}, {time.Second, 1, 9, 61 * time.Second}} {
			clk.Add(m.wait)
			r.Hits = m.hits
			answer, err := s.GetRateLimits(context.Background(), &pb.GetRateLimitsReq{Requests: []*pb.RateLimitReq{r}})
			got := must(t, answer, err).GetResponses()[0]
			if end := start.Add(m.begin + time.Minute).UnixMilli(); got.GetError() != "" || got.GetRemaining() != m.remaining || got.GetResetTime() != end {
				t.Errorf("step %d: %v, want %d remaining until %d", i+1, got, m.remaining, end)
			}
		}
	})
}
