package sim

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
	redisstore "github.com/weirgo/weir/store/redis"
)

// TestServersDecideAsMemory: the same scenario on a real server, which gets the virtual
// clock, has the same events.
func TestServersDecideAsMemory(t *testing.T) {
	s := parsed(t, crowded+`
network: {delay: {kind: exponential, mean: 2ms}, repeats: true}
server: {lag: 300ms}
faults:
  - {kind: loss, at: 5s, for: 5s, rate: 5%}
  - {kind: duplication, at: 5s, for: 10s, rate: 5%}
  - {kind: failover, at: 15s, for: 1s}
  - {kind: eviction, at: 18s, for: 2s, every: 100ms}
  - {kind: restart, at: 25s, for: 1s, data: lost}
  - {kind: clock, at: 30s, step: -4s}
`)
	s.Duration = parsed(t, disturbed).Duration * 2
	together := copyOf(t, s)
	together.Together = true
	scenarios := []*scenario.Scenario{s, together}
	if testing.Short() {
		scenarios = scenarios[1:]
	}
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer client.Close()
		made := 0
		opts := &Options{NewStore: func(clock store.Clock) (store.Store, error) {
			made++
			return redisstore.New(client, &redisstore.Options{Clock: clock, Prefix: fmt.Sprintf("sim-%d:", made)})
		}}
		for _, s := range scenarios {
			want, got := ran(t, s, nil), ran(t, s, opts)
			for i := range want {
				if got[i].Digest != want[i].Digest || got[i].Events != want[i].Events {
					t.Errorf("%s: %d events with the digest %s, in memory %d with %s", got[i].Limit,
						got[i].Events, got[i].Digest, want[i].Events, want[i].Digest)
				}
			}
			if jsonOf(t, got) != jsonOf(t, want) {
				t.Error("the results differ")
			}
		}
		if made < 3*len(scenarios) {
			t.Errorf("%d stores were made", made)
		}
	})
}
