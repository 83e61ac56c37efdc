package valkeystore

import (
	"context"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/internal/clienttest"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/internal/servertest"
)

// The text of the reply is the one allocation that there has to be.
func TestCallsAllocateTheirReply(t *testing.T) {
	race.SkipAllocations(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		_, c := open(t, s.Addr(), valkey.ClientOption{})
		late, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		endless, cancel := context.WithCancel(context.Background())
		defer cancel()
		cmd := clienttest.Decision(s)
		for _, ctx := range []context.Context{context.Background(), late, endless} {
			allocs := testing.AllocsPerRun(1000, func() {
				if _, err := c.Do(ctx, cmd); err != nil {
					t.Fatal(err)
				}
			})
			t.Logf("%v allocations", allocs)
			if allocs > 1 {
				t.Errorf("%v allocations, want 1", allocs)
			}
		}
	})
}
