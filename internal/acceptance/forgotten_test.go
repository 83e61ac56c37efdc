package acceptance_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/servertest"
	redisstore "github.com/weirgo/weir/store/redis"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// busyClients open a client as its library makes it, on which an application has had
// commands in flight, as many at a time, and a store on it.
var busyClients = map[string]func(tb testing.TB, addr string, commands int) *serverStore{
	redisLibrary: func(tb testing.TB, addr string, commands int) *serverStore {
		client := redis.NewClient(&redis.Options{Addr: addr, PoolSize: commands})
		tb.Cleanup(func() { _ = client.Close() })
		concurrently(tb, commands, func() error { return client.BLPop(context.Background(), time.Second, "nothing").Err() }, redis.Nil)
		s, err := redisstore.New(client, nil)
		return closing(tb, s, err)
	},
	valkeyLibrary: func(tb testing.TB, addr string, commands int) *serverStore {
		client, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}, DisableCache: true})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(client.Close)
		// Commands that block have connections of their own, those that do not share one.
		concurrently(tb, commands, func() error {
			return client.Do(context.Background(), client.B().Blpop().Key("nothing").Timeout(1).Build()).Error()
		}, valkey.Nil)
		s, err := valkeystore.New(client, nil)
		return closing(tb, s, err)
	},
}

// concurrently runs f as often as that at the same time, which must end with want.
func concurrently(tb testing.TB, times int, f func() error, want error) {
	tb.Helper()
	var all sync.WaitGroup
	for range times {
		all.Go(func() {
			if err := f(); err != want {
				tb.Errorf("%v, want %v", err, want)
			}
		})
	}
	all.Wait()
}

// TestConnectionsThatDiedSilentlyAreNotTrusted: a proxy or a firewall has forgotten all
// connections of a client, those of the application too, and says nothing. New ones work,
// and callers are answered soon after.
func TestConnectionsThatDiedSilentlyAreNotTrusted(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		const (
			callers = 64
			during  = 5 * time.Second
			longest = 4 * time.Second // the time-out of a store and a second
		)
		p := servertest.NewProxy(t, e.server.Addr())
		s := busyClients[e.library](t, p.Addr(), 20)
		l, err := weir.New(s, weir.Limit{Name: "limit", Algorithm: limitOf("gcra", 1_000_000_000, time.Hour)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		traffic(l, callers, 200*time.Millisecond, []string{"k"}, func(string) bool { return true })
		p.Forget()
		begin := time.Now()
		var mu sync.Mutex
		var outage time.Duration // the longest of a caller without an answer
		failed, answered := 0, 0
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				answer := begin // the latest
				for time.Since(begin) < during {
					_, err := l.Allow(context.Background(), "k")
					mu.Lock()
					outage = max(outage, time.Since(answer))
					if err != nil {
						failed++
					} else {
						answered, answer = answered+1, time.Now()
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		t.Logf("%d calls failed, a caller had no answer for %v; %d were answered; %+v", failed, outage, answered, s.Stats())
		if outage > longest || answered == 0 {
			t.Errorf("a caller has no answer for %v after the connections have died, want %v at most", outage, longest)
		}
	})
}
