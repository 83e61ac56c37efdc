package valkeystore

import (
	"context"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store/script"
)

// The text of the reply is the one allocation that there has to be.
func TestCallsAllocateTheirReply(t *testing.T) {
	if UnderRace {
		t.Skip("the race detector allocates")
	}
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		sha, _ := s.Do("SCRIPT", "LOAD", "return '1700000000000000 1700000000000000'").(string)
		_, c := open(t, s.Addr(), valkey.ClientOption{})
		late, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		endless, cancel := context.WithCancel(context.Background())
		defer cancel()
		cmd := &script.Command{Args: []string{"EVALSHA", sha, "1", "weir:{user:1}:gcra/1:", "", "0", "1", "0", "100", "60000000", "20", "0"}, Key: 3}
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
